//! The largest of several noisy answers (Ding and others 2018, algorithms 5 to 8).

use sordino_noise::{Bits, Geometric};

use super::{Noise, UNIT, laplace};

#[derive(Clone, Copy)]
pub(crate) enum MaxNoise {
    Laplace,
    Exponential,
}

/// With noise of scale 2/ε the *index* of the largest is ε-private: variants 1 (Laplace) and 2
/// (exponential). Its *value* is not: variants 3 and 4.
pub(crate) enum NoisyMax {
    Laplace(Box<Noise>),
    Exponential(Geometric),
}

impl NoisyMax {
    pub(crate) fn new(epsilon: f64, noise: MaxNoise) -> Self {
        let scale = 2.0 / epsilon;
        match noise {
            MaxNoise::Laplace => Self::Laplace(Box::new(laplace(scale))),
            MaxNoise::Exponential => {
                Self::Exponential(Geometric::with_ratio_exp(1, (scale * UNIT as f64).round() as u64).unwrap())
            }
        }
    }

    /// Variants 1 and 2.
    pub(crate) fn index<const N: usize>(&self, answers: &[i64; N], bits: &mut dyn Bits) -> usize {
        self.largest(answers, bits).0
    }

    /// Variants 3 and 4: broken.
    pub(crate) fn value<const N: usize>(&self, answers: &[i64; N], bits: &mut dyn Bits) -> i64 {
        self.largest(answers, bits).1
    }

    fn largest<const N: usize>(&self, answers: &[i64; N], bits: &mut dyn Bits) -> (usize, i64) {
        let mut largest = (0, i64::MIN);
        for (index, answer) in answers.iter().enumerate() {
            let noisy = answer * UNIT + self.noise(bits);
            if noisy > largest.1 {
                largest = (index, noisy);
            }
        }
        largest
    }

    fn noise(&self, bits: &mut dyn Bits) -> i64 {
        match self {
            Self::Laplace(noise) => noise.sample(bits),
            Self::Exponential(noise) => noise.sample(bits) as i64,
        }
    }
}
