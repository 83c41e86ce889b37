//! How far one unit moves prefix sums with correlated noise.
//!
//! # Definition
//! What is released is `C x + w`, w white Gaussian noise, x the stream of T steps and C the square
//! root of the matrix of prefix sums: lower triangular, with `c_k = binom(2k, k) / 4^k` in its k-th
//! diagonal; b bands keep `c_0, ..., c_(b-1)`. Everything else is computed from that. A unit takes
//! part in at most p steps, any two of them at least s apart.
//! # Guarantee
//! With contributions of norm at most 1, and `k = min(p, ceil(T / s))`,
//! ```text
//! sens² = | C (e_0 + e_s + ... + e_((k-1)s)) |²                                                (1)
//!       = sum_(t<T) h_t²,   h_t = sum_(a<k, as<=t) c_(t-as)
//! ```
//! *Proof.* Let `G_ij = sum_(t < T - max(i,j)) c_t c_(t + |i-j|)` be the inner product of columns i
//! and j. It is not negative, so that for contributions `u_i` of norm at most 1
//! `|sum C e_i u_i|² = sum G_ij <u_i, u_j> <= sum G_ij`: equal ones are the worst, and a further
//! participation never helps. c does not rise, with and without bands, hence neither does `G_ij` in
//! `|i-j|` or in `max(i, j)`. If `i_0 < i_1 < ...` are at least s apart, `i_a >= as` and
//! `|i_a - i_b| >= |a - b| s`: every term is at most the one of the columns as and bs. ∎ (Kalinin,
//! Lampert, *Banded Square Root Matrix Factorization for Differentially Private Model Training*,
//! 2024, theorem 2.) Inputs may depend on earlier outputs (lower triangular, Gaussian noise:
//! Denisov, McMahan, Rush, Smith, Thakurta, *Improved Differential Privacy for SGD via Optimal
//! Private Linear Operators on Adaptive Streams*, 2022).
//! # How it is computed
//! By (1), for up to 2^20 steps that matter. Beyond, `c_k <= 1 / sqrt(pi (k + 1/4))` (Watson, *A
//! Note on Gamma Functions*, 1959) and convexity, which puts a sum below an integral, give
//! ```text
//! S(n)   = sum_(t<n) c_t²          <= S(m) + ln((n - 1/4) / (m - 1/4)) / pi                    (2)
//! F_d(n) = sum_(t<n) c_t c_(t+d)   <= c_d + (2/pi) [asinh sqrt(y/d)], y from 3/4 to n - 1/4    (3)
//! sens² <= k S(T) + 2 sum_(j=1)^(k-1) (k-j) F_(js)(T - (k+j-1) s/2)                            (4)
//! ```
//! where n is at most b, and b - d. The k - j pairs of columns that are js apart have
//! `T - (a+j) s` rows in common, a < k - j; (3) is concave in n, so that (4) has their mean.
//! # Pitfalls
//! `sqrt(p)` times the norm of a column is too little unless the columns do not overlap.

use std::f64::consts::PI;

use crate::numerics::squares::SquareSum;
use crate::params::Count;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Toeplitz {
    steps: u64,
    bands: u64,
    participations: u64,
    separation: u64,
}

/// Steps that are added up one by one.
const LONGEST: u64 = 1 << 20;

/// Terms of (4) next to each other are taken as equal up to this part of their distance.
const BLOCK: u64 = 256;

impl Toeplitz {
    pub(super) fn new(
        steps: Count,
        bands: Option<Count>,
        participations: Count,
        separation: Option<Count>,
    ) -> Self {
        let (steps, separation) = (steps.get(), separation.map_or(1, Count::get));
        let bands = bands.map_or(steps, Count::get).min(steps);
        // No more fit into the steps.
        let participations = participations.get().min(steps.div_ceil(separation));
        // Nothing of the unit is left after the last band.
        let last = (participations - 1) * separation;
        Self { steps: steps.min(last + bands), bands, participations, separation }
    }

    /// (1) or (4). Where it [is exact](Self::is_exact), at most 6 units of 2^-52 above.
    pub(super) fn sensitivity(self) -> f64 {
        if self.is_exact() {
            self.summed().nearest_root() * (1.0 + 4.0 * f64::EPSILON)
        } else {
            self.bounded().sqrt() * (1.0 + 1e-12)
        }
    }

    /// How far some unit moves the release at least: what is seen of it in the first steps.
    pub(super) fn instance(self) -> f64 {
        let steps = self.steps.min(LONGEST);
        let participations = self.participations.min(steps.div_ceil(self.separation));
        let first = Self { steps, participations, bands: self.bands.min(steps), ..self };
        first.summed().nearest_root() * (1.0 - 4.0 * f64::EPSILON)
    }

    /// Some unit moves the release as far as that.
    pub(super) fn is_exact(self) -> bool {
        self.steps <= LONGEST
    }

