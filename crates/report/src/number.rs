//! Numbers for sentences, rounded against us.

pub(crate) use sordino_plot::grouped as count;

use crate::run::{Better, Scale};

/// The probability as a number of cases in 100, rounded up.
pub(crate) fn of_100(probability: f64) -> u32 {
    // No truncation: it is clamped to 0 to 100.
    (100.0 * probability - SLACK).ceil().clamp(0.0, 100.0) as u32
}

/// The probability in per cent, rounded up to tenths; finer below one per cent.
pub(crate) fn percent_up(probability: f64) -> String {
    let percent = 100.0 * probability;
    let digits = if percent < 1.0 { 3 } else { 1 };
    let unit = 10f64.powi(digits);
    // Adding 0 turns a negative zero into zero.
    let rounded = ((percent * unit - SLACK).ceil() / unit).clamp(0.0, 100.0) + 0.0;
    format!("{} %", trimmed(format!("{rounded:.*}", digits as usize)))
}

/// A number that the user gave, in its shortest form.
pub(crate) fn given(value: f64) -> String {
    if value == 0.0 || (1e-3..1e7).contains(&value) { value.to_string() } else { format!("{value:e}") }
}

/// The number with four digits, rounded up.
pub(crate) fn up(value: f64) -> String {
    rounded_to_four(value, |scaled| (scaled - SLACK).ceil())
}

/// The number with four digits, rounded down.
pub(crate) fn down(value: f64) -> String {
    rounded_to_four(value, |scaled| (scaled + SLACK).floor())
}

/// A score of a model, rounded towards worse: accuracy down, loss up.
pub(crate) fn rounded(value: f64, scale: Scale, better: Better) -> String {
    let against = |scaled: f64| match better {
        Better::Higher => (scaled + SLACK).floor(),
        Better::Lower => (scaled - SLACK).ceil(),
    };
    match scale {
        Scale::Share => format!("{:.1} %", against(1000.0 * value) / 10.0),
        Scale::Number => rounded_to_four(value, against),
    }
}

fn rounded_to_four(value: f64, round: impl Fn(f64) -> f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        return "unbounded".to_owned();
    }
    let digits = 3 - value.abs().log10().floor() as i32;
    // Beyond this the power of ten would overflow.
    if digits.abs() > 300 {
        return format!("{value:e}");
    }
    let unit = 10f64.powi(digits);
    let rounded = round(value * unit) / unit;
    // The quotient may have spurious last digits; it is printed with four.
    if (1e-3..1e7).contains(&value.abs()) {
        trimmed(format!("{rounded:.*}", digits.max(0) as usize))
    } else {
        let text = format!("{rounded:.3e}");
        let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
        format!("{}e{power}", trimmed(mantissa.to_owned()))
    }
}

/// The rounding error that may hide a whole number: 29 % is 28.999999999999996.
const SLACK: f64 = 1e-9;

fn trimmed(text: String) -> String {
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_against_us() {
        assert_eq!(
            (of_100(0.7310585), of_100(0.5), of_100(0.29), of_100(1.0), of_100(0.0)),
            (74, 50, 29, 100, 0)
        );
        assert_eq!((percent_up(0.092362), percent_up(0.0)), ("9.3 %".into(), "0 %".into()));
        assert_eq!(
            (percent_up(0.0011051), percent_up(1.0), percent_up(0.01)),
            ("0.111 %".into(), "100 %".into(), "1 %".into())
        );
        assert_eq!(
            (up(5.367003e-6), up(1.5), up(0.0)),
            ("5.368e-6".to_owned(), "1.5".to_owned(), "0".to_owned())
        );
        assert_eq!((up(1234.56), up(f64::INFINITY)), ("1235".to_owned(), "unbounded".to_owned()));
        assert_eq!(
            (given(1e-6), given(0.5), given(0.0)),
            ("1e-6".to_owned(), "0.5".to_owned(), "0".to_owned())
        );
    }

    #[test]
    fn scores_are_rounded_away_from_what_is_better() {
        assert_eq!(rounded(0.94999, Scale::Share, Better::Higher), "94.9 %");
        assert_eq!(rounded(0.05001, Scale::Share, Better::Lower), "5.1 %");
        assert_eq!(rounded(0.29, Scale::Share, Better::Higher), "29.0 %");
        assert_eq!(rounded(0.123_41, Scale::Number, Better::Lower), "0.1235");
        assert_eq!(rounded(-3.999_99, Scale::Number, Better::Higher), "-4");
        assert_eq!((down(1.99999), up(1e-5)), ("1.999".to_owned(), "1e-5".to_owned()));
    }

    #[test]
    fn any_number_can_be_written() {
        for value in [5e-324, 1e-310, 1e308, f64::MAX, -1e300, f64::NAN] {
            assert!(!up(value).is_empty() && !down(value).is_empty());
        }
        assert_eq!((up(1e-310), up(f64::INFINITY)), ("1e-310".to_owned(), "unbounded".to_owned()));
    }
}
