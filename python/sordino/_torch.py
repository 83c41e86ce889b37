"""From the layers of PyTorch to ours, by the names of their classes: torch need not be installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .exceptions import DeclarationError

if TYPE_CHECKING:
    from .neural_network import Layer

__all__ = ["layers_of"]

MIXES = "it mixes the records of a batch, so that no record has a gradient of its own"
INSTEAD = {
    "BatchNorm1d": f"{MIXES}; use LayerNorm",
    "BatchNorm2d": f"{MIXES}; use GroupNorm",
    "LSTM": "recurrent layers are not there",
    "GRU": "recurrent layers are not there",
}


def layers_of(module: Any) -> list[Layer]:
    """The layers of a `torch.nn.Sequential`, in order."""
    if type(module).__name__ != "Sequential":
        raise DeclarationError(
            "network must be a preset, a sordino.neural_network.Sequential or a torch.nn.Sequential, got "
            f"{type(module).__name__}"
        )
    return [layer for place, child in enumerate(module) for layer in _converted(child, place)]


def _converted(child: Any, place: int) -> list[Layer]:
    name = type(child).__name__
    if name == "Sequential":
        return layers_of(child)
    if name == "Identity":
        return []
    convert = _LAYERS.get(name)
    if convert is None:
        why = INSTEAD.get(name, f"expected one of {', '.join(sorted(_LAYERS))}")
        raise DeclarationError(f"layer {place} of the network is a {name}, which has no counterpart: {why}")
    return [convert(child)]


def _plain(name: str) -> Callable[[Any], Layer]:
    from .neural_network import Layer

    return lambda child: Layer(name)


def _pair(value: Any) -> Any:
    return [int(part) for part in value] if isinstance(value, (tuple, list)) else int(value)


def _convolution(child: Any) -> Layer:
    from .neural_network import Layer

    if child.padding_mode != "zeros" or isinstance(child.padding, str):
        raise DeclarationError("a convolution is converted with padding by zeros, stated as numbers")
    return Layer(
        "conv2d",
        channels=int(child.out_channels),
        kernel=_pair(child.kernel_size),
        stride=_pair(child.stride),
        padding=_pair(child.padding),
        dilation=_pair(child.dilation),
        groups=int(child.groups),
        bias=child.bias is not None,
    )


def _linear(child: Any) -> Layer:
    from .neural_network import Layer

    return Layer("linear", outputs=int(child.out_features), bias=child.bias is not None)


def _pool(name: str) -> Callable[[Any], Layer]:
    from .neural_network import Layer

    return lambda child: Layer(name, kernel=_pair(child.kernel_size), stride=_pair(child.stride))


def _dropout(child: Any) -> Layer:
    from .neural_network import Layer

    return Layer("dropout", rate=float(child.p))


def _group_norm(child: Any) -> Layer:
    from .neural_network import Layer

    return Layer("group_norm", groups=int(child.num_groups), affine=bool(child.affine))


def _leaky(child: Any) -> Layer:
    from .neural_network import Layer

    return Layer("leaky_relu", slope=float(child.negative_slope))


_LAYERS: dict[str, Callable[[Any], Layer]] = {
    "Linear": _linear,
    "Conv2d": _convolution,
    "MaxPool2d": _pool("max_pool"),
    "AvgPool2d": _pool("avg_pool"),
    "Flatten": _plain("flatten"),
    "ReLU": _plain("relu"),
    "Tanh": _plain("tanh"),
    "Sigmoid": _plain("sigmoid"),
    "GELU": _plain("gelu"),
    "SiLU": _plain("silu"),
    "LeakyReLU": _leaky,
    "Dropout": _dropout,
    "GroupNorm": _group_norm,
}
