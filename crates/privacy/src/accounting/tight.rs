//! Events that many people run: how tight their intervals are. No end may move the wrong way again.

use super::{Accountant, epsilon};
use crate::bound::Bound;
use crate::claim::Claim;
use crate::params::Delta;

fn at(neighbours: &str, event: &str, delta: f64) -> Bound {
    let claim = Claim::from_json(&format!(r#"{{"neighbours":"{neighbours}","event":{event}}}"#)).unwrap();
    epsilon(&claim, Delta::new(delta).unwrap(), Accountant::Auto).unwrap().bound
}

fn repeated(count: u64, event: &str) -> String {
    format!(r#"{{"type":"repeated","count":{count},"event":{event}}}"#)
}

/// One step is exact: `ln(1 + g (e^eps - 1))` with the Gaussian's eps at delta / g. Many lose up to
/// a quarter.
#[test]
fn samples_without_replacement() {
    let step = r#"{"type":"sampled_without_replacement","sample_size":150,"population":20000,
        "event":{"type":"gaussian","noise_multiplier":2.5}}"#;
    let one = at("replace", step, 1e-5);
    assert!(one.contains(0.065942778888) || (one.upper / 0.065942778888 - 1.0).abs() < 1e-9, "{one:?}");
    assert!(one.relative_gap() < 1e-9, "{one:?}");
    let many = at("replace", &repeated(600, step), 1e-5);
    assert!(many.upper < 0.8115 && many.lower > 0.6846, "{many:?}");
    let more = at("replace", &repeated(8000, step), 1e-5);
    assert!(more.upper < 3.366 && more.lower > 2.670, "{more:?}");
    let leaky = r#"{"type":"sampled_without_replacement","sample_size":100,"population":10000,
        "event":{"type":"approximate","epsilon":1,"delta":1e-6}}"#;
    assert!(at("replace", leaky, 1e-8).upper < 0.017_037);
}

#[test]
fn samples_with_replacement() {
    let step = r#"{"type":"sampled_with_replacement","sample_size":150,"population":1500,
        "event":{"type":"gaussian","noise_multiplier":4}}"#;
    let one = at("replace", step, 1e-5);
    assert!(one.upper < 0.4425 && one.relative_gap() < 1e-4, "{one:?}");
    let many = at("replace", &repeated(40, step), 1e-5);
    assert!(many.upper < 1.654 && many.lower > 1.558, "{many:?}");
}

/// Monte Carlo says 1.35 ± 0.02.
#[test]
fn balls_in_bins() {
    let epoch = r#"{"type":"balls_in_bins","bins":100,"epochs":1,"event":{"type":"gaussian",
        "noise_multiplier":0.8}}"#;
    let found = at("add_remove", epoch, 1e-5);
    assert!(found.upper < 1.38 && found.upper > 1.33, "{found:?}");
    assert_eq!(found, at("zero_out", epoch, 1e-5));
}

/// Poisson trials by one run's own profile: 1.8996 at fine orders. 647 selections that are
/// 0.3933-private each: below 97.4, which advanced composition of these bounds gives.
#[test]
fn selections() {
    let poisson = r#"{"type":"selected","trials":{"distribution":"poisson","mean":10},
        "event":{"type":"gaussian","noise_multiplier":4}}"#;
    let found = at("add_remove", poisson, 1e-5).upper;
    assert!(found <= 1.8997 && found > 1.85, "{found}");
    let many = repeated(
        647,
        r#"{"type":"selected","trials":{"distribution":"truncated_negative_binomial","shape":1.45,
        "gamma":0.016},"event":{"type":"group","size":3,"event":{"type":"pure","epsilon":0.038}}}"#,
    );
    assert!(at("add_remove", &many, 1e-5).upper < 90.0);
}

/// Twenty epochs of a hundred steps and 48 more: all nodes, and those that plain prefix sums read.
#[test]
fn trees() {
    let tree = |fields: &str| {
        let event = format!(
            r#"{{"type":"tree_aggregation","steps":2048,"participations":20,{fields}"noise_multiplier":50}}"#
        );
        at("add_remove", &event, 1e-5).upper
    };
    let (free, apart, read) =
        (tree(""), tree(r#""separation":100,"#), tree(r#""separation":100,"nodes":"read","#));
    assert!(read < apart && apart < free, "{read} {apart} {free}");
    // sqrt(952) / 50 and sqrt(797) / 50.
    let gaussian = |mu: f64| at("add_remove", &format!(r#"{{"type":"gdp","mu":{mu}}}"#), 1e-5).upper;
    assert!((apart / gaussian(952f64.sqrt() / 50.0) - 1.0).abs() < 1e-9);
    assert!((read / gaussian(797f64.sqrt() / 50.0) - 1.0).abs() < 1e-9);
}

/// Events whose steps are bounds from above only: a mechanism of each kind costs at least this part
/// of the upper end.
#[test]
fn lower_ends_of_instances() {
    let noise = r#"{"type":"gaussian","noise_multiplier":2}"#;
    for (neighbours, event, part) in [
        ("add_remove", format!(r#"{{"type":"balls_in_bins","bins":100,"epochs":1,"event":{noise}}}"#), 0.3),
        ("replace", format!(r#"{{"type":"balls_in_bins","bins":4,"epochs":2,"event":{noise}}}"#), 0.1),
        (
            "replace",
            r#"{"type":"shuffled_reports","reports":1000,"event":{"type":"pure","epsilon":1}}"#.to_owned(),
            0.7,
        ),
        (
            "replace",
            r#"{"type":"shuffled_reports","reports":1000,"event":{"type":"randomized_response",
            "categories":6,"truth_probability":0.4}}"#
                .to_owned(),
            0.2,
        ),
        ("replace", format!(r#"{{"type":"shuffled_reports","reports":1000,"event":{noise}}}"#), 0.02),
        (
            "add_remove",
            format!(
                r#"{{"type":"selected","trials":{{"distribution":"poisson","mean":10}},"event":{noise}}}"#
            ),
            0.3,
        ),
        (
            "add_remove",
            r#"{"type":"tree_aggregation","steps":2048,"participations":20,"separation":100,
            "noise_multiplier":50}"#
                .to_owned(),
            0.95,
        ),
        (
            "add_remove",
            r#"{"type":"toeplitz","steps":10000000,"bands":null,"participations":3,"separation":100,
            "noise_multiplier":5}"#
                .to_owned(),
            0.9,
        ),
        (
            "zero_out",
            format!(
                r#"{{"type":"poisson_sampled_truncated","sampling_rate":0.01,"population":10000,
                "max_batch":160,"event":{noise}}}"#
            ),
            0.99,
        ),
        ("replace", r#"{"type":"group","size":3,"event":{"type":"pure","epsilon":0.4}}"#.to_owned(), 0.95),
        (
            "zero_out",
            format!(
                r#"{{"type":"one_pass","records":50,"position":40,"step_size":0.1,"strong_convexity":0.5,
                "smoothness":1,"event":{noise}}}"#
            ),
            0.6,
        ),
    ] {
        let found = at(neighbours, &event, 1e-5);
        assert!(
            found.lower >= part * found.upper && found.upper.is_finite() && found.lower <= found.upper,
            "{event}: {found:?}"
        );
    }
}
