//! Discrete Laplace mechanism for many integers at once.
//!
//! # Definition
//! Every one of n integers (the cells of a histogram, for example) gets its own discrete Laplace
//! noise of scale `t >= Δ/ε`:
//! ```text
//! P[Z_i = z] = (1 - r) / (1 + r) * r^|z|,      r = exp(-1/t)                                          (1)
//! ```
//! # Guarantee
//! If neighbours move the integers by at most Δ *added up*, the release is ε-private: the factors
//! `exp(|moved_i|/t)` of all of them multiply to at most `exp(Δ/t) <= exp(ε)`. The event is plain
//! pure privacy. (Where a neighbour can move one of them only, it is that of one integer:
//! [`Counts::of_which_one_moves`].)
//!
//! # Pitfalls
//! Δ is a sum over all integers. A row that moves from one cell to another has Δ = 2.

use sordino_noise::{Bits, DiscreteLaplace as Noise};
use sordino_privacy::{Count, Epsilon, Event, Scale};

use crate::accuracy;
use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism};
use crate::protection::Protection;
use crate::shift::{Shift, scale_for};

/// Answers are clamped to this size.
const LARGEST: i64 = 1 << 62;
/// Noisy answers are clamped to this size.
const END: i64 = i64::MAX - LARGEST;

/// Adds two-sided geometric noise to a list of integers.
///
/// ```
/// use sordino_mechanisms::{Counts, Mechanism, Shift};
/// use sordino_privacy::{Budget, Charge, Count, Epsilon, Neighbours, Terms};
/// // A row that becomes another leaves one cell and enters another.
/// let moves = Shift::new(Count::new(2)?, Neighbours::Replace);
/// let mechanism = Counts::new(Epsilon::new(0.5)?, moves, Count::new(3)?)?;
/// let mut budget = Budget::new(Terms::new(Epsilon::new(1.0)?, Neighbours::Replace));
/// let release = mechanism.release(&[310, 95, 402], budget.charge_claim(mechanism.claim())?)?;
/// println!("{:?} ± {}", release.value(), mechanism.error_at(0.95));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Counts {
    epsilon: Epsilon,
    noise: Noise,
    scale: Scale,
    shift: Shift,
    length: Count,
    one_moves: bool,
}

impl Counts {
    /// `length` integers (a public number), which neighbours move by at most `shift` added up.
    /// Fails for ε = 0, and for a scale beyond 64-bit draws.
    pub fn new(epsilon: Epsilon, shift: Shift, length: Count) -> Result<Self, MechanismError> {
        let scale = scale_for(shift.most().get(), epsilon)?;
        Ok(Self { epsilon, noise: Noise::with_scale(scale.get())?, scale, shift, length, one_moves: false })
    }

    /// States that a neighbour moves one of the integers only, by at most the shift, and leaves the
    /// others as they are.
    pub fn of_which_one_moves(self) -> Self {
        Self { one_moves: true, ..self }
    }

    /// The scale t of (1).
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// The least w that the noise of no integer exceeds, with probability at least `confidence`.
    pub fn error_at(&self, confidence: f64) -> f64 {
        accuracy::discrete_laplace(
            self.scale.get(),
            accuracy::miss_of_each(confidence, self.length.get() as usize),
        )
    }
}

impl Mechanism for Counts {
    type Answer<'a> = &'a [i64];
    type Output = Vec<i64>;

    fn protection(&self) -> &Protection {
        self.shift.protection()
    }

    fn event(&self) -> Event {
        if self.one_moves {
            Event::DiscreteLaplace { scale: self.scale, sensitivity: self.shift.most() }
        } else {
            Event::Pure { epsilon: self.epsilon }
        }
    }

