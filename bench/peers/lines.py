"""Measurements as lines of JSON: {workload, system, metric, value, config}.

The Rust programs in ../src/bin print the same lines; `cargo xtask bench` puts them side by side.
"""

import json
import os
import statistics
import time


def one_core():
    """Limits this process to one core and one thread. Call it before numpy is imported."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"


def emit(workload, system, metric, value, **config):
    line = {"workload": workload, "system": system, "metric": metric, "value": value, "config": config}
    print(json.dumps(line), flush=True)


def seconds(work, at_least=0.0):
    """Calls `work` until `at_least` seconds have passed. Returns its result and the median seconds of one call."""
    taken, result = [], None
    begun = time.perf_counter()
    while not taken or time.perf_counter() - begun < at_least:
        start = time.perf_counter()
        result = work()
        taken.append(time.perf_counter() - start)
    return result, statistics.median(taken)