    /// (1). Coefficients and `h_t` are known to 2^-53 and squared: sums and roots included, the
    /// root is known to 4 units of 2^-53.
    fn summed(self) -> SquareSum {
        let coefficients: Vec<Twice> = coefficients().take(self.bands as usize).collect();
        let length = self.separation.min(self.steps) as usize;
        let mut rows = vec![Twice::default(); length];
        let whole = self.participations.saturating_mul(self.separation);
        let mut sum = SquareSum::default();
        for t in 0..self.steps {
            let row = &mut rows[t as usize % length];
            if let Some(c) = coefficients.get(t as usize) {
                *row = row.plus(c.high).plus(c.low);
            }
            let out = t.checked_sub(whole).and_then(|place| coefficients.get(place as usize));
            if let Some(c) = out {
                *row = row.plus(-c.high).plus(-c.low);
            }
            sum.add(row.high + row.low, 1);
        }
        sum
    }

    /// (4), rounded up by a part in 10¹⁰ for a few thousand roundings.
    fn bounded(self) -> f64 {
        let column = self.column();
        let (k, s) = (self.participations, self.separation);
        let mut sum = k as f64 * column;
        let mut j = 1;
        // Terms fall with j, and from `bands` on there are none.
        while j < k && j.saturating_mul(s) < self.bands {
            let next = (j + 1 + j / BLOCK).min(k);
            // Twice the sum of k - j.
            let pairs = (next - j) as f64 * ((k - j) as f64 + (k - next + 1) as f64);
            sum += pairs * self.overlap(j);
            j = next;
        }
        sum.min((k as f64).powi(2) * column) * (1.0 + 1e-10)
    }

    /// (2): the squared norm of the first column.
    fn column(self) -> f64 {
        let summed = self.bands.min(LONGEST);
        let mut sum = SquareSum::default();
        coefficients().take(summed as usize).for_each(|c| sum.add(c.high, 1));
        let (n, m) = (self.bands as f64, summed as f64);
        sum.nearest_root().powi(2) + ((n - 0.25) / (m - 0.25)).ln() / PI
    }

    /// (3) at `d = js` and the mean number of common rows.
    fn overlap(self, j: u64) -> f64 {
        let (k, s) = (self.participations as f64, self.separation as f64);
        let d = j as f64 * s;
        let rows = (self.steps as f64 - 0.5 * (k + j as f64 - 1.0) * s).min(self.bands as f64 - d).max(1.0);
        let area = |y: f64| (y / d).sqrt().asinh();
        1.0 / (PI * (d + 0.25)).sqrt() + 2.0 / PI * (area(rows - 0.25) - area(0.75))
    }
}

/// A number as a sum of two doubles (Neumaier 1974).
#[derive(Clone, Copy, Debug, Default)]
struct Twice {
    high: f64,
    low: f64,
}

impl Twice {
    fn plus(self, term: f64) -> Self {
        let high = self.high + term;
        let (large, small) =
            if self.high.abs() >= term.abs() { (self.high, term) } else { (term, self.high) };
        Self { high, low: self.low + ((large - high) + small) }
    }
}