    fn draw<R: Bits + ?Sized>(
        &self,
        answers: &[i64],
        bits: &mut R,
        _: &Covered,
    ) -> Result<Vec<i64>, MechanismError> {
        if answers.len() as u64 != self.length.get() {
            return Err(MechanismError::Length { expected: self.length.get(), got: answers.len() });
        }
        let mut noisy = vec![0; answers.len()];
        self.noise.fill(bits, &mut noisy);
        for (noisy, answer) in noisy.iter_mut().zip(answers) {
            // Clamping answers moves no two of them apart. Noise that was clamped to 64 bits takes
            // the sum beyond the end, as the noise itself would, so that clamping there is
            // post-processing.
            *noisy = noisy.saturating_add((*answer).clamp(-LARGEST, LARGEST)).clamp(-END, END);
        }
        Ok(noisy)
    }
}

#[cfg(test)]
mod tests {
    use sordino_privacy::Neighbours;

    use super::*;
    use crate::testing::{
        DrawFreely, chi_square, count, epsilon, histogram, misses_at_most, reveals_at_most,
    };

    const CELLS: i64 = 12;

    fn mechanism(e: f64, most: u64, length: u64) -> Counts {
        Counts::new(epsilon(e), Shift::new(count(most), Neighbours::Replace), count(length)).unwrap()
    }

    /// Equation (1), typed again, for two integers: results from -CELLS to CELLS around an answer,
    /// the end cells with the tails.
    fn masses(scale: f64, answer: [i64; 2]) -> Vec<f64> {
        let r = (-1.0 / scale).exp();
        let cell = |k: i64, answer: i64| match (k - answer).abs() {
            _ if k == -CELLS => r.powf((answer + CELLS) as f64) / (1.0 + r),
            _ if k == CELLS => r.powf((CELLS - answer) as f64) / (1.0 + r),
            z => (1.0 - r) / (1.0 + r) * r.powf(z as f64),
        };
        let all = || -CELLS..=CELLS;
        all().flat_map(|a| all().map(move |b| cell(a, answer[0]) * cell(b, answer[1]))).collect()
    }

    fn follows(made: &Counts, scale: f64) -> Result<(), String> {
        let side = 2 * CELLS as usize + 1;
        let place = |z: i64| (z.clamp(-CELLS, CELLS) + CELLS) as usize;
        let counts = histogram(side * side, 60_000, 51, |bits| {
            let noisy = made.draw_freely(&[1, -2], bits).unwrap();
            place(noisy[0]) * side + place(noisy[1])
        });
        chi_square(&counts, &masses(scale, [1, -2]))
    }

    #[test]
    fn draws_follow_the_definition() {
        follows(&mechanism(1.0, 2, 2), 2.0).unwrap();
        follows(&mechanism(2.0, 2, 2), 2.0).unwrap_err(); // half of the noise
    }

    #[test]
    fn no_output_reveals_more_than_epsilon() {
        let scale = mechanism(1.0, 2, 2).scale().get();
        for moved in [[1, -1], [2, 0], [0, -2], [1, 1]] {
            reveals_at_most(1.0, &masses(scale, [0, 0]), &masses(scale, moved)).unwrap();
        }
        // Sensitivity off by two: each of both moves by 2.
        reveals_at_most(1.0, &masses(scale, [0, 0]), &masses(scale, [2, -2])).unwrap_err();
    }

    #[test]
    fn the_stated_error_is_met() {
        let mechanism = mechanism(0.3, 2, 5);
        let error = mechanism.error_at(0.95);
        misses_at_most(0.05, 4000, 52, |bits| {
            mechanism.draw_freely(&[7; 5], bits).unwrap().iter().any(|x| (x - 7).abs() as f64 > error)
        });
    }

    #[test]
    fn edges() {
        let made = mechanism(1.0, 1, 2);
        let mut bits = sordino_noise::danger::seeded(53);
        let noisy = made.draw_freely(&[i64::MAX, i64::MIN], &mut bits).unwrap();
        assert_eq!(noisy, [END, -END], "clamped, never wrapped");
        let error = made.draw_freely(&[1], &mut bits).unwrap_err().to_string();
        assert_eq!(error, "this mechanism is for 2 integers, got 1; make it for the length of the list");
        assert!(matches!(made.event(), Event::Pure { .. }));
        assert!(matches!(made.of_which_one_moves().event(), Event::DiscreteLaplace { .. }));
    }
}
