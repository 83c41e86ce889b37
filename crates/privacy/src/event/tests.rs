//! JSON both ways, and everything it must refuse.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;
use crate::params::*;

fn read(json: &str) -> Result<Event, String> {
    serde_json::from_str(json).map_err(|error| error.to_string())
}

/// Every line that the documentation of the format shows.
const DOCUMENTED: [&str; 36] = [
    r#"{"type":"gaussian","noise_multiplier":1.1}"#,
    r#"{"type":"gaussian","sigma":4,"sensitivity":1}"#,
    r#"{"type":"laplace","noise_multiplier":10}"#,
    r#"{"type":"laplace","scale":10,"sensitivity":1}"#,
    r#"{"type":"discrete_gaussian","sigma":4,"sensitivity":1}"#,
    r#"{"type":"discrete_laplace","scale":4,"sensitivity":1}"#,
    r#"{"type":"discrete_laplace","scale":4,"sensitivity":1.0}"#,
    r#"{"type":"randomized_response","categories":2,"truth_probability":0.75}"#,
    r#"{"type":"exponential","epsilon":0.5}"#,
    r#"{"type":"pure","epsilon":0.5}"#,
    r#"{"type":"approximate","epsilon":0.5,"delta":1e-7}"#,
    r#"{"type":"zcdp","rho":0.1}"#,
    r#"{"type":"gdp","mu":0.5}"#,
    r#"{"type":"renyi","orders":[2,4,8],"epsilons":[0.1,0.2,0.4]}"#,
    r#"{"type":"poisson_sampled","sampling_rate":0.01,"event":{"type":"gaussian","noise_multiplier":1.1}}"#,
    concat!(
        r#"{"type":"poisson_sampled_truncated","sampling_rate":0.01,"population":60000,"max_batch":700,"#,
        r#""event":{"type":"gaussian","noise_multiplier":1.1}}"#,
    ),
    concat!(
        r#"{"type":"sampled_without_replacement","sample_size":256,"population":60000,"#,
        r#""event":{"type":"pure","epsilon":1}}"#,
    ),
    concat!(
        r#"{"type":"sampled_with_replacement","sample_size":256,"population":60000,"#,
        r#""event":{"type":"pure","epsilon":1}}"#,
    ),
    r#"{"type":"repeated","count":14063,"event":{"type":"pure","epsilon":1}}"#,
    r#"{"type":"composed","events":[{"type":"pure","epsilon":1},{"type":"zcdp","rho":1}]}"#,
    r#"{"type":"composed","events":[]}"#,
    r#"{"type":"shuffled_epochs","epochs":10,"event":{"type":"pure","epsilon":1}}"#,
    r#"{"type":"balls_in_bins","bins":100,"epochs":1,"event":{"type":"pure","epsilon":1}}"#,
    r#"{"type":"shuffled_reports","reports":10000,"event":{"type":"pure","epsilon":1}}"#,
    concat!(
        r#"{"type":"last_iterate","steps":500,"step_size":0.1,"strong_convexity":0.01,"smoothness":0.25,"#,
        r#""event":{"type":"pure","epsilon":1}}"#,
    ),
    concat!(
        r#"{"type":"last_iterate","steps":500,"step_size":0.1,"strong_convexity":0,"smoothness":0.25,"#,
        r#""diameter":40,"event":{"type":"gaussian","noise_multiplier":1.1}}"#,
    ),
    concat!(
        r#"{"type":"one_pass","records":1000,"position":900,"step_size":0.1,"strong_convexity":0,"#,
        r#""smoothness":0.25,"event":{"type":"gaussian","noise_multiplier":1.1}}"#,
    ),
    r#"{"type":"group","size":4,"event":{"type":"pure","epsilon":1}}"#,
    r#"{"type":"above_threshold","epsilon":0.5}"#,
    concat!(
        r#"{"type":"selected","trials":{"distribution":"poisson","mean":10},"event":{"type":"pure","#,
        r#""epsilon":1}}"#,
    ),
    concat!(
        r#"{"type":"selected","trials":{"distribution":"truncated_negative_binomial","shape":0.5,"#,
        r#""gamma":0.0625},"event":{"type":"pure","epsilon":1}}"#,
    ),
    r#"{"type":"tree_aggregation","steps":4096,"participations":1,"noise_multiplier":5}"#,
    concat!(
        r#"{"type":"tree_aggregation","steps":2048,"participations":20,"separation":100,"#,
        r#""nodes":"read","noise_multiplier":5}"#,
    ),
    concat!(
        r#"{"type":"toeplitz","steps":4096,"bands":null,"participations":1,"separation":null,"#,
        r#""noise_multiplier":5}"#,
    ),
    r#"{"type":"toeplitz","steps":4096,"bands":8,"participations":3,"separation":9,"noise_multiplier":5}"#,
    r#"{"type":"non_private"}"#,
];

