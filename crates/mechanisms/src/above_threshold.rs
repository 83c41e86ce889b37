//! AboveThreshold, the sparse-vector technique: the first answer of a stream that is above a
//! threshold.
//!
//! # Definition
//! With integer answers that neighbours move by at most Δ, a threshold T, and independent discrete
//! Laplace noise:
//! ```text
//! T' = T + ρ,  ρ of scale >= 2Δ/ε, drawn once
//! answer i is Above  if  q_i + ν_i >= T',  ν_i of scale >= 4Δ/ε, fresh each time                        (1)
//! ```
//! The stream ends at the first Above.
//!
//! # Guarantee
//! ε-private, however many answers were Below (Dwork, Naor, Reingold, Rothblum, Vadhan, "On the
//! complexity of differentially private data release", 2009; Dwork, Roth, "The algorithmic
//! foundations of differential privacy", 2014, Theorem 3.23). *Proof for integers*: fix the noise
//! of all answers before the k-th, and let g be the largest of their noisy values. The stream ends
//! at k exactly if `T + ρ > g` and `q_k + ν_k >= T + ρ`. On a neighbour g becomes g' and q_k
//! becomes q_k', each at most Δ away. Adding `g' - g` to ρ and `g' - g + q_k - q_k'` to ν_k,
//! integers of size at most Δ and 2Δ, maps the runs that end at k one to one to such runs of the
//! neighbour; it changes the law of ρ by at most `exp(Δ ε/(2Δ))` and that of ν_k by at most
//! `exp(2Δ ε/(4Δ))`, together `exp(ε)`. A stream that never ends needs the first of the two alone.
//!
//! # Accuracy
//! With w_1 and w_2 the errors of ρ at 1 - β/2 and of one ν at 1 - β/(2n): with probability 1 - β,
//! every one of n answers below `T - w_1 - w_2` is Below and every one of at least `T + w_1 + w_2`
//! is Above. Privacy does not depend on n, accuracy does.
//!
//! # Pitfalls
//! Published variants that are *not* private (Lyu, Su, Li, "Understanding the sparse vector
//! technique for differential privacy", 2017): no noise on the answers; going on after an Above for
//! free; releasing the noisy answer that was Above; noise that does not grow with the number of
//! Aboves. For c Aboves, charge and start c times.

use std::fmt;

use sordino_noise::{Bits, DiscreteLaplace, entropy};
use sordino_privacy::{Count, Epsilon, Event, Guarantee, Permit, Scale};

use crate::accuracy;
use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism, sealed};
use crate::protection::Protection;
use crate::shift::{Shift, scale_for};

/// The side of the noisy threshold on which an answer lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Below; the stream goes on.
    Below,
    /// Above; the stream has ended.
    Above,
}

/// Finds the first answer above a threshold.
///
/// ```
/// use sordino_mechanisms::{AboveThreshold, Mechanism, Shift, Side};
/// use sordino_privacy::{Budget, Charge, Epsilon, Neighbours, Terms};
/// let visits = Shift::count(Neighbours::AddRemove)?;
/// let mechanism = AboveThreshold::new(Epsilon::new(1.0)?, visits, 500)?;
/// let mut budget = Budget::new(Terms::new(Epsilon::new(2.0)?, Neighbours::AddRemove));
///
/// // All at once: which day was the first?
/// let day = mechanism.release(&[120, 133, 960, 128], budget.charge_claim(mechanism.claim())?)?;
/// assert_eq!(*day.value(), Some(2));
///
/// // Or day by day.
/// let mut watch = mechanism.start(budget.charge_claim(mechanism.claim())?)?;
/// assert_eq!(watch.ask(120)?, Side::Below);
/// assert_eq!(watch.ask(960)?, Side::Above);
/// assert!(watch.ask(120).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct AboveThreshold {
    epsilon: Epsilon,
    shift: Shift,
    threshold: i64,
    threshold_noise: DiscreteLaplace,
    answer_noise: DiscreteLaplace,
    scales: (Scale, Scale),
}

impl AboveThreshold {
    /// A public threshold. Fails for ε = 0, and for noise beyond 64-bit draws.
    pub fn new(epsilon: Epsilon, shift: Shift, threshold: i64) -> Result<Self, MechanismError> {
        let most = shift.most().get(); // at most 2^53
        let scales = (scale_for(2 * most, epsilon)?, scale_for(4 * most, epsilon)?);
        Ok(Self {
            epsilon,
            shift,
            threshold,
            threshold_noise: DiscreteLaplace::with_scale(scales.0.get())?,
            answer_noise: DiscreteLaplace::with_scale(scales.1.get())?,
            scales,
        })
    }

