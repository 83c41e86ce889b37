//! Recognises texts that cannot be the name of a column.
//!
//! A file without a header line has its first record where names are expected, and a program that
//! prints the names prints that record. So a first line is refused if one of its fields cannot be a
//! name. The message states the number and the kind of the field and does not show it: it may be a
//! person's value. A record of plain words cannot be told from a header.

use std::collections::HashMap;

/// Why a line is no header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotAName {
    /// The number of the field, from 1.
    pub(super) field: usize,
    pub(super) what: &'static str,
}

/// The first field that is no name, if there is one.
pub(super) fn not_a_name<'a>(fields: impl IntoIterator<Item = &'a str>) -> Option<NotAName> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (index, field) in fields.into_iter().enumerate() {
        let what = kind(field).or_else(|| seen.contains_key(field).then_some("the same as another field"));
        if let Some(what) = what {
            return Some(NotAName { field: index + 1, what });
        }
        seen.insert(field, index);
    }
    None
}

/// What the field is, if it cannot be a name.
fn kind(field: &str) -> Option<&'static str> {
    if field.trim().is_empty() {
        return Some("empty");
    }
    // Checked before numbers: a parser reads `nan` as a number, people as a missing value.
    const MARKS: [&str; 9] = ["na", "n/a", "#n/a", "nan", "null", "none", "nil", "true", "false"];
    if MARKS.contains(&field.to_lowercase().as_str()) {
        return Some("a missing value or a truth value");
    }
    let is_hex = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if field.parse::<f64>().is_ok() || field.strip_prefix("0x").is_some_and(is_hex) {
        return Some("a number");
    }
    if is_date(field) {
        return Some("a date, a time or a number");
    }
    if !field.chars().any(char::is_alphabetic) {
        let has_digit = field.chars().any(char::is_numeric);
        return Some(if has_digit { "a date, a time or a number" } else { "without a letter" });
    }
    (is_address(field) || is_uuid(field)).then_some("an address or an identifier")
}

/// Whether it has only digits, signs and the words of dates: `2024-05-01T10:30Z`, `1 May 2024`,
/// `10:30 pm`.
fn is_date(field: &str) -> bool {
    const WORDS: [&str; 6] = ["t", "z", "am", "pm", "utc", "gmt"];
    let is_word = |word: &str| {
        let word = word.to_lowercase();
        WORDS.contains(&word.as_str()) || is_month(&word)
    };
    let mut has_digit = false;
    let mut words = Vec::new();
    let mut word = String::new();
    for c in field.chars().chain([' ']) {
        if c.is_alphabetic() {
            word.push(c);
            continue;
        }
        has_digit |= c.is_numeric();
        if !(c.is_numeric() || " -/.,:+".contains(c)) {
            return false;
        }
        if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
    }
    // A short text such as `t1` is a name, unless it has the colon of a time.
    let is_apart = || field.len() >= 5 || field.contains(':');
    has_digit && !words.is_empty() && words.iter().all(|word| is_word(word)) && is_apart()
}

/// Whether it is a month's name, or its first three or four letters.
fn is_month(word: &str) -> bool {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    MONTHS.iter().any(|month| *month == word || ((3..=4).contains(&word.len()) && month.starts_with(word)))
}

fn is_address(field: &str) -> bool {
    let is_mail = field.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
    is_mail || field.contains("://")
}

fn is_uuid(field: &str) -> bool {
    let lengths: Vec<usize> = field.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && field.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_no_names() {
        for value in [
            "",
            " ",
            "41",
            "-3.5",
            "1e5",
            "0x1F",
            "3,5",
            "1.234,56",
            "12 %",
            "€ 12",
            "$1,200.50",
            "NA",
            "NaN",
            "null",
            "true",
            "FALSE",
            "?",
            "-",
            "#",
            "2024-05-01",
            "01/02/2024",
            "1.2.2024",
            "10:30",
            "2024-05-01T10:30:00Z",
            "2024-05-01 10:30:00.5+02:00",
            "1 May 2024",
            "12-Mar-80",
            "Jan 5, 1980",
            "10:30 pm",
            "+49 170 1234567",
            "ann@example.org",
            "https://example.org/ann",
            "٤١",
            "½",
            "123e4567-e89b-12d3-a456-426614174000",
            "inf",
            "192.168.0.1",
            "N/A",
        ] {
            assert!(kind(value).is_some(), "{value}");
        }
    }

    #[test]
    fn names_are_names() {
        for name in [
            "age",
            "x",
            "x1",
            "t1",
            "z2",
            "1stFlrSF",
            "2ndFlrSF",
            "3SsnPorch",
            "pixel_0",
            "income 2019",
            "No",
            "no.",
            "date",
            "May",
            "march",
            "dec_2",
            "Größe",
            "年齢",
            "age (years)",
            "cost in €",
            "C50.9",
            "e",
            "E5",
            "weight|kg",
            "a@b",
            "t 1",
            "mar1",
            "id-7",
            "temp_min",
            "T",
            "yes",
            "Q1 2020",
            "user@",
            "decimal1",
        ] {
            assert_eq!(kind(name), None, "{name}");
        }
    }

    #[test]
    fn the_first_field_that_is_no_name_is_reported() {
        let at = |fields: &[&str]| not_a_name(fields.iter().copied()).map(|not| (not.field, not.what));
        assert_eq!(at(&["age", "41", ""]), Some((2, "a number")));
        assert_eq!(at(&["no", "yes", "no"]), Some((3, "the same as another field")));
        assert_eq!(at(&["age", "sex"]), None);
    }
}