/// `c_0, c_1, ...`: each is the one before, less its 2k-th part.
fn coefficients() -> impl Iterator<Item = Twice> {
    let one = Twice { high: 1.0, low: 0.0 };
    (1u64..).scan(one, |next, k| {
        let (now, parts) = (*next, (2 * k) as f64);
        let part = now.high / parts;
        // The fused product shows what the quotient left.
        let rest = (part.mul_add(-parts, now.high) + now.low) / parts;
        let sum = now.plus(-part).plus(-rest);
        let high = sum.high + sum.low;
        *next = Twice { high, low: (sum.high - high) + sum.low };
        Some(now)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toeplitz(steps: u64, bands: Option<u64>, participations: u64, separation: u64) -> Toeplitz {
        let count = |n| Count::new(n).unwrap();
        Toeplitz::new(count(steps), bands.map(count), count(participations), Some(count(separation)))
    }

    /// `binom(2k, k) / 4^k`, as it stands.
    fn coefficient(k: u64) -> f64 {
        (1..=k).map(|i| (2 * i - 1) as f64 / (2 * i) as f64).product()
    }

    /// The largest squared norm over all ways to take part and all signs, column by column.
    fn enumerated(steps: u64, bands: u64, participations: u64, separation: u64) -> f64 {
        let entry = |t: u64, i: u64| if i <= t && t - i < bands { coefficient(t - i) } else { 0.0 };
        let mut worst = 0.0f64;
        for set in 0u64..1 << steps {
            let apart = (1..separation).all(|gap| set & (set >> gap) == 0);
            if !apart || u64::from(set.count_ones()) > participations {
                continue;
            }
            for signs in (0u64..1 << steps).filter(|signs| signs & !set == 0) {
                let sign = |i: u64| if signs >> i & 1 == 1 { -1.0 } else { 1.0 };
                let places: Vec<u64> = (0..steps).filter(|i| set >> i & 1 == 1).collect();
                let row = |t: u64| places.iter().map(|i| sign(*i) * entry(t, *i)).sum::<f64>().powi(2);
                worst = worst.max((0..steps).map(row).sum());
            }
        }
        worst.sqrt()
    }

    #[test]
    fn no_way_to_take_part_moves_more() {
        for (steps, bands) in [(1, 1), (5, 5), (7, 3), (8, 8), (8, 2), (9, 4)] {
            for participations in [1, 2, 3, 9] {
                for separation in [1, 2, 3, 5] {
                    let found = toeplitz(steps, Some(bands), participations, separation).sensitivity();
                    let exact = enumerated(steps, bands, participations, separation);
                    assert!(
                        (found / exact - 1.0).abs() < 1e-14,
                        "{steps} {bands} {participations} {separation}: {found} {exact}"
                    );
                }
            }
        }
    }

    /// Published values: one participation; bands; epochs.
    #[test]
    fn known_sensitivities() {
        for (steps, bands, participations, separation, exact) in [
            (16, None, 1, 1, 1.394230557389),
            (1024, None, 1, 1, 1.809020218315),
            (4096, None, 1, 1, 1.927143904186),
            (16, Some(4), 1, 1, 1.219951330996),
            (16, Some(4), 4, 4, 2.439902661993),
            (16, Some(4), 4, 2, 3.023346655612),
            (1024, None, 2, 512, 7.446375f64.sqrt()),
            (1024, None, 4, 256, 19.253047f64.sqrt()),
            (1024, None, 8, 128, 57.397108f64.sqrt()),
        ] {
            let found = toeplitz(steps, bands, participations, separation).sensitivity();
            assert!((found / exact - 1.0).abs() < 3e-8, "{steps} {bands:?}: {found} against {exact}");
        }
    }

    /// `h_t = (2t + 1) c_t` if every step counts; `c_k` by the gamma function.
    #[test]
    fn coefficients_and_their_sums() {
        for (k, c) in coefficients().enumerate().step_by(997).take(1000) {
            let x = k as f64;
            let exact = (libm::lgamma(x + 0.5) - libm::lgamma(x + 1.0)).exp() / PI.sqrt();
            assert!((c.high / exact - 1.0).abs() < 1e-8, "{k}: {c:?} against {exact}");
            assert!(c.high <= 1.0 / (PI * (x + 0.25)).sqrt(), "{k}: Watson's bound");
        }
        let t = 3000u64;
        let exact: f64 = coefficients()
            .take(t as usize)
            .enumerate()
            .map(|(i, c)| ((2 * i + 1) as f64 * c.high).powi(2))
            .sum();
        let found = toeplitz(t, None, t, 1).sensitivity().powi(2);
        assert!((found / exact - 1.0).abs() < 1e-12, "{found} against {exact}");
    }

    /// The bound for very long streams against the sum, where both can be had.
    #[test]
    fn the_bound_for_long_streams_is_above_and_near() {
        for (steps, bands, participations, separation) in [
            (100_000, None, 1, 1),
            (100_000, None, 10, 10_000),
            (100_000, None, 1000, 100),
            (100_000, None, 100_000, 1),
            (100_000, Some(300), 1000, 100),
            (100_000, Some(2), 50_000, 1),
            (1_000_000, None, 7, 3),
            (20, None, 4, 5),
        ] {
            let it = toeplitz(steps, bands, participations, separation);
            let (sum, bound) = (it.summed().nearest_root(), it.bounded().sqrt());
            assert!(bound >= sum && bound <= 1.1 * sum, "{it:?}: {bound} against {sum}");
            assert!(it.instance() <= sum && it.instance() >= sum * (1.0 - 1e-14));
        }
        let long = toeplitz(1 << 22, None, 30, 1 << 16);
        let (least, most) = (long.instance(), long.sensitivity());
        assert!(least < most && least > 0.4 * most, "{least} {most}");
    }

    #[test]
    fn edges() {
        assert_eq!(toeplitz(1, None, 1, 1).sensitivity(), 1.0 + 4.0 * f64::EPSILON);
        assert_eq!(toeplitz(9, Some(1), 1, 1).sensitivity(), 1.0 + 4.0 * f64::EPSILON);
        let all = toeplitz(Count::MAX, None, Count::MAX, 1).sensitivity();
        // Every step counts: sum of 4 t / pi.
        let exact = Count::MAX as f64 * (2.0 / PI).sqrt();
        assert!(all > exact && all < 1.1 * exact, "{all} against {exact}");
        let one = toeplitz(Count::MAX, None, 1, 1).sensitivity();
        assert!((one.powi(2) - 1.0 - (1.0 + (Count::MAX as f64).ln()) / PI).abs() < 0.3, "{one}");
        assert!(toeplitz(Count::MAX, Some(64), Count::MAX, 64).sensitivity().is_finite());
        // A unit far from the end of the stream is known exactly.
        assert!(toeplitz(Count::MAX, Some(64), 8, 64).is_exact());
    }
}
