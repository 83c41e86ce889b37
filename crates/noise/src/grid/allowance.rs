//! What floating-point sums cost: a typed part of the sensitivity.
//!
//! # Definition
//! Where per-record integers are too dear, a group of `m` records is summed in floating point (one
//! matrix product for the whole group) and rounded to the grid once. With unit roundoff `u`, `K` =
//! the longest chain of additions + 2, and
//! ```text
//! gamma_K = K u / (1 - K u)                                                                   (1)
//! ```
//! the computed sum differs from the exact one by at most `gamma_K Σ_i w_i b_i` in norm, for *any*
//! order of summation (Higham, *Accuracy and Stability of Numerical Algorithms*, 2002, section
//! 3.1), where `w_i` is record `i`'s clipping weight and `b_i = Σ_t ‖a_it‖ ‖d_it‖` the sum of the
//! norms of the outer products that make up its gradient. The caller keeps `w_i b_i <= beta C`
//! beside `w_i ‖g_i‖ <= C`.
//!
//! # Guarantee
//! With `r` records' errors and `q` roundings disturbed by one record, `O` the norm of the all-ones
//! vector (`sqrt(d)` in `L2`), and `T` positions a record, one record moves the sum by at most
//! `N (1 + F) + A` steps,
//! ```text
//! F = r gamma_K beta          A = q O + r T O 2^-85                                           (2)
//! ```
//!
//! | [`Grouping`] | r | q |
//! |---|---|---|
//! | `FixedSlots` | 2m | 1 |
//! | `FixedSlotsSurplusAlone` | 2m + 1 | 2 |
//! | `BatchPositions`, at most B records | 2B | ceil(B / m) |
//!
//! `q O`: any monotone rounding lets two rounded values differ by less than 1 more than the values
//! do. The last term is underflow: below `2^-126` a product loses its relative accuracy, and is
//! then multiplied by at most `2^40`. The non-associativity that makes this necessary: Casacuberta,
//! Shoemate, Vadhan, Wagaman, *Widespread Underestimation of Sensitivity in Differentially Private
//! Libraries*, 2022.
//!
//! # Pitfalls
//! - Plain products, fused or not, in a format with the exponent range of f32. Not Winograd, FFT or
//!   Strassen kernels; with inputs in bf16 or TF32 the unit roundoff is theirs.
//! - A record with an entry of `a` or `d` that is beyond `2^40` or not finite must contribute zero,
//!   by overwriting its rows: weight 0 is not enough, 0 times NaN is NaN.
//! - A group is what was sampled in one fixed block of slots. Groups made from positions in the
//!   sampled batch shift when a record is absent: that is [`Grouping::BatchPositions`], and dear.

use dashu::{integer::UBig, rational::RBig};

use super::{GridError, Norm};

/// How contributions become integers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Allowance {
    /// Each record is quantised by itself and checked as integers: nothing to allow for.
    Exact,
    /// Records are summed in floating point in groups, and each group's sum is rounded.
    FloatGroups(FloatGroups),
}

/// Groups of records that are summed in floating point, each group's sum rounded to the grid once.
///
/// With `gamma = K u / (1 - K u)`, `O` the norm of the all-ones vector (`sqrt(d)` in `L2`), `N` the
/// clip norm in steps, and the `r`, `q` of the [`Grouping`], one record moves the sum by at most
/// `N (1 + F) + A` steps, where `F = r gamma beta` and `A = q O + r T O 2^-85`.
///
/// The bound rests on the caller, who for every record `i` with weight `w_i` and gradient
/// `g_i = Σ_t a_it d_it^T`
/// - keeps `w_i ‖g_i‖ <= C` and `w_i b_i <= beta C`, where `b_i = Σ_t ‖a_it‖ ‖d_it‖`, with computed
///   norms that can only err upward;
/// - lets a record contribute zero, by overwriting its rows, if an entry of `a` or `d` is beyond
///   `2^40` or not finite (weight 0 is not enough: 0 times NaN is NaN);
/// - uses plain products, fused or not, in a format with the exponent range of f32: no Winograd,
///   FFT or Strassen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloatGroups {
    /// Largest number of records in a group, `m`.
    pub group_size: u32,
    /// Longest chain of additions that leads to one coordinate, plus 2: `K`. A blocked kernel
    /// (chains of 64, then sums of blocks) has about `64 + m T / 64`, a plain loop `m T + 2`.
    pub chain: u64,
    /// Half the distance from 1 to the next number of the format that is computed in:
    /// [`FloatGroups::F32`] or [`FloatGroups::F64`], or that of the inputs where it is larger.
    pub unit_roundoff: f64,
    /// What the caller enforces as `w_i b_i <= beta C`.
    pub beta: f64,
    /// Positions that make up one record's gradient, `T` (1 for a plain vector).
    pub positions: u64,
    /// Which groups one record can disturb.
    pub grouping: Grouping,
}

