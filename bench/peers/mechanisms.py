"""Mechanisms of OpenDP (exact, cryptographic) and diffprivlib (floating point, one value at a time).

    mechanisms.py [--quick]

../src/bin/mechanisms.rs does work of the same names: nanoseconds for one released value. epsilon = 1, sensitivity 1.
"""

import sys
import warnings

import lines

lines.one_core()

import opendp.prelude as dp  # noqa: E402  (after the number of threads is set)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from diffprivlib import mechanisms as ibm  # noqa: E402

QUICK = "--quick" in sys.argv
# Both need microseconds for a value, so a shorter vector is enough.
LENGTH = 2_000 if QUICK else 20_000
CHOICES = 100 if QUICK else 1_000
CANDIDATES = 100
FILL = 0.05 if QUICK else 0.3
SCORES = [i % 17 for i in range(CANDIDATES)]


def nanoseconds(work, length):
    work()
    return lines.seconds(work, FILL)[1] / length * 1e9


def opendp():
    dp.enable_features("contrib", "honest-but-curious")
    for workload, kind, make in [
        ("laplace, 10^6 counts", "i64", lambda d: dp.m.make_laplace(d, dp.l1_distance(T="i64"), scale=1.0)),
        ("laplace, 10^6 real numbers", "f64", lambda d: dp.m.make_laplace(d, dp.l1_distance(T="f64"), scale=1.0)),
        ("gaussian, 10^6 real numbers", "f64", lambda d: dp.m.make_gaussian(d, dp.l2_distance(T="f64"), scale=4.22)),
    ]:
        atom = dp.atom_domain(T=kind) if kind == "i64" else dp.atom_domain(T=kind, nan=False)
        domain = dp.vector_domain(atom)
        values = [i % 1000 for i in range(LENGTH)] if kind == "i64" else [float(i % 1000) for i in range(LENGTH)]
        # The time to convert a Python list is not counted.
        identity = dp.t.make_identity(domain, dp.symmetric_distance())
        lists = nanoseconds(lambda: identity(values), LENGTH)
        mechanism = make(domain)
        own = nanoseconds(lambda: mechanism(values), LENGTH) - lists
        lines.emit(workload, "opendp", "ns", own, values=LENGTH, exact=True, secure=True, list_conversion_ns=lists)
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    # Gumbel noise: the exponential mechanism.
    choice = dp.m.make_noisy_max(
        domain, dp.linf_distance(T="i64"), dp.zero_concentrated_divergence(), scale=2.0)
    # The time includes the call from Python: a list of 100 goes in, one number comes out.
    whole = nanoseconds(lambda: [choice(SCORES) for _ in range(CHOICES)], CHOICES)
    lines.emit("exponential, 100 candidates", "opendp", "ns", whole, values=CHOICES, exact=True, secure=True)


def diffprivlib():
    def each(mechanism, values):
        return lambda: [mechanism.randomise(value) for value in values]

    whole = [i % 1000 for i in range(LENGTH)]
    real = [float(i) for i in whole]
    config = dict(exact=False, secure=True)
    for workload, mechanism, values in [
        ("laplace, 10^6 counts", ibm.Geometric(epsilon=1, sensitivity=1), whole),
        ("laplace, 10^6 real numbers", ibm.Laplace(epsilon=1, sensitivity=1), real),
        ("gaussian, 10^6 real numbers", ibm.GaussianAnalytic(epsilon=1, delta=1e-6, sensitivity=1), real),
    ]:
        lines.emit(workload, "diffprivlib", "ns", nanoseconds(each(mechanism, values), LENGTH), values=LENGTH, **config)

    # The constructor takes the scores, so construction is part of a choice.
    def choose():
        return [ibm.Exponential(epsilon=1, sensitivity=1, utility=SCORES).randomise() for _ in range(CHOICES)]

    lines.emit("exponential, 100 candidates", "diffprivlib", "ns", nanoseconds(choose, CHOICES), values=CHOICES, **config)


opendp()
diffprivlib()
