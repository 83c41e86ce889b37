//! The facts about what a guarantee means for one person.
//!
//! # Theorems
//! Let an attacker see the release, know every other record, and decide whether one unit took part.
//! At a rate f of false alarms its detections are at most `1 - T(f)`, where T is the trade-off
//! curve of the mechanism; for one (ε, δ) that is `min(e^ε f + δ, 1 - e^-ε (1 - δ - f))` (Kairouz,
//! Oh, Viswanath, *The Composition Theorem for Differential Privacy*, 2015; Dong, Roth, Su,
//! *Gaussian Differential Privacy*, 2019). From it follow
//! - the share of right guesses if both answers were equally likely before: `(1 + advantage) / 2`;
//! - how far a conclusion about the person can change: one that is drawn in a share f of outcomes
//!   without the person is drawn in at most `1 - T(f)` of them with the person, so its odds grow by
//!   a factor of at most `(1 - T(f)) / f`. T is convex with T(0) <= 1, so the factor is largest for
//!   the rarest conclusions; [`Odds`] is for those that are drawn in one of 100 outcomes or more.
//!   With δ = 0 the factor is at most `e^ε` for all.
//!
//! A group of k units loses at most (k ε, δ (e^{kε} - 1)/(e^ε - 1)).
//!
//! # Pitfalls
//! - The promise is about what taking part *adds*. A study may still find that smoking causes
//!   cancer, and that concerns smokers who did not take part too.
//! - δ is not the probability that something goes wrong; but publishing one whole record chosen at
//!   random has δ = 1/n, so a δ that is not far below 1/n promises little.

mod whose;
mod words;

use serde::Serialize;
use sordino_privacy::accounting::{self, Accountant};
use sordino_privacy::notion::{Approximate, TradeOff};
use sordino_privacy::{AccountError, Claim, Count, Delta, Epsilon, Event, Neighbours};

pub use self::whose::Whose;
pub use self::words::words;

/// The rates of false alarms at which an attacker's detections are shown.
const ALARMS: [f64; 4] = [0.001, 0.01, 0.05, 0.1];
/// The prior beliefs for which odds are shown.
const PRIORS: [f64; 3] = [0.01, 0.1, 0.5];
/// The rarest conclusions that [`Odds`] cover: they are drawn in this share of outcomes.
pub(crate) const RAREST_CONCLUSION: f64 = 0.01;
/// The sizes of groups that are always shown.
const GROUPS: [u64; 2] = [2, 5];

/// A guarantee to explain: a pair (ε, δ), and the whole curve if the event is known.
#[derive(Clone, Debug)]
pub struct Promise {
    epsilon: f64,
    delta: Delta,
    neighbours: Neighbours,
    claim: Option<Claim>,
    curve: TradeOff,
}

impl Promise {
    /// A promise of which only (ε, δ) is known.
    pub fn pair(epsilon: Epsilon, delta: Delta, neighbours: Neighbours) -> Self {
        let curve = TradeOff::from(Approximate::new(epsilon, delta));
        Self { epsilon: epsilon.get(), delta, neighbours, claim: None, curve }
    }

    /// The promise of an event. Its curve is tighter than any single pair (ε, δ).
    pub fn of(claim: Claim, delta: Delta) -> Result<Self, AccountError> {
        let epsilon = accounting::epsilon(&claim, delta, Accountant::Auto)?.bound.upper;
        let curve = TradeOff::of(&claim)?;
        Ok(Self { epsilon, delta, neighbours: claim.neighbours, claim: Some(claim), curve })
    }

    /// A promise of nothing: ε is infinite.
    pub(crate) fn none(delta: Delta, neighbours: Neighbours) -> Self {
        Self { epsilon: f64::INFINITY, delta, neighbours, claim: None, curve: TradeOff::from_profile(&[]) }
    }

    /// ε at δ, the certified upper end.
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// δ.
    pub fn delta(&self) -> Delta {
        self.delta
    }

    /// The neighbouring relation.
    pub fn neighbours(&self) -> Neighbours {
        self.neighbours
    }

    /// The trade-off curve: the best attacker's errors.
    pub fn curve(&self) -> &TradeOff {
        &self.curve
    }

    /// The curve that (ε, δ) alone would allow; `None` if nothing more is known.
    pub(crate) fn pair_curve(&self) -> Option<TradeOff> {
        let epsilon = self.claim.as_ref().and_then(|_| Epsilon::new(self.epsilon).ok())?;
        Some(TradeOff::from(Approximate::new(epsilon, self.delta)))
    }

