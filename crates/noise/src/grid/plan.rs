//! From what is wanted to a grid: the clip norm in steps, the depth, the headroom.
//!
//! # Definition
//! With `F`, `A` from the [`Allowance`], the clip norm in steps is the largest integer `N` with
//! ```text
//! z (N (1 + F) + A) <= 2^k                                                                    (1)
//! ```
//! solved in rational arithmetic: a floating-point quotient `2^k / z` can round up past an integer,
//! and then the noise is a little smaller than what is accounted.
//!
//! # Guarantee
//! [`GridPlan::at_depth`] returns a grid only if (1) holds exactly, `N >= 1`, and twice a sum of
//! `B` contributions plus 64 noise scales stays inside `i64`. (A Gaussian passes 12 scales with
//! probability 4e-33, a Laplace passes 64 with 2e-28; what lies beyond is clamped, which is
//! post-processing. The sum before the noise cannot overflow at all.)
//!
//! # Pitfalls
//! Truncation takes up to one step a coordinate, `O z 2^-k` of the clip norm with `O` the norm of
//! the all-ones vector: a shallow grid in many dimensions quietly returns zeros. Beyond the plan's
//! limit it is refused.

use dashu::{integer::UBig, rational::RBig};

use super::allowance::{Terms, above, parameter, positive};
use super::{Allowance, Grid, GridError, Norm};

/// The deepest grid: noise of scale `2^53` steps.
pub const MAX_DEPTH: u32 = 53;

/// The largest part of the clip norm that truncation may take, unless the plan says otherwise.
pub const TRUNCATION_LIMIT: f64 = 1e-3;

/// Noise scales for which a sum keeps room.
const NOISE_SCALES: u128 = 64;

/// What a grid is wanted for. Finish with [`GridPlan::least_depth`] or [`GridPlan::at_depth`].
///
/// ```
/// use sordino_noise::grid::{GridPlan, Norm};
///
/// // The gradients of a model with two million parameters.
/// let grid = GridPlan::new(1.0, 1.0, 2_000_000, 60_000).least_depth()?;
/// assert_eq!(grid.depth(), 21);
/// assert_eq!(grid.clip_units(), 1 << 21);
///
/// // One bounded column, to be released with Laplace noise.
/// let column = GridPlan::new(120.0, 10.0, 1, 1_000_000).norm(Norm::L1).at_depth(30)?;
/// assert_eq!(column.inflation(), 0.0);
/// # Ok::<(), sordino_noise::grid::GridError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "a plan becomes a grid with `least_depth` or `at_depth`"]
pub struct GridPlan {
    pub(super) clip_norm: f64,
    pub(super) noise_multiplier: f64,
    pub(super) dimension: usize,
    pub(super) contributions: u64,
    pub(super) norm: Norm,
    pub(super) allowance: Allowance,
    pub(super) truncation_limit: f64,
}

impl GridPlan {
    /// Contributions of `dimension` coordinates, at most `contributions` of them in one sum, each
    /// of Euclidean norm at most `clip_norm`; noise of scale `noise_multiplier · clip_norm`.
    /// Checked when the grid is made.
    pub fn new(clip_norm: f64, noise_multiplier: f64, dimension: usize, contributions: u64) -> Self {
        Self {
            clip_norm,
            noise_multiplier,
            dimension,
            contributions,
            norm: Norm::L2,
            allowance: Allowance::Exact,
            truncation_limit: TRUNCATION_LIMIT,
        }
    }

    /// Bounds contributions in another norm than `L2`.
    pub fn norm(self, norm: Norm) -> Self {
        Self { norm, ..self }
    }

    /// Allows for sums in floating point.
    pub fn allowance(self, allowance: Allowance) -> Self {
        Self { allowance, ..self }
    }

    /// Accepts that truncation takes this part of the clip norm at most. Data that lie on the grid
    /// already lose nothing, and 1 is then a sensible limit.
    pub fn truncation_limit(self, limit: f64) -> Self {
        Self { truncation_limit: limit, ..self }
    }

    /// The grid of least depth that keeps to the truncation limit.
    pub fn least_depth(self) -> Result<Grid, GridError> {
        let checked = self.check()?;
        self.solve(&checked, checked.least_depth)
    }

