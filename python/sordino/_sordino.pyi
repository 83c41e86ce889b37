"""
The native module. Private: import `sordino` instead.
"""

from _typeshed import Incomplete, SupportsGetItem
from os import PathLike
from pathlib import Path
from typing import Any, Final, SupportsFloat, SupportsIndex, final

__all__ = ["__version__", "FittedModel", "NativePayer", "Released", "Table", "above_threshold", "audit_counts", "audit_mechanism", "audit_one_run", "calibrate_noise", "calibrate_rate", "calibrate_split", "calibrate_steps", "choose", "counts", "delta", "discrete_gaussian", "discrete_laplace", "epsilon", "event", "explain", "fit", "ledger_create", "ledger_create_budget", "ledger_export", "ledger_grant", "ledger_link_values", "ledger_verify", "noise_of", "noisy_sum", "plan", "randomized_response", "schema", "schema_facts", "schema_template", "statement", "statement_words", "statistic", "together", "top_k"]

__version__: Final[str]
"""
The version of the package.
"""

@final
class FittedModel:
    """
    A model with everything that its directory holds. It has no data, no seed and no password.
    """
    def __repr__(self, /) -> str: ...
    @property
    def classes(self, /) -> list[str] | None:
        """
        The classes, if it predicts classes.
        """
    def coefficients(self, /) -> tuple[list[str], list[list[float]], list[float]] | None:
        """
        Names of coordinates, weights by score and coordinate, and intercepts by score, in the units
        of the columns; `None` for a network.
        """
    @property
    def features(self, /) -> list[str]:
        """
        The names of the columns that it needs, in order.
        """
    def file(self, /, name: str) -> str | None:
        """
        A text file of its directory, such as `report.html`, `card.md`, `run.json`,
        `configuration.toml` or `network.toml`; `None` if there is none.
        """
    def files(self, /) -> dict[str, bytes]:
        """
        The files of its directory, for a pickle.
        """
    @property
    def findings(self, /) -> list[str]:
        """
        What weakens the claim, if this process has fitted it.
        """
    @staticmethod
    def from_files(files: dict[str, SupportsGetItem[int, SupportsIndex]]) -> FittedModel:
        """
        A model from the files of its directory.
        """
    @property
    def guarantee(self, /) -> str:
        """
        Its guarantee, as JSON: a statement.
        """
    @property
    def kind(self, /) -> str:
        """
        What it is, for people.
        """
    @staticmethod
    def load(path: str | PathLike[str]) -> FittedModel:
        """
        Reads a directory that `save` or the command wrote.
        """
    @property
    def notes(self, /) -> list[str]:
        """
        Defaults that the user should know of, if this process has fitted it.
        """
    def predict(self, /, table: Table) -> Incomplete:
        """
        One prediction for each row: the index of a class, or a number in the target's unit.
        """
    def predict_proba(self, /, table: Table) -> Incomplete | None:
        """
        The probability of each class for each row; `None` if the model states none.
        """
    def save(self, /, path: str | PathLike[str]) -> None:
        """
        Writes the directory that `sordino predict` reads; it must not exist.
        """
    @property
    def schema(self, /) -> str:
        """
        The schema by which records are read, as TOML.
        """
    def scores(self, /, table: Table) -> Incomplete | None:
        """
        The scores of a linear model for each row, before they become a class; `None` for a network.
        """
    @property
    def steps(self, /) -> int | None:
        """
        The number of steps, if this process has fitted it in steps.
        """
    @property
    def target(self, /) -> str | None:
        """
        The name of the column that it predicts.
        """
    @property
    def weights(self, /) -> int:
        """
        The number of learned weights.
        """