    /// How far an answer must be from the threshold for all of `answers` answers to be on the right
    /// side, with probability at least `confidence`.
    pub fn error_at(&self, confidence: f64, answers: Count) -> f64 {
        let half = 0.5 * accuracy::miss(confidence);
        accuracy::discrete_laplace(self.scales.0.get(), half)
            + accuracy::discrete_laplace(self.scales.1.get(), half / answers.get() as f64)
    }

    /// Begins a stream that answers each question at once. The permit pays for all of it.
    pub fn start(&self, permit: Permit) -> Result<Watch<'_>, MechanismError> {
        let (threshold, guarantee) =
            sealed(self, permit, &mut entropy()?, |bits, _| Ok(self.noisy_threshold(bits)))?.into_parts();
        Ok(Watch { mechanism: self, threshold, halted: false, guarantee })
    }

    fn noisy_threshold<R: Bits + ?Sized>(&self, bits: &mut R) -> i128 {
        i128::from(self.threshold) + self.threshold_noise.sample(bits)
    }

    /// In 128 bits: a sum clamped *before* the comparison would no longer move with its noise.
    fn side<R: Bits + ?Sized>(&self, answer: i64, noisy_threshold: i128, bits: &mut R) -> Side {
        let noisy = i128::from(answer) + self.answer_noise.sample(bits);
        if noisy >= noisy_threshold { Side::Above } else { Side::Below }
    }

    fn first_above<R: Bits + ?Sized>(&self, answers: &[i64], bits: &mut R) -> Option<usize> {
        let threshold = self.noisy_threshold(bits);
        answers.iter().position(|&answer| self.side(answer, threshold, bits) == Side::Above)
    }
}

impl Mechanism for AboveThreshold {
    /// The answers in order; how many there are is public.
    type Answer<'a> = &'a [i64];
    /// The position of the first one above, if there was any.
    type Output = Option<usize>;

    fn protection(&self) -> &Protection {
        self.shift.protection()
    }

    fn event(&self) -> Event {
        Event::AboveThreshold { epsilon: self.epsilon }
    }

    fn draw<R: Bits + ?Sized>(
        &self,
        answers: &[i64],
        bits: &mut R,
        _: &Covered,
    ) -> Result<Option<usize>, MechanismError> {
        Ok(self.first_above(answers, bits))
    }
}

/// A stream that has begun. Not `Clone`: two streams with one noisy threshold are not one release.
pub struct Watch<'m> {
    mechanism: &'m AboveThreshold,
    threshold: i128,
    halted: bool,
    guarantee: Guarantee,
}

impl Watch<'_> {
    /// On which side is this answer? Fails once one was above.
    pub fn ask(&mut self, answer: i64) -> Result<Side, MechanismError> {
        if self.halted {
            return Err(MechanismError::Halted);
        }
        let side = self.mechanism.side(answer, self.threshold, &mut entropy()?);
        self.halted = side == Side::Above;
        Ok(side)
    }

    /// What is promised about all answers of this stream together.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }
}