    /// The grid of this depth.
    pub fn at_depth(self, depth: u32) -> Result<Grid, GridError> {
        let checked = self.check()?;
        if depth < checked.least_depth {
            let loss = above(&(checked.loss / power_of_two(depth)));
            let (limit, least) = (self.truncation_limit, checked.least_depth);
            return Err(GridError::TooShallow { depth, loss, limit, least });
        }
        self.solve(&checked, depth)
    }

    fn check(&self) -> Result<Checked, GridError> {
        positive("clip norm", self.clip_norm)?;
        let multiplier = positive("noise multiplier", self.noise_multiplier)?;
        let limit = positive("truncation limit", self.truncation_limit)?;
        if self.dimension == 0 {
            return Err(parameter("dimension", "at least 1", 0.0));
        }
        if self.contributions == 0 {
            return Err(parameter("number of contributions", "at least 1", 0.0));
        }
        let terms = self.allowance.terms(self.norm, self.dimension, self.contributions)?;
        let loss = RBig::from(terms.roundings) * self.norm.of_ones(self.dimension) * &multiplier;
        let least_depth = least_power_of_two(&(&loss / limit));
        Ok(Checked { multiplier, terms, loss, least_depth })
    }

    fn solve(self, checked: &Checked, depth: u32) -> Result<Grid, GridError> {
        if depth > MAX_DEPTH {
            return Err(GridError::TooDeep { depth, limit: MAX_DEPTH });
        }
        let clip_units = self.clip_units(checked, depth)?;
        self.check_headroom(clip_units, depth)?;
        let (step, steps_per_unit) = self.steps(clip_units)?;
        let Terms { relative, absolute, .. } = &checked.terms;
        let inflation = above(&(relative + absolute / RBig::from(clip_units)));
        Ok(Grid { plan: self, depth, clip_units, step, steps_per_unit, inflation })
    }

    /// `N` of equation (1).
    fn clip_units(&self, checked: &Checked, depth: u32) -> Result<i64, GridError> {
        let Terms { relative, absolute, .. } = &checked.terms;
        let room = power_of_two(depth) / &checked.multiplier - absolute;
        let units = (room / (RBig::ONE + relative)).floor();
        if units < 1.into() {
            return Err(GridError::NoRoom { depth, noise_multiplier: self.noise_multiplier });
        }
        i64::try_from(units).map_err(|_| self.no_headroom(depth))
    }

    fn check_headroom(&self, clip_units: i64, depth: u32) -> Result<(), GridError> {
        let reach = u128::from(clip_units.unsigned_abs()) * u128::from(self.allowance.reach().unsigned_abs());
        // Twice: the ends to which a noisy sum is clamped leave out as much as sums can reach.
        let reach = reach.saturating_mul(2);
        let largest = reach.saturating_mul(self.contributions.into()).saturating_add(NOISE_SCALES << depth);
        if largest > i64::MAX.unsigned_abs().into() {
            return Err(self.no_headroom(depth));
        }
        Ok(())
    }

    fn no_headroom(&self, depth: u32) -> GridError {
        GridError::Headroom { contributions: self.contributions, depth }
    }

    /// The step in data units, and what turns data into steps.
    fn steps(&self, clip_units: i64) -> Result<(f64, f64), GridError> {
        let step = self.clip_norm / clip_units as f64;
        // Products round: without the margin a value that lies on the grid would often land just
        // below its own integer and lose a step. How values are scaled is no matter of privacy, for
        // the integers are checked afterwards.
        let steps_per_unit = clip_units as f64 / self.clip_norm * (1.0 + 4.0 * f64::EPSILON);
        if !step.is_normal() || !steps_per_unit.is_normal() {
            return Err(GridError::StepRange { clip_norm: self.clip_norm, clip_units });
        }
        Ok((step, steps_per_unit))
    }
}

/// What does not depend on the depth.
struct Checked {
    multiplier: RBig,
    terms: Terms,
    /// Largest loss by truncation at depth 0, in clip norms.
    loss: RBig,
    least_depth: u32,
}

fn power_of_two(depth: u32) -> RBig {
    RBig::from(UBig::ONE << depth as usize)
}

