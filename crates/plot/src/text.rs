//! Words that others chose (names of columns, files, models) inside SVG and HTML.
//!
//! A name may hold markup, control characters, or characters that turn the direction of writing. It
//! is shown as it is where that is harmless and spelled out where it is not, so that a name can
//! neither run nor reorder the sentence around it ("Trojan Source", Boucher and Anderson, 2021).

use std::borrow::Cow;

/// Text between tags, or in an attribute between double quotes.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in visible(text).chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// `text` with everything spelled out that has no shape of its own:
/// controls, and marks of direction.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_shapeless) {
        return Cow::Borrowed(text);
    }
    let spelled = |character: char| {
        if is_shapeless(character) {
            format!("U+{:04X}", u32::from(character))
        } else {
            character.to_string()
        }
    };
    Cow::Owned(text.chars().map(spelled).collect())
}

fn is_shapeless(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{61c}' | '\u{feff}')
}
