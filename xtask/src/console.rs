//! Console blocks in Markdown: the commands that a page shows, and the output that it claims.
//!
//! A block opens with ` ```console `, or with ` ```console exit-2 ` if the command must fail with
//! that code. Where the output has noise, it opens with ` ```console random `: words are compared,
//! and numbers must be present but may differ. A line that starts with a dollar sign and a blank is
//! a command (a trailing `\` continues it on the next line). The lines after it are its output:
//! standard output if it succeeds, standard error if it fails.
//!
//! # Pitfall
//! A number in a page is a claim. Output is compared word by word, and numbers to a relative 1e-6,
//! because the last digits of a Fourier transform depend on the processor's vector width.

/// One command, and the output that the page claims.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shown {
    /// The words after the program's name.
    pub(crate) arguments: Vec<String>,
    /// A file for standard input, after `<`.
    pub(crate) input: Option<String>,
    /// The exit code that the page claims.
    pub(crate) exit_code: i32,
    /// Whether numbers differ from run to run.
    pub(crate) is_random: bool,
    /// The claimed output, as lines of the page: `first..end`, counted from 0.
    pub(crate) output: std::ops::Range<usize>,
    /// The line of the command itself, counted from 1, for messages.
    pub(crate) line: usize,
}

/// The names of the program on pages.
const PROGRAM: [&str; 2] = ["sordino ", "cargo run --release -p sordino-cli -- "];

/// Every command of this project that `page` shows. Commands of other programs are skipped.
pub(crate) fn commands(page: &str) -> Result<Vec<Shown>, String> {
    let lines: Vec<&str> = page.lines().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        if let Some((exit_code, is_random)) = opening(lines[at])? {
            let end = (at + 1..lines.len()).find(|&i| lines[i].trim() == "```");
            let end = end.ok_or(format!("line {}: console block without an end", at + 1))?;
            in_block(&lines, at + 1..end, (exit_code, is_random), &mut found)?;
            at = end;
        }
        at += 1;
    }
    Ok(found)
}

/// Whether the real output agrees with the claimed one.
pub(crate) fn agree(claimed: &str, came: &str, is_random: bool) -> bool {
    let numbers = if is_random { are_numbers } else { numbers_agree };
    let lines = |text: &str| text.trim_end().lines().map(str::trim_end).map(String::from).collect::<Vec<_>>();
    let (claimed, came) = (lines(claimed), lines(came));
    claimed.len() == came.len() && claimed.iter().zip(&came).all(|(a, b)| lines_agree(a, b, numbers))
}

/// The exit code that a block claims, and whether its numbers are random.
fn opening(line: &str) -> Result<Option<(i32, bool)>, String> {
    let Some(rest) = line.trim().strip_prefix("```console") else { return Ok(None) };
    match rest.trim() {
        "" => Ok(Some((0, false))),
        "random" => Ok(Some((0, true))),
        words => match words.strip_prefix("exit-").and_then(|code| code.parse().ok()) {
            Some(code) => Ok(Some((code, false))),
            None => Err(format!("`{line}`: expected `console`, `console random` or `console exit-N`")),
        },
    }
}

fn in_block(
    lines: &[&str],
    block: std::ops::Range<usize>,
    (exit_code, is_random): (i32, bool),
    found: &mut Vec<Shown>,
) -> Result<(), String> {
    let mut at = block.start;
    while at < block.end {
        let Some(command) = lines[at].strip_prefix("$ ") else {
            at += 1;
            continue;
        };
        let line = at + 1;
        let mut command = command.to_owned();
        while command.ends_with('\\') && at + 1 < block.end {
            command.pop();
            at += 1;
            command.push_str(lines[at].trim_start());
        }
        let first = at + 1;
        let end = (first..block.end).find(|&i| lines[i].starts_with("$ ")).unwrap_or(block.end);
        if let Some(rest) = PROGRAM.iter().find_map(|program| command.strip_prefix(program)) {
            let (arguments, input) = split(rest).map_err(|why| format!("line {line}: {why}"))?;
            found.push(Shown { arguments, input, exit_code, is_random, output: first..end, line });
        }
        at = end;
    }
    Ok(())
}

