//! Dual numbers, which carry their derivatives: exact up to rounding in double precision.
//! (Differences of losses are exact to 1e-8 only, which is too coarse for layers whose gradients
//! nearly vanish.)

use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Range, Sub};

/// Parameters that are differentiated by at a time.
const WIDE: usize = 8;

/// A value and its derivatives by some parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dual {
    pub(crate) value: f64,
    derivatives: [f64; WIDE],
}

/// The gradient of a function.
pub(crate) fn gradient(f: impl Fn(&[Dual]) -> Dual, at: &[f64]) -> Vec<f64> {
    gradient_by(f, at, 0..at.len())
}

/// Derivatives by some parameters.
pub(crate) fn gradient_by(f: impl Fn(&[Dual]) -> Dual, at: &[f64], some: Range<usize>) -> Vec<f64> {
    let mut parameters: Vec<Dual> = at.iter().map(|w| Dual::from(*w)).collect();
    let mut result = Vec::with_capacity(some.len());
    for start in some.clone().step_by(WIDE) {
        let few = start..some.end.min(start + WIDE);
        few.clone().for_each(|j| parameters[j].derivatives[j - start] = 1.0);
        result.extend(&f(&parameters).derivatives[..few.len()]);
        few.for_each(|j| parameters[j].derivatives = [0.0; WIDE]);
    }
    result
}

impl Dual {
    pub(crate) const ZERO: Self = Self { value: 0.0, derivatives: [0.0; WIDE] };

    /// A function's value, where its derivative is known.
    fn of(self, value: f64, derivative: f64) -> Self {
        Self { value, derivatives: self.derivatives.map(|by| derivative * by) }
    }

    pub(crate) fn exp(self) -> Self {
        let value = self.value.exp();
        self.of(value, value)
    }

    pub(crate) fn ln(self) -> Self {
        self.of(self.value.ln(), 1.0 / self.value)
    }

    pub(crate) fn sqrt(self) -> Self {
        let value = self.value.sqrt();
        self.of(value, 0.5 / value)
    }

    pub(crate) fn tanh(self) -> Self {
        self.of(self.value.tanh(), self.value.cosh().powi(-2))
    }

    pub(crate) fn erf(self) -> Self {
        let derivative = 2.0 / std::f64::consts::PI.sqrt() * (-self.value * self.value).exp();
        self.of(libm::erf(self.value), derivative)
    }

    pub(crate) fn larger(self, other: Self) -> Self {
        if self.value >= other.value { self } else { other }
    }
}

impl From<f64> for Dual {
    fn from(value: f64) -> Self {
        Self { value, ..Self::ZERO }
    }
}

/// A function of two numbers from its value and its two derivatives.
fn both(a: Dual, b: Dual, value: f64, by_a: f64, by_b: f64) -> Dual {
    Dual { value, derivatives: std::array::from_fn(|j| by_a * a.derivatives[j] + by_b * b.derivatives[j]) }
}

impl Add for Dual {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        both(self, other, self.value + other.value, 1.0, 1.0)
    }
}

impl Sub for Dual {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        both(self, other, self.value - other.value, 1.0, -1.0)
    }
}

impl Mul for Dual {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        both(self, other, self.value * other.value, other.value, self.value)
    }
}

impl Div for Dual {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let value = self.value / other.value;
        both(self, other, value, 1.0 / other.value, -value / other.value)
    }
}

impl Mul<f64> for Dual {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        self.of(factor * self.value, factor)
    }
}

impl Neg for Dual {
    type Output = Self;
    fn neg(self) -> Self {
        self * -1.0
    }
}

impl AddAssign for Dual {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Dual {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.fold(Self::ZERO, Add::add)
    }
}
