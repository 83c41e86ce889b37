//! Notions of privacy as values, and the roads between them.
//!
//! # Definition
//! P and Q are the outputs on two neighbouring inputs, in either order; a notion bounds how far
//! apart they may be. Which inputs are neighbours is said by the claim around it
//! ([`Neighbours`](crate::Neighbours)).
//!
//! | value | says | for all |
//! |---|---|---|
//! | [`Pure`] | `ln(dP/dQ) <= eps` | outcomes |
//! | [`Approximate`] | `P(S) <= e^eps Q(S) + delta` | events S |
//! | [`Zcdp`] | `D_a(P‖Q) <= xi + rho a` | orders a > 1 |
//! | [`Tcdp`] | `D_a(P‖Q) <= rho a` | orders 1 < a < omega |
//! | [`Renyi`] | `D_a(P‖Q) <= r` | one order a |
//! | [`Gdp`] | no easier to tell apart than N(0, 1) and N(mu, 1) | tests |
//! | [`TradeOff`] | type II error at least f(t) at type I error t | tests |
//!
//! # Roads
//! Every conversion is named after where it leads, and results are rounded to the safe side. Where
//! there are several theorems, the plain name is the tightest and the weaker ones have their own
//! names, for comparison with what others print:
//!
//! | from | to | how |
//! |---|---|---|
//! | pure | zCDP | [`Zcdp::from`] (`eps²/2`); [`Pure::zcdp_tight`]; [`Zcdp::of_laplace`] |
//! | pure, approximate | Rényi | [`Pure::renyi`], [`Approximate::renyi_outside`] |
//! | zCDP | approximate | [`Zcdp::epsilon_basic`]; [`Zcdp::epsilon_improved`]; [`Zcdp::epsilon`] |
//! | Rényi | approximate | [`Renyi::epsilon_basic`]; [`Renyi::epsilon_improved`]; [`Renyi::epsilon`] |
//! | Rényi | total variation | [`Renyi::total_variation`] |
//! | GDP | approximate, trade-off | [`Gdp::delta`], [`TradeOff::from`]: both exact |
//! | GDP | zCDP | [`Zcdp::try_from`] |
//! | profile | trade-off | [`TradeOff::from_profile`], [`TradeOff::of`] |
//! | trade-off | approximate | [`TradeOff::delta`] |
//!
//! [`basic`], [`advanced`] and [`optimal_epsilon`] compose (eps, delta) pairs; [`HiddenDescent`] is
//! what is gained where only the last iterate of a descent is seen.
//!
//! There is no way back from one (eps, delta) to the others. What a value costs beside other
//! releases is for an accountant: each notion that fits an event has `event()`.

mod approximate;
mod composition;
mod gdp;
mod iteration;
mod profile;
mod pure;
pub(crate) mod renyi;
mod tcdp;
mod tradeoff;
mod zcdp;

pub use approximate::Approximate;
pub use composition::{advanced, advanced_original, basic, optimal_delta, optimal_epsilon};
pub use gdp::Gdp;
pub use iteration::HiddenDescent;
pub use profile::{ProfilePoint, profile};
pub use pure::Pure;
pub use renyi::Renyi;
pub use tcdp::Tcdp;
pub use tradeoff::TradeOff;
pub use zcdp::Zcdp;

use crate::params::ParamError;

/// Room for a handful of roundings of half a unit in the last place each.
const UP: f64 = 1.0 + 8.0 * f64::EPSILON;

/// A parameter that only makes sense here.
fn checked(name: &'static str, expected: &'static str, value: f64, valid: bool) -> Result<f64, ParamError> {
    if valid { Ok(value) } else { Err(ParamError { name, expected, got: value }) }
}
