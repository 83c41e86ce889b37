//! What could be asked instead of what was refused.

use super::filter::{FilterVerdict, Totals};
use super::{Choice, Spent};
use crate::accounting::AccountError;
use crate::event::Event;
use crate::notion::Gdp;
use crate::params::{Delta, Epsilon};

/// Halvings of the interval: far more digits than are shown.
const HALVINGS: usize = 24;

/// The share that is left for what the arithmetic of a release adds to its price.
const MARGIN: f64 = 1e-3;

/// Releases of one kind, which ε and the budget's δ decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FittingKind {
    /// A pure release. Whatever its noise is, it takes no more than this.
    Pure,
    /// Gaussian noise on all records.
    Gaussian,
}

impl FittingKind {
    /// The kind of an event; `None` for all others, and for one that mixes kinds.
    fn of(event: &Event) -> Option<Self> {
        if let Event::Repeated { event, .. } = event {
            return Self::of(event);
        }
        if let Event::Composed { events } = event {
            let (first, rest) = events.split_first()?;
            let kind = Self::of(first)?;
            let is_same = |event| Self::of(event).is_some_and(|other| other == kind);
            return rest.iter().all(is_same).then_some(kind);
        }
        if matches!(event, Event::Gaussian(_) | Event::Gdp { .. }) {
            return Some(Self::Gaussian);
        }
        let is_pure = matches!(
            event,
            Event::Pure { .. }
                | Event::Laplace(_)
                | Event::DiscreteLaplace { .. }
                | Event::Exponential { .. }
        );
        is_pure.then_some(Self::Pure)
    }

    fn event(self, epsilon: Epsilon, delta: Delta) -> Event {
        match self {
            Self::Pure => Event::Pure { epsilon },
            Self::Gaussian => Gdp::within(epsilon, delta).event(),
        }
    }
}

/// The largest ε, to two digits and rounded down, for which a release of the same kind as `event`
/// may follow `spent`. `None` if there is none, or if it would be long to find.
pub(super) fn largest(totals: &Totals, spent: &Spent, event: &Event) -> Result<Option<f64>, AccountError> {
    let Some(kind) = FittingKind::of(event).filter(|_| totals.terms.choice == Choice::Adaptive) else {
        return Ok(None);
    };
    let mut totals = totals.clone();
    let (mut low, mut high) = (0.0, totals.terms.epsilon.get());
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        let Ok(epsilon) = Epsilon::new(middle) else { return Ok(None) };
        let next = kind.event(epsilon, totals.terms.delta);
        match totals.decide(spent, &next)? {
            FilterVerdict::Granted => low = middle,
            FilterVerdict::TooMuch(_) => high = middle,
        }
    }
    let rounded = match kind {
        // 0.4 of what is left of 1 after 0.6 is 0.4.
        FittingKind::Pure => two_digits_down(low * (1.0 + 1e-6)),
        FittingKind::Gaussian => two_digits_down(low * (1.0 - MARGIN)),
    };
    Ok(Some(rounded).filter(|epsilon| *epsilon > 1e-3 * totals.terms.epsilon.get()))
}

/// The largest number of two digits that is not above `value`; 0 of what is not positive.
fn two_digits_down(value: f64) -> f64 {
    if value.is_nan() || value <= 1e-300 {
        return 0.0;
    }
    let exponent = value.log10().floor() as i32 - 1;
    let digits = (value / 10_f64.powi(exponent)).floor();
    // Read from decimals, so that it is the float that people type.
    format!("{digits}e{exponent}").parse().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grant::budget::{Budget, Charge, ChargeError, Terms};
    use crate::params::NoiseMultiplier;
    use crate::relation::Neighbours;

    fn epsilon(value: f64) -> Epsilon {
        Epsilon::new(value).unwrap()
    }

    #[test]
    fn suggestions_are_rounded_down_to_two_digits() {
        for (value, expected) in [(0.4567, 0.45), (0.4, 0.4), (12.99, 12.0), (0.001239, 0.0012), (0.0, 0.0)] {
            assert_eq!(two_digits_down(value), expected, "{value}");
        }
    }

    /// What a refusal suggests is granted, and a tenth more is not.
    #[test]
    fn what_a_refusal_suggests_is_granted() {
        let delta = Delta::new(1e-6).unwrap();
        let gaussian = |epsilon| Gdp::within(epsilon, delta).event();
        let noisy = Event::gaussian(NoiseMultiplier::new(2.0).unwrap());
        let pure = |epsilon| Event::Pure { epsilon };
        let cases: [(Event, &dyn Fn(Epsilon) -> Event); 3] =
            [(pure(epsilon(0.9)), &pure), (gaussian(epsilon(0.95)), &gaussian), (noisy, &gaussian)];
        for before in [pure(epsilon(0.5)), gaussian(epsilon(0.6))] {
            for (event, alike) in &cases {
                let terms = Terms::new(epsilon(1.0), Neighbours::ZeroOut).with_delta(delta);
                let mut budget = Budget::new(terms);
                drop(budget.charge(before.clone()).unwrap());
                let refused = budget.charge(event.clone()).unwrap_err();
                let ChargeError::Refused(refusal) = &refused else { panic!("{refused}") };
                let fits = refusal.fits.expect("something fits");
                assert!(refused.to_string().contains(&format!("`--epsilon {fits}` or less")), "{refused}");
                let more = budget.charge(alike(epsilon(1.12 * fits)));
                assert!(more.is_err(), "{event:?}: {fits}");
                drop(budget.charge(alike(epsilon(fits))).unwrap());
            }
        }
    }
}
