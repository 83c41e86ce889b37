//! Median with noise as large as the data near by require, by smooth sensitivity.
//!
//! # Definition
//! Rows are clamped and put on a public grid of G = 2^40 cells. A public ladder of whole noise
//! scales σ_0 < σ_1 < ... has steps `σ_(l+1) <= e^(ε/2) σ_l`. With A_k the largest local
//! sensitivity of tables that differ in at most k rows, `level(a)` the least l with
//! `a <= (ε/2) σ_l`, and C standard Cauchy:
//! ```text
//! l(x) = max(0, max over k of level(A_k(x)) - k)                                                   (1)
//! release round(median(x) + σ_(l(x)) C), clamped to the grid
//! ```
//! # Guarantee
//! ε-private under `replace`. *Proof.* (i) The level moves by at most 1: `A_k(x) <= A_(k+1)(x')`
//! for neighbours, so that `l(x') >= l(x) - 1`. (ii)
//! `|median(x) - median(x')| <= A_0(x) <= (ε/2) σ_(l(x))`. (iii) The logarithm of the density of
//! `y = m + σ C` is `-ln σ - ln(1 + z^2)`, z = (y - m)/σ, up to a constant. Its derivative by m is
//! `2z/(1 + z^2)/σ`, at most 1/σ in size: moving the median costs at most ε/2. Its derivative by ln
//! σ is `(z^2 - 1)/(z^2 + 1)`, between -1 and 1: moving one step on the ladder costs at most ε/2.
//! (iv) The median is on the grid, so that rounding and clamping are post-processing, and the noise
//! is drawn exactly ([`RoundedCauchy`]).
//!
//! This is smooth sensitivity (Nissim, Raskhodnikova, Smith, "Smooth sensitivity and sampling in
//! private data analysis", 2007) rounded up to a ladder whose steps are as wide as the smoothness
//! allows, which leaves the smoothness as it is: everything that depends on data is an integer. The
//! maximum over k ends where no level is left, not earlier.
//!
//! # Accuracy
//! A table of smooth sensitivity S has noise of scale at most `e^(ε/2) 2S/ε`: see
//! [`SmoothMedian::error_at`]. The scale itself is private: a release states no error.
//!
//! # Pitfalls
//! - Cauchy noise has no mean: never average releases, take their median.
//! - How long a release takes depends on the level.
//! - The floor σ_0 must be public. Without it tables of many equal rows would get no noise at all.

use sordino_noise::{Bits, RoundedCauchy};
use sordino_privacy::{Epsilon, Event, Neighbours};

use super::bounds::Bounds;
use super::contributor::Contributor;
use super::ordered::Ordered;
use super::rows::Rows;
use crate::accuracy;
use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism};
use crate::protection::Protection;

/// Cells of the grid.
pub(super) const CELLS: u64 = 1 << 40;
/// A ladder with more levels than this is refused: a release would take long.
const MOST_LEVELS: u64 = 1 << 14;

/// The median, with noise fit to the data.
///
/// ```
/// use sordino_mechanisms::Mechanism;
/// use sordino_mechanisms::statistics::{Bounds, Contributor, Rows, SmoothMedian};
/// use sordino_privacy::{Budget, Charge, Epsilon, Neighbours, Terms};
/// let row = Contributor::record(Neighbours::Replace);
/// let plan = SmoothMedian::new(Epsilon::new(1.0)?, Bounds::new(0.0, 1e6)?, 1.0, row)?;
/// let incomes: Vec<f64> = (0..2001).map(|i| 30_000.0 + 10.0 * f64::from(i)).collect();
/// let mut budget = Budget::new(Terms::new(Epsilon::new(1.0)?, Neighbours::Replace));
/// let release = plan.release(Rows::new(&incomes), budget.charge_claim(plan.claim())?)?;
/// println!("{}", release.value());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SmoothMedian {
    epsilon: Epsilon,
    bounds: Bounds,
    who: Contributor,
    /// σ_l, and the largest sensitivity that each is for.
    ladder: Vec<Rung>,
}

#[derive(Clone, Copy, Debug)]
struct Rung {
    scale: u64,
    noise: RoundedCauchy,
    /// At most `(ε/2) scale`.
    reach: u64,
}

impl SmoothMedian {
    /// `floor` is the sensitivity below which noise does not fall, in data units; a public number.
    /// Fails for relations other than replace, for owners of rows, and where the ladder would have
    /// too many levels or noise beyond 2^53 cells.
    pub fn new(
        epsilon: Epsilon,
        bounds: Bounds,
        floor: f64,
        who: Contributor,
    ) -> Result<Self, MechanismError> {
        single_rows_replaced("a smooth median", &who)?;
        if epsilon.get() == 0.0 {
            return Err(MechanismError::NoBudget);
        }
        let least = cells_of("floor", floor, bounds)?;
        Ok(Self { epsilon, bounds, who, ladder: ladder(epsilon.get() / 2.0, least)? })
    }

