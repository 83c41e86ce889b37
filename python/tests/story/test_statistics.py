"""Private statistics: planned from declarations, charged before the data is read."""

from __future__ import annotations

import numpy as np
import pytest

import sordino
from sordino import statistics

AGES = np.array([31, 64, 25, 47] * 250)
WORDS = ["yes"] * 700 + ["no"] * 300


def test_each_statistic_is_near_the_truth_and_charged() -> None:
    budget = sordino.Budget(1000.0)
    common = {"epsilon": 50.0, "budget": budget}
    # At epsilon 50 on 1000 rows the noise of each is far below these margins.
    assert abs(statistics.count(AGES, **common).value - 1000) < 3
    assert abs(statistics.count(WORDS, equals="yes", **common).value - 700) < 3
    assert abs(statistics.sum(AGES, bounds=(0, 120), **common).value - 41_750) < 100
    assert abs(statistics.mean(AGES, bounds=(0, 120), **common).value - 41.75) < 0.5
    assert abs(statistics.variance(AGES, bounds=(0, 120), **common).value - AGES.var()) < 20
    assert 25 <= statistics.median(AGES, bounds=(0, 120), **common).value <= 48
    assert 47 <= statistics.quantile(AGES, 0.9, bounds=(0, 120), **common).value <= 65
    cells = statistics.histogram(AGES, edges=[0, 40, 80], **common).value
    assert [abs(times - 500) < 5 for times in cells.values()] == [True, True]
    cells = statistics.histogram(WORDS, values=["no", "yes"], **common).value
    assert set(cells) == {"no", "yes"} and abs(cells["no"] - 300) < 5
    counted = statistics.histogram(AGES, values=[25, 31, 47, 64], **common).value
    assert set(counted) == {25, 31, 47, 64}
    winner = statistics.mode(WORDS, values=["no", "yes"], **common)
    assert winner.value == "yes" and winner.privacy_.metered
    assert budget.spent > 500


def test_a_budget_for_two_refuses_the_third_and_a_missing_value_is_not_charged() -> None:
    budget = sordino.Budget(1.0)
    holed = AGES.astype(float)
    holed[7] = np.nan
    with pytest.raises(sordino.DeclarationError, match="row 8"):
        statistics.mean(holed, bounds=(0, 120), epsilon=0.5, budget=budget)
    assert budget.spent == 0
    for _ in range(2):
        statistics.mean(AGES, bounds=(0, 120), epsilon=0.5, budget=budget)
    with pytest.raises(sordino.BudgetError):
        statistics.mean(AGES, bounds=(0, 120), epsilon=0.5, budget=budget)


def test_units_count_a_limited_number_of_their_records() -> None:
    unit = np.repeat(np.arange(100), 10)
    answer = statistics.count(AGES, epsilon=50.0, unit=unit, max_records=2)
    assert abs(answer.value - 200) < 10
    assert answer.privacy_.unit == "unit"


def test_what_is_not_declared_is_asked_for() -> None:
    with pytest.raises(sordino.BoundsError, match="bounds are missing"):
        statistics.mean(AGES, epsilon=1.0)
    with pytest.raises(sordino.ClassesError, match="values are missing"):
        statistics.mode(WORDS, epsilon=1.0)
    with pytest.raises(sordino.DeclarationError, match="epsilon must be a number, got text"):
        statistics.mean(AGES, bounds=(0, 1), epsilon="1")  # type: ignore[arg-type]
    with pytest.raises(sordino.DeclarationError, match="belong together"):
        statistics.count(AGES, epsilon=1.0, max_records=2)


def test_a_file_is_read_by_its_schema(tmp_path) -> None:
    data = tmp_path / "ages.csv"
    data.write_text("age\n" + "\n".join(str(age) for age in AGES) + "\n")
    schema = {"columns": {"age": {"kind": "number", "bounds": [0, 120]}}}
    answer = statistics.mean(data, column="age", schema=schema, epsilon=50.0)
    assert abs(answer.value - 41.75) < 0.5 and not answer.privacy_.metered
    with sordino.danger.seeded(3):
        file = statistics.mean(data, column="age", schema=schema, epsilon=1.0)
        array = statistics.mean(AGES, bounds=(0, 120), epsilon=1.0)
    assert file.value == array.value and file.privacy_.seeded
