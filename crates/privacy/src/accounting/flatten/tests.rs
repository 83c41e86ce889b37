//! What each event becomes under each relation, and what has no meaning.

use super::*;
use crate::relation::Neighbours::{
    AddRemove, AddRemoveOrdered, Replace, ReplaceOrdered, ZeroOut, ZeroOutUnordered,
};

fn steps(neighbours: Neighbours, json: &str) -> Result<Vec<(Step, u64)>, AccountError> {
    let event = serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"));
    flatten(&Claim::new(neighbours, event)).map(|steps| steps.0)
}

fn one(neighbours: Neighbours, json: &str) -> Step {
    let mut all = steps(neighbours, json).unwrap_or_else(|error| panic!("{json}: {error}"));
    assert_eq!(all.len(), 1, "{json}");
    assert_eq!(all[0].1, 1, "{json}");
    all.remove(0).0
}

fn refusal(neighbours: Neighbours, json: &str) -> String {
    steps(neighbours, json).expect_err(json).to_string()
}

fn ball() -> Neighbours {
    serde_json::from_str(r#"{"metric_ball":{"p":2,"radius":1}}"#).unwrap()
}

const GAUSSIAN: &str = r#"{"type":"gaussian","noise_multiplier":4}"#;
const SIGMA: &str = r#"{"type":"gaussian","sigma":4,"sensitivity":3}"#;
const LAPLACE: &str = r#"{"type":"laplace","noise_multiplier":4}"#;

/// A clipped sum moves by twice the clip norm when a contribution is replaced; accounting that as
/// if it were added or removed understates every Rényi divergence, a mu²/2, by a factor of four.
#[test]
fn pitfall_04_replacing_doubles_the_distance_of_adding() {
    for absent in [AddRemove, AddRemoveOrdered, ZeroOut, ZeroOutUnordered] {
        assert_eq!(one(absent, GAUSSIAN), Step::Gaussian { mu: 0.25 });
        assert_eq!(one(absent, LAPLACE), Step::Laplace { epsilon: 0.25 });
    }
    for changed in [Replace, ReplaceOrdered] {
        assert_eq!(one(changed, GAUSSIAN), Step::Gaussian { mu: 0.5 });
        assert_eq!(one(changed, LAPLACE), Step::Laplace { epsilon: 0.5 });
    }
}

#[test]
fn a_stated_sensitivity_is_taken_as_it_is() {
    for neighbours in [AddRemove, ZeroOut, Replace, ball()] {
        assert_eq!(one(neighbours, SIGMA), Step::Gaussian { mu: 0.75 });
        assert_eq!(
            one(neighbours, r#"{"type":"laplace","scale":4,"sensitivity":2}"#),
            Step::Laplace { epsilon: 0.5 }
        );
    }
}

#[test]
fn stated_guarantees_are_taken_as_they_are() {
    for neighbours in [AddRemove, ZeroOut, Replace, ball()] {
        for (json, step) in [
            (r#"{"type":"pure","epsilon":0.5}"#, Step::Pure { epsilon: 0.5 }),
            (r#"{"type":"above_threshold","epsilon":0.5}"#, Step::Pure { epsilon: 0.5 }),
            (r#"{"type":"exponential","epsilon":0.5}"#, Step::BoundedRange { epsilon: 0.5 }),
            (
                r#"{"type":"approximate","epsilon":0.5,"delta":1e-7}"#,
                Step::Approximate { epsilon: 0.5, delta: 1e-7 },
            ),
            (r#"{"type":"zcdp","rho":0.1}"#, Step::Zcdp { rho: 0.1 }),
            (r#"{"type":"gdp","mu":0.5}"#, Step::Gaussian { mu: 0.5 }),
            (
                r#"{"type":"discrete_gaussian","sigma":4,"sensitivity":2}"#,
                Step::DiscreteGaussian { sigma: 4.0, shift: 2 },
            ),
            (
                r#"{"type":"discrete_laplace","scale":4,"sensitivity":2}"#,
                Step::DiscreteLaplace { scale: 4.0, shift: 2 },
            ),
            (r#"{"type":"non_private"}"#, Step::NonPrivate),
        ] {
            assert_eq!(one(neighbours, json), step);
        }
    }
}

#[test]
fn poisson_sampling_by_relation() {
    let sampled =
        |inner: &str| format!(r#"{{"type":"poisson_sampled","sampling_rate":0.01,"event":{inner}}}"#);
    let step = |sided, base| Step::Poisson { rate: 0.01, sided, base: Box::new(base) };
    for absent in [AddRemove, ZeroOut] {
        assert_eq!(one(absent, &sampled(GAUSSIAN)), step(Sided::One, Step::Gaussian { mu: 0.25 }));
        assert_eq!(one(absent, &sampled(SIGMA)), step(Sided::One, Step::Gaussian { mu: 0.75 }));
        let exponential = sampled(r#"{"type":"exponential","epsilon":0.5}"#);
        assert_eq!(one(absent, &exponential), step(Sided::One, Step::Pure { epsilon: 0.5 }));
    }
    // One contribution against none, on both sides.
    assert_eq!(one(Replace, &sampled(GAUSSIAN)), step(Sided::Two, Step::Gaussian { mu: 0.25 }));
    assert_eq!(one(Replace, &sampled(LAPLACE)), step(Sided::Two, Step::Laplace { epsilon: 0.25 }));
}

#[test]
fn a_sample_of_everyone_is_no_sample() {
    let all = format!(r#"{{"type":"poisson_sampled","sampling_rate":1,"event":{GAUSSIAN}}}"#);
    assert_eq!(one(AddRemove, &all), Step::Gaussian { mu: 0.25 });
    assert_eq!(one(Replace, &all), Step::Gaussian { mu: 0.5 });
    let fixed = format!(
        r#"{{"type":"sampled_without_replacement","sample_size":9,"population":9,"event":{GAUSSIAN}}}"#
    );
    assert_eq!(one(Replace, &fixed), Step::Gaussian { mu: 0.5 });
}

#[test]
fn rates_of_nested_samples_multiply() {
    let nested = format!(
        r#"{{"type":"poisson_sampled","sampling_rate":0.5,"event":{{"type":"poisson_sampled",
        "sampling_rate":0.25,"event":{GAUSSIAN}}}}}"#
    );
    let base = Box::new(Step::Gaussian { mu: 0.25 });
    assert_eq!(one(AddRemove, &nested), Step::Poisson { rate: 0.125, sided: Sided::One, base });
}

#[test]
fn gaussian_releases_of_one_sample_are_one() {
    let nine = format!(
        r#"{{"type":"poisson_sampled","sampling_rate":0.5,"event":{{"type":"repeated","count":9,
        "event":{GAUSSIAN}}}}}"#
    );
    let Step::Poisson { base, .. } = one(AddRemove, &nine) else { panic!("not sampled") };
    let Step::Gaussian { mu } = *base else { panic!("not Gaussian") };
    assert!((0.75..0.75 + 1e-14).contains(&mu), "{mu}");

    let mixed = format!(
        r#"{{"type":"poisson_sampled","sampling_rate":0.5,"event":{{"type":"composed",
        "events":[{GAUSSIAN},{LAPLACE}]}}}}"#
    );
    assert!(refusal(AddRemove, &mixed).contains("one sample serves several releases"));
    let single = format!(
        r#"{{"type":"poisson_sampled","sampling_rate":0.5,"event":{{"type":"composed",
        "events":[{{"type":"repeated","count":1,"event":{LAPLACE}}}]}}}}"#
    );
    assert!(matches!(
        one(AddRemove, &single),
        Step::Poisson { base, .. } if *base == Step::Laplace { epsilon: 0.25 }
    ));
}

