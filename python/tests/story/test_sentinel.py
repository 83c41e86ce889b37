"""A value of the training data occurs in no pickle, repr, log, traceback or error."""

from __future__ import annotations

import logging
import pickle
import struct
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sordino
from sordino.linear_model import LinearRegression, LogisticRegression
from sordino.neural_network import Classifier

NUMBER = 0.73219846552317
LABEL = "zugzwang-4711"
RNG = np.random.default_rng(5)
X = RNG.normal(size=(300, 2))
X[17, 1] = NUMBER
y = np.where(X[:, 0] > 0, "yes", "no").astype(object)


def traces(text: str | bytes) -> list[str]:
    """How the sentinels could be written."""
    data = text.encode() if isinstance(text, str) else text
    wanted = {
        "number": repr(NUMBER)[:10].encode(),
        "bits": struct.pack("<d", NUMBER),
        "bits, big": struct.pack(">d", NUMBER),
        "single": struct.pack("<f", NUMBER),
        "label": LABEL.encode(),
    }
    return [name for name, trace in wanted.items() if trace in data]


def test_the_scan_finds_a_leak() -> None:
    assert traces(repr(float(X[17, 1]))) == ["number"]
    assert traces(pickle.dumps(X)) == ["bits"]
    assert traces(pickle.dumps([LABEL])) == ["label"]


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(bounds=(-4, 4), classes=["no", "yes"]),
        LogisticRegression(bounds=(-4, 4), classes=["no", "yes"], method="objective-perturbation"),
        Classifier(bounds=(-4, 4), classes=["no", "yes"], steps=20),
    ],
)
def test_a_fitted_model_has_no_data(
    model: LogisticRegression, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        model.fit(X, y)
    model.save(tmp_path / "model")
    written = b"".join(
        path.read_bytes() for path in sorted((tmp_path / "model").rglob("*")) if path.is_file()
    )
    for text in (pickle.dumps(model), repr(model), str(model.privacy_), model.report(), caplog.text, written):
        assert traces(text) == []
    assert traces(repr(vars(model))) == []


def broken_label() -> None:
    labels = y.copy()
    labels[3] = LABEL
    LogisticRegression(bounds=(-4, 4), classes=["no", "yes"]).fit(X, labels)


def broken_number() -> None:
    holes = X.copy()
    holes[3, 0] = np.inf
    LogisticRegression(bounds=(-4, 4), classes=["no", "yes"]).fit(holes, y)


def text_among_numbers() -> None:
    mixed = X.astype(object)
    mixed[17, 0] = LABEL
    LogisticRegression(bounds=(-4, 4), classes=["no", "yes"]).fit(mixed, y)


def text_as_a_target() -> None:
    LinearRegression(bounds=(-4, 4), target_bounds=(0, 1)).fit(X, np.where(X[:, 0] > 0, LABEL, "no"))


def exhausted() -> None:
    model = LogisticRegression(5.0, bounds=(-4, 4), classes=["no", "yes"], budget=sordino.Budget(1.0))
    model.fit(X, y)


def wrong_mechanism() -> None:
    sordino.mechanisms.discrete_laplace(NUMBER, epsilon=1.0)  # type: ignore[arg-type]


def wrong_sum() -> None:
    sordino.mechanisms.laplace([NUMBER, np.nan], clip_norm=1, epsilon=1.0, neighbours="zero_out")


@pytest.mark.parametrize(
    "fails",
    [
        broken_label,
        broken_number,
        text_among_numbers,
        text_as_a_target,
        exhausted,
        wrong_mechanism,
        wrong_sum,
    ],
)
def test_errors_and_tracebacks_have_no_data(fails: Callable[[], None]) -> None:
    with pytest.raises(sordino.SordinoError) as caught:
        fails()
    shown = traceback.TracebackException.from_exception(caught.value, capture_locals=False)
    text = "".join(shown.format())
    # The lines of this file name the constants and not their values.
    assert traces(text) == []
    assert traces(str(caught.value)) == []
