//! What is said about a release, by whoever says it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bound::Bound;
use crate::event::Event;
use crate::params::{Delta, Inflation, Shown};
use crate::relation::{Neighbours, Unit};

/// What a file says about a release: the fields of a [`Guarantee`](crate::Guarantee), and its JSON.
///
/// It is about the past, and it may be wrong: anybody can write a file. It can be read, shown and
/// compared. It cannot be joined to a permit; what can is [`Paid`](crate::Paid).
///
/// ```
/// use sordino_privacy::{Claim, Delta, Epsilon, Event, Neighbours, Statement, Unit, danger};
/// let event = Event::Pure { epsilon: Epsilon::new(0.5)? };
/// let claim = Claim::new(Neighbours::Replace, event.clone());
/// let release = danger::unmetered(claim, Unit::Record, Delta::ZERO)?.seal(&event, 42)?;
/// let json = serde_json::to_string(release.guarantee())?;
/// let read: Statement = serde_json::from_str(&json)?;
/// assert_eq!(read, Statement::from(release.guarantee()));
/// assert_eq!(read.to_string(), release.guarantee().to_string());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Statement {
    /// The relation.
    pub neighbours: Neighbours,
    /// Whose data moves between neighbours.
    pub unit: Unit,
    /// ε at `delta`, certified from both sides.
    pub epsilon: Bound,
    /// δ.
    pub delta: Delta,
    /// Which accountant certified it.
    pub accountant: String,
    /// What was done.
    pub event: Event,
    /// Relative inflation of sensitivity paid for floating point; 0 for exact arithmetic.
    pub arithmetic: Inflation,
    /// The noise came from a fixed seed: the promise is void, the run was a test.
    pub seeded: bool,
    /// A budget or a ledger was charged.
    pub metered: bool,
}

impl Statement {
    /// Is anything promised at all? Not for a seeded run, nor where ε is unbounded.
    pub fn holds(&self) -> bool {
        !self.seeded && self.epsilon.upper.is_finite()
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { neighbours, unit, epsilon, delta, .. } = self;
        write!(f, "ε <= {}, δ = {delta} for one {unit} under {neighbours}", Shown(epsilon.upper))?;
        if self.seeded {
            f.write_str("; VOID: the noise came from a fixed seed")?;
        }
        if !self.metered {
            f.write_str("; no budget was charged")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement() -> Statement {
        Statement {
            neighbours: Neighbours::AddRemove,
            unit: Unit::Column("user_id".into()),
            epsilon: Bound::enclosing(0.997, 1.0),
            delta: Delta::new(1e-6).unwrap(),
            accountant: "pld".into(),
            event: Event::NonPrivate,
            arithmetic: Inflation::new(0.0009).unwrap(),
            seeded: false,
            metered: true,
        }
    }

    #[test]
    fn json_has_the_documented_fields() {
        let json = serde_json::to_string(&statement()).unwrap();
        assert_eq!(
            json,
            concat!(
                r#"{"neighbours":"add_remove","unit":{"column":"user_id"},"epsilon":{"lower":0.997,"#,
                r#""upper":1.0},"delta":1e-6,"accountant":"pld","event":{"type":"non_private"},"#,
                r#""arithmetic":0.0009,"seeded":false,"metered":true}"#,
            )
        );
        assert_eq!(serde_json::from_str::<Statement>(&json).unwrap(), statement());
    }

    #[test]
    fn a_seeded_or_unbounded_promise_is_none() {
        assert!(statement().holds());
        assert!(!Statement { seeded: true, ..statement() }.holds());
        let unbounded = Statement { epsilon: Bound::UNBOUNDED, ..statement() };
        assert!(!unbounded.holds());
        assert!(serde_json::to_string(&unbounded).unwrap().contains(r#""upper":null"#));
    }

    #[test]
    fn words_name_relation_and_unit() {
        let words = Statement { seeded: true, metered: false, ..statement() }.to_string();
        assert_eq!(
            words,
            "ε <= 1, δ = 1e-6 for one column `user_id` under add_remove; VOID: the noise came from a fixed \
             seed; no budget was charged"
        );
    }
}
