//! What a test looks at: an output as a row of numbers.
//!
//! A row need not contain everything: whatever is computed from an output is post-processing, and a
//! bound found on it holds for the output. What a row leaves out costs power, never validity. Hence
//!
//! - **an abort is a flag of its own**, not a number like -1000 among the numbers;
//! - **a float comes with its granularity**, the exponent of its lowest bit: noise in floating
//!   point leaves traces there (Mironov, "On significance of the least significant bits for
//!   differential privacy", 2012);
//! - **a list comes with the differences of neighbours**, since running totals hide one record in
//!   all later entries, and with how many entries are present, how many of them are above 0 (a
//!   small shift of all entries under heavy noise shows best in their signs), their sum, the least
//!   and the largest;
//! - **a name or a choice is a category**: only equality matters.

use std::hash::{DefaultHasher, Hash, Hasher};

/// A row of numbers that describes one output.
#[derive(Clone, Debug, Default)]
pub struct Row(Vec<f64>);

impl Row {
    /// A number whose order matters. NaN is a value of its own.
    pub fn number(&mut self, value: f64) {
        self.0.push(if value.is_nan() { f64::INFINITY } else { value.clamp(f64::MIN, f64::MAX) });
    }

    /// A flag.
    pub fn flag(&mut self, value: bool) {
        self.0.push(f64::from(u8::from(value)));
    }

    /// A category: only equality matters.
    pub fn category<T: Hash + ?Sized>(&mut self, value: &T) {
        let mut hasher = DefaultHasher::new(); // the same in every run
        value.hash(&mut hasher);
        self.0.push((hasher.finish() >> 11) as f64);
    }

    /// Fills the places of `width` numbers that this output does not have.
    pub fn absent(&mut self, width: usize) {
        self.0.resize(self.0.len() + width, ABSENT);
    }

    /// Replaces the row by that of `output`.
    pub(crate) fn observe<O: Observe + ?Sized>(&mut self, output: &O) {
        self.0.clear();
        output.observe(self);
    }

    pub(crate) fn numbers(&self) -> &[f64] {
        &self.0
    }
}

/// Below every number.
pub(crate) const ABSENT: f64 = f64::NEG_INFINITY;

/// An output that a test can look at.
///
/// ```
/// use sordino_audit::{Observe, Row};
/// struct Answer { city: String, distance: f64 }
/// impl Observe for Answer {
///     const WIDTH: usize = String::WIDTH + f64::WIDTH;
///     fn observe(&self, row: &mut Row) {
///         self.city.observe(row);
///         self.distance.observe(row);
///     }
/// }
/// ```
pub trait Observe {
    /// How many numbers [`observe`](Self::observe) writes; 0 if that differs from output to output.
    const WIDTH: usize;

    /// Writes this output into a row.
    fn observe(&self, row: &mut Row);
}

impl Observe for f64 {
    const WIDTH: usize = 2;

    fn observe(&self, row: &mut Row) {
        row.number(*self);
        row.number(granularity(*self));
    }
}

impl Observe for f32 {
    const WIDTH: usize = 2;

    fn observe(&self, row: &mut Row) {
        f64::from(*self).observe(row);
    }
}

/// Integers as numbers. Beyond 2^53 neighbouring ones look alike.
macro_rules! integers {
    ($($name:ty),*) => { $(
        impl Observe for $name {
            const WIDTH: usize = 1;

            fn observe(&self, row: &mut Row) {
                row.number(*self as f64);
            }
        }
    )* };
}
integers!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);

impl Observe for bool {
    const WIDTH: usize = 1;

    fn observe(&self, row: &mut Row) {
        row.flag(*self);
    }
}

/// Names are categories.
macro_rules! names {
    ($($name:ty),*) => { $(
        impl Observe for $name {
            const WIDTH: usize = 1;

            fn observe(&self, row: &mut Row) {
                row.category(self);
            }
        }
    )* };
}
names!(char, String, &str);

impl<T: Observe> Observe for Option<T> {
    const WIDTH: usize = T::WIDTH + 1;

    fn observe(&self, row: &mut Row) {
        match self {
            Some(value) => value.observe(row),
            None => row.absent(T::WIDTH),
        }
        row.flag(self.is_some());
    }
}

/// A failure leaves too; which one it was is not looked at.
impl<T: Observe, E> Observe for Result<T, E> {
    const WIDTH: usize = T::WIDTH + 1;

    fn observe(&self, row: &mut Row) {
        match self {
            Ok(value) => value.observe(row),
            Err(_) => row.absent(T::WIDTH),
        }
        row.flag(self.is_ok());
    }
}

