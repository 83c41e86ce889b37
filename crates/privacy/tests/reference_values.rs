//! Every reference value is met: never below the truth, and within its tolerance above it.

use serde_json::Value;
use sordino_privacy::{
    Accountant, Claim, Count, Delta, Epsilon, Neighbours, NoiseMultiplier, SamplingRate, accounting,
    calibrate,
};

fn cases(text: &str) -> Vec<Value> {
    let file: Value = serde_json::from_str(text).unwrap();
    file["cases"].as_array().unwrap().clone()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn accounts_meet_every_reference_value() {
    let cases = cases(include_str!("reference/accounting.json"));
    assert!(cases.len() > 50);
    for case in cases {
        let claim = serde_json::json!({"neighbours": case["neighbours"], "event": case["event"]});
        let claim = Claim::from_json(&claim.to_string()).unwrap();
        let (answer, truth) = if case["delta"].is_null() {
            let epsilon = Epsilon::new(number(&case["epsilon"])).unwrap();
            (accounting::delta(&claim, epsilon, Accountant::Auto), &case["true_delta"])
        } else {
            let delta = Delta::new(number(&case["delta"])).unwrap();
            (accounting::epsilon(&claim, delta, Accountant::Auto), &case["true_epsilon"])
        };
        let bound = answer.unwrap().bound;
        let (least, most) = (number(&truth["at_least"]), number(&truth["at_most"]));
        let allowed =
            most * (1.0 + number(&case["relative_tolerance"])) + number(&case["absolute_tolerance"]);
        let name = &case["name"];
        assert!(bound.upper >= least, "{name}: {bound:?} promises more than {least}");
        assert!(bound.lower <= most, "{name}: {bound:?} begins above {most}");
        assert!(bound.upper <= allowed, "{name}: {bound:?} is looser than {allowed}");
    }
}

#[test]
fn calibration_meets_every_reference_value() {
    for case in cases(include_str!("reference/calibration.json")) {
        let found = calibrate::noise_multiplier(
            Epsilon::new(number(&case["epsilon"])).unwrap(),
            Delta::new(number(&case["delta"])).unwrap(),
            Neighbours::AddRemove,
            SamplingRate::new(number(&case["sampling_rate"])).unwrap(),
            Count::new(case["steps"].as_u64().unwrap()).unwrap(),
        );
        let (found, least) = (found.unwrap().value.get(), number(&case["least_noise_multiplier"]));
        assert!(found >= least - 1e-9 && found <= 1.001 * least, "{found} against {least}");
    }
}

/// Two-sided certified gaps of the usual training runs, and the values of two independent programs.
#[test]
fn training_runs_have_small_certified_gaps() {
    for (rate, sigma, steps, delta, dots, prv) in [
        (0.01, 1.0, 1000, 1e-5, 1.8282436456, (1.808116, 1.848380)),
        (0.05, 2.0, 500, 1e-5, 2.5320336133, (2.511885, 2.552196)),
        (0.001, 0.5, 1000, 1e-5, 3.2388806260, (3.218448, 3.259341)),
        (0.001, 0.5, 1000, 1e-6, 4.2350709651, (4.2146, 4.2551)),
        (256.0 / 60000.0, 1.1, 14062, 1e-5, 2.3816860022, (2.361463, 2.401752)),
        (0.01, 2.0, 2048, 1e-5, 0.911567808854, (0.8911, 0.9321)),
        (0.08, 2.0, 256, 1e-5, 2.987979107971, (2.9675, 3.0085)),
        (0.64, 2.0, 32, 1e-5, 9.572030598319, (9.5515, 9.5925)),
    ] {
        let bound = training(rate, sigma, steps, delta);
        assert!(bound.relative_gap() < 1e-3, "{bound:?}");
        // Connect-the-dots on a lattice of 1e-4 is an upper bound of its own; PRV gives an
        // interval.
        assert!(bound.lower <= dots, "{bound:?} against {dots}");
        assert!(bound.upper >= prv.0 && bound.lower <= prv.1, "{bound:?} against {prv:?}");
    }
}

/// Shuffled batches are no Poisson samples: at these parameters one epoch costs at least 5.2.
#[test]
fn a_central_limit_is_no_bound() {
    let bound = training(0.001, 0.5, 1000, 1e-6);
    assert!(bound.lower > 4.0 * 0.976383775, "the central limit says 0.976, {bound:?} is certified");
}

#[test]
fn many_steps_and_extremes_have_valid_answers() {
    for (rate, sigma, steps, delta) in [
        (1e-4, 1.0, 1_000_000, 1e-5),
        (1e-9, 0.05, 1_000_000_000, 1e-18),
        (1e-9, 1.0, 1_000_000_000, 1e-18),
        (0.5, 0.05, 1_000_000_000, 1e-5),
        (1.0, 1e4, 1_000_000_000, 0.1),
        (1e-9, 1e4, 1, 0.1),
    ] {
        let bound = training(rate, sigma, steps, delta);
        assert!(bound.upper.is_finite() && bound.lower <= bound.upper, "{bound:?}");
        assert!(bound.relative_gap() < 1e-3, "{rate} {sigma} {steps} {delta}: {bound:?}");
    }
}

fn training(rate: f64, sigma: f64, steps: u64, delta: f64) -> sordino_privacy::Bound {
    let step = sordino_privacy::Event::gaussian(NoiseMultiplier::new(sigma).unwrap());
    let event = step.poisson_sampled(SamplingRate::new(rate).unwrap()).repeated(Count::new(steps).unwrap());
    let claim = Claim::new(Neighbours::AddRemove, event);
    accounting::epsilon(&claim, Delta::new(delta).unwrap(), Accountant::Auto).unwrap().bound
}
