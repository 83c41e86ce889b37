//! Randomized response: one person's category, protected before it leaves them.
//!
//! # Definition
//! Among k categories the true one is reported with probability p, each other one with probability
//! q:
//! ```text
//! p <= e^ε / (e^ε + k - 1),      q = (1 - p) / (k - 1)                                            (1)
//! ```
//! # Guarantee
//! ε-private under `replace` (local privacy): no report is more than `p/q <= e^ε` times likelier
//! for one category than for another (Warner, "Randomized response", 1965; Kairouz, Oh, Viswanath,
//! "Extremal mechanisms for local differential privacy", 2014). p is rounded toward more noise, and
//! the coin has exactly that p.
//!
//! Two coins tell the story: toss one, and if it shows heads answer truthfully; if tails, toss
//! another and say what it shows. A lie needs tails and then the wrong face: p = 3/4, ε = ln 3
//! ([`RandomizedResponse::two_coins`]).
//!
//! # Accuracy
//! If a share c of n reports names a category, `(c - q)/(p - q)` is an unbiased estimate of its
//! true share. Reports are independent, so that by Hoeffding's inequality it is off by more than
//! `sqrt(ln(2/β)/(2n)) / (p - q)` with probability at most β. Its standard error, given the true
//! categories, is `sqrt(s p (1 - p) + (1 - s) q (1 - q)) / (sqrt(n) (p - q))` for a true share s:
//! ns reports name the category with probability p each, the others with probability q each.
//!
//! # Pitfalls
//! - Estimates may be below 0 or above 1. Clamping single ones before averaging or adding makes
//!   them biased.
//! - It hides *which* category, not *whether* somebody answered: there is no claim under
//!   `add_remove`.
//! - A person who answers twice spends twice: a budget for persons needs
//!   [`RandomizedResponse::for_unit`], which states that they do not.

use std::num::NonZero;

use sordino_noise::{Bits, Probability, uniform_below};
use sordino_privacy::{
    Contribution, Count, Epsilon, Event, Neighbours, RandomizedResponseLaw, TruthProbability, Unit,
};

use crate::accuracy;
use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism};
use crate::protection::Protection;

/// Reports a category or one of the others.
///
/// ```
/// use sordino_mechanisms::{Mechanism, RandomizedResponse};
/// use sordino_privacy::{Budget, Charge, Epsilon, Neighbours, Terms};
/// let mechanism = RandomizedResponse::two_coins();
/// let mut mine = Budget::new(Terms::new(Epsilon::new(1.1)?, Neighbours::Replace));
/// let report = mechanism.release(1, mine.charge_claim(mechanism.claim())?)?; // 1: yes
/// assert!(*report.value() <= 1);
/// // 1000 people, 400 of whom said yes: 30 % give or take.
/// assert!((mechanism.estimate(0.4) - 0.3).abs() < 1e-15 && mechanism.error_at(0.95, 1000) < 0.09);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RandomizedResponse {
    response: RandomizedResponseLaw,
    truth: Probability,
    protection: Protection,
}

impl RandomizedResponse {
    /// The most truthful response for ε. Fails for a relation other than replace, for fewer than
    /// two categories, and for an ε of which nothing is left after rounding.
    pub fn new(epsilon: Epsilon, categories: Count, neighbours: Neighbours) -> Result<Self, MechanismError> {
        let k = categories.get() as f64;
        let exact = 1.0 / (1.0 + (k - 1.0) * (-epsilon.get()).exp());
        // Four roundings, each within a unit of the last place: eight units are more than all of
        // them.
        let truth = (exact * (1.0 - 8.0 * f64::EPSILON)).min(1.0f64.next_down());
        if truth < 1.0 / k && categories > Count::ONE {
            return Err(MechanismError::EpsilonTooSmall {
                epsilon: epsilon.get(),
                categories: categories.get(),
            });
        }
        Self::with_truth_probability(categories, TruthProbability::new(truth)?, neighbours)
    }

    /// The truth with this probability, at least 1/k.
    pub fn with_truth_probability(
        categories: Count,
        truth_probability: TruthProbability,
        neighbours: Neighbours,
    ) -> Result<Self, MechanismError> {
        match neighbours.contribution() {
            Some(Contribution::Changed) => {}
            Some(Contribution::Absent) | None => {
                return Err(MechanismError::Relation {
                    what: "a randomized response",
                    neighbours,
                    advice: "it hides which category a person has, not whether they answered: use replace",
                });
            }
        }
        let response = RandomizedResponseLaw::new(categories, truth_probability)?;
        let truth = Probability::from_f64(truth_probability.get())?;
        Ok(Self { response, truth, protection: Protection::of_records(neighbours) })
    }

    /// States that it is all that one of these units reports. Without it, it is one record's
    /// category.
    pub fn for_unit(self, unit: Unit) -> Self {
        Self { protection: self.protection.for_unit(unit), ..self }
    }