@final
class NativePayer:
    """
    What pays for a release.
    """
    @staticmethod
    def account(path: str | PathLike[str], file: str | PathLike[str] | None, table: Table | None, schema: str | None, name: str | None, who: str | None) -> NativePayer:
        """
        The account of a data file, or of a table under its schema.
        """
    @staticmethod
    def budget(epsilon: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex, neighbours: str, unit: str, planned: bool, gaussian_filter: bool, set_aside: SupportsFloat | SupportsIndex) -> NativePayer:
        """
        A budget in memory.
        """
    def charge(self, /, event: str, what: str) -> None:
        """
        Pays for a release that is made elsewhere. In a ledger the charge stays reserved.
        """
    def gauge(self, /) -> tuple[float, float]:
        """
        What is used and what is left; of the analyst's share, if a ledger has given one.
        """
    @staticmethod
    def named(path: str | PathLike[str], name: str, who: str) -> NativePayer:
        """
        The account by its names alone, in another process of the same run.
        """
    def places(self, /) -> tuple[Path, str, str] | None:
        """
        Ledger, name and analyst of an account; none for a budget in memory.
        """
    def quote(self, /, event: str) -> float:
        """
        What an event would take of what is left. Charges nothing; fails as a charge would.
        """
    def spent(self, /) -> list[tuple[str, int]]:
        """
        Every event that was charged to a budget in memory, as JSON, and how often.
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

@final
class Table:
    """
    Columns in memory, by parts that stand side by side. Nothing is copied but texts of Python, and
    nothing of it is shown.
    """
    def __new__(cls, /, name: str = "the table") -> Table:
        """
        An empty table. `name` stands for it in messages.
        """
    def __repr__(self, /) -> str: ...
    def array(self, /, names: SupportsGetItem[int, str], array: Any) -> None:
        """
        Adds the columns of an array of one or two dimensions: numbers, booleans, or texts of fixed
        width.
        """
    def arrow(self, /, object: Any) -> None:
        """
        Adds the columns of an object with `__arrow_c_stream__` or `__arrow_c_array__`.
        """
    def codes(self, /, name: str, codes: Any, categories: SupportsGetItem[int, str]) -> None:
        """
        Adds a column of categories: codes, -1 for a missing value, and what they stand for.
        """
    @property
    def columns(self, /) -> list[tuple[str, str]]:
        """
        Name and type of each column: `number`, `boolean`, `text` or `other`.
        """
    def identity(self, /, schema: str) -> bytes:
        """
        The identity of the table under a schema: the same for equal values in memory and in every
        file format.
        """
    @property
    def rows(self, /) -> int:
        """
        The number of rows.
        """
    def sparse(self, /, names: SupportsGetItem[int, str], starts: Any, columns: Any, values: Any) -> None:
        """
        Adds the columns of compressed sparse rows.
        """
    def texts(self, /, name: str, values: SupportsGetItem[int, str | None]) -> None:
        """
        Adds a column of texts; `None` is a missing value.
        """

def above_threshold(answers: SupportsGetItem[int, SupportsIndex], threshold: SupportsIndex, epsilon: SupportsFloat | SupportsIndex, sensitivity: SupportsIndex, payer: NativePayer | None, neighbours: str | None, unit: str, seed: SupportsIndex | None) -> Released:
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

def choose(scores: SupportsGetItem[int, SupportsIndex], how: str, price: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex, sensitivity: SupportsIndex, monotone: bool, payer: NativePayer | None, neighbours: str | None, unit: str, seed: SupportsIndex | None) -> Released:
    """
    The index of a candidate with a high score, by one of the mechanisms that choose.
    """

def counts(values: SupportsGetItem[int, SupportsIndex], epsilon: SupportsFloat | SupportsIndex, sensitivity: SupportsIndex, one_moves: bool, payer: NativePayer | None, neighbours: str | None, unit: str, seed: SupportsIndex | None) -> Released:
    """
    Many integers at once, with discrete Laplace noise.
    """

def delta(event: str, epsilon: SupportsFloat | SupportsIndex, neighbours: str, accountant: str) -> tuple[float, float, str, float | None, str | None]:
    """
    The least delta at which an event costs an epsilon.
    """

def discrete_gaussian(value: SupportsIndex, rho: SupportsFloat | SupportsIndex | None, epsilon: SupportsFloat | SupportsIndex | None, delta: SupportsFloat | SupportsIndex, sensitivity: SupportsIndex, payer: NativePayer | None, neighbours: str | None, unit: str, seed: SupportsIndex | None) -> Released:
    """
    One integer, with discrete Gaussian noise: for ρ, or for (ε, δ).
    """

def discrete_laplace(value: SupportsIndex, epsilon: SupportsFloat | SupportsIndex, sensitivity: SupportsIndex, payer: NativePayer | None, neighbours: str | None, unit: str, seed: SupportsIndex | None) -> Released:
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

def fit(settings: str, table: Table | None = None, schema: str | None = None, network: str | None = None, payer: NativePayer | None = None, folder: str | PathLike[str] | None = None, resume: bool = False, progress: Any | None = None) -> FittedModel:
    """
    A model of a table, or of the file that `settings["data"]` names.

    `settings` is a JSON object of settings by name, `schema` is TOML, `network` a description in
    TOML. `progress` is called with the steps done, all steps, and ε so far or `None`.
    """

def ledger_create(path: str | PathLike[str]) -> None:
    """
    A new ledger in a new file.
    """

def ledger_create_budget(path: str | PathLike[str], file: str | PathLike[str] | None, table: Table | None, schema: str | None, name: str | None, who: str | None, epsilon: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex, neighbours: str, unit: str, planned: bool, gaussian_filter: bool, set_aside: SupportsFloat | SupportsIndex) -> str:
    """
    Gives a data set its budget, once and for all: a data file, or a table under its schema. Returns
    its name.
    """

def ledger_export(path: str | PathLike[str]) -> tuple[str, list[tuple[int, float, float]]]:
    """
    Everything that a ledger holds, as `sordino ledger export --json` has it, and the total of each
    data set.
    """

def ledger_grant(path: str | PathLike[str], name: str, to: str, epsilon: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex | None) -> None:
    """
    Gives an analyst a share of a data set's budget.
    """

def ledger_link_values(path: str | PathLike[str], name: str, table: Table, schema: str, who: str | None) -> None:
    """
    Lets a table in memory find the budget of the file that has the same values.
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

