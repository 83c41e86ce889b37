"""Long fits: progress, Ctrl-C and forks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from sordino import _inputs
from sordino._sordino import fit

SCHEMA = """
columns."x*" = { kind = "number", bounds = [-1, 1] }
columns.target = { kind = "category", values = ["0", "1"] }
"""
X = np.random.default_rng(1).uniform(-1, 1, size=(2000, 4))
Y = (X[:, 0] > 0).astype(int)
#: Far more steps than anybody waits for.
ENDLESS = {"target": "target", "epsilon": 1.0, "method": "sgd", "batch_size": 200, "steps": 3_000_000}


def test_progress_says_steps_and_epsilon_and_nothing_else() -> None:
    calls: list[tuple[int, int, float | None]] = []
    settings = {"target": "target", "epsilon": 1.0, "method": "sgd", "batch_size": 1000, "steps": 5000}
    fit(json.dumps(settings), _inputs.read(X, Y).table, SCHEMA, progress=lambda *args: calls.append(args))
    assert calls[-1][:2] == (5000, 5000)
    assert calls[-1][2] is not None and 0 < calls[-1][2] <= 1.0
    assert [step for step, *_ in calls] == sorted({step for step, *_ in calls})


def test_a_progress_function_that_fails_stops_the_fit() -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough") as error:
        fit(json.dumps(ENDLESS), _inputs.read(X, Y).table, SCHEMA, progress=fails)
    assert any("stopped after" in note or "interrupted" in note for note in error.value.__notes__)


def test_ctrl_c_ends_a_fit_and_says_that_the_charge_stays() -> None:
    started = threading.Event()
    sent: list[float] = []

    def interrupt() -> None:
        started.wait()
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt, match="interrupted|stopped after"):
        fit(json.dumps(ENDLESS), _inputs.read(X, Y).table, SCHEMA, progress=lambda *_: started.set())
    # Far below what the fit would take. How far is measured elsewhere.
    assert time.monotonic() - sent[0] < 60


def test_a_forked_child_draws_other_noise_and_does_not_hang() -> None:
    program = """
import json, os, numpy as np
from sordino import _inputs
from sordino._sordino import fit
X = np.linspace(-1, 1, 4000).reshape(1000, 4)
y = (X[:, 0] > 0).astype(int)
schema = (
    'columns."x*" = { kind = "number", bounds = [-1, 1] }\\n'
    'columns.target = { kind = "category", values = ["0", "1"] }'
)
settings = json.dumps({"target": "target", "epsilon": 1.0, "steps": 5})
def weights():
    model = fit(settings, _inputs.read(X, y).table, schema)
    return repr(model.coefficients()[1])
weights()
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    os.write(writer, weights().encode())
    os._exit(0)
mine = weights()
os.waitpid(child, 0)
theirs = os.read(reader, 1 << 16).decode()
assert theirs and theirs != mine, (theirs, mine)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)
