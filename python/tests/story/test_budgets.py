"""A person has a budget for two fits and asks for five."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sordino
from sordino.linear_model import LogisticRegression

sklearn = pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

RNG = np.random.default_rng(7)
X = RNG.normal(size=(500, 3))
y = (X @ [1.0, -2.0, 0.5] > 0).astype(int)


# Pure fits, so that two of 0.4 fit into 1 and three do not.
def model(budget: Any) -> LogisticRegression:
    method = "output-perturbation"
    return LogisticRegression(0.4, bounds=(-4, 4), classes=[0, 1], method=method, budget=budget)


def granted(scores: Any) -> int:
    return int(np.isfinite(scores).sum())


def test_five_folds_on_a_budget_for_two() -> None:
    budget = sordino.Budget(1.0, 0.0)
    with pytest.warns(FitFailedWarning, match="3 fits failed"):
        scores = cross_val_score(model(budget), X, y, cv=5)
    assert granted(scores) == 2
    assert [times for _, times in budget.history()] == [2]
    assert budget.left == pytest.approx(0.2)


def test_through_a_pipeline_too() -> None:
    budget = sordino.Budget(1.0, 0.0)
    pipeline = make_pipeline(FunctionTransformer(), model(budget))
    with pytest.warns(FitFailedWarning, match="3 fits failed"):
        scores = cross_val_score(pipeline, X, y, cv=5)
    assert granted(scores) == 2 and budget.left == pytest.approx(0.2)


@pytest.fixture
def account(tmp_path: Path) -> sordino.Account:
    ledger = sordino.Ledger.create(tmp_path / "patients.ledger")
    ledger.create_budget(
        X, y, name="patients", epsilon=1.0, delta=0.0, bounds=(-4, 4), classes=[0, 1], who="ann"
    )
    return ledger.account(X, y, bounds=(-4, 4), classes=[0, 1], who="ann")


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_ledger_counts_two_in_every_process(account: sordino.Account, tmp_path: Path, jobs: int) -> None:
    with pytest.warns(FitFailedWarning, match="3 fits failed"):
        scores = cross_val_score(model(account), X, y, cv=5, n_jobs=jobs)
    ledger = sordino.Ledger(tmp_path / "patients.ledger")
    assert granted(scores) == 2
    assert [charge.state for charge in ledger.history()] == ["booked", "booked"]
    shown = ledger.show()[0]
    assert shown.charges == 2 and shown.left == pytest.approx(0.2)


def test_other_data_has_no_account(account: sordino.Account, tmp_path: Path) -> None:
    ledger = sordino.Ledger(tmp_path / "patients.ledger")
    with pytest.raises(sordino.SordinoError):
        ledger.account(X + 1.0, y, bounds=(-4, 4), classes=[0, 1], who="ann")


def test_copies_are_the_budget_itself(account: sordino.Account) -> None:
    budget = sordino.Budget(1.0)
    for payer in (budget, account):
        assert copy.copy(payer) is payer and copy.deepcopy(payer) is payer
        assert clone(model(payer)).budget is payer


def test_a_budget_is_not_pickled_and_an_account_is_by_its_names(account: sordino.Account) -> None:
    with pytest.raises(pickle.PicklingError, match="sordino.Ledger"):
        pickle.dumps(sordino.Budget(1.0))
    again = pickle.loads(pickle.dumps(account))
    assert (again.name, again.who, again.left) == ("patients", "ann", account.left)
    model(again).fit(X, y)
    assert account.left == pytest.approx(0.6)


def test_a_ledger_refuses_seeds(account: sordino.Account) -> None:
    with sordino.danger.seeded(1), pytest.raises(sordino.SordinoError, match="seed"):
        model(account).fit(X, y)
    assert account.left == 1.0


def test_the_fit_says_who_paid() -> None:
    budget = sordino.Budget(1.0, 0.0)
    assert model(budget).fit(X, y).privacy_.metered
    assert not model(None).fit(X, y).privacy_.metered


def test_together_is_a_statement_and_no_guarantee() -> None:
    said = model(None).fit(X, y).privacy_
    both = said.together_with(said)
    assert isinstance(said, sordino.Guarantee) and not isinstance(both, sordino.Guarantee)
    assert both.epsilon.upper >= 2 * said.epsilon.upper
    assert not isinstance(sordino.Statement.from_json(said.to_json()), sordino.Guarantee)
    assert not isinstance(pickle.loads(pickle.dumps(said)), sordino.Guarantee)