#[test]
fn fixed_size_samples_need_replace() {
    let fixed = |inner: &str| {
        format!(r#"{{"type":"sampled_without_replacement","sample_size":2,"population":10,"event":{inner}}}"#)
    };
    let step = |base| Step::WithoutReplacement { sample: 2, population: 10, base: Box::new(base) };
    assert_eq!(one(Replace, &fixed(GAUSSIAN)), step(Step::Gaussian { mu: 0.5 }));
    assert_eq!(one(Replace, &fixed(SIGMA)), step(Step::Gaussian { mu: 0.75 }));
    for neighbours in [AddRemove, ZeroOut, ball()] {
        assert!(refusal(neighbours, &fixed(GAUSSIAN)).contains("claim it under replace"));
        let with = fixed(GAUSSIAN).replace("without", "with");
        assert!(refusal(neighbours, &with).contains("claim it under replace"));
    }
}

#[test]
fn what_has_no_meaning_is_refused_with_the_reason() {
    let poisson =
        |inner: &str| format!(r#"{{"type":"poisson_sampled","sampling_rate":0.01,"event":{inner}}}"#);
    let response = r#"{"type":"randomized_response","categories":2,"truth_probability":0.75}"#;
    for stated in [
        SIGMA,
        r#"{"type":"laplace","scale":4,"sensitivity":2}"#,
        r#"{"type":"pure","epsilon":0.5}"#,
        r#"{"type":"approximate","epsilon":0.5,"delta":1e-6}"#,
        r#"{"type":"exponential","epsilon":0.5}"#,
        r#"{"type":"gdp","mu":0.5}"#,
        r#"{"type":"above_threshold","epsilon":0.5}"#,
        r#"{"type":"discrete_gaussian","sigma":4,"sensitivity":2}"#,
        r#"{"type":"discrete_laplace","scale":4,"sensitivity":2}"#,
        response,
    ] {
        let error = refusal(Replace, &poisson(stated));
        assert!(error.contains("how far a record is from being absent"), "{stated}: {error}");
    }
    for neighbours in [AddRemove, ZeroOut, ball()] {
        assert!(refusal(neighbours, response).contains("claim it under replace"));
    }
    for json in [GAUSSIAN, LAPLACE] {
        assert!(refusal(ball(), json).contains("state the noise with its sensitivity"));
    }
    assert!(refusal(ball(), &poisson(GAUSSIAN)).contains("no records to sample"));
    let epochs = format!(r#"{{"type":"shuffled_epochs","epochs":3,"event":{SIGMA}}}"#);
    assert!(refusal(ball(), &epochs).contains("not units in batches"));
}

/// T = 16: a column's norm is 1.394230557389; four bands and four participations four apart,
/// 2.439902661993.
#[test]
fn correlated_noise_by_relation() {
    let json = |bands: &str, participations: u32, separation: &str| {
        format!(
            r#"{{"type":"toeplitz","steps":16,"bands":{bands},"participations":{participations},
            "separation":{separation},"noise_multiplier":5}}"#
        )
    };
    for (event, norm) in [(json("null", 1, "null"), 1.394230557389), (json("4", 4, "4"), 2.439902661993)] {
        let distance = |neighbours, event: &str| {
            let Step::Gaussian { mu } = one(neighbours, event) else { panic!("not Gaussian") };
            mu * 5.0 / norm
        };
        let group = format!(r#"{{"type":"group","size":3,"event":{event}}}"#);
        assert!((distance(AddRemove, &event) - 1.0).abs() < 1e-11);
        assert!((distance(ZeroOut, &event) - 1.0).abs() < 1e-11);
        assert!((distance(Replace, &event) - 2.0).abs() < 1e-11);
        assert!((distance(AddRemove, &group) - 3.0).abs() < 1e-11);
        assert!(refusal(ball(), &event).contains("a metric ball has no units"));
        let sampled = format!(r#"{{"type":"poisson_sampled","sampling_rate":0.1,"event":{event}}}"#);
        assert!(refusal(AddRemove, &sampled).contains("only a single noisy release can be sampled"));
    }
}

/// P[Bin(100, 0.1) > 20] = 8.0757e-4 and a fifth of it.
#[test]
fn batches_of_bounded_size_by_relation() {
    let json = |most: u32, inner: &str| {
        format!(
            r#"{{"type":"poisson_sampled_truncated","sampling_rate":0.1,"population":100,
            "max_batch":{most},"event":{inner}}}"#
        )
    };
    let poisson = |inner| format!(r#"{{"type":"poisson_sampled","sampling_rate":0.1,"event":{inner}}}"#);
    for neighbours in [ZeroOut, ZeroOutUnordered, Replace, ReplaceOrdered] {
        let found = steps(neighbours, &json(20, GAUSSIAN)).unwrap();
        let [(sampled, 1), (Step::Approximate { epsilon: 0.0, delta }, 1)] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!(*sampled, one(neighbours, &poisson(GAUSSIAN)));
        assert!((delta / 0.2 / 8.0756854e-4 - 1.0).abs() < 1e-5, "{delta}");
        // Nobody is sent away.
        assert_eq!(one(neighbours, &json(100, GAUSSIAN)), *sampled);
        assert_eq!(steps(neighbours, &json(20, SIGMA)).is_ok(), steps(neighbours, &poisson(SIGMA)).is_ok());
        let group = format!(r#"{{"type":"group","size":2,"event":{}}}"#, json(20, GAUSSIAN));
        assert_eq!(steps(neighbours, &group).unwrap().len(), 2);
    }
    for neighbours in [AddRemove, AddRemoveOrdered, ball()] {
        assert!(refusal(neighbours, &json(20, GAUSSIAN)).contains("must be public; claim it under"));
    }
    assert!(refusal(ZeroOut, &poisson(&json(20, GAUSSIAN))).contains("only a single noisy release"));
}

#[test]
fn what_no_accountant_bounds_is_refused_by_name() {
    for json in [
        r#"{"type":"poisson_sampled","sampling_rate":0.1,"event":{"type":"zcdp","rho":0.1}}"#,
        r#"{"type":"poisson_sampled","sampling_rate":0.1,"event":{"type":"renyi","orders":[2],
        "epsilons":[0.1]}}"#,
        r#"{"type":"poisson_sampled","sampling_rate":0.1,"event":{"type":"shuffled_epochs","epochs":2,
        "event":{"type":"pure","epsilon":1}}}"#,
        r#"{"type":"poisson_sampled","sampling_rate":0.1,"event":{"type":"composed",
        "events":[{"type":"zcdp","rho":0.1},{"type":"zcdp","rho":0.1}]}}"#,
    ] {
        assert!(matches!(steps(AddRemove, json), Err(AccountError::Unsupported { .. })), "{json}");
    }
    for (json, part) in [
        (
            r#"{"type":"shuffled_reports","reports":100,"event":{"type":"zcdp","rho":0.1}}"#,
            "that are pure, approximate or Gaussian",
        ),
        (
            r#"{"type":"sampled_with_replacement","sample_size":2,"population":9,
            "event":{"type":"discrete_laplace","scale":2,"sensitivity":1}}"#,
            "known group profiles",
        ),
        (
            r#"{"type":"group","size":2,"event":{"type":"sampled_with_replacement","sample_size":2,
            "population":9,"event":{"type":"pure","epsilon":1}}}"#,
            "for a group there is no bound",
        ),
        (
            r#"{"type":"group","size":2,"event":{"type":"shuffled_epochs","epochs":2,
            "event":{"type":"poisson_sampled","sampling_rate":0.1,"event":{"type":"gaussian",
            "noise_multiplier":1}}}}"#,
            "different batches",
        ),
    ] {
        let error = refusal(Replace, json);
        assert!(error.starts_with("no accountant can bound `") && error.contains(part), "{json}: {error}");
    }
}

