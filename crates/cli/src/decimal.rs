//! Numbers for people: few digits, rounded so that no promise becomes stronger.
//!
//! An upper end is rounded up and a lower end down at the printed digits. Precisely: the printed
//! number, read back as a 64-bit float, is at least (at most) the original. So 0.1 prints as `0.1`,
//! although its float is a little more than a tenth.

use std::cmp::Ordering;

use sordino::prelude::Bound;

/// The significant digits that a table shows.
const DIGITS: usize = 6;

/// The least number of [`DIGITS`] digits that reads back at or above `value` (0 or more, or ∞).
pub(crate) fn up(value: f64) -> String {
    rounded(value, Ordering::Greater)
}

/// The largest number of [`DIGITS`] digits that reads back at or below `value` (0 or more, or ∞).
pub(crate) fn down(value: f64) -> String {
    rounded(value, Ordering::Less)
}

/// What is left of a budget, rounded down. A budget compares charges with a slack of 10^-9 of
/// itself, so 0.2 fits after 0.8 of 1, although 1 - 0.8 is less than 0.2 in doubles; `0.2` is then
/// shown.
pub(crate) fn left(value: f64, budget: f64) -> String {
    if value > 0.0 { down((value + 1e-9 * budget).min(budget)) } else { down(0.0) }
}

/// An interval in words, with both ends rounded outwards.
pub(crate) fn between(bound: Bound) -> String {
    let (low, high) = (down(bound.lower), up(bound.upper));
    if bound.lower == f64::INFINITY {
        "unbounded".to_owned()
    } else if bound.lower == bound.upper && low == high {
        format!("{high} exactly")
    } else {
        format!("at most {high}, at least {low}")
    }
}

/// The shortest decimal that reads back as this float.
pub(crate) fn exact(value: f64) -> String {
    if value == 0.0 || (1e-4..1e7).contains(&value.abs()) { value.to_string() } else { format!("{value:e}") }
}

/// Rounds to [`DIGITS`] digits; the result lies on the side `towards` of `value`, or equals it.
fn rounded(value: f64, towards: Ordering) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        return "∞".to_owned();
    }
    let nearest = format!("{:.*e}", DIGITS - 1, value);
    let (mut mantissa, mut exponent) = parts(&nearest);
    let printed: f64 = nearest.parse().unwrap_or(f64::NAN);
    match (printed.partial_cmp(&value), towards) {
        (Some(Ordering::Less), Ordering::Greater) => mantissa += 1,
        (Some(Ordering::Greater), Ordering::Less) => mantissa -= 1,
        _ => {}
    }
    let least = 10_u64.pow(DIGITS as u32 - 1);
    if mantissa == 10 * least {
        (mantissa, exponent) = (least, exponent + 1);
    } else if mantissa < least {
        (mantissa, exponent) = (10 * least - 1, exponent - 1);
    }
    written(mantissa, exponent)
}

/// The digits and the exponent of `d.ddddde±x`.
fn parts(scientific: &str) -> (u64, i32) {
    let (digits, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let digits = digits.bytes().filter(u8::is_ascii_digit).fold(0, |sum, d| 10 * sum + u64::from(d - b'0'));
    (digits, exponent.parse().unwrap_or(0))
}

/// The digits of `mantissa`, with the point after the first, times ten to the `exponent`, without
/// trailing zeros.
fn written(mantissa: u64, exponent: i32) -> String {
    let digits = mantissa.to_string();
    let digits = digits.trim_end_matches('0');
    if !(-4..7).contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        return format!("{first}{point}{rest}e{exponent}");
    }
    if exponent < 0 {
        return format!("0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1));
    }
    let whole = exponent as usize + 1;
    if digits.len() <= whole {
        return format!("{digits}{}", "0".repeat(whole - digits.len()));
    }
    let (whole, fraction) = digits.split_at(whole);
    format!("{whole}.{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers_print_as_they_are_written() {
        for (value, text) in [
            (0.0, "0"),
            (0.1, "0.1"),
            (1.0, "1"),
            (2.5, "2.5"),
            (1e-6, "1e-6"),
            (1000.0, "1000"),
            (1.5e9, "1.5e9"),
        ] {
            assert_eq!(up(value), text);
            assert_eq!(down(value), text);
            assert_eq!(exact(value), text);
        }
    }

    #[test]
    fn ends_move_outwards() {
        assert_eq!((down(2.380_123_4), up(2.380_123_4)), ("2.38012".into(), "2.38013".into()));
        assert_eq!((down(0.999_999_95), up(0.999_999_95)), ("0.999999".into(), "1".into()));
        assert_eq!((down(1.000_000_01), up(1.000_000_01)), ("1".into(), "1.00001".into()));
        assert_eq!((down(123_456.7), up(1_234_567.8)), ("123456".into(), "1234570".into()));
        assert_eq!((down(f64::INFINITY), up(f64::INFINITY)), ("∞".into(), "∞".into()));
        assert_eq!(up(f64::MAX).parse::<f64>().ok(), Some(f64::INFINITY));
    }

    #[test]
    fn the_amount_left_is_what_still_fits() {
        assert_ne!(1.0 - 0.8, 0.2);
        assert_eq!(
            (left(1.0 - 0.8, 1.0), left(0.0, 1.0), left(1.0, 1.0)),
            ("0.2".into(), "0".into(), "1".into())
        );
        assert_eq!((left(0.199_998, 1.0), left(0.123_456_7, 1.0)), ("0.199998".into(), "0.123456".into()));
    }

    #[test]
    fn intervals_read_as_sentences() {
        let words = |lower, upper| between(Bound { lower, upper });
        assert_eq!(words(0.5, 0.5), "0.5 exactly");
        assert_eq!(words(1.0 / 3.0, 1.0 / 3.0), "at most 0.333334, at least 0.333333");
        assert_eq!(words(2.381_11, 2.381_999_9), "at most 2.382, at least 2.38111");
        assert_eq!(words(3.0, f64::INFINITY), "at most ∞, at least 3");
        assert_eq!(words(f64::INFINITY, f64::INFINITY), "unbounded");
    }

    /// A walk over bit patterns reaches every exponent, subnormal numbers included.
    #[test]
    fn printed_numbers_read_back_on_the_safe_side_and_close_by() {
        let mut bits = 1_u64;
        for _ in 0..20_000 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = f64::from_bits(bits >> 1);
            if !value.is_finite() || value > 1e300 {
                continue;
            }
            let (low, high): (f64, f64) = (down(value).parse().unwrap(), up(value).parse().unwrap());
            assert!(low <= value && value <= high, "{value:e}: {low:e} {high:e}");
            assert!(high - low <= 1.1e-5 * value || value < 1e-300, "{value:e}: {low:e} {high:e}");
        }
    }
}
