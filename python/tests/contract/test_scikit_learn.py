"""scikit-learn's own checks.

ε was fixed before the first run, one for each kind of estimator, and not changed after it. With a
seed everything passes but one score check: `check_regressors_train` wants R² > 0.5 on 200 rows. At
the ε and the bounds that were fixed, the medians of nine unseeded fits were 0.46 (LinearRegression),
0.50 (Ridge) and 0.43 (HuberRegressor), so it is listed as a failure. The columns of that data set are
standardised: with bounds of four deviations the same ε gives 0.78, 0.78 and 0.73, which the last test
shows. Those bounds were chosen after the failure.

Without a seed, the checks that demand two equal fits fail, as they must.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import sordino
from sordino.linear_model import HuberRegressor, LinearRegression, LinearSVC, LogisticRegression, Ridge
from sordino.neural_network import Classifier, Regressor
from sordino.preprocessing import KBinsDiscretizer, MinMaxScaler, StandardScaler

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

CLASSIFIER_EPSILON = 4.0
REGRESSOR_EPSILON = 4.0
TRANSFORMER_EPSILON = 4.0

WIDE = {"bounds": (-10, 10)}
CLASSIFIERS = [
    LogisticRegression(CLASSIFIER_EPSILON, classes="public", **WIDE),
    LinearSVC(CLASSIFIER_EPSILON, classes="public", **WIDE),
]
REGRESSORS = [
    LinearRegression(REGRESSOR_EPSILON, target_bounds=(-10, 10), **WIDE),
    Ridge(REGRESSOR_EPSILON, target_bounds=(-10, 10), **WIDE),
    HuberRegressor(REGRESSOR_EPSILON, target_bounds=(-10, 10), **WIDE),
]
NETWORKS = [
    Classifier(CLASSIFIER_EPSILON, classes="public", steps=50, hidden=[8], **WIDE),
    Regressor(REGRESSOR_EPSILON, target_bounds=(-10, 10), steps=50, hidden=[8], **WIDE),
]
TRANSFORMERS = [
    MinMaxScaler(**WIDE),
    StandardScaler(epsilon=TRANSFORMER_EPSILON, **WIDE),
    StandardScaler(mean=0.0, scale=1.0),
    KBinsDiscretizer(**WIDE),
]

# What compares two fits. Predicted classes may agree by luck, numbers do not.
TWO_EQUAL_FITS = {
    "check_classifier_data_not_an_array",
    "check_fit_idempotent",
    "check_pipeline_consistency",
    "check_regressor_data_not_an_array",
    "check_regressors_int",
    "check_supervised_y_2d",
    "check_transformer_data_not_an_array",
    "check_transformer_general",
}
SCORES = {"check_classifiers_train", "check_regressors_train"}


@pytest.fixture
def seeded() -> Iterator[None]:
    with sordino.danger.seeded(1), sordino.config_context(threads=1):
        yield


def listed(estimator: Any) -> dict[str, str]:
    """Score checks that fail at the ε that was fixed before, and checks of another class."""
    if isinstance(estimator, (*map(type, REGRESSORS), Regressor)):
        return {"check_regressors_train": "R² is near 0.45 at ε = 4 with bounds of ±10 on 200 rows"}
    if isinstance(estimator, StandardScaler):
        reason = "the check sets with_mean=, a parameter of scikit-learn's class of the same name"
        return {"check_estimator_sparse_array": reason, "check_estimator_sparse_matrix": reason}
    return {}


@pytest.mark.usefixtures("seeded")
@parametrize_with_checks(
    [*CLASSIFIERS, *REGRESSORS, *NETWORKS, *TRANSFORMERS], expected_failed_checks=listed, xfail_strict=True
)
def test_seeded(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.usefixtures("seeded")
@parametrize_with_checks(
    [clone(model).set_params(bounds=(-4, 4), target_bounds=(-4, 4)) for model in REGRESSORS]
)
def test_score_checks_pass_with_bounds_of_four_deviations(estimator: Any, check: Any) -> None:
    name = getattr(check, "func", check).__name__
    if name != "check_regressors_train":
        pytest.skip("run above")
    check(estimator)


@pytest.mark.parametrize(
    "estimator", [CLASSIFIERS[0], REGRESSORS[0], TRANSFORMERS[1]], ids=lambda e: type(e).__name__
)
def test_unseeded_only_equal_fits_fail(estimator: Any) -> None:
    results = check_estimator(clone(estimator), on_fail=None, on_skip=None)
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    assert failed <= TWO_EQUAL_FITS | SCORES | set(listed(estimator))
    # It compares numbers: fresh noise never repeats them.
    assert "check_fit_idempotent" in failed
