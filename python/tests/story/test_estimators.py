"""Fits as people do them, and what must hold after each."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import sordino
from sordino.linear_model import LinearRegression, LogisticRegression
from sordino.neural_network import Classifier, Linear, Relu, Sequential

RNG = np.random.default_rng(11)
X = RNG.normal(size=(600, 2))
y = (X[:, 0] > 0).astype(int)
people = np.repeat(np.arange(200), 3)


def test_several_rows_of_one_person_are_protected_together() -> None:
    budget = sordino.Budget(3.0, unit="unit")
    model = LogisticRegression(2.0, bounds=(-4, 4), classes=[0, 1], max_records=2, budget=budget)
    assert model.fit(X, y, unit=people).privacy_.unit == "unit"
    with pytest.raises(sordino.DeclarationError, match="max_records="):
        LogisticRegression(bounds=(-4, 4), classes=[0, 1]).fit(X, y, unit=people)


def test_a_budget_for_people_pays_for_no_single_records() -> None:
    budget = sordino.Budget(3.0, unit="person")
    with pytest.raises(sordino.DeclarationError, match="the budget protects column `person`"):
        LogisticRegression(bounds=(-4, 4), classes=[0, 1], budget=budget).fit(X, y)
    with pytest.raises(sordino.DeclarationError, match="the budget protects column `person`"):
        sordino.mechanisms.discrete_laplace(3, epsilon=0.1, budget=budget)
    assert budget.spent == 0.0


def test_a_fit_that_fails_leaves_the_model_as_it_was() -> None:
    budget = sordino.Budget(1.0)
    model = LogisticRegression(1.0, bounds=(-4, 4), classes=[0, 1], budget=budget).fit(X, y)
    before, said = model.predict(X), model.privacy_
    with pytest.raises(sordino.BudgetError):
        model.set_params(classes=["a", "b"]).fit(X, np.where(y == 1, "a", "b"))
    assert (model.predict(X) == before).all() and model.privacy_ is said


def test_a_schema_finds_columns_by_name_and_never_by_place() -> None:
    pandas = pytest.importorskip("pandas")
    schema = {
        "columns": {
            "dose": {"kind": "number", "bounds": [-4, 4]},
            "age": {"kind": "number", "bounds": [-4, 4]},
            "ill": {"kind": "category", "values": ["0", "1"]},
        }
    }
    frame = pandas.DataFrame(X, columns=["age", "dose"])
    model = LogisticRegression(4.0, schema=schema).fit(frame, pandas.Series(y, name="ill"))
    assert model.classes_.tolist() == [0, 1] and model.score(frame, y) > 0.8
    with pytest.raises(sordino.DeclarationError, match="an array has no names"):
        LogisticRegression(schema=schema).fit(X, y)


def test_categories_of_a_type_are_public() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": X[:, 0], "sex": pandas.Categorical(np.where(X[:, 1] > 0, "f", "m"))})
    target = pandas.Series(pandas.Categorical(np.where(y == 1, "yes", "no"), categories=["no", "yes"]))
    model = LogisticRegression(2.0, bounds={"x": (-4, 4)}).fit(frame, target)
    assert model.classes_.tolist() == ["no", "yes"] and model.coef_.shape[0] == 1


def test_save_load_and_pickle_predict_the_same(tmp_path: Path) -> None:
    models = [
        LogisticRegression(1.0, bounds=(-4, 4), classes=[0, 1]).fit(X, y),
        LinearRegression(1.0, bounds=(-4, 4), target_bounds=(-8, 8)).fit(X, X[:, 0] * 2),
        Classifier(
            4.0, bounds=(-4, 4), classes=[0, 1], steps=20, network=Sequential(Linear(4), Relu(), Linear())
        ).fit(X, y),
    ]
    for place, model in enumerate(models):
        model.save(tmp_path / str(place))
        loaded = sordino.load(tmp_path / str(place))
        assert np.array_equal(loaded.predict(X).astype(float), model.predict(X).astype(float))
        assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
        assert not isinstance(loaded.privacy_, sordino.Guarantee)
        assert loaded.privacy_.to_json() == model.privacy_.to_json()
        assert "<html" in model.report()


def test_a_plan_costs_what_the_fit_costs() -> None:
    model = LogisticRegression(1.0, bounds=(-4, 4), classes=[0, 1])
    plan = model.plan(n=len(X), n_features=2)
    said = model.fit(X, y).privacy_
    assert plan.event == said.event and plan.epsilon.upper == said.epsilon.upper


def test_preprocessing_that_pays_says_so() -> None:
    budget = sordino.Budget(1.0)
    scaler = sordino.preprocessing.StandardScaler(bounds=(-4, 4), epsilon=0.9, budget=budget).fit(X)
    assert scaler.privacy_.metered and budget.spent > 0
    assert np.allclose(scaler.mean_, X.mean(axis=0), atol=0.5)
    assert sordino.preprocessing.MinMaxScaler(bounds=(-4, 4)).fit(X).privacy_.epsilon.upper == 0.0


def test_parents_and_children_draw_other_noise() -> None:
    import multiprocessing

    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        drawn = set(pool.map(_draw, range(8))) | {_draw(0)}
    assert len(drawn) == 9


def _draw(_: int) -> int:
    return sordino.mechanisms.discrete_laplace(0, epsilon=1e-9).value


def test_a_target_keeps_the_name_that_it_has(tmp_path: Path) -> None:
    import json

    import pandas as pd

    frame = pd.DataFrame({"age": [20.0, 40.0, 60.0, 80.0] * 20, "ill": ["no", "no", "yes", "yes"] * 20})
    model = sordino.linear_model.LogisticRegression(4.0, bounds=(0, 120), classes=["no", "yes"])
    model.fit(frame[["age"]], frame["ill"]).save(tmp_path / "named")
    assert json.loads((tmp_path / "named/encoding.json").read_text())["target"] == "ill"
    model.fit(frame[["age"]], frame["ill"].to_numpy()).save(tmp_path / "unnamed")
    assert json.loads((tmp_path / "unnamed/encoding.json").read_text())["target"] == "target"


def test_weights_of_records_are_refused_with_the_reason() -> None:
    model = sordino.linear_model.LogisticRegression(1.0, bounds=(0, 1), classes=[0, 1])
    with pytest.raises(TypeError, match="LogisticRegression.fit takes no sample_weight: a weight moves"):
        model.fit([[0.0], [1.0]], [0, 1], sample_weight=[1, 2])
