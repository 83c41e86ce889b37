"""Private neural networks with scikit-learn's face.

>>> from sordino.neural_network import Sequential, Linear, Relu
>>> Sequential(Linear(32), Relu(), Linear())
Sequential(linear(outputs=32), relu(), linear())
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

from ._budget import Payer
from ._check import Real, Whole, whole
from ._declare import BoundsLike
from ._learner import Classifier as _Classifier
from ._learner import Learner
from ._learner import Regressor as _Regressor
from ._schema import _toml
from .exceptions import DeclarationError

if TYPE_CHECKING:
    from ._schema import SchemaLike

__all__ = [
    "AvgPool",
    "Classifier",
    "Conv2d",
    "Dropout",
    "Flatten",
    "Gelu",
    "GroupNorm",
    "Layer",
    "LayerNorm",
    "Linear",
    "MaxPool",
    "Regressor",
    "Relu",
    "Sequential",
    "Sigmoid",
    "Silu",
    "Tanh",
]

PRESETS = ("softmax", "mlp", "cnn", "tanh_cnn", "cifar_cnn", "resnet20")


class Layer:
    """One layer, by the name and the fields that descriptions of networks have."""

    __slots__ = ("fields", "kind")

    def __init__(self, kind: str, **fields: Any) -> None:
        self.kind = kind
        self.fields = {name: value for name, value in fields.items() if value is not None}

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(f'{name}={value!r}' for name, value in self.fields.items())})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Layer):
            return NotImplemented
        return self.kind == other.kind and self.fields == other.fields

    def __hash__(self) -> int:
        return hash((self.kind, repr(self.fields)))


def Linear(outputs: Whole | None = None, *, bias: bool | None = None) -> Layer:
    """A dense layer. The last one may leave its outputs to the data."""
    return Layer("linear", outputs=None if outputs is None else whole("outputs", outputs), bias=bias)


def Conv2d(
    channels: Whole,
    kernel: Any,
    *,
    stride: Any = None,
    padding: Any = None,
    groups: Whole | None = None,
    bias: bool | None = None,
) -> Layer:
    """A convolution."""
    return Layer(
        "conv2d",
        channels=whole("channels", channels),
        kernel=kernel,
        stride=stride,
        padding=padding,
        groups=None if groups is None else whole("groups", groups),
        bias=bias,
    )


def MaxPool(kernel: Any, stride: Any = None) -> Layer:
    """The largest number of each window."""
    return Layer("max_pool", kernel=kernel, stride=stride)


def AvgPool(kernel: Any, stride: Any = None) -> Layer:
    """The mean of each window."""
    return Layer("avg_pool", kernel=kernel, stride=stride)


def GroupNorm(groups: Whole) -> Layer:
    """Normalisation within one example, by groups of channels."""
    return Layer("group_norm", groups=whole("groups", groups))


def LayerNorm() -> Layer:
    """Normalisation within one example."""
    return Layer("layer_norm")


def Dropout(rate: Real) -> Layer:
    """Leaves out numbers at random, in training."""
    return Layer("dropout", rate=float(rate))


def Flatten() -> Layer:
    """An image as a list of features."""
    return Layer("flatten")


def Relu() -> Layer:
    """max(x, 0)."""
    return Layer("relu")


def Tanh() -> Layer:
    """tanh(x)."""
    return Layer("tanh")


def Sigmoid() -> Layer:
    """1 / (1 + exp(-x))."""
    return Layer("sigmoid")


def Gelu() -> Layer:
    """x Φ(x)."""
    return Layer("gelu")


def Silu() -> Layer:
    """x / (1 + exp(-x))."""
    return Layer("silu")


class Sequential:
    """Layers one after the other.

    Parameters
    ----------
    *layers : Layer
        In order.
    image : tuple of int, optional
        The records are images of this shape: channels, height, width.
    """

    __slots__ = ("image", "layers")

    def __init__(self, *layers: Layer, image: tuple[int, int, int] | None = None) -> None:
        for layer in layers:
            if not isinstance(layer, Layer):
                raise DeclarationError(
                    f"Sequential takes layers of sordino.neural_network, got {type(layer).__name__}"
                )
        self.layers, self.image = layers, image

    @staticmethod
    def from_torch(module: Any, *, image: tuple[int, int, int] | None = None) -> Sequential:
        """The layers of a `torch.nn.Sequential`, without its weights. A layer without a counterpart is
        refused by name.

        Parameters
        ----------
        module : torch.nn.Sequential
            What to convert; torch need not be installed otherwise.
        image : tuple of int, optional
            The records are images of this shape: channels, height, width.
        """
        from ._torch import layers_of

        return Sequential(*layers_of(module), image=image)

    def to_toml(self, *, loss: str) -> str:
        """The description, as `sordino train --model FILE` reads it."""
        fields: dict[str, Any] = {"loss": loss}
        if self.image is not None:
            channels, height, width = (int(size) for size in self.image)
            fields["input"] = {"image": {"channels": channels, "height": height, "width": width}}
        fields["layers"] = [{"type": layer.kind, **layer.fields} for layer in self.layers]
        return _toml(fields)

    def __repr__(self) -> str:
        said = [repr(layer) for layer in self.layers]
        return f"Sequential({', '.join(said)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequential):
            return NotImplemented
        return self.layers == other.layers and self.image == other.image

    def __hash__(self) -> int:
        return hash((self.layers, self.image))


NetworkLike = Union[str, Sequential, Any]

_SETTINGS = (
    "hidden",
    "batch_size",
    "epochs",
    "steps",
    "learning_rate",
    "momentum",
    "clip_norm",
    "clipping",
    "l2",
)


class _Network(Learner):
    """What networks share."""

    network: Any
    image: Any
    _settings = _SETTINGS
    _loss: str

    def _asked(self) -> dict[str, Any]:
        asked = super()._asked()
        if isinstance(self.network, str):
            asked["model"] = self.network
            if self.image is not None:
                asked["image"] = "x".join(str(int(size)) for size in self.image)
        return asked

    def _network(self, features: int) -> str | None:
        if isinstance(self.network, str):
            return None
        described = self.network
        if not isinstance(described, Sequential):
            described = Sequential.from_torch(described, image=self.image)
        elif self.image is not None and described.image is None:
            described = Sequential(*described.layers, image=self.image)
        return described.to_toml(loss=self._loss)

    def export_weights(self, path: str | os.PathLike[str]) -> None:
        """Write the weights as safetensors, with PyTorch's names and shapes."""
        self._check_fitted()
        content = self._model.files().get("model.safetensors")
        if content is None:
            raise DeclarationError("this model has no weights file")
        with open(path, "xb") as file:
            file.write(content)


