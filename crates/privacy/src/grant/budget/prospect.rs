//! What is left of a budget, in releases that it still has room for.

use super::{ChargeError, Choice, Gate, Spent};
use crate::event::Event;
use crate::notion::Gdp;
use crate::params::Epsilon;

/// Counting stops here.
const MOST: u64 = 9_999;

/// The same for planned budgets, where every try composes the whole history.
const MOST_PLANNED: u64 = 99;

/// How often a typical release could still be charged, if nothing else is.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Prospect {
    /// The release.
    pub release: TypicalRelease,
    /// The price of one alone, at the budget's δ.
    pub epsilon: Epsilon,
    /// How often.
    pub times: u64,
    /// Whether counting stopped there: it may be more often.
    pub or_more: bool,
}

/// A release that people ask for often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypicalRelease {
    /// A pure release for a hundredth of the budget, such as a count.
    Count,
    /// A model for a tenth of the budget, with Gaussian noise on all records.
    Training,
}

impl Gate {
    /// What could still be asked after `spent`: a count and, where there is a δ, the training of a
    /// model, at round prices. Reading it changes nothing.
    pub fn prospects(&self, spent: &Spent) -> Result<Vec<Prospect>, ChargeError> {
        let (terms, mut gate) = (self.terms().clone(), self.clone());
        let most = if terms.choice == Choice::Planned { MOST_PLANNED } else { MOST };
        let mut prospects = Vec::new();
        let whole = terms.epsilon.get();
        if let Some(epsilon) = round(whole / 100.0) {
            let times = gate.times(spent, &Event::Pure { epsilon }, most)?;
            prospects.push(Prospect {
                release: TypicalRelease::Count,
                epsilon,
                times,
                or_more: times == most,
            });
        }
        if let Some(epsilon) = round(whole / 10.0).filter(|_| terms.delta.get() > 0.0) {
            let times = gate.times(spent, &Gdp::within(epsilon, terms.delta).event(), most)?;
            prospects.push(Prospect {
                release: TypicalRelease::Training,
                epsilon,
                times,
                or_more: times == most,
            });
        }
        Ok(prospects)
    }
}

/// The largest of 1, 2, 3, 5 and their decimal multiples that is not above `value`.
fn round(value: f64) -> Option<Epsilon> {
    if value.is_nan() || value <= 1e-300 {
        return None;
    }
    let exponent = value.log10().floor() as i32;
    let candidates = [exponent - 1, exponent, exponent + 1].into_iter().flat_map(|exponent| {
        [1, 2, 3, 5].into_iter().filter_map(move |digit| format!("{digit}e{exponent}").parse::<f64>().ok())
    });
    // A third of 0.09 is 0.03 to people.
    let fitting = candidates.filter(|candidate| *candidate <= value * (1.0 + 1e-9));
    Epsilon::new(fitting.fold(0.0, f64::max)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_round() {
        for (value, expected) in [
            (0.03, 0.03),
            (0.3, 0.3),
            (0.1, 0.1),
            (0.029, 0.02),
            (0.09, 0.05),
            (1.0, 1.0),
            (7.0, 5.0),
            (2e-9, 2e-9),
        ] {
            assert_eq!(round(value).map(Epsilon::get), Some(expected), "{value}");
        }
        assert_eq!(round(0.0), None);
    }
}