/// Splits a command as a shell does, as far as pages need it: blanks, both kinds of quotes,
/// `< file`.
fn split(text: &str) -> Result<(Vec<String>, Option<String>), String> {
    let mut words = vec![];
    let (mut word, mut quote, mut begun) = (String::new(), None, false);
    for c in text.chars() {
        match quote {
            Some(q) if c == q => quote = None,
            Some(_) => word.push(c),
            None if c == '\'' || c == '"' => (quote, begun) = (Some(c), true),
            None if c.is_whitespace() => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            None if "|;&>$`".contains(c) => return Err(format!("`{c}`: only plain commands can be checked")),
            None => {
                word.push(c);
                begun = true;
            }
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed".to_owned());
    }
    if begun {
        words.push(word);
    }
    let Some(at) = words.iter().position(|w| w == "<") else { return Ok((words, None)) };
    let file = words.drain(at..).nth(1).ok_or("`<` without a file")?;
    Ok((words, Some(file)))
}

fn lines_agree(claimed: &str, came: &str, numbers: fn(&str, &str) -> bool) -> bool {
    claimed == came || {
        let (a, b) = (tokens(claimed), tokens(came));
        a.len() == b.len() && a.iter().zip(&b).all(|(x, y)| x == y || numbers(x, y))
    }
}

/// Words and numbers without the punctuation around them, so that the number in `{"upper":1.25}` is
/// a token.
fn tokens(line: &str) -> Vec<&str> {
    line.split(|c: char| c.is_whitespace() || "\"{}[],:=()".contains(c)).filter(|t| !t.is_empty()).collect()
}

fn are_numbers(x: &str, y: &str) -> bool {
    x.parse::<f64>().is_ok() && y.parse::<f64>().is_ok()
}

fn numbers_agree(x: &str, y: &str) -> bool {
    match (x.parse::<f64>(), y.parse::<f64>()) {
        (Ok(x), Ok(y)) => (x - y).abs() <= 1e-6 * x.abs().max(y.abs()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "text\n```console\n$ sordino account 'a b.json' \\\n    --delta 1e-5\nε = 1.25\n$ \
        ls\nx\n```\n\
        ```console exit-2\n$ sordino account - < bad.json\nerror: no\n```\n";

    #[test]
    fn commands_are_found_with_their_claims() {
        let found = commands(PAGE).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].arguments, ["account", "a b.json", "--delta", "1e-5"]);
        assert_eq!((found[0].exit_code, found[0].output.clone(), found[0].line), (0, 4..5, 3));
        assert_eq!(found[1].arguments, ["account", "-"]);
        assert_eq!((found[1].exit_code, found[1].input.as_deref()), (2, Some("bad.json")));
    }

    #[test]
    fn commands_that_cannot_be_checked_are_refused() {
        for page in
            ["```console\n$ sordino a | b\n```", "```console\n$ sordino 'a\n```", "```console\n$ sordino"]
        {
            assert!(commands(page).is_err(), "{page}");
        }
    }

    #[test]
    fn output_agrees_up_to_the_last_digits() {
        let agree = |claimed, came| super::agree(claimed, came, false);
        assert!(agree("{\"upper\": 1.2500001}\n", "{\"upper\": 1.2500002}"));
        assert!(!agree("ε ≤ 1.25", "ε ≤ 1.26"));
        assert!(!agree("one line", "one line\nand another"));
        assert!(!agree("pld", "rdp"));
    }

    #[test]
    fn random_numbers_may_differ_and_words_may_not() {
        assert!(agree("accuracy 0.92 of 113", "accuracy 0.95 of 113", true));
        assert!(!agree("accuracy 0.92", "accuracy none", true));
        assert!(!agree("accuracy 0.92", "error 0.92", true));
    }
}