    /// Two fair coins, two categories: the truth with probability 3/4, ε = ln 3.
    pub fn two_coins() -> Self {
        let made = TruthProbability::new(0.75)
            .map_err(MechanismError::from)
            .and_then(|p| Self::with_truth_probability(Count::new(2)?, p, Neighbours::Replace));
        // Proof: 3/4 is a probability above 1/2, 2 a count, and the relation is replace.
        made.expect("constants within every range")
    }

    /// p of (1).
    pub fn truth_probability(&self) -> TruthProbability {
        self.response.truth_probability()
    }

    /// The unbiased estimate of a category's true share, from its share among reports.
    pub fn estimate(&self, share: f64) -> f64 {
        (share - self.lie()) / (self.truth_probability().get() - self.lie())
    }

    /// What an estimate from `reports` reports is off by, at most, with probability at least
    /// `confidence`. Infinite if there are no reports, or if truth is as likely as any lie.
    pub fn error_at(&self, confidence: f64, reports: u64) -> f64 {
        let deviation = (-(0.5 * accuracy::miss(confidence)).ln() / (2.0 * reports as f64)).sqrt();
        deviation / (self.truth_probability().get() - self.lie()).max(0.0)
    }

    /// The standard error of an estimate from `reports` reports of which this share names the
    /// category; the unknown true share in the formula is the estimate, moved into [0, 1]. Infinite
    /// if there are no reports, or if truth is as likely as any lie.
    pub fn standard_error(&self, share: f64, reports: u64) -> f64 {
        let (p, q) = (self.truth_probability().get(), self.lie());
        let truth = self.estimate(share).clamp(0.0, 1.0);
        let variance = truth * p * (1.0 - p) + (1.0 - truth) * q * (1.0 - q);
        if p > q { (variance / reports as f64).sqrt() / (p - q) } else { f64::INFINITY }
    }

    /// q of (1).
    fn lie(&self) -> f64 {
        (1.0 - self.truth_probability().get()) / (self.response.categories().get() - 1) as f64
    }

    fn respond<R: Bits + ?Sized>(&self, category: u64, bits: &mut R) -> u64 {
        let last = self.response.categories().get() - 1;
        let category = category.min(last);
        if self.truth.flip(bits) {
            return category;
        }
        // One of the others: those from the true one on move up by one.
        // Proof: a response has at least two categories.
        let other = uniform_below(NonZero::new(last).expect("two categories at least"), bits);
        if other < category { other } else { other + 1 }
    }
}

impl Mechanism for RandomizedResponse {
    /// A category from 0 to k - 1; beyond the last it counts as the last, since a refusal would
    /// tell.
    type Answer<'a> = u64;
    type Output = u64;

    fn protection(&self) -> &Protection {
        &self.protection
    }

    fn event(&self) -> Event {
        Event::RandomizedResponse(self.response)
    }

