//! Numbers as they stand in sentences, rounded against us.

/// In how many of 100 cases at most, a whole number.
pub(crate) fn of_100(probability: f64) -> u32 {
    // Between 0 and 100 after the clamp.
    (100.0 * probability - SLACK).ceil().clamp(0.0, 100.0) as u32
}

/// The least tenth of a per cent at or above a probability; finer below one per cent.
pub(crate) fn percent_up(probability: f64) -> String {
    let percent = 100.0 * probability;
    let digits = if percent < 1.0 { 3 } else { 1 };
    let unit = 10f64.powi(digits);
    let rounded = ((percent * unit - SLACK).ceil() / unit).clamp(0.0, 100.0);
    format!("{} %", trimmed(format!("{rounded:.*}", digits as usize)))
}

/// A number that was given, as it was given.
pub(crate) fn given(value: f64) -> String {
    if value == 0.0 || (1e-3..1e7).contains(&value) { value.to_string() } else { format!("{value:e}") }
}

/// Four digits, rounded up.
pub(crate) fn up(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { "unbounded".to_owned() };
    }
    let unit = 10f64.powi(3 - value.log10().floor() as i32);
    let rounded = (value * unit - SLACK).ceil() / unit;
    // The quotient may have a last digit too many; four digits are enough to write it.
    if (1e-3..1e7).contains(&value) {
        trimmed(format!("{:.*}", (3 - value.log10().floor() as i32).max(0) as usize, rounded))
    } else {
        format!("{rounded:.3e}")
    }
}

/// What a quotient of doubles may exceed a whole number by, when it is one: 29 % is 28.999999999999996.
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
        assert_eq!(percent_up(0.092362), "9.3 %");
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
}
