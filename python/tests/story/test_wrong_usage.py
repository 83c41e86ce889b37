"""Twelve wrong usages, and what they say. None of them charges."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import sordino
from sordino.linear_model import LogisticRegression
from sordino.neural_network import Classifier, Layer, Sequential

RNG = np.random.default_rng(3)
X = RNG.normal(size=(200, 2))
y = (X[:, 0] > 0).astype(int)


@pytest.fixture
def budget() -> Iterator[sordino.Budget]:
    made = sordino.Budget(1.0)
    yield made
    assert made.spent == 0.0


def test_no_bounds(budget: sordino.Budget) -> None:
    with pytest.raises(sordino.BoundsError, match=r"state bounds=\(lower, upper\)"):
        LogisticRegression(classes=[0, 1], budget=budget).fit(X, y)


def test_no_classes(budget: sordino.Budget) -> None:
    with pytest.raises(sordino.ClassesError, match=r"state classes=\[...\]"):
        LogisticRegression(bounds=(-4, 4), budget=budget).fit(X, y)


def test_one_class(budget: sordino.Budget) -> None:
    with pytest.raises(sordino.ClassesError, match="at least two classes, got 1 class"):
        LogisticRegression(bounds=(-4, 4), classes=[0], budget=budget).fit(X, y)


def test_an_undeclared_class(budget: sordino.Budget) -> None:
    with pytest.raises(sordino.ClassesError, match="not among classes="):
        LogisticRegression(bounds=(-4, 4), classes=[0, 2], budget=budget).fit(X, y)


def test_missing_values(budget: sordino.Budget) -> None:
    holes = X.copy()
    holes[3, 1] = np.nan
    with pytest.raises(sordino.DeclarationError, match="contains NaN.*Nothing was charged"):
        LogisticRegression(bounds=(-4, 4), classes=[0, 1], budget=budget).fit(holes, y)


def test_epsilon_as_text(budget: sordino.Budget) -> None:
    with pytest.raises(sordino.DeclarationError, match="epsilon must be a number, got text"):
        LogisticRegression("1.0", bounds=(-4, 4), classes=[0, 1], budget=budget).fit(X, y)  # type: ignore[arg-type]


def test_delta_and_relation_stated_twice(budget: sordino.Budget) -> None:
    with pytest.raises(
        sordino.DeclarationError, match="delta is stated twice: 1e-05 by .* 1e-06 by the budget"
    ):
        LogisticRegression(bounds=(-4, 4), classes=[0, 1], delta=1e-5, budget=budget).fit(X, y)
    with pytest.raises(sordino.DeclarationError, match="neighbours is stated twice"):
        LogisticRegression(bounds=(-4, 4), classes=[0, 1], neighbours="replace", budget=budget).fit(X, y)


def test_more_than_the_budget_has(budget: sordino.Budget) -> None:
    with pytest.raises(sordino.BudgetError, match="left of 1 "):
        LogisticRegression(2.0, bounds=(-4, 4), classes=[0, 1], budget=budget).fit(X, y)


def test_predict_before_fit() -> None:
    model = LogisticRegression(bounds=(-4, 4), classes=[0, 1])
    with pytest.raises(sordino.NotFittedError, match="Call 'fit'"):
        model.predict(X)
    exceptions = pytest.importorskip("sklearn.exceptions")
    with pytest.raises(exceptions.NotFittedError):
        model.predict(X)


def test_other_columns_at_predict() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["age", "dose"])
    model = LogisticRegression(bounds=(-4, 4), classes=[0, 1]).fit(frame, y)
    with pytest.raises(sordino.DeclarationError, match="unseen at fit time:\n- weight"):
        model.predict(frame.rename(columns={"dose": "weight"}))
    with pytest.raises(
        sordino.DeclarationError, match="X has 1 features, but LogisticRegression is expecting 2"
    ):
        model.predict(X[:, :1])


def test_an_unknown_layer(budget: sordino.Budget) -> None:
    network = Sequential(Layer("linaer"))
    with pytest.raises(sordino.DeclarationError, match="did you mean `linear`"):
        Classifier(network=network, bounds=(-4, 4), classes=[0, 1], budget=budget).fit(X, y)


def test_a_layer_of_torch_that_mixes_records() -> None:
    batch_norm = type("BatchNorm1d", (), {})()
    network = type("Sequential", (list,), {})([batch_norm])
    with pytest.raises(sordino.DeclarationError, match="layer 0 of the network is a BatchNorm1d.*LayerNorm"):
        Sequential.from_torch(network)


@pytest.mark.parametrize("name", ["random_state", "sample_weight"])
def test_parameters_of_others(name: str) -> None:
    with pytest.raises(TypeError, match=f"takes no {name}: "):
        LogisticRegression(**{name: 0})  # type: ignore[arg-type]


def test_a_scaler_that_learns_for_free() -> None:
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    pipeline = pytest.importorskip("sklearn.pipeline")
    model = LogisticRegression(bounds=(-4, 4), classes=[0, 1])
    with pytest.raises(sordino.NotPrivateError, match="StandardScaler.*sordino.preprocessing.StandardScaler"):
        sordino.make_pipeline(preprocessing.StandardScaler(), model)
    fitted = pipeline.make_pipeline(preprocessing.StandardScaler(), model).fit(X, y)
    with pytest.warns(sordino.NotPrivateWarning, match=r"step `standardscaler` \(StandardScaler\) learns"):
        said = sordino.guarantee(fitted)
    assert said.event.type == "non_private" and not said.holds()


def test_a_private_pipeline_promises_the_sum_of_its_steps() -> None:
    pytest.importorskip("sklearn")
    from sklearn.preprocessing import Normalizer

    scaler = sordino.preprocessing.StandardScaler(bounds=(-4, 4), epsilon=0.5)
    model = LogisticRegression(1.0, bounds=(-8, 8), classes=[0, 1])
    fitted = sordino.make_pipeline(scaler, Normalizer(), model).fit(X, y)
    said = sordino.guarantee(fitted)
    parts = [step.privacy_.epsilon.upper for _, step in fitted.steps if hasattr(step, "privacy_")]
    assert max(parts) < said.epsilon.upper <= sum(parts) * (1 + 1e-9)
    free = sordino.make_pipeline(sordino.preprocessing.MinMaxScaler(bounds=(-4, 4)), model).fit(X, y)
    assert sordino.guarantee(free) == free.steps[-1][1].privacy_