/// The least `k >= 0` with `value <= 2^k`, or one past the deepest grid.
fn least_power_of_two(value: &RBig) -> u32 {
    (0..=MAX_DEPTH).find(|&depth| *value <= power_of_two(depth)).unwrap_or(MAX_DEPTH + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{FloatGroups, Grouping};
    use super::*;

    /// Whether `units · z <= 2^depth`, from the bits of `z` in 128-bit integers.
    fn fits(units: i64, z: f64, depth: u32) -> bool {
        let bits = z.to_bits();
        let (exponent, fraction) = (((bits >> 52) & 0x7ff) as i32, bits & ((1 << 52) - 1));
        // z = mantissa · 2^shift, as z is normal
        let (mantissa, shift) = (u128::from(fraction | 1 << 52), exponent - 1075);
        let product = mantissa * units as u128; // below 2^53 · 2^63
        let power = depth as i32 - shift; // product <= 2^power?
        if power < 0 { product == 0 } else { power >= 127 || product <= 1 << power }
    }

    fn coarse(z: f64, depth: u32) -> Result<Grid, GridError> {
        GridPlan::new(1.0, z, 1, 1).truncation_limit(1e300).at_depth(depth)
    }

    #[test]
    fn no_neighbouring_double_of_a_quotient_overshoots() {
        let mut float_quotient_errs = 0;
        for depth in [1, 4, 21, 30, 53] {
            for units in (1..400).chain([(1 << 20) - 1, (1 << 20) + 1, 6_700_417, (1 << 29) - 3]) {
                let quotient = (1u64 << depth) as f64 / units as f64;
                let mut z = quotient.next_down().next_down();
                for _ in 0..5 {
                    let float = ((1u64 << depth) as f64 / z).floor() as i64;
                    float_quotient_errs += u32::from(!fits(float, z, depth));
                    match coarse(z, depth) {
                        Ok(grid) => {
                            assert!(
                                fits(grid.clip_units(), z, depth),
                                "{} steps at z = {z}",
                                grid.clip_units()
                            );
                            assert!(
                                !fits(grid.clip_units() + 1, z, depth),
                                "a step was given away at z = {z}"
                            );
                        }
                        Err(error) => assert!(!fits(1, z, depth), "{error}"),
                    }
                    z = z.next_up();
                }
            }
        }
        // The naive way fails here, so that this test can.
        assert!(float_quotient_errs > 50, "{float_quotient_errs}");
    }

    proptest! {
        #[test]
        fn sensitivity_times_multiplier_never_passes_the_noise(
            z in 0.05..100.0f64,
            depth in 10u32..34,
            dimension in 1usize..2_000_000,
            group_size in 1u32..64,
            chain in 1u64..500,
            beta in 0.5..32.0f64,
            surplus: bool,
        ) {
            let grouping = if surplus { Grouping::FixedSlotsSurplusAlone } else { Grouping::FixedSlots };
            let unit_roundoff = FloatGroups::F32;
            let groups = FloatGroups { group_size, chain, unit_roundoff, beta, positions: 9, grouping };
            let plan = GridPlan::new(3.0, z, dimension, 1 << 20).allowance(Allowance::FloatGroups(groups));
            let Ok(grid) = plan.truncation_limit(0.5).at_depth(depth) else { return Ok(()) };
            // Equation (1) with the formulas of the allowance typed again. Slack: the rounding of
            // this expression.
            let gamma = chain as f64 * 2f64.powi(-24) / (1.0 - chain as f64 * 2f64.powi(-24));
            let m = f64::from(group_size);
            let (records, roundings) = if surplus { (2.0 * m + 1.0, 2.0) } else { (2.0 * m, 1.0) };
            let rounded = roundings * (dimension as f64).sqrt();
            let moved = |n: i64| n as f64 * (1.0 + records * gamma * beta) + rounded;
            let noise = 2f64.powi(depth as i32);
            prop_assert!(z * moved(grid.clip_units()) <= noise * (1.0 + 1e-9));
            prop_assert!(z * moved(grid.clip_units() + 1) > noise * (1.0 - 1e-9));
            let inflation = moved(grid.clip_units()) / grid.clip_units() as f64 - 1.0;
            prop_assert!((grid.inflation() - inflation).abs() <= 1e-9);
        }
    }

    #[test]
    fn the_least_depth_is_the_least() {
        for (dimension, z) in
            [(1, 1.0), (1, 0.05), (785, 1.1), (2_000_000, 1.0), (2_000_000, 8.0), (100_000_000, 0.5)]
        {
            let plan = GridPlan::new(1.0, z, dimension, 1000);
            let depth = plan.least_depth().unwrap().depth();
            let loss = |depth: u32| (dimension as f64).sqrt() * z / 2f64.powi(depth as i32);
            assert!(loss(depth) <= 1e-3 && (depth == 0 || loss(depth - 1) > 1e-3));
            assert!(plan.at_depth(depth + 1).is_ok());
            if depth > 0 {
                let error = plan.at_depth(depth - 1).unwrap_err();
                assert!(matches!(error, GridError::TooShallow { least, .. } if least == depth), "{error}");
            }
        }
        // The norms that others lose by: d steps in L1, one in Max.
        assert_eq!(GridPlan::new(1.0, 1.0, 1 << 10, 1).norm(Norm::L1).least_depth().unwrap().depth(), 20);
        assert_eq!(GridPlan::new(1.0, 1.0, 1 << 10, 1).norm(Norm::Max).least_depth().unwrap().depth(), 10);
    }

    #[test]
    fn headroom_is_exact_and_counts_the_largest_batch() {
        // 2 B N + 64 · 2^k <= 2^63 - 1 with N = 2^k = 2^30: B <= 2^32 - 33.
        let batch = |contributions| GridPlan::new(1.0, 1.0, 1, contributions).at_depth(30);
        assert!(batch((1 << 32) - 33).is_ok());
        assert!(matches!(batch((1 << 32) - 32), Err(GridError::Headroom { .. })));
        assert!(matches!(batch(u64::MAX), Err(GridError::Headroom { .. })));
        // Ample at depth 32 with 2^24 records, down to a multiplier of 0.05.
        assert!(GridPlan::new(1.0, 0.05, 1, 1 << 24).at_depth(32).is_ok());
        // A tiny multiplier would need more steps than there are integers.
        assert!(matches!(coarse(f64::MIN_POSITIVE, 30), Err(GridError::Headroom { .. })));
    }

    #[test]
    fn nonsense_is_refused_and_named() {
        let message = |plan: GridPlan| plan.at_depth(30).unwrap_err().to_string();
        for bad in [0.0, -1.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(
                message(GridPlan::new(bad, 1.0, 1, 1))
                    .starts_with("clip norm must be a finite number above 0")
            );
            assert!(message(GridPlan::new(1.0, bad, 1, 1)).starts_with("noise multiplier must be"));
            assert!(
                message(GridPlan::new(1.0, 1.0, 1, 1).truncation_limit(bad)).starts_with("truncation limit")
            );
        }
        assert!(message(GridPlan::new(1.0, -1.1, 1, 1)).ends_with("got -1.1"));
        assert!(message(GridPlan::new(1.0, 1.0, 0, 1)).starts_with("dimension must be at least 1"));
        assert!(
            message(GridPlan::new(1.0, 1.0, 1, 0)).starts_with("number of contributions must be at least 1")
        );
        assert!(message(GridPlan::new(1e-300, 1.0, 1, 1)).contains("rescale the data"));
        assert!(message(GridPlan::new(f64::from_bits(1), 1.0, 1, 1)).contains("rescale the data"));
        assert!(matches!(coarse(1e300, 30), Err(GridError::NoRoom { .. })));
        assert!(matches!(coarse(1.0, 54), Err(GridError::TooDeep { depth: 54, limit: 53 })));
        assert!(matches!(GridPlan::new(1.0, 1e300, 1, 1).least_depth(), Err(GridError::TooDeep { .. })));
    }

    #[test]
    fn a_message_says_which_depth_to_use() {
        let error = GridPlan::new(1.0, 1.0, 2_000_000, 100).at_depth(16).unwrap_err();
        assert_eq!(
            error.to_string(),
            "truncation at depth 16 may take 2.2e-2 of the clip norm, and at most 1.0e-3 is accepted; \
             use depth 21 or more"
        );
    }
}