class Classifier(_Network, _Classifier):
    """A private neural network that predicts a class.

    Parameters
    ----------
    epsilon : float, default 1.0
        The price of one fit.
    network : str, Sequential or torch.nn.Sequential, default "mlp"
        A preset (softmax, mlp, cnn, tanh_cnn, cifar_cnn, resnet20), or a description.
    image : tuple of int, optional
        The records are images of this shape: channels, height, width.
    hidden : sequence of int, optional
        Widths of the layers of the preset `mlp`.
    batch_size, epochs, steps : int, optional
        The mean batch size, and the length of training.
    learning_rate, momentum, clip_norm, l2 : float, optional
        As in DP-SGD; the defaults follow from public numbers.
    clipping : str, optional
        How gradients are clipped: flat, automatic, adaptive, ...
    bounds, classes, schema, delta, neighbours, max_records, budget, checkpoint, threads
        As for `sordino.linear_model.LogisticRegression`.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, n_iter_, privacy_
        As for `sordino.linear_model.LogisticRegression`.

    Examples
    --------
    >>> import numpy, sordino
    >>> rng = numpy.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = (X[:, 0] * X[:, 1] > 0).astype(int)
    >>> net = sordino.neural_network.Classifier(epsilon=8.0, bounds=(-4, 4), classes=[0, 1], steps=100)
    >>> net.fit(X, y).privacy_.epsilon.upper <= 8.0
    True
    """

    _loss = "cross_entropy"

    def __init__(
        self,
        epsilon: Real = 1.0,
        *,
        network: NetworkLike = "mlp",
        image: Sequence[int] | None = None,
        hidden: Sequence[int] | None = None,
        delta: Real | None = None,
        bounds: BoundsLike | None = None,
        classes: Sequence[object] | str | None = None,
        schema: SchemaLike | None = None,
        batch_size: Whole | None = None,
        epochs: Whole | None = None,
        steps: Whole | None = None,
        learning_rate: Real | None = None,
        momentum: Real | None = None,
        clip_norm: Real | None = None,
        clipping: str | None = None,
        l2: Real | None = None,
        neighbours: str | None = None,
        max_records: Whole | None = None,
        budget: Payer | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        threads: Whole | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.network = network
        self.image = image
        self.hidden = hidden
        self.delta = delta
        self.bounds = bounds
        self.classes = classes
        self.schema = schema
        self.batch_size = batch_size
        self.epochs = epochs
        self.steps = steps
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.clip_norm = clip_norm
        self.clipping = clipping
        self.l2 = l2
        self.neighbours = neighbours
        self.max_records = max_records
        self.budget = budget
        self.checkpoint = checkpoint
        self.threads = threads


class Regressor(_Network, _Regressor):
    """A private neural network that predicts a number.

    Parameters
    ----------
    target_bounds : tuple of float
        Public limits of the number to predict.
    **others
        As for `Classifier`.

    Attributes
    ----------
    n_features_in_, feature_names_in_, n_iter_, privacy_
        As for `Classifier`.
    """

    _loss = "squared"

    def __init__(
        self,
        epsilon: Real = 1.0,
        *,
        network: NetworkLike = "mlp",
        image: Sequence[int] | None = None,
        hidden: Sequence[int] | None = None,
        delta: Real | None = None,
        bounds: BoundsLike | None = None,
        target_bounds: tuple[Real, Real] | None = None,
        schema: SchemaLike | None = None,
        batch_size: Whole | None = None,
        epochs: Whole | None = None,
        steps: Whole | None = None,
        learning_rate: Real | None = None,
        momentum: Real | None = None,
        clip_norm: Real | None = None,
        clipping: str | None = None,
        l2: Real | None = None,
        neighbours: str | None = None,
        max_records: Whole | None = None,
        budget: Payer | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        threads: Whole | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.network = network
        self.image = image
        self.hidden = hidden
        self.delta = delta
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.schema = schema
        self.batch_size = batch_size
        self.epochs = epochs
        self.steps = steps
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.clip_norm = clip_norm
        self.clipping = clipping
        self.l2 = l2
        self.neighbours = neighbours
        self.max_records = max_records
        self.budget = budget
        self.checkpoint = checkpoint
        self.threads = threads