#[test]
fn groups_by_release() {
    let group = |size: u32, inner: &str| format!(r#"{{"type":"group","size":{size},"event":{inner}}}"#);
    for (json, step) in [
        (GAUSSIAN, Step::Gaussian { mu: 0.75 }),
        (SIGMA, Step::Gaussian { mu: 2.25 }),
        (LAPLACE, Step::Laplace { epsilon: 0.75 }),
        (r#"{"type":"pure","epsilon":0.5}"#, Step::Pure { epsilon: 1.5 }),
        (r#"{"type":"exponential","epsilon":0.5}"#, Step::BoundedRange { epsilon: 1.5 }),
        (r#"{"type":"zcdp","rho":0.5}"#, Step::Zcdp { rho: 4.5 }),
        (r#"{"type":"gdp","mu":0.5}"#, Step::Gaussian { mu: 1.5 }),
        (
            r#"{"type":"discrete_gaussian","sigma":4,"sensitivity":2}"#,
            Step::DiscreteGaussian { sigma: 4.0, shift: 6 },
        ),
        (
            r#"{"type":"discrete_laplace","scale":4,"sensitivity":2}"#,
            Step::DiscreteLaplace { scale: 4.0, shift: 6 },
        ),
        (
            r#"{"type":"renyi","orders":[8],"epsilons":[0.1]}"#,
            Step::Group { size: 3, base: Box::new(Step::Renyi { orders: vec![8.0], epsilons: vec![0.1] }) },
        ),
    ] {
        assert_eq!(one(AddRemove, &group(3, json)), step);
    }
    let Step::Approximate { epsilon, delta } =
        one(AddRemove, &group(3, r#"{"type":"approximate","epsilon":0.5,"delta":1e-6}"#))
    else {
        panic!("not approximate")
    };
    assert!(epsilon == 1.5 && (delta / 5.367003099159e-6 - 1.0).abs() < 1e-11);
    let sampled = format!(r#"{{"type":"poisson_sampled","sampling_rate":0.01,"event":{GAUSSIAN}}}"#);
    let base = || Box::new(Step::Gaussian { mu: 0.25 });
    for (neighbours, sided) in [(AddRemove, Sided::One), (Replace, Sided::Two)] {
        let found = one(neighbours, &group(3, &sampled));
        assert_eq!(found, Step::PoissonGroup { size: 3, rate: 0.01, sided, base: base() });
        // Too large to write out: from the curve of one unit.
        assert!(matches!(one(neighbours, &group(1000, &sampled)), Step::Group { size: 1000, .. }));
    }
}

/// Groups of groups multiply, compositions distribute, and an epoch's batches share the group.
/// A third lies between two doubles; the lower one would be too little.
#[test]
fn quotients_are_rounded_up() {
    for noise in [3.0f64, 7.0, 0.3, 1.1, 49.0, 2.0] {
        let json = format!(r#"{{"type":"laplace","noise_multiplier":{noise}}}"#);
        let Step::Laplace { epsilon } = one(AddRemove, &json) else { panic!("{json}") };
        assert!(epsilon.mul_add(noise, -1.0) >= 0.0 && epsilon <= (1.0 / noise).next_up(), "{epsilon}");
    }
}

/// Three times 0.7 lies between two doubles; the lower one would be too little.
#[test]
fn groups_are_rounded_up() {
    for (epsilon, size) in [(0.7f64, 3u32), (0.009, 3), (0.1, 10), (0.1, 7)] {
        let json =
            format!(r#"{{"type":"group","size":{size},"event":{{"type":"pure","epsilon":{epsilon}}}}}"#);
        let Step::Pure { epsilon: found } = one(AddRemove, &json) else { panic!("{json}") };
        let k = f64::from(size);
        assert!(k.mul_add(epsilon, -found) <= 0.0 && found <= k * epsilon * (1.0 + 3e-16), "{found}");
    }
}

#[test]
fn groups_distribute_over_compositions() {
    let json = format!(
        r#"{{"type":"group","size":2,"event":{{"type":"composed","events":[
            {{"type":"repeated","count":5,"event":{GAUSSIAN}}},
            {{"type":"group","size":3,"event":{LAPLACE}}},
            {{"type":"shuffled_epochs","epochs":4,"event":{GAUSSIAN}}}]}}}}"#
    );
    assert_eq!(
        steps(ZeroOut, &json).unwrap(),
        vec![(Step::Gaussian { mu: 0.5 }, 9), (Step::Laplace { epsilon: 1.5 }, 1)]
    );
    assert!(refusal(ball(), &json).contains("not units in groups"));
    let inside = format!(
        r#"{{"type":"poisson_sampled","sampling_rate":0.5,"event":{{"type":"composed",
        "events":[{GAUSSIAN},{{"type":"group","size":2,"event":{GAUSSIAN}}}]}}}}"#
    );
    assert!(refusal(AddRemove, &inside).contains("group of sampled events"));
}

#[test]
fn secret_bins_cost_less_than_epochs() {
    let json = format!(r#"{{"type":"balls_in_bins","bins":100,"epochs":3,"event":{GAUSSIAN}}}"#);
    assert_eq!(steps(AddRemove, &json).unwrap(), vec![(Step::BallsInBins { bins: 100, mu: 0.25 }, 3)]);
    // A replaced unit has no theorem: as without secrecy.
    assert_eq!(steps(Replace, &json).unwrap(), vec![(Step::Gaussian { mu: 0.5 }, 3)]);
    assert!(refusal(ball(), &json).contains("not units in bins"));
    // Secret bins cost less.
    let at = |bins: &str| {
        let claim = Claim::new(AddRemove, serde_json::from_str(&json.replace("100", bins)).unwrap());
        let delta = crate::params::Delta::new(1e-5).unwrap();
        super::super::epsilon(&claim, delta, super::super::Accountant::Auto).unwrap().bound
    };
    assert!(
        at("100").lower > 0.0 && at("1").lower > at("100").upper && at("100").upper < 0.2 * at("1").upper
    );
    // A billion bins are not convolved: the cost is that of one bin, without amplification.
    assert_eq!(at("1000000000").upper, at("1").upper);
}

/// One step has mu = 1/4; a contraction by 0.9 lets 1000 of them cost sqrt(1.9/0.1) of it.
#[test]
fn only_the_last_iterate() {
    let json = |convexity: f64, inner: &str| {
        format!(
            r#"{{"type":"last_iterate","steps":1000,"step_size":0.1,"strong_convexity":{convexity},
            "smoothness":1,"event":{inner}}}"#
        )
    };
    let Step::Gaussian { mu } = one(AddRemove, &json(1.0, GAUSSIAN)) else { panic!("not Gaussian") };
    assert!((mu - 0.25 * 19f64.sqrt()).abs() < 1e-11, "{mu}");
    // Merely convex, or not Gaussian: every iterate is paid for.
    let Step::Gaussian { mu } = one(AddRemove, &json(0.0, GAUSSIAN)) else { panic!("not Gaussian") };
    assert!((mu - 0.25 * 1000f64.sqrt()).abs() < 1e-11, "{mu}");
    // So is a step that is only promised to be as private as a Gaussian.
    let promised = json(1.0, r#"{"type":"gdp","mu":0.25}"#);
    assert_eq!(steps(AddRemove, &promised).unwrap(), vec![(Step::Gaussian { mu: 0.25 }, 1000)]);
    assert_eq!(steps(AddRemove, &json(1.0, LAPLACE)).unwrap(), vec![(Step::Laplace { epsilon: 0.25 }, 1000)]);
    assert!(refusal(AddRemove, &json(2.0, GAUSSIAN)).contains("at most the smoothness"));
}

/// 4096 leaves: thirteen levels; 1000 leaves: ten. rho is the sum of squares over (2 z²).
#[test]
fn leaves_of_a_tree() {
    // Three leaves: 3 at the lowest level, 2² + 1² above it, 3² at the other eight.
    for (steps, squares, participations) in
        [(1000, 10.0f64, 1), (4096, 13.0, 1), (1, 1.0, 1), (1000, 80.0, 3)]
    {
        let json = format!(
            r#"{{"type":"tree_aggregation","steps":{steps},"participations":{participations},
            "noise_multiplier":10}}"#
        );
        for (neighbours, norms) in [(AddRemove, 1.0), (Replace, 2.0)] {
            let Step::Gaussian { mu } = one(neighbours, &json) else { panic!("not Gaussian") };
            let rho = 0.5 * mu * mu;
            let exact = squares / 200.0 * norms * norms;
            assert!((rho / exact - 1.0).abs() < 1e-12, "{rho} against {exact}");
        }
    }
}

