"""Accounting with dp_accounting's privacy-loss distributions.

    accounting.py [--quick] [--ends]

../src/bin/accounting.rs does work of the same names. `upper` is the library's answer (connect the dots, pessimistic).
With --ends its optimistic estimate (privacy buckets) is computed too, untimed; it does not change from round to round.
"""

import sys

import lines

lines.one_core()

import dp_accounting as dpa  # noqa: E402  (after the number of threads is set)
import numpy as np  # noqa: E402
from dp_accounting import pld, rdp  # noqa: E402
from dp_accounting.pld import privacy_loss_distribution as distribution  # noqa: E402

QUICK, ENDS = "--quick" in sys.argv, "--ends" in sys.argv
DELTA = 1e-5
# name: (noise multiplier, sampling rate, steps)
TRAINING = {
    "mnist": (1.1, 256 / 60000, 14062),
    "low noise": (0.7, 0.01, 10000),
    "high noise": (4.0, 0.05, 2000),
    "tiny noise": (0.5, 1e-3, 5000),
    "many steps": (1.0, 1e-4, 1_000_000),
}
# Of 20 000 records, samples of 150, with a noise of 2.5 clip norms.
FIXED, FIXED_NOISE, FIXED_STEPS = (20_000, 150), 2.5, [1, 600, 8000]
INTERVALS = [1e-3] if QUICK else [1e-3, 1e-4]


def training_event(noise, rate, steps):
    return dpa.SelfComposedDpEvent(dpa.PoissonSampledDpEvent(rate, dpa.GaussianDpEvent(noise)), steps)


def epsilon(event, delta, interval):
    accountant = pld.PLDAccountant(value_discretization_interval=interval)
    accountant.compose(event)
    return float(accountant.get_epsilon(delta))


def optimistic(noise, rate, steps, interval):
    one = distribution.from_gaussian_mechanism(
        noise, sampling_prob=rate, pessimistic_estimate=False, value_discretization_interval=interval,
        use_connect_dots=False,
    )
    return float(one.self_compose(steps).get_epsilon_for_delta(DELTA))


def training():
    for name, (noise, rate, steps) in list(TRAINING.items())[: 1 if QUICK else None]:
        # Its error grows with the number of steps: a million of them need a finer interval.
        for interval in INTERVALS if steps < 100_000 or QUICK else [1e-4, 1e-5]:
            event = training_event(noise, rate, steps)
            upper, taken = lines.seconds(lambda: epsilon(event, DELTA, interval))
            ends = {"upper": upper}
            if ENDS:
                ends["lower"] = optimistic(noise, rate, steps, interval)
            lines.emit(f"dp-sgd, {name}", f"dp_accounting {interval:g}", "s", taken, **ends)


def fixed_size():
    """Samples of fixed size: the library has a Rényi bound for them, and no loss distribution."""
    for steps in FIXED_STEPS[: 1 if QUICK else None]:
        # Its noise is relative to the sensitivity, which is two clip norms when a record is replaced.
        sample = dpa.SampledWithoutReplacementDpEvent(*FIXED, dpa.GaussianDpEvent(FIXED_NOISE / 2))

        def find():
            accountant = rdp.RdpAccountant(neighboring_relation=dpa.NeighboringRelation.REPLACE_ONE)
            accountant.compose(dpa.SelfComposedDpEvent(sample, steps))
            return float(accountant.get_epsilon(DELTA))

        upper, taken = lines.seconds(find)
        lines.emit(f"fixed size, {steps} steps", "dp_accounting rdp", "s", taken, upper=upper)


def mixture():
    events = [dpa.GaussianDpEvent(float(s)) for s in np.linspace(5, 50, 500)]
    events += [dpa.LaplaceDpEvent(float(b)) for b in np.linspace(10, 100, 200)]
    event = dpa.ComposedDpEvent(events)
    for interval in INTERVALS:
        upper, taken = lines.seconds(lambda: epsilon(event, 1e-6, interval))
        lines.emit("500 gaussians, 200 laplaces", f"dp_accounting {interval:g}", "s", taken, upper=upper)


def calibration():
    _, rate, steps = TRAINING["mnist"]
    for target in [2.93] if QUICK else [1.0, 2.93, 8.0]:
        def find():
            return float(dpa.calibrate_dp_mechanism(
                lambda: pld.PLDAccountant(value_discretization_interval=INTERVALS[0]),
                lambda noise: training_event(noise, rate, steps), target, DELTA,
                dpa.LowerEndpointAndGuess(0.3, 1.0), tol=1e-3))
        noise, taken = lines.seconds(find)
        lines.emit(f"calibrate, epsilon {target:g}", f"dp_accounting {INTERVALS[0]:g}", "s", taken,
                   noise_multiplier=noise, tolerance=1e-3)


training()
fixed_size()
mixture()
calibration()
