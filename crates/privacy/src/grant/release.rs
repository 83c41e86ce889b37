//! A result that has left the private side.

use crate::claim::Claim;
use crate::grant::budget::{ChargeError, price};
use crate::grant::guarantee::Guarantee;
use crate::grant::paid::Paid;
use crate::grant::payer::Payer;
use crate::params::Delta;

/// A result with its guarantee. It is made by [`Permit::seal`](crate::Permit::seal) alone, and
/// cannot be read from a file. Not `Clone`: each copy would be evidence of the one charge.
#[derive(Debug, PartialEq, serde::Serialize)]
pub struct Release<T> {
    value: T,
    guarantee: Guarantee,
    /// None if it was not metered.
    #[serde(skip)]
    payer: Option<Payer>,
}

impl<T> Release<T> {
    /// Only of what a permit seals.
    pub(in crate::grant) fn new(value: T, guarantee: Guarantee, payer: Option<Payer>) -> Self {
        Self { value, guarantee, payer }
    }

    /// The result.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// What is promised about it.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// The result, and evidence of what was paid for it, for the one thing that comes after it.
    pub fn into_paid(self) -> (T, Paid) {
        (self.value, Paid::new(self.guarantee, self.payer))
    }

    /// The result and its promise, apart.
    pub fn into_parts(self) -> (T, Guarantee) {
        (self.value, self.guarantee)
    }

    /// A function of the result alone costs nothing more. It must not look at the data again:
    /// choosing the best of several results by a score on the data is another release.
    pub fn post_process<U>(self, function: impl FnOnce(T) -> U) -> Release<U> {
        Release { value: function(self.value), guarantee: self.guarantee, payer: self.payer }
    }

    /// What is promised about this result and an `earlier` one together, at `delta`, where the
    /// parameters of this one may have been chosen after the earlier result was seen: a schema that
    /// was bought decides how many coordinates a model has, and people read it before they choose
    /// the rest.
    ///
    /// Composition of fixed parameters does not cover such a choice. What does is the sum of two
    /// prices that were fixed before it, at two δ that add up to `delta` (Dwork, Roth, "The
    /// algorithmic foundations of differential privacy", 2014, theorem B.1). The upper end is that
    /// sum, or the price of the composition where it is more; the lower end is that of the
    /// composition. Fails if another budget has paid for the earlier one.
    pub fn after(self, earlier: Paid, delta: Delta) -> Result<Self, ChargeError> {
        let Self { value, guarantee, payer } = self;
        let payer = Payer::of_both(payer, earlier.payer())?;
        let both = guarantee.composed_with(earlier.guarantee(), delta)?;
        let sum = sum_of_prices(earlier.guarantee(), &guarantee, delta.get())?;
        Ok(Self { value, guarantee: both.at_least(sum), payer })
    }
}

/// Relative slack of the comparison of two parts of δ with the whole: their sum in doubles may be a
/// unit of the last place above it.
const SLACK: f64 = 1e-12;

/// Parts of δ that are tried for the earlier release.
const PARTS: [f64; 6] = [0.9, 0.5, 0.1, 1e-2, 1e-3, 0.0];

/// The sum of both prices: as stated where their two δ add up to `delta`, else at the best of some
/// splits of it.
fn sum_of_prices(earlier: &Guarantee, later: &Guarantee, delta: f64) -> Result<f64, ChargeError> {
    if earlier.delta.get() + later.delta.get() <= delta * (1.0 + SLACK) {
        return Ok(earlier.epsilon.upper + later.epsilon.upper);
    }
    // A sum of prices cannot be priced anew at another δ: its event says less than it cost.
    if !is_price_of_its_event(earlier)? || !is_price_of_its_event(later)? {
        return Ok(f64::INFINITY);
    }
    let mut least = f64::INFINITY;
    for part in PARTS.map(|part| part * delta) {
        let first = price_at(earlier, part)?;
        if first < least {
            least = least.min(first + price_at(later, delta - part)?);
        }
    }
    Ok(least)
}

fn is_price_of_its_event(guarantee: &Guarantee) -> Result<bool, ChargeError> {
    Ok(guarantee.epsilon.upper <= price_at(guarantee, guarantee.delta.get())?)
}