/// In a tree over T leaves, no leaf lies in more complete nodes than T
/// has digits: counted node by node.
#[test]
fn nodes_above_a_leaf() {
    for leaves in 1u64..=70 {
        for leaf in 0..leaves {
            let complete = |level: u32| ((leaf >> level) + 1) << level <= leaves;
            let nodes = (0..7).filter(|level| complete(*level)).count() as u32;
            assert!(nodes <= u64::BITS - leaves.leading_zeros(), "leaf {leaf} of {leaves}");
        }
    }
}

#[test]
fn selections_and_shuffles() {
    let selected = format!(
        r#"{{"type":"selected","trials":{{"distribution":"poisson","mean":10}},
        "event":{{"type":"repeated","count":5,"event":{GAUSSIAN}}}}}"#
    );
    let Step::Selected { run, .. } = one(AddRemove, &selected) else { panic!("not selected") };
    assert_eq!(run.0, vec![(Step::Gaussian { mu: 0.25 }, 5)]);
    let grouped = format!(r#"{{"type":"group","size":2,"event":{selected}}}"#);
    let Step::Selected { run, .. } = one(AddRemove, &grouped) else { panic!("not selected") };
    assert_eq!(run.0, vec![(Step::Gaussian { mu: 0.5 }, 5)]);
    let reports = r#"{"type":"shuffled_reports","reports":100,"event":{"type":"pure","epsilon":1}}"#;
    assert_eq!(one(Replace, reports), Step::Shuffled { reports: 100, epsilon: 1.0 });
    assert!(refusal(AddRemove, reports).contains("claim it under replace"));
    let draws = r#"{"type":"sampled_with_replacement","sample_size":9,"population":5,
        "event":{"type":"pure","epsilon":1}}"#;
    assert!(matches!(one(Replace, draws), Step::WithReplacement { sample: 9, population: 5, .. }));
}

