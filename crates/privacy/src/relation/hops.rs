//! Conversions between relations.
//!
//! If every pair of neighbours under one relation can be joined by a chain of k pairs of another, a
//! guarantee under the other gives one here by group privacy: ε becomes kε and δ becomes
//! `δ (e^{kε} - 1)/(e^ε - 1)` (Dwork, Roth, "The Algorithmic Foundations of Differential Privacy",
//! 2014, section 2.3; the sum is the geometric series of the k steps).

use super::{MetricBall, Neighbours};
use crate::params::{Count, Delta, Epsilon, ParamError};

impl Neighbours {
    /// How many steps of `self` join any two neighbours under `target`; `None` if no number is
    /// enough.
    ///
    /// | from | to | steps | because |
    /// |---|---|---|---|
    /// | unordered | the same, ordered | 1 | neighbouring sequences are neighbouring multisets |
    /// | `add_remove` | `zero_out` | 1 | a null record is no record |
    /// | `add_remove`, `zero_out` | `replace` | 2 | out, then in |
    /// | `zero_out`, `replace` | `add_remove` | never | they leave n as it is |
    /// | `replace` | `zero_out` | never | null need not be a record |
    /// | ordered | unordered | never | a sequence may be permuted entirely |
    /// | ball (p, R) | ball (p', R'), p' <= p | ⌈R'/R⌉ | ‖·‖_p <= ‖·‖_p'; a straight line in R-steps |
    ///
    /// ```
    /// use sordino_privacy::Neighbours::{AddRemove, Replace};
    /// assert_eq!(AddRemove.hops(Replace).map(|k| k.get()), Some(2));
    /// assert_eq!(Replace.hops(AddRemove), None);
    /// ```
    pub fn hops(self, target: Self) -> Option<Count> {
        use Neighbours::*;
        let steps = match (self, target) {
            (MetricBall(from), MetricBall(to)) => return hops_between_balls(from, to),
            (AddRemove, AddRemove | AddRemoveOrdered | ZeroOut | ZeroOutUnordered) => 1,
            (AddRemove, Replace | ReplaceOrdered) => 2,
            (AddRemoveOrdered, AddRemoveOrdered | ZeroOut) => 1,
            (AddRemoveOrdered, ReplaceOrdered) => 2,
            (AddRemoveOrdered, AddRemove | ZeroOutUnordered | Replace) => return None,
            (ZeroOutUnordered, ZeroOutUnordered | ZeroOut) => 1,
            (ZeroOutUnordered, Replace | ReplaceOrdered) => 2,
            (ZeroOutUnordered, AddRemove | AddRemoveOrdered) => return None,
            (ZeroOut, ZeroOut) => 1,
            (ZeroOut, ReplaceOrdered) => 2,
            (ZeroOut, AddRemove | AddRemoveOrdered | ZeroOutUnordered | Replace) => return None,
            (Replace, Replace | ReplaceOrdered) => 1,
            (Replace, AddRemove | AddRemoveOrdered | ZeroOut | ZeroOutUnordered) => return None,
            (ReplaceOrdered, ReplaceOrdered) => 1,
            (ReplaceOrdered, AddRemove | AddRemoveOrdered | ZeroOut | ZeroOutUnordered | Replace) => {
                return None;
            }
            (
                MetricBall(_),
                AddRemove | AddRemoveOrdered | ZeroOut | ZeroOutUnordered | Replace | ReplaceOrdered,
            )
            | (
                AddRemove | AddRemoveOrdered | ZeroOut | ZeroOutUnordered | Replace | ReplaceOrdered,
                MetricBall(_),
            ) => return None,
        };
        // 1 and 2 are counts.
        Count::new(steps).ok()
    }
}

