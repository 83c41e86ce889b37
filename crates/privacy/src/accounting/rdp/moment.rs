//! Rényi divergences as sums of positive terms.
//!
//! # Definition
//! For densities P and Q with privacy loss `L = ln(P/Q)` and order `a = 1 + b > 1`,
//! ```text
//! (a - 1) D_a(P || Q) = ln E_Q[e^(aL)] = ln(1 + E_P[psi_b(L)])                            (1)
//! psi_b(l) = e^(bl) - 1 + b (e^-l - 1)  >= 0                                              (2)
//! ```
//! because `E_Q[e^L] = 1` lets `a (e^L - 1)` be taken off for nothing. Every term of (1) is
//! positive and of the order of `b (b + 1) l² / 2` for small losses, so that a divergence of 1e-30
//! has as many digits as one of 1; the naive `ln` of a number next to 1 would have none.
//! # Pitfalls
//! The expectation is over P with power `a - 1`, or over Q with power
//! `a`: never over P with power `a`.

use crate::numerics::logspace::{LogSum, ln_add};

/// Collects the expectation in (1), outcome by outcome.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    excess_order: f64,
    sum: LogSum,
}

impl Moment {
    /// An empty expectation for `order > 1`.
    pub(super) fn new(order: f64) -> Self {
        Self { excess_order: order - 1.0, sum: LogSum::new() }
    }

    /// An outcome of probability `exp(ln_p)` under P and privacy loss `loss`.
    pub(super) fn add(&mut self, ln_p: f64, loss: f64) {
        self.sum.add(ln_p + ln_psi(self.excess_order, loss));
    }

    /// `D_a(P || Q)` of the outcomes added; +∞ if they were not numbers.
    pub(super) fn divergence(self) -> f64 {
        divergence(self.excess_order, self.sum.ln())
    }
}

/// Equation (1) from the logarithm of the expectation.
pub(super) fn divergence(excess_order: f64, ln_excess: f64) -> f64 {
    let divergence = ln_add(0.0, ln_excess) / excess_order;
    if divergence.is_nan() { f64::INFINITY } else { divergence }
}

/// `ln psi_b(l)`, equation (2), to about 1e-15 of psi for every `b > 0` and every finite loss.
pub(super) fn ln_psi(b: f64, loss: f64) -> f64 {
    if loss.abs() * b.max(1.0) < 0.5 {
        small(b, loss).ln()
    } else if b * loss > 30.0 {
        b * loss + (-(1.0 - b * (-loss).exp_m1()) * (-b * loss).exp()).ln_1p()
    } else if loss < -40.0 {
        b.ln() - loss // the rest is below e^-40 of it, and negative
    } else {
        ((b * loss).exp_m1() + b * (-loss).exp_m1()).ln()
    }
}

/// `sum_(k>=2) (b^k + b (-1)^k) l^k / k!`.
fn small(b: f64, loss: f64) -> f64 {
    let (mut up, mut down) = (b * loss, -b * loss);
    let mut total = 0.0;
    for k in 2..24 {
        up *= b * loss / f64::from(k);
        down *= -loss / f64::from(k);
        total += up + down;
        // Not their sum: at b = 1 every other one vanishes.
        if up.abs() + down.abs() <= 1e-18 * total {
            break;
        }
    }
    total
}

#[cfg(test)]
#[expect(
    clippy::excessive_precision,
    reason = "digits as computed, so that they can be compared with a table"
)]
mod tests {
    use super::*;

    /// Equation (2) with forty digits, at places where doubles would cancel or overflow.
    #[test]
    fn psi_has_all_its_digits() {
        for (b, loss, exact) in [
            (1.0, 1e-12, -55.262042231857096),
            (0.0001, 1e-09, -51.349919231761917),
            (1000000.0, 1e-08, -9.9001504435222758),
            (1000000.0, 4.9e-07, -1.9497029526123516),
            (1000000.0, -4e-07, -2.6546972332909804),
            (0.25, 0.4999, -3.3590591882334084),
            (0.25, 0.51, -3.321219702262741),
            (3.0, -0.2, -1.5463696407656472),
            (7.0, 0.07, -1.8383923185043194),
            (7.0, 0.08, -1.548874821910434),
            (0.001, 3.0, -6.1878242244124374),
            (2.0, -35.0, 35.693147180559944),
            (2.0, -45.0, 45.693147180559945),
            (0.5, 61.0, 30.499999999999915),
            (100.0, 0.29, 28.99999999999334),
            (100.0, 0.31, 30.999999999999048),
            (100000.0, 900.0, 90000000.0),
            (0.0001, -800.0, 790.78965962802382),
            (0.0001, 800.0, -2.48666337983555),
        ] {
            let found = ln_psi(b, loss);
            let error: f64 = found - exact;
            assert!(
                error.abs() < 3e-15 * exact.abs().max(1.0),
                "b {b}, loss {loss}: {found} against {exact}"
            );
        }
        assert_eq!(ln_psi(3.0, 0.0), f64::NEG_INFINITY);
    }

    /// Two outcomes against the definition `ln sum Q (P/Q)^a / (a - 1)`.
    #[test]
    fn two_outcomes() {
        for (p, q, order) in [(0.3, 0.5, 2.5f64), (0.9, 0.2, 1.1), (0.01, 0.4, 7.0)] {
            let mut moment = Moment::new(order);
            for (p, q) in [(p, q), (1.0 - p, 1.0 - q)] {
                moment.add(f64::ln(p), f64::ln(p / q));
            }
            let power = |p: f64, q: f64| q * (p / q).powf(order);
            let exact = (power(p, q) + power(1.0 - p, 1.0 - q)).ln() / (order - 1.0);
            assert!((moment.divergence() / exact - 1.0).abs() < 1e-13);
        }
    }
}
