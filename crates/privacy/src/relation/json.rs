//! Relations in JSON: a plain name, or `{"metric_ball": {"p": 2, "radius": 1.5}}`.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use sordino_spelling::quoted;

use super::{MetricBall, Neighbours};
use crate::params::{Norm, Radius};

const METRIC_BALL: &str = "metric_ball";
const INFINITY: &str = "infinity";

impl Serialize for Neighbours {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::AddRemove
            | Self::AddRemoveOrdered
            | Self::ZeroOut
            | Self::ZeroOutUnordered
            | Self::Replace
            | Self::ReplaceOrdered => serializer.collect_str(self),
            Self::MetricBall(ball) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry(METRIC_BALL, &Ball::from(*ball))?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Neighbours {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RelationVisitor)
    }
}

struct RelationVisitor;

impl<'de> Visitor<'de> for RelationVisitor {
    type Value = Neighbours;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("neighbours: \"add_remove\", \"zero_out\", \"replace\" or a metric_ball")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Neighbours, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Neighbours, A::Error> {
        let key: Option<String> = map.next_key()?;
        if key.as_deref() != Some(METRIC_BALL) {
            let got = key.map_or("nothing".into(), |key| quoted(&key));
            return Err(de::Error::custom(format_args!(
                "a relation given as an object must be a `metric_ball`, got {got}"
            )));
        }
        let ball: Ball = map.next_value()?;
        match map.next_key::<String>()? {
            None => Ok(Neighbours::MetricBall(ball.into())),
            Some(key) => Err(de::Error::custom(format_args!(
                "nothing may stand beside `metric_ball`, got {}",
                quoted(&key)
            ))),
        }
    }
}

/// A ball as JSON has it; infinity is a word there.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Ball {
    #[serde(serialize_with = "write_norm", deserialize_with = "read_norm")]
    p: Norm,
    radius: Radius,
}

impl From<MetricBall> for Ball {
    fn from(ball: MetricBall) -> Self {
        Self { p: ball.norm, radius: ball.radius }
    }
}

impl From<Ball> for MetricBall {
    fn from(ball: Ball) -> Self {
        Self { norm: ball.p, radius: ball.radius }
    }
}

fn write_norm<S: Serializer>(norm: &Norm, serializer: S) -> Result<S::Ok, S::Error> {
    if *norm == Norm::MAX { serializer.serialize_str(INFINITY) } else { norm.serialize(serializer) }
}

fn read_norm<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Norm, D::Error> {
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum NumberOrWord {
        Number(f64),
        Word(String),
    }
    match NumberOrWord::deserialize(deserializer)? {
        NumberOrWord::Number(p) => Norm::new(p).map_err(de::Error::custom),
        NumberOrWord::Word(word) if word == INFINITY => Ok(Norm::MAX),
        NumberOrWord::Word(word) => Err(de::Error::custom(format_args!(
            "p must be a number of at least 1, or \"infinity\", got {}",
            quoted(&word)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::NAMES;
    use super::*;

    #[test]
    fn every_relation_survives_json() {
        let ball = |p| Neighbours::MetricBall(MetricBall { norm: p, radius: Radius::new(1.5).unwrap() });
        let balls = [Norm::L1, Norm::L2, Norm::new(3.5).unwrap(), Norm::MAX].map(ball);
        for relation in NAMES.iter().map(|(_, relation)| *relation).chain(balls) {
            let json = serde_json::to_string(&relation).unwrap();
            assert_eq!(serde_json::from_str::<Neighbours>(&json).unwrap(), relation, "{json}");
        }
        assert_eq!(serde_json::to_string(&Neighbours::ZeroOut).unwrap(), "\"zero_out\"");
        assert_eq!(
            serde_json::to_string(&ball(Norm::MAX)).unwrap(),
            r#"{"metric_ball":{"p":"infinity","radius":1.5}}"#
        );
    }

    #[test]
    fn nonsense_is_refused() {
        for (json, part) in [
            ("\"addremove\"", "did you mean `add_remove`?"),
            ("7", "expected neighbours"),
            ("{}", "got nothing"),
            (r#"{"ball":{}}"#, "got `ball`"),
            (r#"{"metric_ball":{"p":0.5,"radius":1}}"#, "norm order p must be a number of at least 1"),
            (r#"{"metric_ball":{"p":2,"radius":0}}"#, "radius must be a finite number above 0"),
            (r#"{"metric_ball":{"p":2,"radius":1,"q":3}}"#, "unknown field `q`"),
            (r#"{"metric_ball":{"p":2,"p":2,"radius":1}}"#, "duplicate field `p`"),
            (r#"{"metric_ball":{"p":2,"radius":1},"x":1}"#, "nothing may stand beside"),
        ] {
            let error = serde_json::from_str::<Neighbours>(json).unwrap_err().to_string();
            assert!(error.contains(part), "{json}: {error}");
        }
    }
}