/// What (ε, δ) at distance one gives at distance `hops`. Fails where δ reaches 1 or ε overflows:
/// nothing is left of the guarantee then.
///
/// ```
/// use sordino_privacy::{Count, Delta, Epsilon, group_guarantee};
/// let (epsilon, delta) = group_guarantee(Epsilon::new(0.5)?, Delta::new(1e-6)?, Count::new(3)?)?;
/// assert_eq!(epsilon.get(), 1.5);
/// assert!((delta.get() - 5.367003099159e-6).abs() < 1e-17);
/// # Ok::<(), sordino_privacy::ParamError>(())
/// ```
pub fn group_guarantee(epsilon: Epsilon, delta: Delta, hops: Count) -> Result<(Epsilon, Delta), ParamError> {
    let (e, k) = (epsilon.get(), hops.get() as f64);
    if hops == Count::ONE {
        return Ok((epsilon, delta));
    }
    let product = k * e;
    // The fused product shows what rounding took away.
    let farther = if k.mul_add(e, -product) > 0.0 { product.next_up() } else { product };
    // 1 + e^ε + ... + e^{(k-1)ε}; at ε = 0 there are k equal terms.
    let terms = if e == 0.0 { k } else { farther.exp_m1() / e.exp_m1() };
    // A few roundings of half a unit in the last place each: 8 units cover them, upward.
    let up = 1.0 + 8.0 * f64::EPSILON;
    let grown = if delta.get() == 0.0 { 0.0 } else { delta.get() * terms * up };
    Ok((Epsilon::new(farther)?, Delta::new(grown)?))
}

fn hops_between_balls(from: MetricBall, to: MetricBall) -> Option<Count> {
    if to.norm > from.norm {
        return None;
    }
    // The quotient may have been rounded down over a whole number: check by multiplying back.
    let mut steps = (to.radius.get() / from.radius.get()).ceil().max(1.0);
    if steps * from.radius.get() < to.radius.get() {
        steps += 1.0;
    }
    if steps <= Count::MAX as f64 { Count::new(steps as u64).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::super::NAMES;
    use super::*;
    use crate::params::{Norm, Radius};

    fn ball(norm: Norm, radius: f64) -> Neighbours {
        Neighbours::MetricBall(MetricBall { norm, radius: Radius::new(radius).unwrap() })
    }

    #[test]
    fn every_relation_reaches_itself_in_one_step() {
        for (name, relation) in NAMES {
            assert_eq!(relation.hops(relation), Some(Count::ONE), "{name}");
        }
    }

    #[test]
    fn a_detour_is_never_shorter() {
        for (_, a) in NAMES {
            for (_, b) in NAMES {
                for (_, c) in NAMES {
                    if let (Some(ab), Some(bc)) = (a.hops(b), b.hops(c)) {
                        let direct = a.hops(c).expect("a detour exists");
                        assert!(direct.get() <= ab.get() * bc.get(), "{a} -> {b} -> {c}");
                    }
                }
            }
        }
    }

    #[test]
    fn n_becomes_private_by_no_conversion() {
        for (_, from) in NAMES.iter().filter(|(name, _)| !name.starts_with("add_remove")) {
            assert_eq!(from.hops(Neighbours::AddRemove), None);
            assert_eq!(from.hops(Neighbours::AddRemoveOrdered), None);
        }
    }

    #[test]
    fn larger_balls_take_more_steps() {
        let steps = |from: Neighbours, to| from.hops(to).map(Count::get);
        assert_eq!(steps(ball(Norm::L2, 1.0), ball(Norm::L2, 3.0)), Some(3));
        assert_eq!(steps(ball(Norm::L2, 1.0), ball(Norm::L2, 0.2)), Some(1));
        assert_eq!(steps(ball(Norm::L2, 2.0), ball(Norm::L1, 3.0)), Some(2));
        assert_eq!(steps(ball(Norm::L1, 2.0), ball(Norm::L2, 3.0)), None);
        assert_eq!(steps(ball(Norm::L2, 1.0), ball(Norm::L2, 1e300)), None);
        assert_eq!(steps(ball(Norm::L2, 1.0), Neighbours::Replace), None);
    }

    #[test]
    fn groups_pay_for_the_geometric_series() {
        let group = |e, d, k| {
            group_guarantee(Epsilon::new(e).unwrap(), Delta::new(d).unwrap(), Count::new(k).unwrap())
                .map(|(e, d)| (e.get(), d.get()))
        };
        // e^0.5 + 1 times delta, typed from the definition of two steps.
        let (epsilon, delta) = group(0.5, 1e-6, 2).unwrap();
        assert_eq!(epsilon, 1.0);
        assert!((delta - 1e-6 * (1.0 + 0.5f64.exp())).abs() < 1e-20);
        assert_eq!(group(0.0, 1e-3, 4).unwrap().0, 0.0);
        assert!((group(0.0, 1e-3, 4).unwrap().1 - 4e-3).abs() < 1e-17);
        assert_eq!(group(0.1, 0.0, 1_000_000).unwrap().1, 0.0);
        assert!(group(10.0, 1e-6, 4).is_err(), "delta beyond 1 is no guarantee");
        assert!(group(1e308, 0.0, 4).is_err());
    }
}
