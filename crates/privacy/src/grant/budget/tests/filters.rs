//! Filters against adversaries who choose each event by what they have seen.

use std::collections::HashMap;

use super::*;
use crate::accounting::{self, Accountant};
use crate::numerics::gaussian_profile;
use crate::params::{Count, SamplingRate};

/// μ² adds up: as many Gaussians as the formula, typed again, allows, and not one more.
#[test]
fn a_gaussian_filter_has_room_for_the_whole_profile() {
    // delta(eps) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)
    let cdf = crate::numerics::normal::cdf;
    let profile = |e: f64, mu: f64| cdf(mu / 2.0 - e / mu) - e.exp() * cdf(-mu / 2.0 - e / mu);
    for (epsilon, delta, noise) in [(1.0, 1e-5, 40.0), (3.0, 1e-6, 20.0), (8.0, 1e-6, 5.0)] {
        let fits = (1..).take_while(|n| profile(epsilon, f64::from(*n).sqrt() / noise) <= delta).count();
        let mut budget = Budget::new(approximate(epsilon, delta).filtered_by(Filter::Gaussian));
        let granted = (0..).take_while(|_| budget.charge(gaussian(noise)).is_ok()).count();
        assert_eq!(granted, fits, "{epsilon} {delta} {noise}");
        assert!(fits > 10);
    }
}

/// The losses of draws with replacement have no largest; what their table leaves out, 1e-30 a
/// release, once let a budget refuse the second charge.
#[test]
fn draws_with_replacement_can_be_charged_twice() {
    let json = r#"{"type":"sampled_with_replacement","sample_size":20,"population":2000,
        "event":{"type":"gaussian","noise_multiplier":8}}"#;
    let event: Event = serde_json::from_str(json).unwrap();
    let terms = Terms { neighbours: Neighbours::Replace, ..approximate(3.0, 1e-5) };
    let mut budget = Budget::new(terms);
    for charge in 1..=3 {
        assert!(budget.charge(event.clone()).is_ok(), "charge {charge}");
    }
    // A δ that counts is still refused unless it was set aside.
    let leaky = r#"{"type":"approximate","epsilon":0.01,"delta":1e-9}"#;
    assert!(budget.charge(serde_json::from_str(leaky).unwrap()).is_err());
}

/// Equations (1) and (2) of the totals, typed again from their words. A budget that was made before
/// totals were shares grants what it granted then: as long as the sum of divergences, converted to
/// ε, is at most the budget.
#[test]
fn a_total_is_a_share_of_the_capacity_and_grants_what_it_always_did() {
    let cdf = crate::numerics::normal::cdf;
    for (epsilon, delta, noise) in
        [(0.5f64, 1e-6f64, 60.0f64), (1.0, 1e-5, 40.0), (3.0, 1e-6, 20.0), (8.0, 1e-9, 9.0)]
    {
        let capacity = |a: f64| epsilon - (1.0 - 1.0 / a).ln() + (delta.ln() + a.ln()) / (a - 1.0);
        let orders = (0..=600).map(|i| 1.0 + 10f64.powf(-2.0 + 0.01 * f64::from(i)));
        let best = orders.max_by(|a, b| (capacity(*a) / a).total_cmp(&(capacity(*b) / b))).unwrap();
        let divergence = |n: u32| f64::from(n) * best / (2.0 * noise * noise);
        let converted = |n: u32| divergence(n) + (epsilon - capacity(best));
        let granted_then = (1..).take_while(|n| converted(*n) <= epsilon * (1.0 + 1e-9)).count();
        let profile = |mu: f64| cdf(mu / 2.0 - epsilon / mu) - epsilon.exp() * cdf(-mu / 2.0 - epsilon / mu);
        let (largest, _) = crate::numerics::search::bisect(1e-3, 10.0, |mu| profile(mu) > delta);
        for filter in [Filter::Renyi, Filter::Gaussian] {
            let mut budget = Budget::new(approximate(epsilon, delta).filtered_by(filter));
            let mut granted = 0;
            while budget.charge(gaussian(noise)).is_ok() {
                granted += 1;
                let share = match filter {
                    Filter::Renyi => divergence(granted) / capacity(best),
                    Filter::Gaussian => f64::from(granted) / (noise * noise) / (largest * largest),
                };
                let total = budget.total().unwrap();
                assert!((total / (epsilon * share) - 1.0).abs() < 1e-6, "{total} {share} {filter:?}");
            }
            if filter == Filter::Renyi {
                assert_eq!(granted as usize, granted_then, "{epsilon} {delta}");
            }
            assert!(granted > 10);
        }
    }
}

