//! Noisy sums.

use sordino_noise::{Bits, uniform_below};

use super::{Noise, UNIT, laplace};

/// The textbook's sampler in floating point: the inverse distribution function of a 53-bit uniform
/// number, added to the answer. Which doubles can come depends on the answer (Mironov 2012).
pub(crate) fn naive_laplace(answer: f64, scale: f64, bits: &mut dyn Bits) -> f64 {
    let word = bits.next_u64();
    let uniform = ((word >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    let noise = -scale * uniform.ln();
    if word & 1 == 0 { answer + noise } else { answer - noise }
}

/// Independent Laplace noise on every answer. For disjoint counts, of which a record moves one by
/// 1, a scale of 1/ε is right (Ding and others 2018, algorithm 9) and ε is wrong (algorithm 10).
pub(crate) struct NoisyHistogram(Noise);

impl NoisyHistogram {
    pub(crate) fn with_scale(scale: f64) -> Self {
        Self(laplace(scale))
    }

    pub(crate) fn release<const N: usize>(&self, answers: &[i64; N], bits: &mut dyn Bits) -> [i64; N] {
        answers.map(|answer| answer * UNIT + self.0.sample(bits))
    }
}

/// Running totals of noisy answers (Wang, Ding, Wang, Kifer, Zhang, "Proving differential privacy
/// with shadow execution", 2019): ε if one answer moves by 1, N ε if all of them do.
pub(crate) struct PrefixSum(Noise);

impl PrefixSum {
    pub(crate) fn new(epsilon: f64) -> Self {
        Self(laplace(1.0 / epsilon))
    }

    pub(crate) fn release<const N: usize>(&self, answers: &[i64; N], bits: &mut dyn Bits) -> [i64; N] {
        let mut total = 0;
        answers.map(|answer| {
            total += answer * UNIT + self.0.sample(bits);
            total
        })
    }
}

/// A geometric mechanism on {0, ..., n} with integer arithmetic (Balcer, Vadhan, "Differential
/// privacy on finite computers", 2018, GeoSample): `ln(1 + 2^-k)`-private with k = ceil(ln(2/ε)).
pub(crate) struct TruncatedGeometric {
    n: u32,
    k: u32,
}

impl TruncatedGeometric {
    pub(crate) fn new(epsilon: f64, n: u32) -> Self {
        Self { n, k: (2.0 / epsilon).ln().ceil() as u32 }
    }

    pub(crate) fn release(&self, count: u32, bits: &mut dyn Bits) -> u32 {
        let all = self.all();
        let drawn = 1 + uniform_below(all.try_into().unwrap(), bits);
        (0..self.n).find(|&z| self.up_to(z, count) >= drawn).unwrap_or(self.n)
    }

    /// The probabilities of all results.
    pub(crate) fn law(&self, count: u32) -> Vec<f64> {
        let up_to = |z: u32| if z < self.n { self.up_to(z, count) } else { self.all() };
        let exactly = |z: u32| up_to(z) - z.checked_sub(1).map_or(0, up_to);
        (0..=self.n).map(|z| exactly(z) as f64 / self.all() as f64).collect()
    }

    /// The number of equally likely values.
    fn all(&self) -> u64 {
        ((1 << (self.k + 1)) + 1) * self.base().pow(self.n - 1)
    }

    fn base(&self) -> u64 {
        (1 << self.k) + 1
    }

    /// How many of them give a result of at most z, for z < n.
    fn up_to(&self, z: u32, count: u32) -> u64 {
        if z < count {
            let below = count - z;
            (1 << (self.k * below)) * self.base().pow(self.n - below)
        } else {
            let above = z - count;
            self.all() - (1 << (self.k * (above + 1))) * self.base().pow(self.n - 1 - above)
        }
    }
}
