//! Events to JSON: `type` first, then the fields in the order of the documentation.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Event, table};

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_map(None)?;
        out.serialize_entry("type", self.name())?;
        table::write(self, &mut out)?;
        out.end()
    }
}
