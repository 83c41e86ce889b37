//! One release needs no lattice: its profile is a sum over its outcomes.

use super::Interval;
use super::panel::Panel;

/// Certified `delta(epsilon)` of the release made of these panels; `right` bounds the mass of larger losses.
pub(super) fn delta(panels: &[Panel], right: f64, shift: f64, epsilon: f64) -> Interval {
    let gain = |loss: f64| -(epsilon - loss).min(0.0).exp_m1();
    let (mut lower, mut upper) = (0.0, 0.0);
    for p in panels.iter().filter(|p| p.high + shift > epsilon) {
        let above = p.above();
        upper +=
            p.mass * (1.0 + p.error) * (above * gain(p.high + shift) + (1.0 - above) * gain(p.low + shift));
        lower += p.mass * (1.0 - p.error) * gain(p.loss(1.0 - 2.0 * p.error) - shift);
    }
    let rounding = 1e-15 * panels.len() as f64;
    Interval { lower: lower * (1.0 - rounding), upper: (upper * (1.0 + rounding) + right).min(1.0) }
}

/// Certified `epsilon(delta)` of the same release.
pub(super) fn epsilon(panels: &[Panel], right: f64, shift: f64, target: f64) -> Interval {
    let most = panels.last().map_or(0.0, |p| p.high) + shift;
    let solve = |end: &dyn Fn(Interval) -> f64, keep_high: bool| {
        let at = |e: f64| end(delta(panels, right, shift, e));
        if at(0.0) <= target {
            return 0.0;
        }
        let (mut low, mut high) = (0.0, most.max(0.0));
        while high - low > 1e-14 * high {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            if at(middle) > target { low = middle } else { high = middle }
        }
        if keep_high { high } else { low }
    };
    let upper = if right > target { f64::INFINITY } else { solve(&|d| d.upper, true) };
    Interval { lower: solve(&|d| d.lower, false), upper }
}
