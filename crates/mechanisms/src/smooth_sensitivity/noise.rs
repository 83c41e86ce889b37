//! The noise that hides an answer and its own scale: how much of each a shape can hide.

use std::f64::consts::PI;

use sordino_noise::{Bits, NoiseError, RoundedCauchy, RoundedStudent, ScaledLaplace};
use sordino_privacy::{Delta, Epsilon, Event};

use crate::error::MechanismError;

/// Roundings of a few exponentials and quotients, with room to spare.
const MARGIN: f64 = 1e-9;

/// The shape of noise whose scale depends on the data; see
/// [`SmoothSensitivity`](super::SmoothSensitivity).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SmoothNoise {
    /// (ε, δ)-private. The lightest tails; the noise falls slowly with the distance to bad tables.
    Laplace {
        /// δ, above 0.
        delta: Delta,
    },
    /// ε-private. Most tables get the least noise; it has no mean.
    Cauchy,
    /// ε-private: Student's t with three degrees of freedom, which has a mean and a variance.
    Student,
}

/// What a scale may hide at once: answers that move by `shift` scales, and a scale that changes by
/// a factor of `e^step`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) shift: f64,
    pub(crate) step: f64,
}

impl SmoothNoise {
    /// s and β of the guarantee. Fails for ε = 0, and for Laplace noise without δ.
    pub(crate) fn room(self, epsilon: Epsilon) -> Result<Room, MechanismError> {
        let e = epsilon.get();
        if e == 0.0 {
            return Err(MechanismError::NoBudget);
        }
        match self {
            Self::Cauchy => Ok(Room { shift: e / 2.0, step: e / 2.0 }),
            Self::Student => Ok(Room { shift: e * 3f64.sqrt() / 4.0 * (1.0 - 1e-15), step: e / 6.0 }),
            Self::Laplace { delta } => {
                let shift = e / 2.0;
                Ok(Room { shift, step: laplace_step(e, shift, delta.get())? })
            }
        }
    }

    /// What one release costs.
    pub(crate) fn event(self, epsilon: Epsilon) -> Event {
        match self {
            Self::Laplace { delta } => Event::Approximate { epsilon, delta },
            Self::Cauchy | Self::Student => Event::Pure { epsilon },
        }
    }

    /// The sampler of a scale.
    pub(super) fn of_scale(self, scale: u64) -> Result<Sampler, NoiseError> {
        Ok(match self {
            Self::Laplace { .. } => Sampler::Laplace(ScaledLaplace::new(scale)?),
            Self::Cauchy => Sampler::Cauchy(RoundedCauchy::new(scale)?),
            Self::Student => Sampler::Student(RoundedStudent::new(scale)?),
        })
    }

    /// What the noise of scale 1 exceeds with probability at most `miss`.
    pub(super) fn quantile(self, miss: f64) -> f64 {
        if miss <= 0.0 {
            return f64::INFINITY;
        }
        match self {
            Self::Laplace { .. } => -miss.ln(),
            // The tangent of the confidence's quarter turn; by the miss, which keeps its digits.
            Self::Cauchy => (0.5 * PI * miss).tan().recip(),
            Self::Student => 3f64.sqrt() * student_quantile(miss),
        }
    }
}

/// Noise of one scale.
#[derive(Clone, Debug)]
pub(super) enum Sampler {
    Laplace(ScaledLaplace),
    Cauchy(RoundedCauchy),
    Student(RoundedStudent),
}

impl Sampler {
    pub(super) fn sample<R: Bits + ?Sized>(&self, bits: &mut R) -> i128 {
        match self {
            Self::Laplace(noise) => noise.sample(bits),
            Self::Cauchy(noise) => noise.sample(bits).into(),
            Self::Student(noise) => noise.sample(bits).into(),
        }
    }
}

/// The δ of Laplace noise, equation (4) of the mechanism.
pub(super) fn laplace_delta(epsilon: f64, shift: f64, step: f64) -> f64 {
    let widening = step.exp_m1();
    let side = |shift: f64| (-(epsilon - shift + step) / widening).exp();
    -0.5 * (-step).exp_m1() * (side(shift) + side(-shift))
}

/// The largest β up to `epsilon - shift` at which (4) is at most δ, or a little less.
fn laplace_step(epsilon: f64, shift: f64, delta: f64) -> Result<f64, MechanismError> {
    if delta == 0.0 {
        let why = "Laplace noise of two scales can be told apart far out; use Cauchy or Student noise";
        return Err(MechanismError::NeedsDelta { why });
    }
    let fits = |step: f64| laplace_delta(epsilon, shift, step) * (1.0 + MARGIN) <= delta;
    let (mut low, mut high) = (0.0, epsilon - shift);
    if fits(high) {
        return Ok(high);
    }
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if fits(middle) { low = middle } else { high = middle }
    }
    Ok(low)
}

/// The least u, or a little more, with `P[|T| > sqrt 3 u] = (2/π)(atan(1/u) - u/(1 + u^2)) <=
/// miss`.
fn student_quantile(miss: f64) -> f64 {
    // The density (2/π)(1 + u^2)^-2 is below (2/π) u^-4, so that the tails are below 4/(3π u^3).
    let bound = (4.0 / (3.0 * PI * miss)).cbrt() * (1.0 + MARGIN);
    if miss < 1e-9 {
        return bound; // where the difference would lose its digits, and the bound is close
    }
    let tails = |u: f64| 2.0 / PI * (u.recip().atan() - u / (1.0 + u * u));
    let (mut low, mut high) = (0.0, bound);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if tails(middle) > miss { low = middle } else { high = middle }
    }
    high * (1.0 + MARGIN)
}