    /// The promise to a group of units.
    fn for_group(&self, size: Count) -> GroupPromise {
        let by_event = self.claim.as_ref().and_then(|claim| {
            let claim =
                Claim::new(claim.neighbours, Event::Group { size, event: Box::new(claim.event.clone()) });
            Promise::of(claim, self.delta).ok()
        });
        // The event gives a tighter bound for groups than (ε, δ) alone.
        let Promise { epsilon, delta, curve, .. } = by_event.unwrap_or_else(|| self.group_of_pair(size));
        GroupPromise {
            size: size.get(),
            epsilon,
            delta: delta.get(),
            advantage: curve.advantage(),
            detections_at_1_percent: curve.true_positive_rate(0.01),
        }
    }

    fn group_of_pair(&self, size: Count) -> Promise {
        let whole = Epsilon::new(self.epsilon).ok().map(|epsilon| Approximate::new(epsilon, self.delta));
        match whole.and_then(|pair| pair.group(size).ok()) {
            Some(group) => Promise::pair(group.epsilon(), group.delta(), self.neighbours),
            // ε is infinite or overflows: the group is promised nothing.
            None => Promise::none(self.delta, self.neighbours),
        }
    }
}

/// What a promise means.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// ε at δ.
    pub epsilon: f64,
    /// δ.
    pub delta: f64,
    /// The neighbouring relation.
    pub neighbours: Neighbours,
    /// The largest difference between detections and false alarms.
    pub advantage: f64,
    /// The largest share of right guesses, if both answers were equally likely before.
    pub right_guesses: f64,
    /// The best attacker's detections at some rates of false alarms.
    pub attacks: Vec<Attack>,
    /// How far beliefs can rise.
    pub odds: Vec<Odds>,
    /// The promises to groups.
    pub groups: Vec<GroupPromise>,
    /// What δ means for a crowd, if its size is given.
    pub crowd: Option<Crowd>,
}

/// One point of the trade-off curve.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Attack {
    /// The share of false alarms among those who did not take part.
    pub false_positive_rate: f64,
    /// The largest share of detections among those who took part.
    pub true_positive_rate: f64,
}

/// The belief in a conclusion about one person. The conclusion is drawn in at least one of 100
/// outcomes (in any share of outcomes if δ = 0).
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Odds {
    /// The belief without the person's data.
    pub before: f64,
    /// The largest belief with it.
    pub after: f64,
}

/// The promise to a group whose data changes together.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct GroupPromise {
    /// The number of units.
    pub size: u64,
    /// ε for the group, at [`Self::delta`].
    pub epsilon: f64,
    /// δ for the group.
    pub delta: f64,
    /// The largest difference between detections and false alarms.
    pub advantage: f64,
    /// The largest share of detections at one per cent of false alarms.
    pub detections_at_1_percent: f64,
}

/// δ beside the number of people.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Crowd {
    /// The number of people.
    pub people: u64,
    /// δ times their number: how many whole records δ alone would allow to publish, on average.
    pub exposed: f64,
}

impl Explanation {
    /// What `promise` means: for `people` people, if their number is public, and for a group of
    /// `group` units.
    pub fn of(promise: &Promise, people: Option<Count>, group: Option<Count>) -> Self {
        let curve = promise.curve();
        let advantage = curve.advantage();
        let attack =
            |f: f64| Attack { false_positive_rate: f, true_positive_rate: curve.true_positive_rate(f) };
        let factor = odds_factor(promise);
        // In this form an unbounded factor gives certainty.
        let odds = |before: f64| Odds { before, after: 1.0 / (1.0 + (1.0 - before) / (before * factor)) };
        let mut sizes: Vec<u64> = GROUPS.into_iter().chain(group.map(Count::get)).collect();
        sizes.sort_unstable();
        sizes.dedup();
        // No size is lost: all are above 0.
        let sizes = sizes.into_iter().filter_map(|size| Count::new(size).ok());
        Self {
            epsilon: promise.epsilon,
            delta: promise.delta.get(),
            neighbours: promise.neighbours,
            advantage,
            right_guesses: 0.5 * (1.0 + advantage),
            attacks: ALARMS.map(attack).into(),
            odds: PRIORS.map(odds).into(),
            groups: sizes.map(|size| promise.for_group(size)).collect(),
            crowd: people.map(|people| Crowd {
                people: people.get(),
                exposed: promise.delta.get() * people.get() as f64,
            }),
        }
    }
}

