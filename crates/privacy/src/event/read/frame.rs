//! From the fields of one object to an event, or to the claim around one.

use std::sync::LazyLock;

use serde::de;
use sordino_spelling::hint;

use super::super::Event;
use super::super::bag::Bag;
use super::super::field::{JsonShape, Key};
use super::super::table::{self, EventKind};
use super::TopLevel;

/// Keys that belong to no event: its type, and what stands beside it.
const FRAME: [Key; 3] = [
    Key { name: "type", shape: JsonShape::Kind },
    Key { name: "neighbours", shape: JsonShape::Neighbours },
    Key { name: "format_version", shape: JsonShape::FormatVersion },
];

/// Every key that an object may have, each once.
pub(super) fn known_keys() -> &'static [Key] {
    static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
        let mut known = FRAME.to_vec();
        for key in EventKind::ALL.iter().flat_map(|kind| kind.keys()) {
            if !known.contains(&key) {
                known.push(key);
            }
        }
        known
    });
    &KEYS
}

/// The event these fields describe.
pub(super) fn event<E: de::Error>(mut bag: Bag) -> Result<Event, E> {
    let Some(kind) = bag.kind() else {
        return Err(E::custom("an event must have a field `type`, such as \"gaussian\""));
    };
    refuse_strangers(&bag, kind)?;
    let event = kind.build(&mut bag)?;
    table::check(&event).map_err(E::custom)?;
    Ok(event)
}

/// `{"neighbours": ..., "event": ...}`.
pub(super) fn claim<E: de::Error>(mut bag: Bag) -> Result<TopLevel, E> {
    if !bag.has("event") && !bag.has("neighbours") {
        return Err(E::custom(
            "expected an event (with a field `type`) or {\"neighbours\": ..., \"event\": {...}}, \
             found neither",
        ));
    }
    if let Some(stranger) = bag.keys().find(|key| !["format_version", "neighbours", "event"].contains(key)) {
        return Err(E::custom(format_args!(
            "field `{stranger}` belongs inside an event, which needs a `type`; beside `event` there may be \
             `neighbours` and `format_version`"
        )));
    }
    let neighbours = bag.neighbours()?;
    Ok(TopLevel::Claim { format_version: bag.format_version(), neighbours, event: *bag.event("event")? })
}

/// Fields that exist, but not here.
fn refuse_strangers<E: de::Error>(bag: &Bag, kind: EventKind) -> Result<(), E> {
    let keys = kind.keys();
    let belongs = |name: &str| name == "type" || keys.iter().any(|key| key.name == name);
    let Some(stranger) = bag.keys().find(|name| !belongs(name)) else { return Ok(()) };
    if FRAME.iter().any(|key| key.name == stranger) {
        return Err(E::custom(format_args!(
            "`{stranger}` stands beside an event, not inside it: {{\"neighbours\": ..., \"event\": {{...}}}}"
        )));
    }
    let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Err(E::custom(format_args!(
        "`{stranger}` is not a field of {} (its fields: {known}){}",
        kind.name(),
        hint(stranger, names)
    )))
}