/// How groups are formed, and so how far one record's absence reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// A group is what was sampled in a fixed block of at most `group_size` slots: r = 2m, q = 1.
    FixedSlots,
    /// A group is the first `group_size` sampled in a fixed block of slots; each further one is a
    /// group by itself, so that an absence moves at most one other record: r = 2m + 1, q = 2. The
    /// further ones are added by [`GridSum::add_group`](super::GridSum::add_group) as groups of 1
    /// with the same weight `w_i` that they would have had among the first: a record that moves up
    /// must stay the same number but for the rounding that r and q count.
    FixedSlotsSurplusAlone,
    /// Groups are runs of the sampled batch, so that one record's absence shifts all of them: with
    /// B the largest number of contributions, r = 2B, q = ceil(B / m). A sum takes no more than q
    /// groups, empty ones included.
    BatchPositions,
}

impl FloatGroups {
    /// Unit roundoff of single precision.
    pub const F32: f64 = f32::EPSILON as f64 / 2.0;
    /// Unit roundoff of double precision.
    pub const F64: f64 = f64::EPSILON / 2.0;
}

/// Equation (2), exact (the square root in it is rounded up).
pub(super) struct Terms {
    /// `F`: a multiple of the clip norm.
    pub(super) relative: RBig,
    /// `A`: a number of steps.
    pub(super) absolute: RBig,
    /// Truncations or roundings that one contribution goes through, at least 1.
    pub(super) roundings: u64,
}

impl Allowance {
    pub(super) fn terms(&self, norm: Norm, dimension: usize, contributions: u64) -> Result<Terms, GridError> {
        match self {
            // Truncation is part of making the record, and the norm is checked after it.
            Self::Exact => Ok(Terms { relative: RBig::ZERO, absolute: RBig::ZERO, roundings: 1 }),
            Self::FloatGroups(groups) => groups.terms(norm.of_ones(dimension), contributions),
        }
    }

    /// The most groups of a sum, where their number is part of the sensitivity.
    pub(super) fn most_groups(&self, contributions: u64) -> Option<u64> {
        match self {
            Self::Exact => None,
            Self::FloatGroups(groups) => match groups.grouping {
                // One record disturbs its own block's groups, however many others there are.
                Grouping::FixedSlots | Grouping::FixedSlotsSurplusAlone => None,
                Grouping::BatchPositions => Some(groups.runs(contributions)),
            },
        }
    }

    /// Bound on a coordinate of a float sum of one record, as a multiple of `N`.
    pub(super) fn reach(&self) -> i64 {
        match self {
            Self::Exact => 1,
            // N (1 + gamma_K beta) and half a step; F <= 1 makes gamma_K beta <= 1/2, and N >= 1.
            Self::FloatGroups(_) => 2,
        }
    }
}

impl FloatGroups {
    fn terms(&self, of_ones: RBig, contributions: u64) -> Result<Terms, GridError> {
        let (records, roundings) = self.disturbed(contributions)?;
        let relative = RBig::from(records) * self.gamma()? * self.checked_beta()?;
        if relative > RBig::ONE {
            return Err(GridError::FloatError { inflation: above(&relative) });
        }
        if self.positions == 0 {
            return Err(parameter("positions", "at least 1", 0.0));
        }
        let underflow = RBig::from(records) * RBig::from(self.positions) / RBig::from(UBig::ONE << 85);
        let absolute = (RBig::from(roundings) + underflow) * of_ones;
        Ok(Terms { relative, absolute, roundings })
    }

    /// `(r, q)` of the table above.
    fn disturbed(&self, contributions: u64) -> Result<(u128, u64), GridError> {
        if self.group_size == 0 {
            return Err(parameter("group size", "at least 1", 0.0));
        }
        let (group, batch) = (u128::from(self.group_size), u128::from(contributions));
        Ok(match self.grouping {
            Grouping::FixedSlots => (2 * group, 1),
            Grouping::FixedSlotsSurplusAlone => (2 * group + 1, 2),
            Grouping::BatchPositions => (2 * batch, self.runs(contributions)),
        })
    }

    /// Groups of a full batch cut into runs. The group size has been checked to be above 0.
    fn runs(&self, contributions: u64) -> u64 {
        contributions.div_ceil(self.group_size.into())
    }

    /// Equation (1).
    fn gamma(&self) -> Result<RBig, GridError> {
        let roundoff = positive("unit roundoff", self.unit_roundoff)?;
        if self.chain == 0 {
            return Err(parameter("chain of additions", "at least 1", 0.0));
        }
        let error = RBig::from(self.chain) * roundoff;
        let rest = RBig::ONE - &error;
        if rest <= RBig::ZERO {
            return Err(GridError::FloatError { inflation: f64::INFINITY });
        }
        Ok(error / rest)
    }

    fn checked_beta(&self) -> Result<RBig, GridError> {
        positive("beta", self.beta)
    }
}

/// The exact value of a finite number above 0, or an error that names it.
pub(super) fn positive(name: &'static str, value: f64) -> Result<RBig, GridError> {
    match RBig::try_from(value) {
        Ok(exact) if value > 0.0 => Ok(exact),
        Ok(_) | Err(_) => Err(parameter(name, "a finite number above 0", value)),
    }
}

