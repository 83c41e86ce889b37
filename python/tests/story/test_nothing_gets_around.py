"""Ways around a budget or a promise that somebody tried."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import sordino
from sordino import preprocessing
from sordino.linear_model import LinearRegression, LogisticRegression

RNG = np.random.default_rng(5)
X = RNG.uniform(size=(200, 2))
y = (X[:, 0] > 0.5).astype(int)


def test_a_forked_process_cannot_spend_the_budget_again() -> None:
    budget = sordino.Budget(1.0, neighbours="add_remove")
    child = os.fork()
    if child == 0:
        try:
            sordino.mechanisms.discrete_laplace(5, epsilon=1.0, budget=budget)
        except sordino.BudgetError as error:
            os._exit(0 if "belongs to the process that made it" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    sordino.mechanisms.discrete_laplace(5, epsilon=1.0, budget=budget)


def test_a_step_that_keeps_the_records_is_not_free() -> None:
    process = pytest.importorskip("sklearn.gaussian_process").GaussianProcessRegressor
    function = pytest.importorskip("sklearn.preprocessing").FunctionTransformer
    for step in (process(), function(lambda rows: rows - rows.mean(0))):
        with pytest.raises(sordino.NotPrivateError, match="makes no promise"):
            sordino.make_pipeline(preprocessing.MinMaxScaler(bounds=(0, 1)), step)
    normal = pytest.importorskip("sklearn.preprocessing").Normalizer
    sordino.make_pipeline(normal(), LogisticRegression(1.0, bounds=(-1, 1), classes=[0, 1]))


def test_the_guarantee_of_one_model_is_its_own() -> None:
    model = LogisticRegression(1.0, bounds=(0, 1), classes=[0, 1]).fit(X, y)
    assert sordino.guarantee(model).epsilon == model.privacy_.epsilon


def test_a_limit_of_rows_needs_to_know_whose_they_are() -> None:
    with pytest.raises(sordino.DeclarationError, match="give fit unit="):
        LogisticRegression(1.0, bounds=(0, 1), classes=[0, 1], max_records=2).fit(X, y)


@pytest.mark.parametrize("name", ["MinMaxScaler", "StandardScaler", "KBinsDiscretizer", "SimpleImputer"])
def test_no_message_shows_a_value(name: str) -> None:
    secret = np.array([[1.0, "SECRET-4711"], [2.0, "x"]], dtype=object)
    made = {
        "MinMaxScaler": lambda: preprocessing.MinMaxScaler(bounds=(0, 1)),
        "StandardScaler": lambda: preprocessing.StandardScaler(bounds=(0, 1), epsilon=1.0),
        "KBinsDiscretizer": lambda: preprocessing.KBinsDiscretizer(bounds=(0, 1)),
        "SimpleImputer": lambda: preprocessing.SimpleImputer(fill_value=0.0),
    }[name]()
    with pytest.raises(Exception) as raised:
        made.fit(secret)
    assert "SECRET" not in str(raised.value) and raised.value.__cause__ is None
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


def test_no_message_of_a_sum_or_a_score_shows_a_value() -> None:
    with pytest.raises(sordino.DeclarationError) as raised:
        sordino.mechanisms.gaussian(
            [["SECRET"]], clip_norm=1.0, epsilon=1.0, delta=1e-6, neighbours="zero_out"
        )
    assert "SECRET" not in str(raised.value)
    model = LinearRegression(1.0, bounds=(0, 1), target_bounds=(0, 1)).fit(X, X[:, 0])
    with pytest.raises(sordino.DeclarationError) as raised:
        model.score(X, ["SECRET"] * len(X))
    assert "SECRET" not in str(raised.value)


def test_a_list_of_pairs_is_not_guessed() -> None:
    with pytest.raises(sordino.BoundsError, match="can be read in two ways"):
        LogisticRegression(1.0, bounds=[(0, 5), (10, 20)], classes=[0, 1]).fit(X, y)
    LogisticRegression(1.0, bounds=([0, 10], [5, 20]), classes=[0, 1]).fit(X, y)


def test_a_ledger_is_told_the_classes(tmp_path: Path) -> None:
    ledger = sordino.Ledger.create(tmp_path / "budgets.ledger")
    with pytest.raises(sordino.ClassesError, match="a sequence"):
        ledger.create_budget(X, y, name="people", epsilon=1.0, classes="public")
