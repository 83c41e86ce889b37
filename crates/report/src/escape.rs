//! Escapes texts that others chose (names of columns, files, models) for each language that a
//! report is written in.
//!
//! A name may hold markup, quotes, control characters, or characters that turn the direction of
//! writing. Harmless characters are shown as they are, and the others are spelled out, so that a
//! name can neither run nor reorder the sentence around it ("Trojan Source", Boucher and Anderson,
//! 2021).

pub(crate) use sordino_plot::{escaped as html, visible};

/// Text in a line of Markdown (CommonMark, and tables as GitHub has them).
pub(crate) fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in visible(text).chars() {
        match character {
            // Entities, because not every reader of Markdown accepts a backslash before these.
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '#' | '!' | '|' | '~' | '$' => {
                out.push('\\');
                out.push(character);
            }
            other => out.push(other),
        }
    }
    out
}

/// The same JSON value for a `<script>` element: no `<` can end the element, and no character is a
/// line end in JavaScript but not in JSON.
pub(crate) fn script(json: &str) -> String {
    // In JSON these occur inside strings only, where the escape means the same.
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_text() {
        assert_eq!(html(r#"<b a="1" c='2'>&"#), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;");
        assert_eq!(markdown("a|b_*c*<script>"), "a\\|b\\_\\*c\\*&lt;script&gt;");
    }

    #[test]
    fn invisible_characters_are_spelled_out() {
        assert_eq!(visible("a\u{202e}b\0c\nd"), "aU+202EbU+0000cU+000Ad");
        assert_eq!(visible("שלום, naïve 数"), "שלום, naïve 数");
    }

    #[test]
    fn json_in_a_script_means_the_same_and_cannot_end_it() {
        let value = "</script><!-- & \u{2028}\u{2029}";
        let json = script(&serde_json::to_string(value).unwrap());
        assert!(!json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), value);
    }
}
