//! A running bound on what was spent, valid at every moment.
//!
//! A filter says where a process may stop. An odometer is a running bound that may be read, quoted
//! and acted on at any time, also at a time that was chosen by what has been read (Rogers, Roth,
//! Ullman, Vadhan, "Privacy Odometers and Filters", 2016).
//!
//! # Definition
//! Fix orders `a_1 .. a_K` and δ. After n events, chosen in any way by earlier results, let R_j be
//! the sum of their divergences at order a_j, E the sum of their pure bounds, d the sum of the
//! probabilities that they lose. Then
//! ```text
//! reading = min( E, min_j R_j + ln(K / δ) / (a_j - 1) )   at   δ + d                                  (1)
//! ```
//! # Guarantee
//! Let N be any rule for when to stop, and P and Q what is seen until then on two neighbouring
//! inputs. For all ε, d and sets S: `P(S and reading <= ε at <= δ + d) <= e^ε Q(S) + δ + d`.
//!
//! # Proof
//! Leave out transcripts in which a lost event happens; stopped before their probabilities exceed
//! d, these weigh at most d. On the rest let L_n be the log-likelihood ratio of the first n
//! results. For each j, `exp((a_j - 1) (L_n - R_j))` has expectation at most 1 given the past, so
//! it is a non-negative supermartingale under P, and by Ville's inequality ("Étude critique de la
//! notion de collectif", 1939) it ever exceeds K / δ with probability at most δ / K. Outside these
//! K events, of probability δ together, `L_n <= R_j + ln(K / δ) / (a_j - 1)` for all j and n; and
//! L_n <= E always. Where L_N <= ε, P(S) <= e^ε Q(S). This is the argument of Whitehouse, Ramdas,
//! Rogers, Wu, "Fully-Adaptive Composition in Differential Privacy", 2023, section 5, with a union
//! over orders in place of a mixture.
//!
//! # Beside a budget
//! Two bounds hold for what a budget granted, at every moment: the reading, at the part of δ that
//! is not set aside, and the pair (ε, δ) of the budget. The second holds because a filter bounds
//! everything that is seen until the process ends, and what is seen until any moment N, however it
//! is chosen, is computed from that. [`SoFar`] quotes the reading where it is within the budget's
//! pair, and that pair elsewhere. This is an odometer again. Fix (ε', δ'). If the budget's pair is
//! within it, `P(S) <= e^ε' Q(S) + δ'` for all S. If not, a quote within it is a reading within it;
//! whether it was quoted is part of what was seen, so it can be put into S, and the guarantee above
//! has the same bound.
//!
//! # Pitfalls
//! The price of "at every moment" is ln K beside ln(1/δ), and a conversion that holds for the loss
//! itself: a reading is above the total of a filter with the same δ. What a budget has left is not
//! an odometer.

use serde::Serialize;

use super::tallies::{Tallies, Work};
use super::terms::SLACK;
use super::{Spent, Terms};
use crate::accounting::AccountError;
use crate::event::Event;
use crate::params::Delta;
use crate::relation::Neighbours;

/// K: `a_j - 1` runs over 2^-3 .. 2^14, so that one of them is within a factor of √2 of the best
/// wherever that lies.
const ORDERS: i32 = 18;

/// A running bound, valid at all times at once.
///
/// ```
/// use sordino_privacy::{Delta, Event, Neighbours, NoiseMultiplier, Odometer};
/// let mut odometer = Odometer::new(Neighbours::AddRemove, Delta::new(1e-6)?);
/// for _ in 0..100 {
///     odometer.record(&Event::gaussian(NoiseMultiplier::new(50.0)?))?;
/// }
/// let reading = odometer.reading();
/// assert!(reading.epsilon < 1.7 && reading.delta == 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Odometer {
    delta: Delta,
    tallies: Tallies,
    spent: Spent,
}

/// What an odometer says: everything seen so far is (ε, δ)-private.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct OdometerReading {
    /// ε; ∞ if some event had no bound.
    pub epsilon: f64,
    /// δ of the odometer, and what the events brought themselves.
    pub delta: f64,
}

/// The bound that may be quoted, at any moment, for everything granted so far.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SoFar {
    /// Everything released is within it.
    pub within: OdometerReading,
    /// The source of the bound.
    pub by: Voucher,
}

/// Which bound covers everything released so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Voucher {
    /// The running sums.
    Odometer,
    /// The budget, which is never exceeded.
    Budget,
}

impl SoFar {
    /// The bound to quote for everything that was granted under these terms; the module's
    /// documentation has the theorem.
    pub fn of(terms: &Terms, spent: Spent) -> Result<Self, AccountError> {
        let reading = Odometer::of(terms, spent)?.reading();
        let (epsilon, delta) = (terms.epsilon.get(), terms.delta.get());
        // Compared as charges are, and what exceeds the budget within the slack is called the
        // budget, as there.
        let is_within = |part: f64, whole: f64| part <= whole * (1.0 + SLACK);
        let by = if is_within(reading.epsilon, epsilon) && is_within(reading.delta, delta) {
            Voucher::Odometer
        } else {
            Voucher::Budget
        };
        let within = match by {
            Voucher::Odometer => {
                OdometerReading { epsilon: reading.epsilon.min(epsilon), delta: reading.delta.min(delta) }
            }
            Voucher::Budget => OdometerReading { epsilon, delta },
        };
        Ok(Self { within, by })
    }
}

impl Odometer {
    /// Nothing spent yet.
    pub fn new(neighbours: Neighbours, delta: Delta) -> Self {
        Self { delta, tallies: Tallies::new(neighbours, orders()), spent: Spent::default() }
    }

    /// Reads everything that was granted under these terms, at the part of their δ that is not set
    /// aside. Together with the δ that events bring themselves, a reading is then at δ.
    pub fn of(terms: &Terms, spent: Spent) -> Result<Self, AccountError> {
        // A difference of two numbers in [0, 1), and not below 0.
        let rest = Delta::new(terms.rest_of_delta()).unwrap_or(terms.delta);
        let mut odometer = Self::new(terms.neighbours, rest);
        odometer.tallies.catch_up(&spent)?;
        Ok(Self { spent, ..odometer })
    }

    /// One more event. If nobody can bound it, there is an error and nothing has changed.
    pub fn record(&mut self, event: &Event) -> Result<(), AccountError> {
        self.tallies.of(&self.spent, event)?;
        self.spent.record(event.clone());
        self.tallies.catch_up(&self.spent)
    }

    /// Equation (1), rounded up.
    pub fn reading(&self) -> OdometerReading {
        let (total, delta) = (self.tallies.total(), self.delta.get());
        let penalty = f64::from(ORDERS).ln() - delta.ln();
        let at = |(sum, order): (&f64, f64)| (sum + penalty / (order - 1.0)) * (1.0 + 1e-12);
        let timeless = total.renyi.iter().zip(orders()).map(at).fold(f64::INFINITY, f64::min);
        // A pure bound needs neither δ; one that is at its limit needs no probability set aside.
        if total.pure <= timeless {
            return OdometerReading { epsilon: total.pure, delta: 0.0 };
        }
        OdometerReading { epsilon: timeless, delta: delta + total.lost }
    }

    /// What reading it has cost so far.
    pub fn work(&self) -> Work {
        let Tallies { tallied, added, .. } = self.tallies;
        Work { tallied, added, ..Work::default() }
    }
}

fn orders() -> Vec<f64> {
    (0..ORDERS).map(|j| 1.0 + 2f64.powi(j - 3)).collect()
}
