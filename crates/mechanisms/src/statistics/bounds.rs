//! Declared bounds of a column of numbers.

use crate::error::MechanismError;

/// Numbers are clamped to `lower..=upper`; NaN counts as one public value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    lower: f64,
    upper: f64,
    missing: f64,
}

impl Bounds {
    /// Fails for bounds that are not finite, the wrong way round, or too far apart for a double.
    /// NaN counts as the middle.
    pub fn new(lower: f64, upper: f64) -> Result<Self, MechanismError> {
        let width = upper - lower;
        if !(width > 0.0 && width.is_finite()) {
            return Err(MechanismError::RealBounds { lower, upper });
        }
        // Halved first: a sum of large bounds could overflow.
        Ok(Self { lower, upper, missing: 0.5 * lower + 0.5 * upper })
    }

    /// NaN counts as this (clamped) instead.
    pub fn missing(self, value: f64) -> Self {
        Self {
            missing: if value.is_nan() { self.missing } else { value.clamp(self.lower, self.upper) },
            ..self
        }
    }

    /// The lower bound.
    pub fn lower(self) -> f64 {
        self.lower
    }

    /// The upper bound.
    pub fn upper(self) -> f64 {
        self.upper
    }

    pub(super) fn middle(self) -> f64 {
        0.5 * self.lower + 0.5 * self.upper
    }

    pub(super) fn width(self) -> f64 {
        self.upper - self.lower
    }

    /// The nearest place on a grid of `cells` cells, counted from the lower bound: a function of
    /// one row.
    pub(super) fn place(self, value: f64, cells: u64) -> u64 {
        let share = (self.clamp(value) - self.lower) / self.width();
        // The cast saturates.
        ((share * cells as f64).round() as u64).min(cells)
    }

    /// The value at a place of that grid.
    pub(super) fn value(self, place: u64, cells: u64) -> f64 {
        (self.lower + self.width() * (place as f64 / cells as f64)).clamp(self.lower, self.upper)
    }

    /// Within the bounds, whatever came.
    pub(super) fn clamp(self, value: f64) -> f64 {
        if value.is_nan() { self.missing } else { value.clamp(self.lower, self.upper) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_value_is_clamped_to_the_bounds() {
        let bounds = Bounds::new(-1.0, 3.0).unwrap();
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e308, 2.5] {
            assert!((-1.0..=3.0).contains(&bounds.clamp(value)));
        }
        assert_eq!(bounds.clamp(f64::NAN), 1.0);
        assert_eq!(bounds.missing(9.0).clamp(f64::NAN), 3.0);
        assert_eq!(bounds.missing(f64::NAN).clamp(f64::NAN), 1.0);
        assert_eq!(Bounds::new(1e308, 1.1e308).unwrap().middle(), 1.05e308);
    }

    #[test]
    fn nonsense_is_refused() {
        for (lower, upper) in
            [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY), (f64::MIN, f64::MAX)]
        {
            let error = Bounds::new(lower, upper).unwrap_err().to_string();
            assert!(error.starts_with("bounds must be finite numbers, the lower below the upper"), "{error}");
        }
    }
}
