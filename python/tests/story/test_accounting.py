"""A person asks what a private computation costs."""

import pytest

import sordino
from sordino.accounting import Gaussian, epsilon


def test_the_readme_example_costs_what_the_command_says() -> None:
    training = Gaussian(noise_multiplier=1.1).poisson_sampled(256 / 60_000).repeated(14_062)
    cost = epsilon(training, delta=1e-5, neighbours="zero_out")
    assert 2.38153 == pytest.approx(cost.lower, abs=1e-5)
    assert 2.3817 == pytest.approx(cost.upper, abs=1e-5)
    assert cost.accountant == "pld"


def test_a_misspelled_relation_is_named_with_the_nearest_one() -> None:
    with pytest.raises(sordino.DeclarationError, match="did you mean `replace`"):
        epsilon(Gaussian(noise_multiplier=1.1), delta=1e-5, neighbours="replac")


def test_words_round_to_the_safe_side() -> None:
    said = sordino.Statement.from_json(
        """{"neighbours": "zero_out", "unit": "record", "epsilon": {"lower": 0.99999951, "upper": 1.0000004},
        "delta": 1e-6, "accountant": "pld", "event": {"type": "gaussian", "noise_multiplier": 5.0},
        "arithmetic": 0.0, "seeded": false, "metered": true}"""
    )
    assert str(said).startswith("ε <= 1.00001, ")
    assert "at most 1.00001, at least 0.999999<" in said._repr_html_()
