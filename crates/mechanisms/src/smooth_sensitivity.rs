//! Smooth sensitivity: one integer, with noise as large as the data near by require.
//!
//! # Definition
//! A(k) of a table x bounds what one more change does to the answer f on every table that differs
//! from x in at most k units: the caller computes it, in integers, such that for neighbours x, x'
//! ```text
//! |f(x) - f(x')| <= A_0(x),      A_k(x) <= A_(k+1)(x')   for all k                                     (1)
//! ```
//! (the largest local sensitivity within distance k satisfies both). Answers are clamped to a
//! public range of G + 1 integers, and with them the A_k to G. A public grid divides each unit into
//! 2^j cells. A public ladder holds whole noise scales `σ_0 < σ_1 < ...` in cells, with
//! `σ_(l+1) <= e^β σ_l`. With `level(a)` the least l with `a <= s σ_l`:
//! ```text
//! l(x) = max(0, max over k of level(A_k(x)) - k)                                                       (2)
//! release round(f(x) + σ_(l(x)) Z), clamped to the range                                               (3)
//! ```
//! | noise Z | cost | s | β |
//! |---|---|---|---|
//! | [`Cauchy`](SmoothNoise::Cauchy) | ε | ε/2 | ε/2 |
//! | [`Student`](SmoothNoise::Student), three degrees | ε | ε sqrt(3)/4 | ε/6 |
//! | [`Laplace`](SmoothNoise::Laplace) | ε, δ | ε/2 | the largest up to ε/2 with (4) at most δ |
//!
//! ```text
//! (1 - e^-β)/2 (exp(-(ε - s + β)/(e^β - 1)) + exp(-(ε + s + β)/(e^β - 1)))                             (4)
//! ```
//! # Guarantee
//! ε-private, or (ε, δ)-private. This is smooth sensitivity (Nissim, Raskhodnikova, Smith, "Smooth
//! sensitivity and sampling in private data analysis", 2007; Student's t: Bun, Steinke,
//! "Average-case averages", 2019) rounded up to a ladder whose steps are as wide as the smoothness
//! allows, which leaves the smoothness as it is. *Proof.*
//! 1. Neighbours' levels differ by at most 1: if `l(x) = level(A_k(x)) - k`, then
//!    `level(A_(k+1)(x')) - (k + 1) >= l(x) - 1`. And `|f(x) - f(x')|` is at most s times the
//!    lesser of the two scales, since (1) holds for x and for x'.
//! 2. Everything that depends on data before the noise is an integer: the answer and a rung of a
//!    public ladder. Both lie on the grid, so that rounding and clamping are post-processing of
//!    `f + σ Z`, and the noise is the rounded one, drawn exactly ([`sordino_noise`]). Neither the
//!    grid nor rounding nor tails tell the scale.
//! 3. Student's t with d degrees (Cauchy: d = 1). The logarithm of the density of `y = m + σ Z` is
//!    `-ln σ - (d + 1)/2 ln(1 + z^2/d)`, z = (y - m)/σ, up to a constant. Its derivative by m is at
//!    most `(d + 1)/(2 sqrt d)/σ` in size; its derivative by ln σ is `(d + 1) z^2/(d + z^2) - 1`,
//!    between -1 and d. Moving the answer by s σ, and then the scale by one step, costs at most
//!    `s (d + 1)/(2 sqrt d) + d β = ε`.
//! 4. Laplace. Let y have scale 1 around 0, and compare with scale `e^b` around m. If b >= 0, then
//!    `|m| <= s` and the loss is `b - |y| + e^-b |y - m| <= b + s <= ε`. If b = -c < 0, then
//!    `|m| <= s e^-c` and the loss is `-c - |y| + e^c |y - m|`. For m >= 0 that is
//!    `(e^c - 1)|y| - c + μ` where y < 0, `(e^c - 1) y - c - μ` where y > m, with
//!    `μ = m e^c <= s`, and at most `μ - c < ε` between. |y| is exponential, so that the
//!    expectation of `(1 - e^(ε - loss))+` is at most (4) with c for β and μ for s. Both factors of
//!    (4) grow with c, since `(a + c)/(e^c - 1)` falls for a > 0, and the sum grows with μ, as a
//!    hyperbolic cosine does: the worst is c = β, μ = s. There (4) is attained, so no smaller δ
//!    would be true of the continuous noise.
//!
//! The paper's `β = ε/(2 ln(2/δ))` satisfies (4) with room to spare: ours is half as large again at
//! δ = 10^-6.
//!
//! # Accuracy
//! With `S = max over k of e^(-βk) A_k` the scale is at most `e^β S/s`: see
//! [`SmoothSensitivity::error_at`]. The scale itself is private: a release states no error.
//!
//! # Pitfalls
//! - (1) is the caller's to prove, and no test of outputs is likely to find where it fails: prove
//!   it, or enumerate small tables. A maximum over k that ends early is a breach; this one ends
//!   where no level is left.
//! - A_k and S come from the data and are as private as the answer.
//! - Cauchy noise has no mean: never average releases of it.
//! - How long a release takes depends on the level and on the caller's A_k.
//! - The floor must be public. Without it tables of sensitivity 0 would get no noise at all.

mod ladder;
mod noise;

use std::fmt;