pub(super) fn parameter(name: &'static str, expected: &'static str, got: f64) -> GridError {
    GridError::Parameter { name, expected, got }
}

/// The least double that is not below `value`.
pub(super) fn above(value: &RBig) -> f64 {
    let nearest = value.to_f64().value();
    // A conversion that fails is one of infinity: nothing is above it.
    match RBig::try_from(nearest) {
        Ok(exact) if exact < *value => nearest.next_up(),
        Ok(_) | Err(_) => nearest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(grouping: Grouping) -> FloatGroups {
        FloatGroups {
            group_size: 16,
            chain: 115,
            unit_roundoff: FloatGroups::F32,
            beta: 8.0,
            positions: 100,
            grouping,
        }
    }

    fn terms(groups: FloatGroups, dimension: usize, contributions: u64) -> (f64, f64) {
        let terms = Allowance::FloatGroups(groups).terms(Norm::L2, dimension, contributions).unwrap();
        (above(&terms.relative), above(&terms.absolute))
    }

    /// The formulas of the module's documentation, typed again in floating point.
    fn gamma(chain: f64) -> f64 {
        let u = 2f64.powi(-24);
        chain * u / (1.0 - chain * u)
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * b.abs()
    }

    #[test]
    fn unit_roundoffs_are_those_of_the_formats() {
        assert_eq!(FloatGroups::F32, 2f64.powi(-24));
        assert_eq!(FloatGroups::F64, 2f64.powi(-53));
    }

    #[test]
    fn a_convolution_in_groups_of_sixteen_costs_a_fifth_of_a_percent() {
        let (relative, absolute) = terms(groups(Grouping::FixedSlots), 10_000, 60_000);
        assert!(close(relative, 2.0 * gamma(115.0) * 16.0 * 8.0));
        assert!((relative - 1.8e-3).abs() < 0.05e-3, "{relative}");
        assert!(close(absolute, 100.0 + 32.0 * 100.0 * 100.0 * 2f64.powi(-85)) && absolute > 100.0);
    }

    #[test]
    fn surplus_records_add_one_error_and_one_rounding() {
        let (relative, absolute) = terms(groups(Grouping::FixedSlotsSurplusAlone), 10_000, 60_000);
        assert!(close(relative, 33.0 * gamma(115.0) * 8.0));
        assert!(close(absolute, 200.0));
    }

    #[test]
    fn shifting_groups_pay_for_the_whole_batch() {
        let vectors = FloatGroups { chain: 18, beta: 1.0, positions: 1, ..groups(Grouping::BatchPositions) };
        let (relative, absolute) = terms(vectors, 10_000, 2048);
        assert!(close(relative, 2.0 * gamma(18.0) * 2048.0));
        assert!((relative - 0.0044).abs() < 5e-5, "{relative}");
        assert!(close(absolute, 128.0 * 100.0));
        // An incomplete last group is a group.
        assert!(close(terms(vectors, 10_000, 2049).1, 129.0 * 100.0));
    }

    #[test]
    fn exact_records_need_no_allowance() {
        let terms = Allowance::Exact.terms(Norm::L2, 1_000_000, u64::MAX).unwrap();
        assert!(terms.relative == RBig::ZERO && terms.absolute == RBig::ZERO);
    }

    #[test]
    fn senseless_groups_are_refused_by_name() {
        let good = groups(Grouping::FixedSlots);
        let refused = |groups: FloatGroups| {
            Allowance::FloatGroups(groups).terms(Norm::L2, 10, 10).err().expect("refused").to_string()
        };
        assert_eq!(
            refused(FloatGroups { beta: f64::NAN, ..good }),
            "beta must be a finite number above 0, got NaN"
        );
        assert!(refused(FloatGroups { beta: -1.0, ..good }).contains("got -1"));
        assert!(refused(FloatGroups { beta: f64::INFINITY, ..good }).contains("got inf"));
        assert!(refused(FloatGroups { unit_roundoff: 0.0, ..good }).starts_with("unit roundoff"));
        assert!(refused(FloatGroups { group_size: 0, ..good }).starts_with("group size"));
        assert!(refused(FloatGroups { chain: 0, ..good }).starts_with("chain of additions"));
        assert!(refused(FloatGroups { positions: 0, ..good }).starts_with("positions"));
        // K u = 1: the bound has a pole there.
        assert!(refused(FloatGroups { chain: 1 << 24, ..good }).contains("smaller groups"));
        // F = 2 · 2^20 · 115 · 2^-24 · 8
        assert!(refused(FloatGroups { group_size: 1 << 20, ..good }).contains("could add 115.00 times"));
    }

    #[test]
    fn doubles_are_rounded_up() {
        let third = RBig::from(1) / RBig::from(3);
        for value in [third.clone(), -third, RBig::from(u64::MAX), RBig::from(5), RBig::ZERO] {
            let double = above(&value);
            assert!(RBig::try_from(double).unwrap() >= value);
            assert!(double == 0.0 || RBig::try_from(double.next_down()).unwrap() < value);
        }
    }
}