def noisy_sum(rows: Incomplete, noise: str, clip_norm: SupportsFloat | SupportsIndex, max_records: SupportsIndex, epsilon: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex, payer: NativePayer | None, neighbours: str | None, unit: str, seed: SupportsIndex | None) -> Released:
    """
    The sum of the rows of a matrix, each clipped: `noise` is `laplace`, `gaussian` or `k_norm`.
    """

def plan(settings: str, schema: str, network: str | None = None, payer: NativePayer | None = None) -> str:
    """
    What a fit would cost, without data: a JSON object. `settings["rows"]` states n.
    """

def randomized_response(category: SupportsIndex, categories: SupportsIndex, epsilon: SupportsFloat | SupportsIndex, payer: NativePayer | None, neighbours: str | None, unit: str, seed: SupportsIndex | None) -> Released:
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

def statistic(statistic: str, column: str, epsilon: SupportsFloat | SupportsIndex, schema: str, table: Table | None = None, data: str | PathLike[str] | None = None, edges: SupportsGetItem[int, SupportsFloat | SupportsIndex] | None = None, equals: str | None = None, at: SupportsFloat | SupportsIndex = 0.5, neighbours: str | None = None, payer: NativePayer | None = None, seed: SupportsIndex | None = None) -> tuple[str, float, str]:
    """
    One statistic of a column of a table, or of the file `data`: its value in JSON, its error with
    95 % confidence, and its guarantee in JSON.
    """

def together(first: str, second: str, planned: bool) -> str:
    """
    What two statements say together, at the sum of their deltas.

    If `planned`, the parameters of neither release were chosen by the result of the other, and the
    tightest accountant prices both. Otherwise the upper end is at least the sum of both prices: see
    `Release::after` in `sordino-privacy`.
    """

def top_k(scores: SupportsGetItem[int, SupportsIndex], k: SupportsIndex, epsilon: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex, sensitivity: SupportsIndex, monotone: bool, payer: NativePayer | None, neighbours: str | None, unit: str, seed: SupportsIndex | None) -> Released:
    """
    The indices of k candidates with high scores, ε for each choice.
    """
