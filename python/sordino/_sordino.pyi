"""
The native module. Private: import `sordino` instead.
"""

from _typeshed import Incomplete, SupportsGetItem, SupportsLenAndGetItem
from os import PathLike
from pathlib import Path
from typing import Any, Final, SupportsFloat, SupportsIndex, final

__all__ = ["__version__", "Account", "Budget", "Released", "above_threshold", "audit_counts", "audit_mechanism", "audit_one_run", "calibrate_noise", "calibrate_rate", "calibrate_split", "calibrate_steps", "choose", "counts", "delta", "discrete_gaussian", "discrete_laplace", "epsilon", "event", "explain", "ledger_create", "ledger_create_budget", "ledger_export", "ledger_file_identity", "ledger_grant", "ledger_verify", "noise_of", "noisy_sum", "randomized_response", "schema", "schema_facts", "schema_template", "statement", "statement_words", "together", "top_k"]

__version__: Final[str]
"""
The version of the package.
"""

@final
class Account:
    """
    One analyst's view of one data set's budget in a ledger.
    """
    def __new__(cls, /, path: str | PathLike[str], name: str, content: SupportsLenAndGetItem[SupportsIndex] | None, who: str | None) -> Account:
        """
        Opens the budget of the data set that has this name and this content. Without content, in
        another process of the same run, it is the content that the ledger has under the name.
        """
    def charge(self, /, event: str, what: str) -> None:
        """
        Pays for a release that is made elsewhere. The charge stays reserved.
        """
    def gauge(self, /) -> tuple[float, float]:
        """
        What is used and what is left, of the analyst's share if there is one.
        """
    def is_locked(self, /) -> bool:
        """
        Whether its owner has locked the data set.
        """
    def places(self, /) -> tuple[Path, str, str]:
        """
        Path, name and analyst: what opens it again.
        """
    def quote(self, /, event: str) -> float:
        """
        What an event would take of what is left. Charges nothing.
        """
    def terms(self, /) -> str:
        """
        The terms in JSON.
        """

@final
class Budget:
    """
    A budget in memory.
    """
    def __new__(cls, /, epsilon: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex, neighbours: str, unit: str, planned: bool, gaussian_filter: bool, set_aside: SupportsFloat | SupportsIndex) -> Budget: ...
    def charge(self, /, event: str) -> None:
        """
        Pays for a release that is made elsewhere.
        """
    def gauge(self, /) -> tuple[float, float]:
        """
        What is used and what is left.
        """
    def quote(self, /, event: str) -> float:
        """
        What an event would take of what is left. Charges nothing.
        """
    def spent(self, /) -> list[tuple[str, int]]:
        """
        Every event that was charged, as JSON, and how often.
        """
    def terms(self, /) -> str:
        """
        The terms in JSON.
        """

@final
class Released:
    """
    A value that has left the private side, with its guarantee.
    """
    def error(self, /, confidence: SupportsFloat | SupportsIndex) -> float | None:
        """
        What the noise exceeds with probability at most 1 - confidence; none for a mechanism without
        such a number.
        """
    @property
    def guarantee(self, /) -> str:
        """
        The guarantee in JSON.
        """
    @property
    def value(self, /) -> Any:
        """
        The noisy value.
        """

def above_threshold(answers: SupportsGetItem[int, SupportsIndex], threshold: SupportsIndex, epsilon: SupportsFloat | SupportsIndex, sensitivity: SupportsIndex, payer: Budget | Account | None, neighbours: str | None, unit: str, seed: SupportsIndex | None) -> Released:
    """
    The place of the first answer above a threshold, if there is any.
    """

def audit_counts(true_positives: SupportsIndex, positives: SupportsIndex, false_positives: SupportsIndex, negatives: SupportsIndex, delta: SupportsFloat | SupportsIndex, confidence: SupportsFloat | SupportsIndex) -> float:
    """
    The lower bound on ε that the counts of a test certify.
    """

def audit_mechanism(mechanism: Any, one: Any, two: Any, epsilon: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex, samples: SupportsIndex, confidence: SupportsFloat | SupportsIndex) -> tuple[bool, float, float, float, str]:
    """
    Audits a callable of one argument on two neighbouring inputs. One thread: Python code takes
    turns.
    """

def audit_one_run(canaries: SupportsIndex, guesses: SupportsIndex, correct: SupportsIndex, delta: SupportsFloat | SupportsIndex, confidence: SupportsFloat | SupportsIndex) -> float:
    """
    The lower bound on ε that one run with canaries certifies.
    """

def calibrate_noise(epsilon: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex, neighbours: str, sampling_rate: SupportsFloat | SupportsIndex, steps: SupportsIndex) -> tuple[float, float, float, str, str | None]:
    """
    The least noise multiplier for Gaussian noise on Poisson samples.
    """

def calibrate_rate(epsilon: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex, neighbours: str, noise_multiplier: SupportsFloat | SupportsIndex, steps: SupportsIndex) -> tuple[float, float, float, str, str | None]:
    """
    The largest sampling rate.
    """

def calibrate_split(epsilon: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex, neighbours: str, shares: SupportsGetItem[int, SupportsFloat | SupportsIndex]) -> tuple[list[float], float, float, str, str | None]:
    """
    Parts of a budget in proportion to shares.
    """

def calibrate_steps(epsilon: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex, neighbours: str, noise_multiplier: SupportsFloat | SupportsIndex, sampling_rate: SupportsFloat | SupportsIndex) -> tuple[int, float, float, str, str | None]:
    """
    The most steps.
    """

def choose(scores: SupportsGetItem[int, SupportsIndex], how: str, price: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex, sensitivity: SupportsIndex, monotone: bool, payer: Budget | Account | None, neighbours: str | None, unit: str, seed: SupportsIndex | None) -> Released:
    """
    The index of a candidate with a high score, by one of the mechanisms that choose.
    """