/// The factor by which a conclusion's odds can grow. If δ = 0, ε alone bounds it, for rarer
/// conclusions too.
fn odds_factor(promise: &Promise) -> f64 {
    if promise.delta.get() == 0.0 || promise.epsilon == f64::INFINITY {
        return promise.epsilon.exp();
    }
    promise.curve.true_positive_rate(RAREST_CONCLUSION) / RAREST_CONCLUSION
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(epsilon: f64, delta: f64) -> Promise {
        Promise::pair(Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap(), Neighbours::AddRemove)
    }

    fn explained(promise: &Promise) -> Explanation {
        Explanation::of(promise, None, None)
    }

    fn close(got: f64, expected: f64, tolerance: f64) {
        assert!((got - expected).abs() <= tolerance, "{got} instead of {expected}");
    }

    /// Bayes' rule with the factor e^ε, from 50 % and from 1 %.
    #[test]
    fn odds_grow_by_at_most_e_to_the_epsilon() {
        for (epsilon, from_half, from_hundredth) in [
            (0.1, 0.52498, 0.01104),
            (0.5, 0.62246, 0.01638),
            (1.0, 0.73106, 0.02672),
            (2.0, 0.88080, 0.06945),
            (4.0, 0.98201, 0.35546),
            (8.0, 0.99966, 0.96786),
        ] {
            let odds = explained(&pair(epsilon, 0.0)).odds;
            close(odds[0].after, from_hundredth, 6e-6);
            close(odds[2].after, from_half, 6e-6);
        }
    }

    /// tanh(ε/2), and (e^ε - 1 + 2δ)/(e^ε + 1).
    #[test]
    fn the_advantage_is_that_of_the_best_test() {
        for (epsilon, delta, advantage) in [
            (0.1, 0.0, 0.049958),
            (0.5, 0.0, 0.244919),
            (1.0, 0.0, 0.462117),
            (2.0, 0.0, 0.761594),
            (4.0, 0.0, 0.964028),
            (8.0, 0.0, 0.999329),
            (8.0, 1e-5, 0.999329),
        ] {
            let facts = explained(&pair(epsilon, delta));
            close(facts.advantage, advantage, 1e-6);
            close(facts.right_guesses, 0.5 + 0.5 * advantage, 1e-6);
        }
    }

    #[test]
    fn detections_follow_the_two_lines_of_a_pair() {
        let at = |epsilon: f64, delta: f64, which: usize| {
            explained(&pair(epsilon, delta)).attacks[which].true_positive_rate
        };
        for (epsilon, delta, thousandth, tenth) in [
            (0.1, 0.0, 0.001105, 0.110517),
            (1.0, 0.0, 0.002718, 0.271828),
            (2.0, 0.0, 0.007389, 0.738906),
            (8.0, 1e-5, 0.999665, 0.999698),
        ] {
            close(at(epsilon, delta, 0), thousandth, 1e-6);
            close(at(epsilon, delta, 3), tenth, 1e-6);
        }
    }

    /// A Gaussian with μ = 1/2, 1, 2: 1 - Phi(Phi^-1(0.99) - μ) and 2 Phi(μ/2) - 1.
    #[test]
    fn an_event_is_explained_by_its_whole_curve() {
        for (mu, found, advantage) in
            [(0.5, 0.03390, 0.197413), (1.0, 0.09236, 0.382925), (2.0, 0.37208, 0.682689)]
        {
            let json = format!(r#"{{"type":"gdp","mu":{mu}}}"#);
            let promise = Promise::of(Claim::from_json(&json).unwrap(), Delta::new(1e-5).unwrap()).unwrap();
            let facts = explained(&promise);
            close(facts.attacks[1].true_positive_rate, found, 6e-6);
            close(facts.advantage, advantage, 1e-6);
            // A single pair of the curve gives a looser bound.
            let loose = explained(&pair(facts.epsilon, 1e-5));
            assert!(loose.attacks[1].true_positive_rate > 2.0 * found);
            // A pair of Gaussians at twice the distance.
            close(
                facts.groups[0].epsilon,
                explained(
                    &Promise::of(
                        Claim::from_json(&format!(r#"{{"type":"gdp","mu":{}}}"#, 2.0 * mu)).unwrap(),
                        Delta::new(1e-5).unwrap(),
                    )
                    .unwrap(),
                )
                .epsilon,
                1e-6,
            );
        }
    }

    #[test]
    fn groups_lose_as_the_theorem_says() {
        let facts = Explanation::of(
            &pair(0.5, 1e-6),
            Some(Count::new(1_000_000).unwrap()),
            Some(Count::new(3).unwrap()),
        );
        let sizes: Vec<u64> = facts.groups.iter().map(|group| group.size).collect();
        assert_eq!(sizes, [2, 3, 5]);
        close(facts.groups[1].epsilon, 1.5, 1e-9);
        close(facts.groups[1].delta, 5.367003099159e-6, 1e-15);
        close(facts.crowd.unwrap().exposed, 1.0, 1e-12);
    }

    #[test]
    fn no_promise_is_explained_as_none() {
        let promise =
            Promise::of(Claim::from_json(r#"{"type":"non_private"}"#).unwrap(), Delta::new(0.1).unwrap())
                .unwrap();
        let facts = explained(&promise);
        assert_eq!((facts.advantage, facts.right_guesses, facts.odds[0].after), (1.0, 1.0, 1.0));
    }
}