/// The upper end of its event at another δ.
fn price_at(guarantee: &Guarantee, delta: f64) -> Result<f64, ChargeError> {
    let claim = Claim::new(guarantee.neighbours, guarantee.event.clone());
    // No δ here is above that of a guarantee; what is none would be priced at 0.
    let delta = Delta::new(delta).unwrap_or(Delta::ZERO);
    Ok(price(claim, guarantee.unit.clone(), delta, guarantee.metered)?.epsilon.upper)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::danger;
    use crate::event::Event;
    use crate::params::{Epsilon, NoiseMultiplier};
    use crate::relation::{Neighbours, Unit};

    fn release(event: &Event, delta: f64) -> Release<()> {
        let claim = Claim::new(Neighbours::ZeroOut, event.clone());
        danger::unmetered(claim, Unit::Record, Delta::new(delta).unwrap()).unwrap().seal(event, ()).unwrap()
    }

    fn pure(epsilon: f64) -> Event {
        Event::Pure { epsilon: Epsilon::new(epsilon).unwrap() }
    }

    fn gaussian(noise_multiplier: f64) -> Event {
        Event::gaussian(NoiseMultiplier::new(noise_multiplier).unwrap())
    }

    fn upper(release: &Release<()>) -> f64 {
        release.guarantee().epsilon.upper
    }

    /// Fixed parameters would cost less: the promise is the sum, since the later ones may have been
    /// chosen by the earlier result.
    #[test]
    fn what_was_chosen_after_a_result_costs_the_sum() {
        let (schema, model) = (release(&gaussian(5.0), 2e-7), release(&gaussian(4.0), 8e-7));
        let sum = upper(&schema) + upper(&model);
        let both = model.after(schema.into_paid().1, Delta::new(1e-6).unwrap()).unwrap();
        assert_eq!(upper(&both), sum);
        assert_eq!(both.guarantee().event, Event::composed([gaussian(5.0), gaussian(4.0)]));
        let fixed = release(&both.guarantee().event, 1e-6);
        assert!(upper(&fixed) < 0.9 * sum);
        assert_eq!(both.guarantee().epsilon.lower, fixed.guarantee().epsilon.lower);
    }

    /// Two prices at the same δ hold together at twice that δ. At δ alone the sum is of two smaller
    /// ones.
    #[test]
    fn two_deltas_do_not_count_as_one() {
        let delta = Delta::new(1e-6).unwrap();
        let (schema, model) = (release(&gaussian(5.0), 1e-6), release(&gaussian(4.0), 1e-6));
        let naive = upper(&schema) + upper(&model);
        let halves = upper(&release(&gaussian(5.0), 5e-7)) + upper(&release(&gaussian(4.0), 5e-7));
        let both = model.after(schema.into_paid().1, delta).unwrap();
        assert!(upper(&both) > naive && upper(&both) <= halves, "{} {naive} {halves}", upper(&both));
        // A pure one needs no δ, and leaves all of it to the other.
        let after_pure =
            release(&gaussian(4.0), 1e-6).after(release(&pure(0.5), 1e-6).into_paid().1, delta).unwrap();
        assert!((upper(&after_pure) - 0.5 - upper(&release(&gaussian(4.0), 1e-6))).abs() < 1e-9);
    }

    /// What was summed up once has no price at a smaller δ.
    #[test]
    fn a_third_release_needs_a_part_of_delta() {
        let delta = Delta::new(1e-6).unwrap();
        let second = || release(&gaussian(4.0), 5e-7);
        let two = || second().after(release(&gaussian(5.0), 5e-7).into_paid().1, delta).unwrap();
        let third = || release(&gaussian(6.0), 1e-6);
        assert!(!third().after(two().into_paid().1, delta).unwrap().guarantee().holds());
        let wide = third().after(two().into_paid().1, Delta::new(2e-6).unwrap()).unwrap();
        assert!((upper(&wide) - upper(&two()) - upper(&third())).abs() < 1e-12);
    }

    #[test]
    fn a_flaw_of_either_release_marks_both() {
        let delta = Delta::new(1e-6).unwrap();
        let (event, claim) = (pure(0.5), Claim::new(Neighbours::ZeroOut, pure(0.5)));
        let seeded = danger::unmetered(claim.clone(), Unit::Record, delta).unwrap().seeded().unwrap();
        let seeded = seeded.seal(&event, ()).unwrap();
        let both = release(&event, 0.0).after(seeded.into_paid().1, delta).unwrap();
        assert!(both.guarantee().seeded && !both.guarantee().metered);
        let clients = danger::unmetered(claim, Unit::Client, delta).unwrap().seal(&event, ()).unwrap();
        let refused = release(&event, 0.0).after(clients.into_paid().1, delta);
        assert!(matches!(refused, Err(ChargeError::TwoUnits { .. })));
    }
}