    /// What the noise exceeds with probability at most 1 - `confidence`, for a table of this smooth
    /// sensitivity (in data units). Computing that from private rows is not private.
    pub fn error_at(&self, confidence: f64, smooth_sensitivity: f64) -> f64 {
        let miss = accuracy::miss(confidence);
        let cell = self.bounds.width() / CELLS as f64;
        let level = self.level_of((smooth_sensitivity / cell).ceil() as u64);
        // The tangent of the confidence's quarter turn; by the miss, which keeps its digits.
        let quantile = (0.5 * std::f64::consts::PI * miss).tan().recip();
        if miss == 0.0 { f64::INFINITY } else { (self.ladder[level].scale as f64 * quantile + 0.5) * cell }
    }

    /// l(x) of (1). Beyond the last level less k nothing can raise the maximum.
    fn level(&self, ordered: &Ordered) -> usize {
        let (last, mut highest) = (self.ladder.len() - 1, 0);
        for k in 0.. {
            if last.saturating_sub(k) <= highest {
                break;
            }
            highest = highest.max(self.level_of(ordered.sensitivity(k as u64)).saturating_sub(k));
        }
        highest
    }

    /// The least rung that reaches this sensitivity. The last one reaches every one.
    fn level_of(&self, sensitivity: u64) -> usize {
        self.ladder.partition_point(|rung| rung.reach < sensitivity).min(self.ladder.len() - 1)
    }
}

/// Rungs from a least sensitivity to that of the whole grid, in steps of at most `exp(half)`;
/// `half` is ε/2.
fn ladder(half: f64, least: u64) -> Result<Vec<Rung>, MechanismError> {
    // Rounded so that neither a step nor a reach is ever too large: products of doubles are off by
    // 2^-53, the exponential by little more.
    let (step, share) = (half.exp() * (1.0 - 1e-14), half * (1.0 - 1e-15));
    // A scale that is too large for noise is refused here: refused in a release, it would tell
    // which tables need it.
    let rung = |scale: u64| {
        let (noise, reach) = (RoundedCauchy::new(scale)?, (scale as f64 * share).floor() as u64);
        Ok::<_, MechanismError>(Rung { scale, noise, reach })
    };
    let scale_for = |sensitivity: u64| ((sensitivity as f64 / share) * (1.0 + 1e-14)).ceil() as u64 + 1;
    let highest = scale_for(CELLS);
    let mut rungs = vec![rung(scale_for(least))?];
    loop {
        // Proof: there is always a first one.
        let last = rungs[rungs.len() - 1];
        if last.reach >= CELLS {
            return Ok(rungs);
        }
        let next = rung(((last.scale as f64 * step).floor() as u64).min(highest))?;
        if next.scale <= last.scale || rungs.len() as u64 >= MOST_LEVELS {
            let levels = ((CELLS as f64 / least as f64).ln() / half).ceil() as u64;
            return Err(MechanismError::TooManyLevels { levels, most: MOST_LEVELS });
        }
        rungs.push(next);
    }
}

/// A length in data units as cells of the grid, at least 1.
pub(super) fn cells_of(what: &'static str, length: f64, bounds: Bounds) -> Result<u64, MechanismError> {
    if !(length > 0.0 && length <= bounds.width()) {
        return Err(MechanismError::Floor { what, got: length });
    }
    Ok(((length / bounds.width() * CELLS as f64).ceil() as u64).clamp(1, CELLS))
}

/// The theorems about medians are for rows that become others, their number being public.
pub(super) fn single_rows_replaced(what: &'static str, who: &Contributor) -> Result<(), MechanismError> {
    let (neighbours, advice) =
        (who.neighbours(), "it is for single rows that become others: use `Contributor::record` and replace");
    match neighbours {
        Neighbours::Replace | Neighbours::ReplaceOrdered if !who.has_owners() => Ok(()),
        Neighbours::Replace
        | Neighbours::ReplaceOrdered
        | Neighbours::AddRemove
        | Neighbours::AddRemoveOrdered
        | Neighbours::ZeroOut
        | Neighbours::ZeroOutUnordered
        | Neighbours::MetricBall(_) => Err(MechanismError::Relation { what, neighbours, advice }),
    }
}

impl Mechanism for SmoothMedian {
    type Answer<'a> = Rows<'a, f64>;
    type Output = f64;

    fn protection(&self) -> &Protection {
        self.who.protection()
    }

    fn event(&self) -> Event {
        Event::Pure { epsilon: self.epsilon }
    }

    fn draw<R: Bits + ?Sized>(
        &self,
        rows: Rows<'_, f64>,
        bits: &mut R,
        _: &Covered,
    ) -> Result<f64, MechanismError> {
        let places = rows.limited(&self.who, bits)?.iter().map(|x| self.bounds.place(*x, CELLS)).collect();
        let ordered = Ordered::new(places, CELLS);
        let noise = self.ladder[self.level(&ordered)].noise.sample(bits);
        let place = (ordered.median() as i64).saturating_add(noise).clamp(0, CELLS as i64);
        Ok(self.bounds.value(place as u64, CELLS))
    }
}

#[cfg(test)]
mod tests;
