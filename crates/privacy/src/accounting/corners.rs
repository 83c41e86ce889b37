//! Corners in which an end was once false, or the answer took for ever. Exact values have fifty
//! digits behind them.

use super::{Accountant, Cost, delta, epsilon};
use crate::claim::Claim;
use crate::params::{Delta, Epsilon};

fn claim(neighbours: &str, event: &str) -> Claim {
    Claim::from_json(&format!(r#"{{"neighbours":"{neighbours}","event":{event}}}"#)).unwrap()
}

fn at_delta(neighbours: &str, event: &str, value: f64) -> Cost {
    epsilon(&claim(neighbours, event), Delta::new(value).unwrap(), Accountant::Auto).unwrap()
}

fn at_epsilon(neighbours: &str, event: &str, value: f64) -> Cost {
    delta(&claim(neighbours, event), Epsilon::new(value).unwrap(), Accountant::Auto).unwrap()
}

fn holds(found: &Cost, exact: f64, gap: f64) {
    assert!(found.bound.contains(exact), "{found:?} without {exact}");
    assert!(found.bound.relative_gap() <= gap, "{found:?} is wide");
}

/// The mass of large losses under Q underflowed, so that the lower end was above the truth and was
/// clamped to the upper one.
#[test]
fn losses_above_745() {
    let event = r#"{"type":"composed","events":[{"type":"gdp","mu":76.98},{"type":"pure","epsilon":0.005}]}"#;
    holds(&at_delta("add_remove", event, 1e-5), 3_290.298_274_146_188, 1e-9);
    let claim = claim("add_remove", event);
    let lattice = epsilon(&claim, Delta::new(1e-5).unwrap(), Accountant::Pld).unwrap();
    assert!(lattice.bound.contains(3_290.298_274_146_188), "{lattice:?}");
}

/// `ln(1 - q + q e^y)` lost its digits where q is next to 1 and y is negative.
#[test]
fn rates_next_to_one() {
    let gaussian = r#"{"type":"poisson_sampled","sampling_rate":0.999999999999,
        "event":{"type":"gaussian","noise_multiplier":0.2}}"#;
    holds(&at_epsilon("replace", gaussian, 30.0), 0.958_056_137_202_853_7, 1e-9);
    let laplace = r#"{"type":"poisson_sampled","sampling_rate":0.999999999999999,
        "event":{"type":"laplace","noise_multiplier":0.026717965159773434}}"#;
    holds(&at_delta("replace", laplace, 0.0), 71.913_406_163_264_71, 1e-13);
}

/// `2^53 ln(1 + (8 p - 1) / (1 - p))`, 8 p - 1 = 2^-52: 16/7 but for rounding.
#[test]
fn a_response_next_to_chance_very_often() {
    let event = r#"{"type":"repeated","count":9007199254740992,"event":{"type":"randomized_response",
        "categories":8,"truth_probability":0.12500000000000003}}"#;
    for accountant in Accountant::ALL {
        let found = epsilon(&claim("replace", event), Delta::new(0.0).unwrap(), accountant).unwrap();
        assert!(found.bound.upper >= 16.0 / 7.0 && found.bound.upper < 2.2858, "{accountant}: {found:?}");
    }
}

/// `r + 2 ln(1 - sqrt(delta (1 - e^-r)))`, which no accountant may undercut.
#[test]
fn one_choice_of_bounded_range() {
    for (range, delta, exact) in [
        ("100", 1e-12, 99.999_997_999_999),
        ("1e7", 1e-12, 9_999_999.999_998),
        ("1", 1e-6, 0.998_409_247_348_950_8),
        ("0.5", 1e-5, 0.496_028_847_773_127_17),
    ] {
        let event = format!(r#"{{"type":"exponential","epsilon":{range}}}"#);
        holds(&at_delta("add_remove", &event, delta), exact, 1e-12);
        let claim = claim("add_remove", &event);
        for accountant in Accountant::ALL {
            let found = epsilon(&claim, Delta::new(delta).unwrap(), accountant).unwrap();
            assert!(found.bound.upper >= exact * (1.0 - 1e-15), "{range} by {accountant}: {found:?}");
        }
    }
}

/// Enumerated: the worst pair of losses t and t - r on a fine grid of t never costs more than the
/// closed form, and nearly as much. P of the upper loss is `(e^r - e^t) / (e^r - 1)`.
#[test]
fn no_choice_of_bounded_range_costs_more() {
    for (range, epsilon) in [(1.0f64, 0.3f64), (3.0, 2.0), (0.2, 0.0)] {
        let worst = (0..=20_000)
            .map(|i| range * f64::from(i) / 20_000.0)
            .map(|t| {
                let high = (range.exp() - t.exp()) / range.exp_m1();
                let gain = |loss: f64| (1.0 - (epsilon - loss).exp()).max(0.0);
                high * gain(t) + (1.0 - high) * gain(t - range)
            })
            .fold(0.0, f64::max);
        let event = format!(r#"{{"type":"exponential","epsilon":{range}}}"#);
        let found = at_epsilon("add_remove", &event, epsilon).bound;
        assert!(
            worst <= found.upper * (1.0 + 1e-12) && worst > found.lower * (1.0 - 1e-6),
            "{worst} {found:?}"
        );
    }
}

/// A unit that is not drawn is safe: the lower end was ∞ where the truth is 0.
#[test]
fn samples_of_what_has_no_guarantee() {
    let poisson = r#"{"type":"poisson_sampled","sampling_rate":0.1,"event":{"type":"non_private"}}"#;
    assert_eq!(at_delta("add_remove", poisson, 0.2).bound.upper, 0.0);
    assert_eq!(at_delta("add_remove", poisson, 0.05).bound.lower, f64::INFINITY);
    holds(&at_epsilon("add_remove", poisson, 1.0), 0.1, 1e-9);
    holds(&at_epsilon("replace", poisson, 1.0), 0.1, 1e-9);
    for kind in ["sampled_without_replacement", "sampled_with_replacement"] {
        let fixed = format!(
            r#"{{"type":"{kind}","sample_size":10,"population":100,"event":{{"type":"non_private"}}}}"#
        );
        assert_eq!(at_delta("replace", &fixed, 0.2).bound.upper, 0.0, "{kind}");
        assert_eq!(at_delta("replace", &fixed, 0.05).bound.upper, f64::INFINITY, "{kind}");
    }
}

/// delta + (1 - delta) (e^e - e^eps) / (1 + e^e); the lower end left the first term out.
#[test]
fn certain_disclosure_counts_from_below_too() {
    let event = r#"{"type":"approximate","epsilon":0.5,"delta":0.005}"#;
    let exact = 0.005 + 0.995 * (0.5f64.exp() - 0.45f64.exp()) / (1.0 + 0.5f64.exp());
    holds(&at_epsilon("add_remove", event, 0.45), exact, 1e-9);
    assert_eq!(at_delta("add_remove", event, 0.004).bound.lower, f64::INFINITY);
}

/// A grid whose step had underflowed to 0 grew without end.
#[test]
fn reports_that_say_next_to_nothing() {
    for local in ["5e-324", "1e-300", "1e-12"] {
        let event = format!(
            r#"{{"type":"shuffled_reports","reports":1000,"event":{{"type":"pure","epsilon":{local}}}}}"#
        );
        assert!(at_delta("replace", &event, 1e-6).bound.upper <= 1e-12);
    }
}
