//! What a guarantee means for one person: the facts.
//!
//! # Theorems
//! Let an attacker see the release, know every other record, and decide whether one unit took part.
//! At a rate f of false alarms its detections are at most `1 - T(f)` with T the trade-off curve of
//! the mechanism; for one (ε, δ) that is `min(e^ε f + δ, 1 - e^-ε (1 - δ - f))` (Kairouz, Oh,
//! Viswanath, *The Composition Theorem for Differential Privacy*, 2015; Dong, Roth, Su, *Gaussian
//! Differential Privacy*, 2019). From it follow
//! - the share of right guesses when both answers were as likely before: `(1 + advantage) / 2`;
//! - what a conclusion about the person can become: one that is drawn in a share f of outcomes
//!   without the person is drawn in at most `1 - T(f)` of them with the person, so its odds grow by
//!   a factor of at most `(1 - T(f)) / f`. T is convex with T(0) <= 1, so the factor is largest for
//!   the rarest conclusions; [`Odds`] is for those that are drawn in one of 100 outcomes or more.
//!   With δ = 0 it is at most `e^ε` for all.
//!
//! A group of k units loses at most (k ε, δ (e^{kε} - 1)/(e^ε - 1)).
//!
//! # Pitfalls
//! - The promise is about what taking part *adds*. That smoking causes cancer may become known,
//!   about smokers who did not take part as well.
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

/// Rates of false alarms that an attacker is asked about.
const ALARMS: [f64; 4] = [0.001, 0.01, 0.05, 0.1];
/// What an observer believed before.
const PRIORS: [f64; 3] = [0.01, 0.1, 0.5];
/// Conclusions that [`Odds`] speak of are drawn in at least this share of outcomes.
pub(crate) const CONCLUSION: f64 = 0.01;
/// The groups that are always shown.
const GROUPS: [u64; 2] = [2, 5];

/// A guarantee as it is explained: a pair (ε, δ), and the whole curve where an event is known.
#[derive(Clone, Debug)]
pub struct Promise {
    epsilon: f64,
    delta: Delta,
    neighbours: Neighbours,
    claim: Option<Claim>,
    curve: TradeOff,
}

impl Promise {
    /// (ε, δ) and nothing else is known.
    pub fn pair(epsilon: Epsilon, delta: Delta, neighbours: Neighbours) -> Self {
        let curve = TradeOff::from(Approximate::new(epsilon, delta));
        Self { epsilon: epsilon.get(), delta, neighbours, claim: None, curve }
    }

    /// Everything that an event releases. Its curve says more than any one pair of it.
    pub fn of(claim: Claim, delta: Delta) -> Result<Self, AccountError> {
        let epsilon = accounting::epsilon(&claim, delta, Accountant::Auto)?.bound.upper;
        let curve = TradeOff::of(&claim)?;
        Ok(Self { epsilon, delta, neighbours: claim.neighbours, claim: Some(claim), curve })
    }

    /// Nothing is promised.
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

    /// What it is a promise about.
    pub fn neighbours(&self) -> Neighbours {
        self.neighbours
    }

    /// The best attacker's errors.
    pub fn curve(&self) -> &TradeOff {
        &self.curve
    }

    /// What the pair (ε, δ) alone would allow, where more than the pair is known.
    pub(crate) fn pair_curve(&self) -> Option<TradeOff> {
        let epsilon = self.claim.as_ref().and_then(|_| Epsilon::new(self.epsilon).ok())?;
        Some(TradeOff::from(Approximate::new(epsilon, self.delta)))
    }

    /// The promise to k units together.
    fn for_group(&self, size: Count) -> GroupPromise {
        let by_event = self.claim.as_ref().and_then(|claim| {
            let claim =
                Claim::new(claim.neighbours, Event::Group { size, event: Box::new(claim.event.clone()) });
            Promise::of(claim, self.delta).ok()
        });
        // An event knows more about its groups than the rule for pairs does.
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
            // No ε at all, or none that a double can hold: no promise to the group.
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
    /// The relation: whose taking part is hidden.
    pub neighbours: Neighbours,
    /// The most that detections exceed false alarms by.
    pub advantage: f64,
    /// The most guesses that are right, if both answers were as likely before.
    pub right_guesses: f64,
    /// The best attacker at some rates of false alarms.
    pub attacks: Vec<Attack>,
    /// What becomes of what was believed before.
    pub odds: Vec<Odds>,
    /// What groups lose.
    pub groups: Vec<GroupPromise>,
    /// What δ means for a crowd, if its size was given.
    pub crowd: Option<Crowd>,
}

/// One point of the trade-off curve.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Attack {
    /// Share of those who did not take part, and are said to have.
    pub false_positive_rate: f64,
    /// Share of those who did take part that is found, at most.
    pub true_positive_rate: f64,
}

/// Belief in a conclusion about one person, which is drawn in at least one of
/// 100 outcomes (any outcome if δ = 0).
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Odds {
    /// Without the person's data.
    pub before: f64,
    /// With it, at most.
    pub after: f64,
}

/// A group whose records all change together.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct GroupPromise {
    /// How many units.
    pub size: u64,
    /// ε for all of them, at [`Self::delta`].
    pub epsilon: f64,
    /// δ for all of them.
    pub delta: f64,
    /// Detections minus false alarms, at most.
    pub advantage: f64,
    /// Detections at one per cent of false alarms, at most.
    pub detections_at_1_percent: f64,
}

/// δ beside the number of people.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Crowd {
    /// How many people there are.
    pub people: u64,
    /// δ times their number: whole records that δ alone would allow to be published, on average.
    pub exposed: f64,
}

impl Explanation {
    /// What `promise` means, to `people` people if their number is
    /// public, and to a group of `group`.
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
        // Sizes are above 0: two constants, and a count that was given and is one.
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

/// By how much a conclusion's odds can grow. Where ε alone bounds it (δ =
/// 0), it does so for rarer ones too.
fn odds_factor(promise: &Promise) -> f64 {
    if promise.delta.get() == 0.0 || promise.epsilon == f64::INFINITY {
        return promise.epsilon.exp();
    }
    promise.curve.true_positive_rate(CONCLUSION) / CONCLUSION
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
            // One pair of the curve says less.
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