/// (d / sqrt(tau) + sqrt(tau) mu)² = 4 d mu at tau = d / mu. A pass of 100 with the record at place
/// 65 has 36 steps to make up for it: mu / 6.
#[test]
fn bounded_sets_and_single_passes() {
    let last = |diameter: &str, inner: &str| {
        format!(
            r#"{{"type":"last_iterate","steps":1000000,"step_size":0.1,"strong_convexity":0,
            "smoothness":1{diameter},"event":{inner}}}"#
        )
    };
    let mu = |neighbours, json: &str| {
        let Step::Gaussian { mu } = one(neighbours, json) else { panic!("not Gaussian: {json}") };
        mu
    };
    for (neighbours, norms) in [(AddRemove, 0.25f64), (Replace, 0.5)] {
        let within = mu(neighbours, &last(r#","diameter":16"#, GAUSSIAN));
        assert!((within - (4.0 * 16.0 * norms).sqrt()).abs() < 1e-10, "{within}");
        assert!((mu(neighbours, &last("", GAUSSIAN)) - 1000.0 * norms).abs() < 1e-8);
    }
    let pass = |position: u32, step_size: f64, inner: &str| {
        format!(
            r#"{{"type":"one_pass","records":100,"position":{position},"step_size":{step_size},
            "strong_convexity":0,"smoothness":1,"event":{inner}}}"#
        )
    };
    for neighbours in [ZeroOut, Replace] {
        let alone = mu(neighbours, GAUSSIAN);
        for (position, step_size, gain) in [(65, 0.1, 6.0), (100, 0.1, 1.0), (65, 3.0, 1.0)] {
            let found = mu(neighbours, &pass(position, step_size, GAUSSIAN));
            assert!((found * gain / alone - 1.0).abs() < 1e-11, "{position} {step_size}: {found}");
        }
        let group = format!(r#"{{"type":"group","size":3,"event":{}}}"#, pass(65, 0.1, GAUSSIAN));
        assert!((mu(neighbours, &group) / alone - 0.5).abs() < 1e-11);
        // Other noise gains nothing; each unit is in one step.
        assert_eq!(one(neighbours, &pass(65, 0.1, LAPLACE)), one(neighbours, LAPLACE));
    }
    for neighbours in [AddRemove, AddRemoveOrdered, ball()] {
        assert!(refusal(neighbours, &pass(65, 0.1, GAUSSIAN)).contains("to other places"));
    }
    let steep = r#"{"type":"one_pass","records":9,"position":1,"step_size":1,"strong_convexity":2,
        "smoothness":1,"event":{"type":"gaussian","noise_multiplier":1}}"#;
    assert!(refusal(ZeroOut, steep).contains("at most the smoothness"));
}