#[test]
fn every_documented_line_is_read_and_written_back() {
    let mut kinds = Vec::new();
    for json in DOCUMENTED {
        let event = read(json).unwrap_or_else(|error| panic!("{json}: {error}"));
        let written: serde_json::Value = serde_json::to_value(&event).unwrap();
        let given: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(as_reals(written), as_reals(given), "{json}");
        kinds.push(event.name());
    }
    for kind in EventKind::ALL {
        assert!(kinds.contains(&kind.name()), "{} is not among the examples", kind.name());
    }
}

/// JSON with all numbers as reals: `4` and `4.0` are the same number.
fn as_reals(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Number(number) => Value::from(number.as_f64().unwrap()),
        Value::Array(list) => list.into_iter().map(as_reals).collect(),
        Value::Object(map) => map.into_iter().map(|(key, value)| (key, as_reals(value))).collect(),
        Value::Null | Value::Bool(_) | Value::String(_) => value,
    }
}

#[test]
fn the_type_may_come_last() {
    assert_eq!(read(r#"{"epsilon":0.5,"type":"pure"}"#), read(r#"{"type":"pure","epsilon":0.5}"#));
}

#[test]
fn what_is_wrong_is_refused_by_name() {
    for (json, part) in [
        (
            r#"{"type":"gausian","noise_multiplier":1}"#,
            "unknown type of event `gausian`; did you mean `gaussian`?",
        ),
        (
            r#"{"type":"gaussian","noise_multplier":1}"#,
            "unknown field `noise_multplier`; did you mean `noise_multiplier`?",
        ),
        (
            r#"{"type":"gaussian","scale":1,"sensitivity":1}"#,
            "`scale` is not a field of gaussian (its fields: noise_multiplier, sigma, sensitivity)",
        ),
        (
            r#"{"type":"non_private","epsilon":1}"#,
            "`epsilon` is not a field of non_private (its fields: none)",
        ),
        (r#"{"type":"pure","epsilon":1,"epsilon":1}"#, "field `epsilon` is given twice"),
        (r#"{"type":"pure","type":"pure","epsilon":1}"#, "field `type` is given twice"),
        (r#"{"type":"pure"}"#, "pure must have a field `epsilon`"),
        (r#"{"epsilon":1}"#, "an event must have a field `type`"),
        (
            r#"{"type":"gaussian"}"#,
            "gaussian must have either `noise_multiplier`, or `sigma` and `sensitivity`",
        ),
        (r#"{"type":"gaussian","noise_multiplier":1,"sigma":1,"sensitivity":1}"#, "must have either"),
        (r#"{"type":"gaussian","sigma":1}"#, "must have either"),
        (
            r#"{"type":"laplace","sensitivity":1}"#,
            "laplace must have either `noise_multiplier`, or `scale` and `sensitivity`",
        ),
        (
            r#"{"type":"gaussian","noise_multiplier":-1.1}"#,
            "noise_multiplier must be a finite number above 0, got -1.1",
        ),
        (
            r#"{"type":"gaussian","noise_multiplier":0}"#,
            "noise_multiplier must be a finite number above 0, got 0",
        ),
        (r#"{"type":"gaussian","noise_multiplier":"1"}"#, "expected a number for `noise_multiplier`"),
        (r#"{"type":"gaussian","noise_multiplier":null}"#, "expected a number for `noise_multiplier`"),
        (r#"{"type":"gaussian","noise_multiplier":1e400}"#, "number out of range"),
        (r#"{"type":"gaussian","noise_multiplier":NaN}"#, "expected value"),
        (
            r#"{"type":"discrete_laplace","scale":4,"sensitivity":1.5}"#,
            "sensitivity must be a whole number from 1 to 2^53, got 1.5",
        ),
        (
            r#"{"type":"approximate","epsilon":1,"delta":1}"#,
            "delta must be a number of at least 0 and below 1, got 1",
        ),
        (
            r#"{"type":"poisson_sampled","sampling_rate":1.5,"event":{"type":"non_private"}}"#,
            "sampling_rate must be a number above 0 and at most 1, got 1.5",
        ),
        (r#"{"type":"poisson_sampled","sampling_rate":0.5}"#, "poisson_sampled must have a field `event`"),
        (
            r#"{"type":"poisson_sampled","sampling_rate":0.5,"max_batch":9,"event":{"type":"non_private"}}"#,
            "`max_batch` is not a field of poisson_sampled",
        ),
        (
            r#"{"type":"poisson_sampled_truncated","sampling_rate":0.5,"max_batch":9,
            "event":{"type":"non_private"}}"#,
            "poisson_sampled_truncated must have a field `population`",
        ),
        (
            r#"{"type":"poisson_sampled_truncated","sampling_rate":0.5,"population":9,
            "event":{"type":"non_private"}}"#,
            "poisson_sampled_truncated must have a field `max_batch`",
        ),
        (
            r#"{"type":"poisson_sampled_truncated","sampling_rate":0.5,"population":9,"max_batch":0,
            "event":{"type":"non_private"}}"#,
            "max_batch must be a whole number from 1 to 2^53, got 0",
        ),
        (r#"{"type":"poisson_sampled","sampling_rate":0.5,"event":[]}"#, "expected an event"),
        (
            r#"{"type":"repeated","count":0,"event":{"type":"non_private"}}"#,
            "count must be a whole number from 1 to 2^53, got 0",
        ),
        (
            r#"{"type":"repeated","count":9223372036854775808,"event":{"type":"non_private"}}"#,
            "count must be a whole number from 1 to 2^53, got 9223372036854775808",
        ),
        // The float next to it is 2^53, which would be allowed.
        (
            r#"{"type":"repeated","count":9007199254740993,"event":{"type":"non_private"}}"#,
            "count must be a whole number from 1 to 2^53, got 9007199254740993",
        ),
        (
            concat!(
                r#"{"type":"last_iterate","steps":5,"step_size":1,"strong_convexity":0,"smoothness":1,"#,
                r#""diameter":0,"event":{"type":"non_private"}}"#,
            ),
            "diameter must be a finite number above 0, got 0",
        ),
        (
            concat!(
                r#"{"type":"one_pass","records":5,"position":6,"step_size":1,"strong_convexity":0,"#,
                r#""smoothness":1,"event":{"type":"non_private"}}"#,
            ),
            "position must be at most the number of records, got 6 of 5",
        ),
        (
            concat!(
                r#"{"type":"one_pass","records":5,"step_size":1,"strong_convexity":0,"smoothness":1,"#,
                r#""event":{"type":"non_private"}}"#,
            ),
            "one_pass must have a field `position`",
        ),
        (
            concat!(
                r#"{"type":"sampled_without_replacement","sample_size":5,"population":4,"#,
                r#""event":{"type":"non_private"}}"#,
            ),
            "got 5 of 4",
        ),
        (r#"{"type":"randomized_response","categories":2,"truth_probability":0.4}"#, "at least 1/2"),
        (r#"{"type":"renyi","orders":[2,2],"epsilons":[1,1]}"#, "must ascend, got 2 after 2"),
        (r#"{"type":"renyi","orders":[2],"epsilons":[1,1]}"#, "got 1 orders and 2 epsilons"),
        (
            r#"{"type":"selected","trials":{"distribution":"fixed","n":3},"event":{"type":"non_private"}}"#,
            "unknown variant `fixed`",
        ),
        (
            concat!(
                r#"{"type":"selected","trials":{"distribution":"poisson","mean":1,"mean":2},"#,
                r#""event":{"type":"non_private"}}"#,
            ),
            "duplicate field `mean`",
        ),
        (
            concat!(
                r#"{"type":"selected","trials":{"distribution":"poisson","mean":1,"x":2},"#,
                r#""event":{"type":"non_private"}}"#,
            ),
            "unknown field `x`",
        ),
        (r#"{"type":"composed","events":{}}"#, "expected a list of events"),
        (r#"{"type":"pure","epsilon":1,"neighbours":"replace"}"#, "`neighbours` stands beside an event"),
        (r#"{"type":"pure","epsilon":1"#, "EOF"),
        (r#"{"type":"pure","epsilon":1}}"#, "trailing characters"),
        ("[]", "expected an event"),
        ("", "EOF"),
    ] {
        let error = read(json).expect_err(json);
        assert!(error.contains(part), "{json}\n  said: {error}\n  want: {part}");
    }
}

#[test]
fn nesting_ends_in_a_message() {
    let nested = |levels: usize, open: &str, close: &str| {
        format!("{}{{\"type\":\"non_private\"}}{}", open.repeat(levels), close.repeat(levels))
    };
    let repeated = |levels| nested(levels, r#"{"type":"repeated","count":2,"event":"#, "}");
    let composed = |levels| nested(levels, r#"{"type":"composed","events":["#, "]}");
    for deep in [repeated(Event::MAX_DEPTH - 1), composed(Event::MAX_DEPTH - 1)] {
        read(&deep).expect("the limit itself is allowed");
    }
    for too_deep in [Event::MAX_DEPTH, 100_000] {
        for json in [repeated(too_deep), composed(too_deep)] {
            let error = read(&json).unwrap_err();
            assert!(error.contains("nest at most 60 deep"), "{error}");
        }
    }
    assert!(read(&"[".repeat(100_000)).is_err());
    assert!(read(&r#"{"event":"#.repeat(100_000)).is_err());
}

/// A run that was resumed very often: nested compositions would be too deep to be read again.
#[test]
fn what_follows_extends_the_list() {
    let step = Event::gaussian(NoiseMultiplier::new(1.0).unwrap());
    let many = (0..1000).fold(step.clone(), |event, _| event.followed_by(step.clone()));
    assert_eq!(many, Event::composed(vec![step; 1001]));
    assert_eq!(read(&serde_json::to_string(&many).unwrap()).unwrap(), many);
}

#[test]
fn a_long_unknown_word_makes_a_short_message() {
    let error = read(&format!(r#"{{"{}":1}}"#, "x".repeat(1_000_000))).unwrap_err();
    assert!(error.len() < 200, "{} bytes", error.len());
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn reading_what_was_written_gives_the_same_event(event in any_event()) {
        let json = serde_json::to_string(&event).unwrap();
        prop_assert_eq!(serde_json::from_str::<Event>(&json).unwrap(), event);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,80}") {
        let _ = read(&text);
    }

    #[test]
    fn a_damaged_event_is_read_or_refused(
        event in any_event(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>()
    ) {
        let mut json = serde_json::to_string(&event).unwrap().into_bytes();
        let place = at.index(json.len());
        json[place] = byte;
        let _ = serde_json::from_slice::<Event>(&json);
        json.truncate(place);
        prop_assert!(serde_json::from_slice::<Event>(&json).is_err());
    }
}

/// Many cases, the same at every run.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(7),
        ..ProptestConfig::default()
    }
}

fn any_count() -> impl Strategy<Value = Count> {
    prop_oneof![1u64..100, 1u64..=Count::MAX].prop_map(|n| Count::new(n).unwrap())
}

/// Positive doubles of every size, subnormal ones included.
fn positive() -> impl Strategy<Value = f64> {
    prop_oneof![1e-3..1e3f64, prop::num::f64::POSITIVE | prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL,]
}

fn proportion() -> impl Strategy<Value = f64> {
    (1e-12..1.0f64).prop_filter("above 0", |x| *x > 0.0)
}

fn any_leaf() -> impl Strategy<Value = Event> {
    let epsilon = || positive().prop_map(|x| Epsilon::new(x).unwrap());
    let multiplier = || positive().prop_map(|x| NoiseMultiplier::new(x).unwrap());
    let scale = || positive().prop_map(|x| Scale::new(x).unwrap());
    let sensitivity = || positive().prop_map(|x| Sensitivity::new(x).unwrap());
    prop_oneof![
        multiplier().prop_map(Event::gaussian),
        multiplier().prop_map(Event::laplace),
        (scale(), sensitivity())
            .prop_map(|(sigma, sensitivity)| Event::Gaussian(GaussianNoise::Absolute { sigma, sensitivity })),
        (scale(), sensitivity())
            .prop_map(|(scale, sensitivity)| Event::Laplace(LaplaceNoise::Absolute { scale, sensitivity })),
        (scale(), any_count())
            .prop_map(|(sigma, sensitivity)| Event::DiscreteGaussian { sigma, sensitivity }),
        (scale(), any_count()).prop_map(|(scale, sensitivity)| Event::DiscreteLaplace { scale, sensitivity }),
        (2u64..50, 0.5..=1.0f64).prop_map(|(k, p)| {
            let truth = TruthProbability::new(p).unwrap();
            Event::RandomizedResponse(RandomizedResponseLaw::new(Count::new(k).unwrap(), truth).unwrap())
        }),
        epsilon().prop_map(|epsilon| Event::Exponential { epsilon }),
        epsilon().prop_map(|epsilon| Event::Pure { epsilon }),
        epsilon().prop_map(|epsilon| Event::AboveThreshold { epsilon }),
        (epsilon(), proportion())
            .prop_map(|(epsilon, d)| Event::Approximate { epsilon, delta: Delta::new(d).unwrap() }),
        positive().prop_map(|x| Event::Zcdp { rho: Rho::new(x).unwrap() }),
        positive().prop_map(|x| Event::Gdp { mu: Mu::new(x).unwrap() }),
        prop::collection::vec((1.001..2.0f64, positive()), 1..5).prop_map(|points| {
            let factors = points.iter().scan(1.0, |order, (factor, _)| {
                *order *= factor;
                Some(*order)
            });
            let (orders, epsilons): (Vec<f64>, Vec<f64>) =
                factors.zip(points.iter().map(|(_, e)| *e)).unzip();
            Event::Renyi(RenyiCurve::new(&orders, &epsilons).unwrap())
        }),
        (any_count(), any_count(), prop::option::of(any_count()), any::<bool>(), multiplier()).prop_map(
            |(steps, participations, separation, all, noise_multiplier)| {
                let nodes = if all { Nodes::All } else { Nodes::Read };
                Event::TreeAggregation { steps, participations, separation, nodes, noise_multiplier }
            }
        ),
        (
            any_count(),
            prop::option::of(any_count()),
            any_count(),
            prop::option::of(any_count()),
            multiplier()
        )
            .prop_map(|(steps, bands, participations, separation, noise_multiplier)| {
                Event::Toeplitz { steps, bands, participations, separation, noise_multiplier }
            }),
        Just(Event::NonPrivate),
    ]
}

fn any_trials() -> impl Strategy<Value = Trials> {
    prop_oneof![
        positive().prop_map(|x| Trials::Poisson { mean: MeanTrials::new(x).unwrap() }),
        (-0.999..10.0f64, proportion()).prop_map(|(shape, gamma)| Trials::TruncatedNegativeBinomial {
            shape: Shape::new(shape).unwrap(),
            gamma: Gamma::new(gamma).unwrap()
        }),
    ]
}

/// Any event, some levels deep.
pub(crate) fn any_event() -> impl Strategy<Value = Event> {
    any_leaf().prop_recursive(6, 24, 4, |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        prop_oneof![
            (proportion(), inner.clone()).prop_map(|(q, e)| e.poisson_sampled(SamplingRate::new(q).unwrap())),
            (proportion(), any_count(), any_count(), boxed()).prop_map(
                |(q, population, max_batch, event)| {
                    let sampling_rate = SamplingRate::new(q).unwrap();
                    Event::PoissonSampledTruncated { sampling_rate, population, max_batch, event }
                }
            ),
            (any_count(), any_count(), boxed()).prop_map(|(a, b, event)| Event::SampledWithoutReplacement {
                sample: FixedSample::distinct(a.min(b), a.max(b)).unwrap(),
                event
            }),
            (any_count(), any_count(), boxed()).prop_map(|(a, b, event)| Event::SampledWithReplacement {
                sample: FixedSample::draws(a, b),
                event
            }),
            (any_count(), inner.clone()).prop_map(|(n, e)| e.repeated(n)),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Event::composed),
            (any_count(), boxed()).prop_map(|(epochs, event)| Event::ShuffledEpochs { epochs, event }),
            (any_count(), any_count(), boxed()).prop_map(|(bins, epochs, event)| Event::BallsInBins {
                bins,
                epochs,
                event
            }),
            (any_count(), boxed()).prop_map(|(reports, event)| Event::ShuffledReports { reports, event }),
            (any_count(), positive(), positive(), positive(), prop::option::of(positive()), boxed())
                .prop_map(|(steps, a, b, c, diameter, event)| Event::LastIterate {
                    steps,
                    step_size: StepSize::new(a).unwrap(),
                    strong_convexity: StrongConvexity::new(b).unwrap(),
                    smoothness: Smoothness::new(c).unwrap(),
                    diameter: diameter.map(|d| Radius::new(d).unwrap()),
                    event,
                }),
            (any_count(), any_count(), positive(), positive(), positive(), boxed()).prop_map(
                |(x, y, a, b, c, event)| Event::OnePass {
                    records: x.max(y),
                    position: x.min(y),
                    step_size: StepSize::new(a).unwrap(),
                    strong_convexity: StrongConvexity::new(b).unwrap(),
                    smoothness: Smoothness::new(c).unwrap(),
                    event,
                }
            ),
            (any_count(), boxed()).prop_map(|(size, event)| Event::Group { size, event }),
            (any_trials(), boxed()).prop_map(|(trials, event)| Event::Selected { trials, event }),
        ]
    })
}
