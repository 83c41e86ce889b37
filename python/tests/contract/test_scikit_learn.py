"""scikit-learn's own checks, seeded and unseeded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import sordino
from sordino.linear_model import HuberRegressor, LinearRegression, LinearSVC, LogisticRegression, Ridge

pytest.importorskip("sklearn")
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

# Fixed before the first run, one for each kind of estimator.
CLASSIFIER_EPSILON = 4.0
REGRESSOR_EPSILON = 4.0

ESTIMATORS = [
    LogisticRegression(CLASSIFIER_EPSILON, bounds=(-10, 10), classes="public"),
    LinearSVC(CLASSIFIER_EPSILON, bounds=(-10, 10), classes="public"),
    LinearRegression(REGRESSOR_EPSILON, bounds=(-10, 10), target_bounds=(-10, 10)),
    Ridge(REGRESSOR_EPSILON, bounds=(-10, 10), target_bounds=(-10, 10)),
    HuberRegressor(REGRESSOR_EPSILON, bounds=(-10, 10), target_bounds=(-10, 10)),
]


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    with sordino.danger.seeded(1), sordino.config_context(threads=1, progress="off"):
        yield


@parametrize_with_checks(ESTIMATORS)
def test_seeded(estimator: Any, check: Any) -> None:
    check(estimator)
