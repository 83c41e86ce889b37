//! What is promised about a release.

use std::fmt;
use std::ops::Deref;

use serde::Serialize;

use crate::bound::Bound;
use crate::claim::Claim;
use crate::grant::budget::{ChargeError, price};
use crate::grant::statement::Statement;
use crate::params::{Delta, Inflation};

/// The promise that travels with a release: for one unit of data, under one relation, at one δ, ε
/// is at most `epsilon.upper`. Its fields are those of a [`Statement`], which it can be read as.
///
/// It covers this release alone; the budget says what several releases cost together. A budget
/// compares with a relative slack of 1e-9 (see [`Budget`](crate::Budget)). The ends here are as the
/// accountant certified them, without slack.
///
/// # Who may make one
/// This crate, by asking an accountant. Nobody alters it, and it cannot be read from a file: what a
/// file says is a [`Statement`].
///
/// ```
/// use sordino_privacy::{Claim, Delta, Epsilon, Event, Neighbours, Unit, danger};
/// let event = Event::Pure { epsilon: Epsilon::new(0.5)? };
/// let claim = Claim::new(Neighbours::Replace, event.clone());
/// let permit = danger::unmetered(claim, Unit::Record, Delta::new(0.0)?)?;
/// let release = permit.seal(&event, 42)?;
/// assert_eq!(release.guarantee().unit, Unit::Record);
/// let json = serde_json::to_value(release.guarantee())?;
/// assert_eq!(json["neighbours"], "replace");
/// assert_eq!(json["unit"], "record");
/// assert_eq!(json["metered"], false);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
/// ```compile_fail
/// let forged: sordino_privacy::Guarantee = serde_json::from_str("{}").unwrap();
/// ```
/// ```compile_fail
/// # fn example(mut guarantee: sordino_privacy::Guarantee) {
/// guarantee.metered = true;
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Guarantee(Statement);

impl Guarantee {
    /// Called only with what an accountant has certified.
    pub(in crate::grant) fn new(certified: Statement) -> Self {
        Self(certified)
    }

    /// The guarantee of an earlier release and this one together, at `delta`: their composition. It
    /// promises no more than either. The parameters of this one must not depend on the result of
    /// the earlier one.
    pub(in crate::grant) fn composed_with(&self, earlier: &Self, delta: Delta) -> Result<Self, ChargeError> {
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
        both.0.seeded = self.seeded || earlier.seeded;
        both.0.arithmetic = self.arithmetic.max(earlier.arithmetic);
        Ok(both)
    }

    /// The same promise with an upper end of at least this.
    pub(in crate::grant) fn at_least(mut self, epsilon: f64) -> Self {
        let Bound { lower, upper } = self.epsilon;
        self.0.epsilon = Bound::enclosing(lower, upper.max(epsilon));
        self
    }

    /// Marked as void, if `is_seeded`.
    pub(in crate::grant) fn seeded_if(mut self, is_seeded: bool) -> Self {
        self.0.seeded |= is_seeded;
        self
    }

    /// With this inflation of sensitivity, where it is larger.
    pub(in crate::grant) fn with_arithmetic(mut self, inflation: Inflation) -> Self {
        self.0.arithmetic = self.arithmetic.max(inflation);
        self
    }
}

impl Deref for Guarantee {
    type Target = Statement;

    fn deref(&self) -> &Statement {
        &self.0
    }
}

impl From<Guarantee> for Statement {
    fn from(guarantee: Guarantee) -> Self {
        guarantee.0
    }
}

impl From<&Guarantee> for Statement {
    fn from(guarantee: &Guarantee) -> Self {
        guarantee.0.clone()
    }
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
