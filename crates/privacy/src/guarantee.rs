//! What is promised about a release.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bound::Bound;
use crate::budget::{ChargeError, price};
use crate::claim::Claim;
use crate::event::Event;
use crate::params::{Delta, Inflation, Shown};
use crate::relation::{Neighbours, Unit};

/// The promise that travels with a release: for one unit of data, under one relation, at one δ, ε is at
/// most `epsilon.upper`.
///
/// It speaks of this release alone; what several releases cost together is for the budget to say. A budget
/// compares with a relative slack of 1e-9 (see [`Budget`](crate::Budget)); the ends here are as the
/// accountant certified them, with no slack.
///
/// ```
/// use sordino_privacy::{Claim, Delta, Epsilon, Event, Neighbours, Unit, danger};
/// let event = Event::Pure { epsilon: Epsilon::new(0.5)? };
/// let claim = Claim::new(Neighbours::Replace, event.clone());
/// let permit = danger::unmetered(claim, Unit::Record, Delta::new(0.0)?)?;
/// let release = permit.seal(&event, 42)?;
/// let json = serde_json::to_value(release.guarantee())?;
/// assert_eq!(json["neighbours"], "replace");
/// assert_eq!(json["unit"], "record");
/// assert_eq!(json["metered"], false);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Guarantee {
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

impl Guarantee {
    /// Is anything promised at all? Not for a seeded run, nor where ε is unbounded.
    pub fn holds(&self) -> bool {
        !self.seeded && self.epsilon.upper.is_finite()
    }

    /// What is promised about this release and an earlier one together, at `delta`: their composition. It can
    /// only promise less than either. Parameters of the later one must not have been chosen by the result of the earlier one.
    pub fn together_with(&self, earlier: &Self, delta: Delta) -> Result<Self, ChargeError> {
        if self.neighbours != earlier.neighbours {
            return Err(ChargeError::OtherRelation { budget: self.neighbours, claim: earlier.neighbours });
        }
        if self.unit != earlier.unit {
            let (unit, earlier) = (self.unit.clone(), earlier.unit.clone());
            return Err(ChargeError::TwoUnits { unit, earlier });
        }
        let event = earlier.event.clone().followed_by(self.event.clone());
        let claim = Claim::new(self.neighbours, event);
        let mut both = price(claim, self.unit.clone(), delta, self.metered && earlier.metered)?;
        both.seeded = self.seeded || earlier.seeded;
        both.arithmetic = self.arithmetic.max(earlier.arithmetic);
        Ok(both)
    }
}

impl fmt::Display for Guarantee {
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

    fn guarantee() -> Guarantee {
        Guarantee {
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
        let json = serde_json::to_string(&guarantee()).unwrap();
        assert_eq!(
            json,
            r#"{"neighbours":"add_remove","unit":{"column":"user_id"},"epsilon":{"lower":0.997,"upper":1.0},"delta":1e-6,"accountant":"pld","event":{"type":"non_private"},"arithmetic":0.0009,"seeded":false,"metered":true}"#
        );
        assert_eq!(serde_json::from_str::<Guarantee>(&json).unwrap(), guarantee());
    }

    #[test]
    fn a_seeded_or_unbounded_promise_is_none() {
        assert!(guarantee().holds());
        assert!(!Guarantee { seeded: true, ..guarantee() }.holds());
        let unbounded = Guarantee { epsilon: Bound::UNBOUNDED, ..guarantee() };
        assert!(!unbounded.holds());
        assert!(serde_json::to_string(&unbounded).unwrap().contains(r#""upper":null"#));
    }

    #[test]
    fn words_name_relation_and_unit() {
        let words = Guarantee { seeded: true, metered: false, ..guarantee() }.to_string();
        assert_eq!(
            words,
            "ε <= 1, δ = 1e-6 for one column `user_id` under add_remove; VOID: the noise came from a fixed seed; no budget was charged"
        );
    }

    #[test]
    fn two_units_have_no_promise_together() {
        let user = guarantee();
        let record = Guarantee { unit: Unit::Record, ..guarantee() };
        assert!(user.together_with(&user, user.delta).is_ok());
        assert!(matches!(user.together_with(&record, user.delta), Err(ChargeError::TwoUnits { .. })));
    }
}
