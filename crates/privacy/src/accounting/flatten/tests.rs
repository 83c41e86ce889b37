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

/// A clipped sum moves by twice the clip norm when a contribution is replaced; accounting that as if it were
/// added or removed understates every Rényi divergence, a mu²/2, by a factor of four.
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
        r#"{{"type":"poisson_sampled","sampling_rate":0.5,"event":{{"type":"poisson_sampled","sampling_rate":0.25,"event":{GAUSSIAN}}}}}"#
    );
    let base = Box::new(Step::Gaussian { mu: 0.25 });
    assert_eq!(one(AddRemove, &nested), Step::Poisson { rate: 0.125, sided: Sided::One, base });
}

#[test]
fn gaussian_releases_of_one_sample_are_one() {
    let nine = format!(
        r#"{{"type":"poisson_sampled","sampling_rate":0.5,"event":{{"type":"repeated","count":9,"event":{GAUSSIAN}}}}}"#
    );
    let Step::Poisson { base, .. } = one(AddRemove, &nine) else { panic!("not sampled") };
    let Step::Gaussian { mu } = *base else { panic!("not Gaussian") };
    assert!((0.75..0.75 + 1e-14).contains(&mu), "{mu}");

    let mixed = format!(
        r#"{{"type":"poisson_sampled","sampling_rate":0.5,"event":{{"type":"composed","events":[{GAUSSIAN},{LAPLACE}]}}}}"#
    );
    assert!(refusal(AddRemove, &mixed).contains("one sample serves several releases"));
    let single = format!(
        r#"{{"type":"poisson_sampled","sampling_rate":0.5,"event":{{"type":"composed","events":[{{"type":"repeated","count":1,"event":{LAPLACE}}}]}}}}"#
    );
    assert!(
        matches!(one(AddRemove, &single), Step::Poisson { base, .. } if *base == Step::Laplace { epsilon: 0.25 })
    );
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

#[test]
fn what_no_accountant_bounds_is_refused_by_name() {
    let inner = r#"{"type":"pure","epsilon":1}"#;
    for (name, rest) in [
        ("balls_in_bins", r#""bins":100,"epochs":1,"event""#),
        ("shuffled_reports", r#""reports":10000,"event""#),
        ("last_iterate", r#""steps":5,"step_size":0.1,"strong_convexity":0.01,"smoothness":0.25,"event""#),
        ("group", r#""size":4,"event""#),
        ("selected", r#""trials":{"distribution":"poisson","mean":10},"event""#),
        ("sampled_with_replacement", r#""sample_size":2,"population":9,"event""#),
    ] {
        let error = refusal(Replace, &format!(r#"{{"type":"{name}",{rest}:{inner}}}"#));
        assert!(error.starts_with(&format!("no accountant can bound `{name}`")), "{error}");
    }
    for json in [
        r#"{"type":"tree_aggregation","steps":4096,"participations":1,"noise_multiplier":5}"#,
        r#"{"type":"toeplitz","steps":4096,"bands":null,"participations":1,"separation":null,"noise_multiplier":5}"#,
        r#"{"type":"poisson_sampled","sampling_rate":0.1,"event":{"type":"zcdp","rho":0.1}}"#,
        r#"{"type":"poisson_sampled","sampling_rate":0.1,"event":{"type":"renyi","orders":[2],"epsilons":[0.1]}}"#,
        r#"{"type":"poisson_sampled","sampling_rate":0.1,"event":{"type":"shuffled_epochs","epochs":2,"event":{"type":"pure","epsilon":1}}}"#,
        r#"{"type":"poisson_sampled","sampling_rate":0.1,"event":{"type":"composed","events":[{"type":"zcdp","rho":0.1},{"type":"zcdp","rho":0.1}]}}"#,
    ] {
        assert!(matches!(steps(AddRemove, json), Err(AccountError::Unsupported { .. })), "{json}");
    }
}

#[test]
fn counts_multiply_and_equal_steps_are_grouped() {
    let json = format!(
        r#"{{"type":"composed","events":[
            {{"type":"repeated","count":5,"event":{{"type":"repeated","count":7,"event":{GAUSSIAN}}}}},
            {LAPLACE},
            {{"type":"shuffled_epochs","epochs":3,"event":{{"type":"composed","events":[{GAUSSIAN},{LAPLACE}]}}}},
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
    let sampled = r#"{"type":"poisson_sampled","sampling_rate":0.5,"event":{"type":"non_private"}}"#;
    assert_eq!(one(AddRemove, sampled), Step::NonPrivate);
}

#[test]
fn too_many_releases_are_refused() {
    let large = 1u64 << 30;
    let json = format!(
        r#"{{"type":"repeated","count":{large},"event":{{"type":"repeated","count":{large},"event":{GAUSSIAN}}}}}"#
    );
    assert!(refusal(AddRemove, &json).starts_with("the number of releases must be at most 9007199254740992"));
    let most = Count::MAX;
    let sum = format!(
        r#"{{"type":"composed","events":[{{"type":"repeated","count":{most},"event":{GAUSSIAN}}},{LAPLACE}]}}"#
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