use sordino_noise::Bits;
use sordino_privacy::{Count, Epsilon, Event, Neighbours, Unit};

use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism};
use crate::protection::Protection;
pub(crate) use ladder::Ladder;
pub use noise::SmoothNoise;

/// Cells of the grid, at most, and the largest width of a range.
const CELLS: u64 = 1 << 40;

/// Adds noise that fits the data to one integer.
///
/// ```
/// use sordino_mechanisms::{Mechanism, Nearby, SmoothNoise, SmoothSensitivity};
/// use sordino_privacy::{Budget, Charge, Count, Delta, Epsilon, Neighbours, Terms};
/// // Triangles in a graph of 100 people, of whom one edge appears or disappears: it moves the
/// // count by the most common friends of any two people, and each further edge by one more.
/// let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let edges = Neighbours::AddRemove;
/// let noise = SmoothNoise::Laplace { delta };
/// let plan = SmoothSensitivity::new(epsilon, noise, 0..=161_700, Count::ONE, edges)?;
/// let (triangles, most_common_friends) = (812, 9);
/// let mut budget = Budget::new(Terms::new(epsilon, edges).with_delta(delta));
/// let near = |k: u64| (most_common_friends + k).min(98);
/// let answer = Nearby { answer: triangles, sensitivity: &near };
/// let release = plan.release(answer, budget.charge_claim(plan.claim())?)?;
/// println!("{}", release.value());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SmoothSensitivity {
    ladder: Ladder,
    lower: i64,
    upper: i64,
    /// j: binary logarithm of the cells of the grid to one integer.
    fineness: u32,
    protection: Protection,
}

/// What is protected: an answer, and how far it moves on the tables near by.
#[derive(Clone, Copy)]
pub struct Nearby<'a> {
    /// f(x).
    pub answer: i64,
    /// A_k of a distance k; see [`SmoothSensitivity`] for what it must satisfy.
    pub sensitivity: &'a dyn Fn(u64) -> u64,
}

impl fmt::Debug for Nearby<'_> {
    /// Without what is in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nearby").finish_non_exhaustive()
    }
}

impl SmoothSensitivity {
    /// Answers are clamped to `range`; `floor` is the sensitivity below which noise does not fall.
    /// Both are public numbers. Fails for a range that is empty or wider than 2^40, for a floor
    /// beyond its width, for ε = 0, for Laplace noise without δ, and where the ladder would have
    /// too many levels.
    pub fn new(
        epsilon: Epsilon,
        noise: SmoothNoise,
        range: std::ops::RangeInclusive<i64>,
        floor: Count,
        neighbours: Neighbours,
    ) -> Result<Self, MechanismError> {
        let (lower, upper) = range.into_inner();
        if lower >= upper {
            return Err(MechanismError::Bounds { lower, upper });
        }
        let width = upper.abs_diff(lower);
        if width > CELLS {
            return Err(MechanismError::RangeTooWide { width, most: CELLS });
        }
        if floor.get() > width {
            return Err(MechanismError::Floor { what: "floor", got: floor.get() as f64 });
        }
        let fineness = (CELLS / width).ilog2();
        let ladder = Ladder::new(epsilon, noise, floor.get() << fineness, width << fineness)?;
        Ok(Self { ladder, lower, upper, fineness, protection: Protection::of_records(neighbours) })
    }

    /// States that neighbours differ in all that one of these units has. Without it, they differ in
    /// one record.
    pub fn for_unit(self, unit: Unit) -> Self {
        Self { protection: self.protection.for_unit(unit), ..self }
    }

    /// What the noise exceeds with probability at most 1 - `confidence`, for a table whose level is
    /// that of this sensitivity: of `e^β S`, at most. Computing S from private data is not private.
    pub fn error_at(&self, confidence: f64, sensitivity: u64) -> f64 {
        let cells = (1u64 << self.fineness) as f64;
        // Half a unit for rounding to integers.
        self.ladder.error_at(confidence, self.cells(sensitivity)) / cells + 0.5
    }

    /// A sensitivity in cells, at most the width of the range.
    fn cells(&self, sensitivity: u64) -> u64 {
        sensitivity.min(self.upper.abs_diff(self.lower)) << self.fineness
    }
}

impl Mechanism for SmoothSensitivity {
    type Answer<'a> = Nearby<'a>;
    type Output = i64;

    fn protection(&self) -> &Protection {
        &self.protection
    }

    fn event(&self) -> Event {
        self.ladder.event()
    }

    fn draw<R: Bits + ?Sized>(
        &self,
        near: Nearby<'_>,
        bits: &mut R,
        _: &Covered,
    ) -> Result<i64, MechanismError> {
        let level = self.ladder.level(|k| self.cells((near.sensitivity)(k)));
        let answer = near.answer.clamp(self.lower, self.upper).abs_diff(self.lower) << self.fineness;
        let most = i128::from(self.cells(u64::MAX));
        let noisy = (i128::from(answer) + self.ladder.sample(level, bits)).clamp(0, most);
        // To the nearest integer, one half up.
        let rounded = (2 * noisy + (1i128 << self.fineness)) >> (self.fineness + 1);
        // Proof: from 0 to the width of the range.
        Ok((i128::from(self.lower) + rounded) as i64)
    }
}

#[cfg(test)]
mod tests;