#[test]
fn what_has_no_gaussian_bound_is_refused_in_words_after_the_first_charge() {
    let whole = approximate(3.0, 1e-6).filtered_by(Filter::Gaussian);
    let sampled = gaussian(3.0).poisson_sampled(SamplingRate::new(0.01).unwrap());
    let sampled = sampled.repeated(Count::new(100).unwrap());
    let mut budget = Budget::new(whole.clone());
    grant(&mut budget, &gaussian(50.0));
    let error = budget.charge(sampled.clone()).unwrap_err().to_string();
    assert!(error.contains("Gaussian noise on samples of the records has none"), "{error}");
    // It may be the first, and then it is the last: nothing that was seen has chosen it.
    let mut budget = Budget::new(whole);
    grant(&mut budget, &sampled);
    assert_eq!(budget.left().unwrap(), 0.0);
    assert!(budget.charge(gaussian(1e6)).is_err());
}

/// The worst that any rule can do for choosing the next event, or stopping, by all that was seen:
/// the exact δ at ε of the whole process, over releases with two outcomes. Stopped with the loss L,
/// a process adds `max(0, 1 - e^(ε - L))`.
struct Adversary {
    epsilon: f64,
    /// Events with the odds of their two outcomes, each `p` against `1 - p`, and the reverse, and
    /// the probability with which they tell everything.
    events: Vec<(Event, f64, f64)>,
    gate: Gate,
    admitted: HashMap<Vec<u32>, Vec<bool>>,
    known: HashMap<(Vec<u32>, Vec<i32>), f64>,
}

impl Adversary {
    fn new(terms: &Terms, events: Vec<(Event, f64, f64)>) -> Self {
        let (admitted, known) = (HashMap::new(), HashMap::new());
        Self { epsilon: terms.epsilon.get(), events, gate: Gate::new(terms), admitted, known }
    }

    fn admitted(&mut self, counts: &[u32]) -> Vec<bool> {
        if let Some(known) = self.admitted.get(counts) {
            return known.clone();
        }
        let mut spent = Spent::default();
        for ((event, ..), count) in self.events.iter().zip(counts) {
            (0..*count).for_each(|_| spent.record(event.clone()));
        }
        let mut fresh = Gate::new(self.gate.terms());
        let found: Vec<bool> =
            self.events.iter().map(|(event, ..)| fresh.decide(&spent, event).is_ok()).collect();
        self.admitted.insert(counts.to_vec(), found.clone());
        found
    }

    /// The most from here on, after so many of each event, whose outcomes were so much more often
    /// for P than against.
    fn worst(&mut self, counts: &[u32], nets: &[i32]) -> f64 {
        let key = (counts.to_vec(), nets.to_vec());
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let odds = |p: f64| (p / (1.0 - p)).ln();
        let loss: f64 = self.events.iter().zip(nets).map(|((_, p, _), net)| f64::from(*net) * odds(*p)).sum();
        let mut worst = (1.0 - (self.epsilon - loss).exp()).max(0.0);
        for (place, is_admitted) in self.admitted(counts).into_iter().enumerate() {
            if !is_admitted {
                continue;
            }
            let (_, p, lost) = self.events[place];
            let mut counts = counts.to_vec();
            counts[place] += 1;
            let mut go = |step: i32| {
                let mut nets = nets.to_vec();
                nets[place] += step;
                self.worst(&counts, &nets)
            };
            worst = worst.max(lost + (1.0 - lost) * (p * go(1) + (1.0 - p) * go(-1)));
        }
        self.known.insert(key, worst);
        worst
    }
}