def counts(values: SupportsGetItem[int, SupportsIndex], epsilon: SupportsFloat | SupportsIndex, sensitivity: SupportsIndex, one_moves: bool, payer: Budget | Account | None, neighbours: str | None, unit: str, seed: SupportsIndex | None) -> Released:
    """
    Many integers at once, with discrete Laplace noise.
    """

def delta(event: str, epsilon: SupportsFloat | SupportsIndex, neighbours: str, accountant: str) -> tuple[float, float, str, float | None, str | None]:
    """
    The least delta at which an event costs an epsilon.
    """

def discrete_gaussian(value: SupportsIndex, rho: SupportsFloat | SupportsIndex | None, epsilon: SupportsFloat | SupportsIndex | None, delta: SupportsFloat | SupportsIndex, sensitivity: SupportsIndex, payer: Budget | Account | None, neighbours: str | None, unit: str, seed: SupportsIndex | None) -> Released:
    """
    One integer, with discrete Gaussian noise: for ρ, or for (ε, δ).
    """

def discrete_laplace(value: SupportsIndex, epsilon: SupportsFloat | SupportsIndex, sensitivity: SupportsIndex, payer: Budget | Account | None, neighbours: str | None, unit: str, seed: SupportsIndex | None) -> Released:
    """
    One integer, with discrete Laplace noise.
    """

def epsilon(event: str, delta: SupportsFloat | SupportsIndex, neighbours: str, accountant: str) -> tuple[float, float, str, float | None, str | None]:
    """
    What an event costs at a delta.
    """

def event(json: str) -> str:
    """
    Reads an event, or a claim, and writes its event in the one normal form.
    """

def explain(event: str | None, epsilon: SupportsFloat | SupportsIndex | None, delta: SupportsFloat | SupportsIndex, neighbours: str, unit: str | None, people: SupportsIndex | None, group: SupportsIndex | None) -> tuple[str, list[str], str]:
    """
    What a promise means: numbers as JSON, paragraphs, and the trade-off curve as an SVG.

    The promise is an event at a delta, or, without an event, a pair of epsilon and delta.
    """

def ledger_create(path: str | PathLike[str]) -> None:
    """
    A new ledger in a new file.
    """

def ledger_create_budget(path: str | PathLike[str], name: str, content: SupportsLenAndGetItem[SupportsIndex], file: str | PathLike[str] | None, schema: str | None, who: str | None, epsilon: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex, neighbours: str, unit: str, planned: bool, gaussian_filter: bool, set_aside: SupportsFloat | SupportsIndex) -> None:
    """
    Gives a data set its budget, once and for all. `file` fixes the format of a data file; an array
    has none.
    """

def ledger_export(path: str | PathLike[str]) -> tuple[str, list[tuple[int, float, float]]]:
    """
    Everything that a ledger holds, as `sordino ledger export --json` has it, and the total of each
    data set.
    """

def ledger_file_identity(data: str | PathLike[str], name: str | None) -> tuple[str, bytes]:
    """
    The name and the content of a data file.
    """

def ledger_grant(path: str | PathLike[str], name: str, to: str, epsilon: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex | None) -> None:
    """
    Gives an analyst a share of a data set's budget.
    """

def ledger_verify(path: str | PathLike[str], known: str | None) -> str:
    """
    Reads every entry again; returns the last one's number and hash.
    """

def noise_of(epsilon: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex, neighbours: str, event: Any) -> tuple[float, float, float, str, str | None]:
    """
    The least noise multiplier z with which the event that `event(z)` names costs at most epsilon.
    `event` is asked with the interpreter's lock; the accountant works without it.
    """

def noisy_sum(rows: Incomplete, noise: str, clip_norm: SupportsFloat | SupportsIndex, max_records: SupportsIndex, epsilon: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex, payer: Budget | Account | None, neighbours: str | None, unit: str, seed: SupportsIndex | None) -> Released:
    """
    The sum of the rows of a matrix, each clipped: `noise` is `laplace`, `gaussian` or `k_norm`.
    """

def randomized_response(category: SupportsIndex, categories: SupportsIndex, epsilon: SupportsFloat | SupportsIndex, payer: Budget | Account | None, neighbours: str | None, unit: str, seed: SupportsIndex | None) -> Released:
    """
    One person's own category, before it leaves them. Under `replace`.
    """

def schema(toml: str) -> tuple[str, bytes]:
    """
    Checks a schema and writes it in the one normal form, with its digest.
    """

def schema_facts(toml: str) -> tuple[list[tuple[str, str, tuple[float, float] | None, list[str] | None]], str | None]:
    """
    The columns of a schema, in its order, and the column and the limit of its unit.
    """

def schema_template(data: str | PathLike[str]) -> str:
    """
    A template from the header of a data file alone.
    """

def statement(json: str) -> str:
    """
    Reads a statement and writes it in the one normal form.
    """

def statement_words(json: str) -> str:
    """
    A statement in one line.
    """

def together(first: str, second: str, planned: bool) -> str:
    """
    What two statements say together, at the sum of their deltas.

    If `planned`, the parameters of neither release were chosen by the result of the other, and the
    tightest accountant prices both. Otherwise the upper end is at least the sum of both prices: see
    `Release::after` in `sordino-privacy`.
    """

def top_k(scores: SupportsGetItem[int, SupportsIndex], k: SupportsIndex, epsilon: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex, sensitivity: SupportsIndex, monotone: bool, payer: Budget | Account | None, neighbours: str | None, unit: str, seed: SupportsIndex | None) -> Released:
    """
    The indices of k candidates with high scores, ε for each choice.
    """
