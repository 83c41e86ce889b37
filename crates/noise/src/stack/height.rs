//! A height whose binary digits are drawn as they are needed, and its exact comparison with the
//! curve.

use dashu::integer::UBig;

use crate::bits::Bits;
use crate::exact::Enclosure;

/// A uniform height: `base + factor t / 2^shift`, t uniform in [0, 1).
#[derive(Clone, Copy, Debug)]
pub(super) struct Height {
    pub(super) base: u32,
    pub(super) factor: u32,
    pub(super) shift: u32,
}

impl Height {
    pub(super) fn over_block(base: u32) -> Self {
        Self { base, factor: 1, shift: 0 }
    }

    /// `2^-shift`, unless it is so small that products with it could underflow.
    #[inline]
    pub(super) fn two_to_minus_shift(self) -> Option<f64> {
        (self.shift < 512).then(|| f64::from_bits(u64::from(1023 - self.shift) << 52))
    }

    /// Whether the height is below `scale` times the curve, if the digits and the enclosure decide
    /// it.
    pub(super) fn compare(self, digits: &LeadingDigits, curve: &Enclosure, scale: u32) -> Option<bool> {
        // Everything in units of 2^-(count + shift + precision).
        let (count, shift) = (digits.count, self.shift as usize);
        let base = UBig::from(self.base) << (count + shift);
        let lowest = (&base + &digits.value * self.factor) << curve.precision;
        let highest = (base + (&digits.value + UBig::ONE) * self.factor) << curve.precision;
        if highest <= (&curve.lower * scale) << (count + shift) {
            Some(true)
        } else if lowest >= (&curve.upper * scale) << (count + shift) {
            Some(false)
        } else {
            None
        }
    }
}

/// The leading binary digits of a number, `value / 2^count`, of which more can be drawn.
pub(super) struct LeadingDigits {
    pub(super) value: UBig,
    pub(super) count: usize,
}

impl LeadingDigits {
    pub(super) fn new(value: UBig, count: usize) -> Self {
        Self { value, count }
    }

    /// Draws further digits until at least `count` stand behind the point.
    pub(super) fn extend<R: Bits + ?Sized>(&mut self, count: usize, bits: &mut R) {
        while self.count < count {
            self.value = (&self.value << 64usize) + UBig::from(bits.next_u64());
            self.count += 64;
        }
    }
}