/// n d (1 - e^-eps) and a little; E[K] d.
#[test]
fn what_parts_may_disclose_is_a_release_of_its_own() {
    let local = r#"{"type":"composed","events":[{"type":"approximate","epsilon":0.5,"delta":1e-9},
        {"type":"pure","epsilon":0.5}]}"#;
    let found =
        steps(Replace, &format!(r#"{{"type":"shuffled_reports","reports":1001,"event":{local}}}"#)).unwrap();
    let [(Step::Shuffled { reports: 1001, epsilon }, 1), (Step::Approximate { epsilon: 0.0, delta }, 1)] =
        &found[..]
    else {
        panic!("{found:?}")
    };
    let lost = 1e-9 * (1.0 + 1000.0 * (1.0 - (-1f64).exp()));
    assert!((delta / lost - 1.0).abs() < 1e-12 && *epsilon > 1.0 && *epsilon < 1.0 + 2.0 * lost);
    let gaussian =
        steps(Replace, &format!(r#"{{"type":"shuffled_reports","reports":50,"event":{GAUSSIAN}}}"#)).unwrap();
    assert!(matches!(&gaussian[..], [(Step::Shuffled { .. }, 1), (Step::Approximate { .. }, 1)]));

    // A group of two: delta (1 + e^eps), as without shuffling.
    let leaky = r#"{"type":"approximate","epsilon":1,"delta":1e-9}"#;
    let group = |event: &str| format!(r#"{{"type":"group","size":2,"event":{event}}}"#);
    let reports = format!(r#"{{"type":"shuffled_reports","reports":1001,"event":{leaky}}}"#);
    assert_eq!(one(Replace, &group(&reports)), one(Replace, &group(leaky)));

    let sampled = format!(r#"{{"type":"poisson_sampled","sampling_rate":0.1,"event":{local}}}"#);
    assert!(refusal(AddRemove, &sampled).contains("one sample serves several releases"));
    let run = r#"{"type":"poisson_sampled","sampling_rate":0.1,
        "event":{"type":"approximate","epsilon":1,"delta":1e-9}}"#;
    let json =
        format!(r#"{{"type":"selected","trials":{{"distribution":"poisson","mean":7}},"event":{run}}}"#);
    let found = steps(AddRemove, &json).unwrap();
    let [(Step::Selected { run, .. }, 1), (Step::Approximate { epsilon: 0.0, delta }, 1)] = &found[..] else {
        panic!("{found:?}")
    };
    let [(Step::Pure { epsilon }, 1)] = run.0[..] else { panic!("{run:?}") };
    assert!((epsilon - (0.1 * 1f64.exp_m1()).ln_1p()).abs() < 1e-13);
    assert!((delta / 7e-10 - 1.0).abs() < 1e-12, "{delta}");
    let many = r#"{"type":"selected","trials":{"distribution":"poisson","mean":1e9},
        "event":{"type":"approximate","epsilon":1,"delta":1e-3}}"#;
    assert_eq!(steps(AddRemove, many).unwrap().last().unwrap().0, Step::NonPrivate);
}

#[test]
fn counts_multiply_and_equal_steps_are_grouped() {
    let json = format!(
        r#"{{"type":"composed","events":[
            {{"type":"repeated","count":5,"event":{{"type":"repeated","count":7,"event":{GAUSSIAN}}}}},
            {LAPLACE},
            {{"type":"shuffled_epochs","epochs":3,"event":{{"type":"composed","events":[{GAUSSIAN},
            {LAPLACE}]}}}},
            {{"type":"gaussian","sigma":4,"sensitivity":1}}
        ]}}"#
    );
    let expected = vec![(Step::Gaussian { mu: 0.25 }, 35 + 3 + 1), (Step::Laplace { epsilon: 0.25 }, 1 + 3)];
    assert_eq!(steps(ZeroOut, &json).unwrap(), expected);
}

#[test]
fn free_releases_leave_nothing() {
    for json in [
        r#"{"type":"composed","events":[]}"#,
        r#"{"type":"pure","epsilon":0}"#,
        r#"{"type":"approximate","epsilon":0,"delta":0}"#,
        r#"{"type":"gdp","mu":0}"#,
        r#"{"type":"zcdp","rho":0}"#,
        r#"{"type":"poisson_sampled","sampling_rate":0.5,"event":{"type":"pure","epsilon":0}}"#,
    ] {
        assert_eq!(steps(AddRemove, json).unwrap(), vec![], "{json}");
    }
    let guess = r#"{"type":"randomized_response","categories":2,"truth_probability":0.5}"#;
    assert_eq!(steps(Replace, guess).unwrap(), vec![]);
}

#[test]
fn quotients_out_of_range_are_neither_free_nor_infinite_numbers() {
    assert_eq!(one(AddRemove, r#"{"type":"gaussian","sigma":1e-300,"sensitivity":1e300}"#), Step::NonPrivate);
    assert_eq!(one(AddRemove, r#"{"type":"laplace","noise_multiplier":1e-320}"#), Step::NonPrivate);
    let tiny = one(AddRemove, r#"{"type":"gaussian","sigma":1e300,"sensitivity":1e-300}"#);
    assert_eq!(tiny, Step::Gaussian { mu: f64::MIN_POSITIVE });
}

#[test]
fn the_truth_told_is_no_privacy() {
    let json = r#"{"type":"randomized_response","categories":3,"truth_probability":1}"#;
    assert_eq!(one(Replace, json), Step::NonPrivate);
}

/// Half of all units are not drawn, and nothing is told about them: delta = 1/2 at every epsilon.
#[test]
fn whoever_is_not_drawn_is_safe_from_a_release_without_a_guarantee() {
    let sampled = r#"{"type":"poisson_sampled","sampling_rate":0.5,"event":{"type":"non_private"}}"#;
    let base = Box::new(Step::Approximate { epsilon: 0.0, delta: 1.0 });
    assert_eq!(one(AddRemove, sampled), Step::Poisson { rate: 0.5, sided: Sided::One, base });
    assert_eq!(one(Replace, sampled), Step::Approximate { epsilon: 0.0, delta: 0.5 });
    let all = r#"{"type":"poisson_sampled","sampling_rate":1,"event":{"type":"non_private"}}"#;
    assert_eq!(one(AddRemove, all), Step::NonPrivate);
}

#[test]
fn too_many_releases_are_refused() {
    let large = 1u64 << 30;
    let json = format!(
        r#"{{"type":"repeated","count":{large},"event":{{"type":"repeated","count":{large},
        "event":{GAUSSIAN}}}}}"#
    );
    assert!(refusal(AddRemove, &json).starts_with("the number of releases must be at most 9007199254740992"));
    let most = Count::MAX;
    let sum = format!(
        r#"{{"type":"composed","events":[{{"type":"repeated","count":{most},"event":{GAUSSIAN}}},
        {LAPLACE}]}}"#
    );
    assert!(refusal(AddRemove, &sum).starts_with("the number of releases"));
}

#[test]
fn events_nested_by_a_program_end_in_a_message() {
    let mut event: Event = serde_json::from_str(GAUSSIAN).unwrap();
    for _ in 0..1000 {
        event = event.repeated(Count::new(1).unwrap());
    }
    let error = flatten(&Claim::new(AddRemove, event)).unwrap_err();
    assert!(error.to_string().starts_with("the depth of nested events must be at most 128"), "{error}");
}

#[test]
fn a_million_events_are_grouped_in_one_pass() {
    let events = (0..1_000_000u32).map(|i| {
        let multiplier = 1.0 + f64::from(i % 1000);
        Event::gaussian(crate::params::NoiseMultiplier::new(multiplier).unwrap())
    });
    let all = flatten(&Claim::new(AddRemove, Event::composed(events))).unwrap().0;
    assert_eq!(all.len(), 1000);
    assert!(all.iter().all(|(_, count)| *count == 1000));
}
