"""Pipelines: what they promise as a whole, and models from files."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any

from . import _sordino
from ._guarantee import Statement
from .exceptions import DeclarationError, NotPrivateError, NotPrivateWarning, not_fitted

__all__ = ["guarantee", "load", "make_pipeline"]


def guarantee(pipeline: Any) -> Statement:
    """What a fitted pipeline promises: its steps together.

    Steps that learn nothing cost nothing. A step that learned from the data and makes no promise,
    such as a `StandardScaler` of scikit-learn, is named in a warning, and the answer is that nothing is
    promised: `non_private`, with an unbounded ε.

    Parameters
    ----------
    pipeline : sklearn.pipeline.Pipeline or estimator
        Fitted.

    Returns
    -------
    Statement
        All steps together. Their prices are added up, whether or not one step was chosen by the
        result of another.

    """
    found: Statement | None = None
    unpaid = False
    for name, step in _steps(pipeline):
        if step is None or step == "passthrough":
            continue
        said = getattr(step, "privacy_", None)
        if isinstance(said, Statement):
            if found is None or _is_free(found):
                found = said
            elif not _is_free(said):
                found = found.together_with(said)
        elif _learns(step) and not hasattr(type(step), "_parameters"):
            warnings.warn(_unpaid(name, step), NotPrivateWarning, stacklevel=2)
            unpaid = True
        elif hasattr(type(step), "_parameters") and said is None:
            raise not_fitted(f"step `{name}` is not fitted yet; fit the pipeline first")
    if found is None:
        raise NotPrivateError("no step of the pipeline has a guarantee: nothing in it is private")
    return _void(found) if unpaid else found


def make_pipeline(*steps: Any, memory: Any = None, verbose: bool = False) -> Any:
    """scikit-learn's `make_pipeline`, which refuses steps that learn without a guarantee.

    Parameters
    ----------
    *steps : estimator
        In order. Preprocessing of `sordino.preprocessing`, or steps that learn nothing.
    memory, verbose
        As in scikit-learn.

    Raises
    ------
    NotPrivateError
        If a step would learn from the data for free.
    """
    from sklearn.pipeline import make_pipeline as theirs  # type: ignore[import-untyped]

    for place, step in enumerate(steps):
        if step is None or step == "passthrough" or hasattr(type(step), "_parameters"):
            continue
        if _learns(step):
            raise NotPrivateError(_unpaid(str(place), step))
    return theirs(*steps, memory=memory, verbose=verbose)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` or the command wrote.

    Parameters
    ----------
    path : path
        The model's directory.

    Returns
    -------
    estimator
        Ready to predict. Its `privacy_` is a `Statement`: what the file says.
    """
    import numpy as np

    from . import linear_model, neural_network
    from ._learner import Learner

    model = _sordino.FittedModel.load(os.fspath(path))
    classes, coefficients = model.classes, model.coefficients()
    kind: type[Learner]
    if coefficients is None:
        kind = neural_network.Classifier if classes is not None else neural_network.Regressor
    else:
        kind = linear_model.LogisticRegression if classes is not None else linear_model.LinearRegression
    made = kind()
    made._model = model
    made.n_features_in_ = len(model.features)
    if sorted(model.features) != sorted(f"x{place}" for place in range(made.n_features_in_)):
        made.feature_names_in_ = np.asarray(model.features, dtype=object)
    if classes is not None:
        vars(made)["classes_"] = np.asarray(classes)
    made.n_iter_ = model.steps or 1
    made.privacy_ = Statement.from_json(model.guarantee)
    made._learned()
    return made


# Steps of scikit-learn that look at each record alone and keep nothing of it.
ROW_BY_ROW = ("AdditiveChi2Sampler", "Binarizer", "FeatureHasher", "HashingVectorizer", "Normalizer")


def _is_free(said: Statement) -> bool:
    return said.epsilon.upper == 0.0 and said.delta == 0.0


def _void(said: Statement) -> Statement:
    """The same statement about something that promises nothing."""
    fields = json.loads(said.to_json())
    fields |= {
        "epsilon": {"lower": None, "upper": None},
        "accountant": "non_private",
        "event": {"type": "non_private"},
    }
    return Statement.from_json(json.dumps(fields))


def _steps(pipeline: Any) -> list[tuple[str, Any]]:
    steps = getattr(pipeline, "steps", None)
    if isinstance(steps, list):
        return list(steps)
    if hasattr(pipeline, "fit"):
        return [(type(pipeline).__name__, pipeline)]
    raise DeclarationError(f"expected a pipeline or an estimator, got {type(pipeline).__name__}")


def _learns(step: Any) -> bool:
    """Whether a step of somebody else may learn from the data. Unknown: yes. scikit-learn's tag
    `requires_fit` does not tell: a Gaussian process has it off, and keeps the records."""
    kind = type(step)
    return kind.__module__.partition(".")[0] != "sklearn" or kind.__name__ not in ROW_BY_ROW


def _unpaid(name: str, step: Any) -> str:
    kind = type(step).__name__
    ours = {
        "StandardScaler": "sordino.preprocessing.StandardScaler, which takes bounds or pays",
        "MinMaxScaler": "sordino.preprocessing.MinMaxScaler, which takes bounds",
        "OneHotEncoder": "sordino.preprocessing.OneHotEncoder, which takes declared categories",
        "OrdinalEncoder": "sordino.preprocessing.OrdinalEncoder, which takes declared categories",
        "KBinsDiscretizer": "sordino.preprocessing.KBinsDiscretizer, which takes declared edges",
        "SimpleImputer": "sordino.preprocessing.SimpleImputer, which takes declared values",
    }
    instead = ours.get(kind, "a step that learns nothing, or one with a guarantee")
    return (
        f"step `{name}` ({kind}) learns from the data and makes no promise, so that the pipeline is not "
        f"private; use {instead}"
    )