    fn draw<R: Bits + ?Sized>(
        &self,
        category: u64,
        bits: &mut R,
        _: &Covered,
    ) -> Result<u64, MechanismError> {
        Ok(self.respond(category, bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{chi_square, count, epsilon, histogram, permit, reveals_at_most};

    fn mechanism(e: f64, k: u64) -> RandomizedResponse {
        RandomizedResponse::new(epsilon(e), count(k), Neighbours::Replace).unwrap()
    }

    /// Equation (1) typed again: a report's probabilities for each category.
    fn masses(p: f64, k: usize, category: usize) -> Vec<f64> {
        (0..k).map(|report| if report == category { p } else { (1.0 - p) / (k - 1) as f64 }).collect()
    }

    fn follows(mechanism: &RandomizedResponse, p: f64, k: usize, category: usize) -> Result<(), String> {
        let counts = histogram(k, 100_000, 28, |bits| mechanism.respond(category as u64, bits) as usize);
        chi_square(&counts, &masses(p, k, category))
    }

    #[test]
    fn textbook_values() {
        for (k, e, p, q) in [
            (2, 1.0, 0.731_058_578_630_0, 0.268_941_421_370_0),
            (10, 1.0, 0.231_969_316_684_1, 0.085_336_742_590_66),
            (10, 3.0, 0.690_567_857_703_0, 0.034_381_349_144_11),
        ] {
            let mechanism = mechanism(e, k);
            assert!((mechanism.truth_probability().get() - p).abs() < 1e-12);
            assert!((mechanism.lie() - q).abs() < 1e-12);
        }
        let coins = RandomizedResponse::two_coins();
        let release = coins.release(0, permit(&coins)).unwrap();
        // At δ = 1e-6 the loss ln 3 is hardly less; the certified interval has it from above.
        assert!((release.guarantee().epsilon.upper - 3f64.ln()).abs() < 1e-4);
    }

    #[test]
    fn draws_follow_the_definition() {
        for category in [0, 4, 9] {
            follows(&mechanism(1.0, 10), 0.231_969_316_684_1, 10, category).unwrap();
        }
        follows(&RandomizedResponse::two_coins(), 0.75, 2, 1).unwrap();
    }

    /// Rounded toward more noise: the comparison has no slack beyond that of the logarithm.
    #[test]
    fn no_output_reveals_more_than_epsilon() {
        for k in [2, 3, 10] {
            for e in [1e-3, 0.1, 1.0, 5.0, 20.0] {
                let p = mechanism(e, k as u64).truth_probability().get();
                assert!((p * (k - 1) as f64 / (1.0 - p)).ln() <= e);
                reveals_at_most(e, &masses(p, k, 0), &masses(p, k, 1)).unwrap();
            }
        }
        assert!(mechanism(700.0, 2).truth_probability().get() < 1.0);
    }

    #[test]
    fn broken_twins_are_caught() {
        // Half of the lies that ε = 1 needs.
        let twin = TruthProbability::new(1.0 - 0.5 * 0.268_941_421_37).unwrap();
        let twin = RandomizedResponse::with_truth_probability(count(2), twin, Neighbours::Replace).unwrap();
        let p = twin.truth_probability().get();
        follows(&twin, 0.731_058_578_63, 2, 0).unwrap_err();
        reveals_at_most(1.0, &masses(p, 2, 0), &masses(p, 2, 1)).unwrap_err();
        // "Else any category" instead of "else one of the others", where truth comes with p and
        // again by chance.
        let p = mechanism(1.0, 10).truth_probability().get();
        let any: Vec<f64> = (0..10).map(|i| (1.0 - p) / 10.0 + if i == 0 { p } else { 0.0 }).collect();
        let other: Vec<f64> = (0..10).map(|i| (1.0 - p) / 10.0 + if i == 1 { p } else { 0.0 }).collect();
        reveals_at_most(1.0, &any, &other).unwrap_err();
    }

    #[test]
    fn estimates_are_unbiased_and_within_the_stated_error() {
        let (mechanism, n, share) = (mechanism(1.0, 3), 50_000u64, [0.5, 0.3, 0.2]);
        let mut bits = sordino_noise::danger::seeded(29);
        let mut counts = [0u64; 3];
        for person in 0..n {
            let category = if person < n / 2 {
                0
            } else if person < n * 8 / 10 {
                1
            } else {
                2
            };
            counts[mechanism.respond(category, &mut bits) as usize] += 1;
        }
        // At this confidence Hoeffding's bound fails for none of three in more than one of 3e8
        // seeds.
        let w = mechanism.error_at(1.0 - 1e-9, n);
        for (count, share) in counts.iter().zip(share) {
            assert!((mechanism.estimate(*count as f64 / n as f64) - share).abs() < w);
        }
        assert!(w < 0.06, "{w}");
        assert!(mechanism.error_at(0.95, 0).is_infinite() && mechanism.error_at(1.0, 10).is_infinite());
    }

    #[test]
    fn edges() {
        let error = RandomizedResponse::new(epsilon(1.0), count(2), Neighbours::AddRemove).unwrap_err();
        assert!(error.to_string().ends_with("not whether they answered: use replace"));
        assert!(RandomizedResponse::new(epsilon(1.0), count(1), Neighbours::Replace).is_err());
        let small = RandomizedResponse::new(epsilon(0.0), count(2), Neighbours::Replace);
        assert!(matches!(small, Err(MechanismError::EpsilonTooSmall { .. })));
        let mut bits = sordino_noise::danger::seeded(30);
        assert!((0..1000).all(|_| mechanism(1.0, 3).respond(u64::MAX, &mut bits) < 3));
    }

    /// 300 of 1000 people say yes; estimates of many surveys spread as the formula says.
    #[test]
    fn estimates_are_unbiased_and_spread_as_stated() {
        let (mechanism, surveys) = (RandomizedResponse::two_coins(), 2000);
        let mut bits = sordino_noise::danger::seeded(37);
        let estimates: Vec<f64> = (0..surveys)
            .map(|_| {
                let yes =
                    (0..1000).filter(|i| mechanism.respond(u64::from(*i < 300), &mut bits) == 1).count();
                mechanism.estimate(yes as f64 / 1000.0)
            })
            .collect();
        let mean = estimates.iter().sum::<f64>() / f64::from(surveys);
        let variance = estimates.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(surveys);
        // p = 3/4, q = 1/4: sqrt(3/16 / 1000) / (1/2).
        let stated = mechanism.standard_error(0.4, 1000);
        assert!((stated - (0.1875f64 / 1000.0).sqrt() / 0.5).abs() < 1e-15);
        // Six standard deviations of the mean, and of a variance of nearly normal numbers (false
        // alarm 2e-9 each).
        assert!((mean - 0.3).abs() < 6.0 * stated / f64::from(surveys).sqrt(), "{mean}");
        let spread = stated * stated * (2.0 / f64::from(surveys)).sqrt();
        assert!((variance - stated * stated).abs() < 6.0 * spread, "{variance}");
        assert_eq!(mechanism.standard_error(0.4, 0), f64::INFINITY);
    }
}
