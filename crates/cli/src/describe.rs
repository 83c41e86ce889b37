//! An event in one line, for tables: `14062 × poisson_sampled(sampling_rate 0.01) of
//! gaussian(noise_multiplier 1.1)`.
//!
//! The line is made from the event's JSON, so it has the words of the file format, and a new kind
//! of event needs no code here. Long events are cut before they cost time or memory; `--json` shows
//! all of them.

use std::io::{self, Write};

use serde_json::{Map, Value};
use sordino::prelude::*;

use crate::decimal;

/// The most events of a list that are described one by one.
const MAX_LISTED: usize = 3;

/// The longest JSON of one event that is described, in bytes.
const MAX_JSON_BYTES: usize = 1000;

/// The characters of JSON that are shown for a longer event.
const SHOWN_CHARACTERS: usize = 60;

pub(crate) fn event(event: &Event) -> String {
    // Recursion is as deep as events nest, which the reader of events has limited.
    if let Event::Repeated { count, event: inner } = event {
        return format!("{count} × {}", self::event(inner));
    }
    if let Event::Composed { events } = event {
        return list(events);
    }
    let mut start = Start::default();
    match serde_json::to_writer(&mut start, event).ok().and_then(|()| serde_json::from_slice(&start.0).ok()) {
        Some(Value::Object(fields)) => line(&fields),
        _ => format!(
            "{}…",
            String::from_utf8_lossy(&start.0).chars().take(SHOWN_CHARACTERS).collect::<String>()
        ),
    }
}

fn list(events: &[Event]) -> String {
    let mut parts: Vec<String> =
        events.iter().take(MAX_LISTED).map(|part| format!("[{}]", event(part))).collect();
    if events.len() > MAX_LISTED {
        parts.push(format!("and {} more", events.len() - MAX_LISTED));
    }
    format!("composed of {} events: {}", events.len(), parts.join(", "))
}

fn line(fields: &Map<String, Value>) -> String {
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or("event");
    let numbers: Vec<String> = fields.iter().filter_map(|(name, value)| parameter(name, value)).collect();
    let numbers = if numbers.is_empty() { String::new() } else { format!("({})", numbers.join(", ")) };
    match fields.get("event").and_then(Value::as_object) {
        Some(inner) => format!("{kind}{numbers} of {}", line(inner)),
        None => format!("{kind}{numbers}"),
    }
}

fn parameter(name: &str, value: &Value) -> Option<String> {
    match (name, value) {
        ("type" | "event", _) => None,
        (_, Value::Array(list)) if list.len() > MAX_LISTED => {
            Some(format!("{name} [{} of them]", list.len()))
        }
        (_, Value::Number(number)) if number.is_f64() => {
            Some(format!("{name} {}", number.as_f64().map_or_else(|| number.to_string(), decimal::exact)))
        }
        (_, value) => Some(format!("{name} {value}")),
    }
}

/// The start of a text. It refuses more than [`MAX_JSON_BYTES`], which ends the writing.
#[derive(Default)]
struct Start(Vec<u8>);

impl Write for Start {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = MAX_JSON_BYTES - self.0.len();
        if room == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let taken = bytes.len().min(room);
        self.0.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn described(json: &str) -> String {
        event(&serde_json::from_str(json).expect("an event"))
    }

    #[test]
    fn a_training_run_reads_from_left_to_right() {
        let run = r#"{"type":"repeated","count":14062,"event":{"type":"poisson_sampled","sampling_rate":0.01,
            "event":{"type":"gaussian","noise_multiplier":1.1}}}"#;
        assert_eq!(
            described(run),
            "14062 × poisson_sampled(sampling_rate 0.01) of gaussian(noise_multiplier 1.1)"
        );
        assert_eq!(described(r#"{"type":"non_private"}"#), "non_private");
        assert_eq!(
            described(r#"{"type":"laplace","scale":4,"sensitivity":1e-9}"#),
            "laplace(scale 4, sensitivity 1e-9)"
        );
    }

    #[test]
    fn a_long_list_is_cut() {
        let one = r#"{"type":"pure","epsilon":0.5}"#;
        assert_eq!(
            described(&format!(r#"{{"type":"composed","events":[{one},{one},{one},{one},{one}]}}"#)),
            "composed of 5 events: [pure(epsilon 0.5)], [pure(epsilon 0.5)], [pure(epsilon 0.5)], and 2 more"
        );
    }

    #[test]
    fn an_event_that_is_too_long_is_cut() {
        let one = r#"{"type":"pure","epsilon":0.5}"#;
        let many = vec![one; 10_000].join(",");
        let text = described(&format!(
            r#"{{"type":"group","size":4,"event":{{"type":"composed","events":[{many}]}}}}"#
        ));
        assert!(text.starts_with(r#"{"type":"group""#) && text.ends_with('…'), "{text}");
        assert_eq!(text.chars().count(), SHOWN_CHARACTERS + 1);
    }
}
