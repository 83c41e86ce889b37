//! What a budget allows, over which data, to whom.

use serde::{Deserialize, Serialize};

use crate::params::{Delta, Epsilon};
use crate::relation::{Neighbours, Unit};

/// Relative slack of the comparison with the budget.
pub(super) const SLACK: f64 = 1e-9;

/// What a budget allows, over which data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Terms {
    /// The most that may be spent.
    pub epsilon: Epsilon,
    /// δ of the whole.
    pub delta: Delta,
    /// The relation of all events.
    pub neighbours: Neighbours,
    /// Whose data moves between neighbours.
    pub unit: Unit,
    /// May events depend on earlier results?
    pub choice: Choice,
    /// The part of δ that is kept for events which bring a δ of their own.
    #[serde(default = "no_delta", skip_serializing_if = "is_no_delta")]
    pub set_aside: Delta,
    /// How charges that are not pure are added up.
    #[serde(default, skip_serializing_if = "Filter::is_renyi")]
    pub filter: Filter,
}

/// How an adaptive budget adds up charges, besides their pure ε. It is fixed when the budget is
/// made: a later choice could depend on what was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Filter {
    /// Rényi divergences at one order. Almost every event has them.
    #[default]
    Renyi,
    /// Squares of Gaussian distances. They lose nothing for Gaussian noise on whole data sets,
    /// where a tenth to a sixth more fits; small pure events cost half as much again, large ones
    /// several times as much, and Gaussian noise on samples has no such distance and is refused.
    Gaussian,
}

impl Filter {
    /// Terms without another filter are written as they were before there was one.
    fn is_renyi(&self) -> bool {
        *self == Self::Renyi
    }
}

/// How the events of a budget are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// As one goes: events may depend on earlier results.
    Adaptive,
    /// In advance: events do not depend on earlier results.
    Planned,
}

impl Terms {
    /// Pure privacy of single records, for events chosen as one goes.
    pub fn new(epsilon: Epsilon, neighbours: Neighbours) -> Self {
        let (delta, set_aside) = (no_delta(), no_delta());
        let (unit, choice, filter) = (Unit::Record, Choice::Adaptive, Filter::Renyi);
        Self { epsilon, delta, neighbours, unit, choice, set_aside, filter }
    }

    /// With this ε.
    pub fn with_epsilon(self, epsilon: Epsilon) -> Self {
        Self { epsilon, ..self }
    }

    /// With this δ.
    pub fn with_delta(self, delta: Delta) -> Self {
        Self { delta, ..self }
    }

    /// Protecting this unit.
    pub fn for_unit(self, unit: Unit) -> Self {
        Self { unit, ..self }
    }

    /// Keeping `set_aside` of δ for events that bring a δ of their own, whose sum may then reach
    /// it. The rest of δ converts the others: where nothing is left of it, only pure bounds add up.
    pub fn setting_aside(self, set_aside: Delta) -> Self {
        Self { set_aside, ..self }
    }

    /// Adding up these quantities.
    pub fn filtered_by(self, filter: Filter) -> Self {
        Self { filter, ..self }
    }

    /// What is left of ε when the total is `spent`: 0 where the two differ by no more than the
    /// slack of their comparison.
    pub fn left(&self, spent: f64) -> f64 {
        let epsilon = self.epsilon.get();
        let left = epsilon - spent;
        // Not a number if both are ∞; then nothing is left.
        if left > SLACK * epsilon { left } else { 0.0 }
    }

    /// δ without what is set aside.
    pub(super) fn rest_of_delta(&self) -> f64 {
        // Rounded down, so that the parts do not exceed the whole.
        ((self.delta.get() - self.set_aside.get()) * (1.0 - f64::EPSILON)).max(0.0)
    }

    /// For events that do not depend on earlier results: tighter. See the module's documentation.
    pub fn planned(self) -> Self {
        Self { choice: Choice::Planned, ..self }
    }
}

fn no_delta() -> Delta {
    // 0 is in the range of δ.
    Delta::new(0.0).expect("0 is a delta")
}

/// Terms that set nothing aside are written as they were before there was anything to set aside.
fn is_no_delta(delta: &Delta) -> bool {
    delta.get() == 0.0
}