#[test]
fn the_best_adaptive_adversary_stays_within_the_promise() {
    let odds = |epsilon: f64| (pure(epsilon), epsilon.exp() / (1.0 + epsilon.exp()), 0.0);
    // What is seen of a Gaussian is its sign, with odds Phi(μ/2): a post-processing.
    let sign = |noise: f64| (gaussian(noise), crate::numerics::normal::cdf(0.5 / noise), 0.0);
    let mut closest: f64 = 0.0;
    for (epsilon, delta) in [(0.5, 0.1), (1.0, 0.05), (1.0, 0.3), (2.0, 0.02)] {
        for filter in [Filter::Renyi, Filter::Gaussian] {
            let terms = approximate(epsilon, delta).filtered_by(filter);
            for events in [
                vec![odds(0.3), odds(1.0)],
                vec![odds(0.25), odds(0.6), odds(epsilon)],
                vec![sign(3.0), sign(1.5), odds(0.4)],
                vec![sign(2.0), odds(0.2)],
            ] {
                let size = events.len();
                let mut adversary = Adversary::new(&terms, events);
                let worst = adversary.worst(&vec![0; size], &vec![0; size]);
                assert!(worst <= delta * (1.0 + 1e-8), "{worst} above {delta} at {epsilon} by {filter:?}");
                closest = closest.max(worst / delta);
            }
        }
    }
    // The test has teeth: some of these come near.
    assert!(closest > 0.3, "{closest}");
}

/// The same with releases that tell everything with a probability of their own, out of what was set
/// aside for them.
#[test]
fn the_best_adversary_gains_nothing_from_what_is_set_aside() {
    for filter in [Filter::Renyi, Filter::Gaussian] {
        for (epsilon, delta) in [(1.0, 0.1), (2.0, 0.04)] {
            let aside = Delta::new(delta / 2.0).unwrap();
            let terms = approximate(epsilon, delta).setting_aside(aside).filtered_by(filter);
            let leaky = |epsilon: f64, lost: f64| {
                let (e, d) = (Epsilon::new(epsilon).unwrap(), Delta::new(lost).unwrap());
                (Event::Approximate { epsilon: e, delta: d }, epsilon.exp() / (1.0 + epsilon.exp()), lost)
            };
            let plain = (pure(0.3), 0.3f64.exp() / (1.0 + 0.3f64.exp()), 0.0);
            let events = vec![leaky(0.25, delta / 8.0), leaky(0.5, delta / 5.0), plain];
            let worst = Adversary::new(&terms, events).worst(&[0; 3], &[0; 3]);
            assert!(worst <= delta * (1.0 + 1e-8), "{worst} above {delta} by {filter:?}");
            assert!(worst > 0.3 * delta, "{worst} of {delta}");
        }
    }
}

/// One Gaussian release may take the whole budget, up to rounding, without being the first charge's
/// exception.
#[test]
fn the_exact_profile_of_a_gaussian_is_the_limit() {
    for (epsilon, delta) in [(1.0, 1e-5), (3.0, 1e-6)] {
        let largest = gaussian_profile::mu(epsilon, delta);
        let mut budget = Budget::new(approximate(epsilon, delta).filtered_by(Filter::Gaussian));
        let event = Event::Gdp { mu: Mu::new(largest * (1.0 - 1e-9)).unwrap() };
        let quote = budget.quote(&event).unwrap();
        assert!(quote.after < 1e-8 * epsilon, "{quote:?}");
        grant(&mut budget, &event);
        assert!(budget.charge(gaussian(1e3)).is_err());
    }
}

proptest! {
    #![proptest_config(config())]

    /// Whatever was granted, in whatever order, costs no more than the budget by the tightest
    /// accountant.
    #[test]
    fn nothing_granted_exceeds_the_promise(
        events in prop::collection::vec(any_charge(), 1..40),
        epsilon in 0.5..4.0f64,
        ln_delta in -16.0..-4.0f64,
        is_gaussian in any::<bool>(),
    ) {
        let filter = if is_gaussian { Filter::Gaussian } else { Filter::Renyi };
        let terms = approximate(epsilon, ln_delta.exp()).filtered_by(filter);
        let mut budget = Budget::new(terms.clone());
        let mut granted = Vec::new();
        for event in events.iter().cycle().take(200) {
            if budget.charge(event.clone()).is_ok() {
                granted.push(event.clone());
            }
        }
        let claim = Claim::new(Neighbours::AddRemove, Event::composed(granted));
        let found = accounting::epsilon(&claim, terms.delta, Accountant::Auto).unwrap().bound;
        prop_assert!(found.lower <= epsilon * (1.0 + 1e-8), "{found:?} above {epsilon} by {filter:?}");
    }
}