impl<T: Observe> Observe for [T] {
    const WIDTH: usize = 0;

    fn observe(&self, row: &mut Row) {
        let first = row.0.len();
        for entry in self {
            entry.observe(row);
        }
        if T::WIDTH == 0 {
            return;
        }
        let mut summary = Summary::default();
        for index in 0..self.len() {
            let here = row.0[first + index * T::WIDTH];
            summary.add(here);
            if index > 0 {
                let before = row.0[first + (index - 1) * T::WIDTH];
                let both = before.is_finite() && here.is_finite();
                row.0.push(if both { here - before } else { ABSENT });
            }
        }
        row.0.extend([summary.present, summary.positive, summary.sum, summary.least, summary.largest]);
    }
}

/// A summary of the entries that are present.
struct Summary {
    present: f64,
    positive: f64,
    sum: f64,
    least: f64,
    largest: f64,
}

impl Default for Summary {
    fn default() -> Self {
        Self { present: 0.0, positive: 0.0, sum: 0.0, least: f64::INFINITY, largest: ABSENT }
    }
}

impl Summary {
    fn add(&mut self, value: f64) {
        if value.is_finite() {
            self.present += 1.0;
            self.positive += f64::from(u8::from(value > 0.0));
            self.sum += value;
            self.least = self.least.min(value);
            self.largest = self.largest.max(value);
        }
    }
}

impl<T: Observe> Observe for Vec<T> {
    const WIDTH: usize = 0;

    fn observe(&self, row: &mut Row) {
        self.as_slice().observe(row);
    }
}

impl<T: Observe, const N: usize> Observe for [T; N] {
    const WIDTH: usize = 0;

    fn observe(&self, row: &mut Row) {
        self.as_slice().observe(row);
    }
}

impl<A: Observe, B: Observe> Observe for (A, B) {
    const WIDTH: usize = if A::WIDTH == 0 || B::WIDTH == 0 { 0 } else { A::WIDTH + B::WIDTH };

    fn observe(&self, row: &mut Row) {
        self.0.observe(row);
        self.1.observe(row);
    }
}

/// The largest k such that x is a multiple of 2^k.
fn granularity(x: f64) -> f64 {
    const FRACTION: u64 = (1 << 52) - 1;
    if x == 0.0 || !x.is_finite() {
        return 1024.0; // of every power of two that a float can be
    }
    let (fraction, exponent) = (x.to_bits() & FRACTION, (x.to_bits() >> 52) as i32 & 0x7ff);
    let (digits, unit) =
        if exponent == 0 { (fraction, -1074) } else { (fraction | (1 << 52), exponent - 1075) };
    f64::from(unit + digits.trailing_zeros() as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(output: impl Observe) -> Vec<f64> {
        let mut row = Row::default();
        row.observe(&output);
        row.numbers().to_vec()
    }

    #[test]
    fn granularity_is_the_lowest_bit() {
        for (x, k) in [(1.0, 0.0), (0.75, -2.0), (6.0, 1.0), (0.1, -55.0), (5e-324, -1074.0), (-3.5, -1.0)] {
            assert_eq!(granularity(x), k, "{x}");
        }
        assert_eq!(granularity(0.0), 1024.0);
    }

    #[test]
    fn aborts_and_failures_are_flags() {
        assert_eq!(row(Some(3_u8)), [3.0, 1.0]);
        assert_eq!(row(None::<u8>), [ABSENT, 0.0]);
        assert_eq!(row(Err::<f64, ()>(())), [ABSENT, ABSENT, 0.0]);
        assert_eq!(row(f64::NAN), [f64::INFINITY, 1024.0]);
    }

    #[test]
    fn lists_have_differences_and_a_summary() {
        assert_eq!(row(vec![1_i64, 4, 9]), [1.0, 4.0, 9.0, 3.0, 5.0, 3.0, 3.0, 14.0, 1.0, 9.0]);
        assert_eq!(row(Vec::<f64>::new()), [0.0, 0.0, 0.0, f64::INFINITY, ABSENT]);
        let flags = [1.0, 1.0, ABSENT, 0.0, 2.0, 1.0];
        assert_eq!(row([Some(1_i64), None, Some(2)])[..6], flags);
        assert_eq!(row([Some(1_i64), None, Some(2)])[6..], [ABSENT, ABSENT, 2.0, 2.0, 3.0, 1.0, 2.0]);
    }

    #[test]
    fn names_are_categories() {
        assert_eq!(row("Basel"), row("Basel".to_owned()));
        assert_ne!(row("Basel"), row("Bern"));
        assert_eq!(row(("Basel", true)).len(), <(&str, bool)>::WIDTH);
    }
}