impl fmt::Debug for Watch<'_> {
    /// Without the noisy threshold, which would turn each answer into a comparison with a known
    /// number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("halted", &self.halted)
            .field("guarantee", &self.guarantee)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use sordino_privacy::Neighbours;

    use super::*;
    use crate::testing::{
        chi_square, count, epsilon, histogram, loss, neighbouring_scores, permit, reveals_at_most,
    };

    fn mechanism(e: f64, threshold: i64) -> AboveThreshold {
        AboveThreshold::new(epsilon(e), Shift::new(count(1), Neighbours::AddRemove), threshold).unwrap()
    }

    /// Equation (1) typed again: the chance of halting at each answer, and of not halting, by a sum
    /// over ρ.
    fn masses(scales: (f64, f64), threshold: i64, answers: &[i64]) -> Vec<f64> {
        let (r, s) = ((-1.0 / scales.0).exp(), (-1.0 / scales.1).exp());
        // P[ν >= z]
        let at_least = |z: i64| {
            if z > 0 { s.powf(z as f64) / (1.0 + s) } else { 1.0 - s.powf((1 - z) as f64) / (1.0 + s) }
        };
        let below = |z: i64| {
            if z > 0 { 1.0 - s.powf(z as f64) / (1.0 + s) } else { s.powf((1 - z) as f64) / (1.0 + s) }
        };
        let mut masses = vec![0.0; answers.len() + 1];
        let reach = (50.0 * scales.0) as i64 + 20;
        for rho in -reach..=reach {
            let mut reached = (1.0 - r) / (1.0 + r) * r.powf(rho.abs() as f64);
            for (i, answer) in answers.iter().enumerate() {
                let needed = threshold + rho - answer;
                masses[i] += reached * at_least(needed);
                reached *= below(needed);
            }
            masses[answers.len()] += reached;
        }
        masses
    }

    fn follows(mechanism: &AboveThreshold, scales: (f64, f64), answers: &[i64]) -> Result<(), String> {
        let cell = |halt: Option<usize>| halt.unwrap_or(answers.len());
        let counts =
            histogram(answers.len() + 1, 60_000, 31, |bits| cell(mechanism.first_above(answers, bits)));
        chi_square(&counts, &masses(scales, mechanism.threshold, answers))
    }

    const STREAM: [i64; 5] = [0, 3, -2, 1, 4];

    #[test]
    fn draws_follow_the_definition() {
        follows(&mechanism(1.0, 3), (2.0, 4.0), &STREAM).unwrap();
        follows(&mechanism(0.5, 0), (4.0, 8.0), &STREAM).unwrap();
    }

    fn worst(scales: (f64, f64), by: i64) -> f64 {
        let base = [0, 0, 0, 0];
        let near = |threshold| {
            let one = masses(scales, threshold, &base);
            let moved = neighbouring_scores(&base, by);
            moved.iter().map(|two| loss(&one, &masses(scales, threshold, two))).fold(0.0, f64::max)
        };
        [-8, 0, 8].map(near).into_iter().fold(0.0, f64::max)
    }

    #[test]
    fn no_output_reveals_more_than_epsilon() {
        for e in [0.5, 1.0] {
            let made = mechanism(e, 0);
            let scales = (made.scales.0.get(), made.scales.1.get());
            assert!(worst(scales, 1) <= e * (1.0 + 1e-9), "{}", worst(scales, 1));
            let one = masses(scales, 3, &STREAM);
            for two in neighbouring_scores(&STREAM, 1) {
                reveals_at_most(e, &one, &masses(scales, 3, &two)).unwrap();
            }
        }
    }

    #[test]
    fn broken_twins_are_caught() {
        follows(&mechanism(2.0, 3), (2.0, 4.0), &STREAM).unwrap_err(); // half of the noise of ε = 1
        assert!(worst((1.0, 2.0), 1) > 1.0, "half of the noise: {}", worst((1.0, 2.0), 1));
        assert!(worst((2.0, 4.0), 2) > 1.0, "sensitivity off by two: {}", worst((2.0, 4.0), 2));
        // Lyu, Su, Li 2017: next to no noise on the answers.
        assert!(worst((2.0, 0.2), 1) > 2.0);
    }

    /// A long stream of answers far below costs accuracy, not privacy.
    #[test]
    fn privacy_does_not_depend_on_the_length() {
        let (one, two) = (vec![0; 200], vec![1; 200]);
        reveals_at_most(1.0, &masses((2.0, 4.0), 5, &one), &masses((2.0, 4.0), 5, &two)).unwrap();
    }

    #[test]
    fn the_stated_error_is_met() {
        let (mechanism, n) = (mechanism(1.0, 100), 20);
        let far = mechanism.error_at(0.95, count(n)) as i64;
        // The longest stream of answers just low enough, then one just high enough.
        let mut answers = vec![100 - far - 1; n as usize - 1];
        answers.push(100 + far);
        let right = masses((2.0, 4.0), 100, &answers)[n as usize - 1];
        assert!(right >= 0.95, "{right}");
        assert!(mechanism.error_at(1.0, count(n)).is_infinite());
        // Dwork and Roth's Theorem 3.24 has 8 (ln n + ln(2/β)) / ε; ours is tighter.
        assert!((far as f64) < 8.0 * (20f64.ln() + 40f64.ln()));
    }

    #[test]
    fn a_stream_ends_at_the_first_answer_above() {
        let mechanism = mechanism(1.0, 0);
        let mut watch = mechanism.start(permit(&mechanism)).unwrap();
        assert_eq!(watch.ask(i64::MIN).unwrap(), Side::Below);
        assert_eq!(watch.ask(i64::MAX).unwrap(), Side::Above);
        assert!(matches!(watch.ask(i64::MIN), Err(MechanismError::Halted)));
        assert!(watch.guarantee().holds());
        assert!(!format!("{watch:?}").contains("threshold:"));
        let mut bits = sordino_noise::danger::seeded(32);
        assert_eq!(mechanism.first_above(&[], &mut bits), None);
    }
}
