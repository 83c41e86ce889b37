"""Noise of numpy (fast, in floating point, not cryptographic) and OpenDP (exact, cryptographic).

    noise.py [--quick]

../src/bin/noise.rs does work of the same names: nanoseconds for one draw in a whole vector.
"""

import sys

import lines

lines.one_core()

import numpy as np  # noqa: E402  (after the number of threads is set)
import opendp.prelude as dp  # noqa: E402

QUICK = "--quick" in sys.argv
SCALES = [1, 10] if QUICK else [1, 10, 2**10, 2**20, 2**30]
LENGTH = 1_000_000
# OpenDP needs about 10 microseconds for a draw, so a shorter vector is enough.
OPENDP_LENGTH = 2_000 if QUICK else 20_000
FILL = 0.05 if QUICK else 0.2


def nanoseconds(work, length):
    work()
    return lines.seconds(work, FILL)[1] / length * 1e9


def numpy_noise():
    generator = np.random.default_rng()
    draws = {
        "gaussian": lambda: generator.standard_normal(LENGTH),
        "gaussian f32": lambda: generator.standard_normal(LENGTH, dtype=np.float32),
        "laplace": lambda: generator.laplace(0, 1, LENGTH),
    }
    for name, work in draws.items():
        workload = name.removesuffix(" f32")
        system = "numpy f32" if name.endswith("f32") else "numpy"
        lines.emit(workload, system, "ns", nanoseconds(work, LENGTH), draws=LENGTH, exact=False, secure=False)


def opendp_noise():
    dp.enable_features("contrib", "honest-but-curious")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    zeros = [0] * OPENDP_LENGTH
    identity = dp.t.make_identity(domain, dp.symmetric_distance())
    lists = nanoseconds(lambda: identity(zeros), OPENDP_LENGTH)
    makers = {
        "discrete laplace": lambda scale: dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale),
        "discrete gaussian": lambda scale: dp.m.make_gaussian(domain, dp.l2_distance(T="i64"), scale=scale),
    }
    for name, make in makers.items():
        for scale in SCALES:
            mechanism = make(float(scale))
            # The time to convert a Python list is not counted.
            own = nanoseconds(lambda: mechanism(zeros), OPENDP_LENGTH) - lists
            config = dict(draws=OPENDP_LENGTH, exact=True, secure=True, list_conversion_ns=lists)
            lines.emit(f"{name}, scale {scale}", "opendp", "ns", own, **config)


numpy_noise()
opendp_noise()
