//! One release needs no lattice: its profile is a sum over its outcomes.
//!
//! Spreading a panel to its ends, or merging it, changes `delta(e)` only where `e` lies
//! inside the panel: panels need to be narrow near the answer only. So they are made
//! narrower there until the two ends meet.

use super::pair::Pair;
use super::panel::Panel;
use super::plan::shift;
use super::{Interval, Question};

/// Rounds of narrowing, and the relative gap at which they stop.
const ROUNDS: usize = 6;
const CLOSE: f64 = 1e-9;

/// Certified answer for one release of `pair`; `None` if it has too many outcomes.
pub(super) fn answer(pair: &Pair, question: Question) -> Option<Interval> {
    let mut best = Interval { lower: 0.0, upper: f64::INFINITY };
    let right = match question {
        Question::Epsilon { delta } => 1e-14 * delta,
        Question::Delta { .. } => 1e-280,
    };
    for _ in 0..ROUNDS {
        // Where the answer's epsilon is.
        let (low, high) = match question {
            Question::Epsilon { .. } => (best.lower, best.upper),
            Question::Delta { epsilon } => (epsilon, epsilon),
        };
        let width = |_: f64, loss: f64| {
            let finest = (high - low).max(1e-10 * high) / 32.0;
            if loss <= high { (0.5 * (low - loss)).max(finest) } else { f64::INFINITY }
        };
        let mut panels = Vec::new();
        let mut keep = |panel| {
            panels.push(panel);
            panels.len() < MOST_PANELS
        };
        let ends = pair.walk(&width, 1e-14, right, &mut keep);
        if panels.len() >= MOST_PANELS {
            return None;
        }
        let tail = Tail { most: ends.right, least: pair.singular() * (1.0 - 1e-15) };
        let found = match question {
            Question::Epsilon { delta } => epsilon(&panels, tail, shift(&panels), delta),
            Question::Delta { epsilon } => delta(&panels, tail, shift(&panels), epsilon),
        };
        let before = best;
        best = Interval { lower: best.lower.max(found.lower), upper: best.upper.min(found.upper) };
        let gap = best.upper - best.lower;
        if gap <= CLOSE * best.upper || gap > 0.9 * (before.upper - before.lower) {
            break;
        }
    }
    Some(best)
}

/// Most panels: discrete noise of the largest scale has as many outcomes.
const MOST_PANELS: usize = 4_000_000;

/// Mass of losses above all panels: at most, and at least (of infinite loss).
#[derive(Clone, Copy)]
struct Tail {
    most: f64,
    least: f64,
}

/// Certified `delta(epsilon)` of the release made of these panels and the tail.
fn delta(panels: &[Panel], tail: Tail, shift: f64, epsilon: f64) -> Interval {
    let gain = |loss: f64| -(epsilon - loss).min(0.0).exp_m1();
    let (mut lower, mut upper) = (0.0, 0.0);
    for p in panels.iter().filter(|p| p.high + shift > epsilon) {
        let above = p.above();
        upper +=
            p.mass * (1.0 + p.error) * (above * gain(p.high + shift) + (1.0 - above) * gain(p.low + shift));
        lower += p.mass * (1.0 - p.error) * gain(p.loss(1.0 - 2.0 * p.error) - shift);
    }
    let rounding = 1e-15 * panels.len() as f64;
    Interval {
        lower: lower * (1.0 - rounding) + tail.least,
        upper: (upper * (1.0 + rounding) + tail.most).min(1.0),
    }
}

/// Certified `epsilon(delta)` of the same release.
fn epsilon(panels: &[Panel], tail: Tail, shift: f64, target: f64) -> Interval {
    let most = panels.last().map_or(0.0, |p| p.high) + shift;
    let solve = |end: &dyn Fn(Interval) -> f64, keep_high: bool| {
        let at = |e: f64| end(delta(panels, tail, shift, e));
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
    let end = |mass: f64, solve: &dyn Fn() -> f64| if mass > target { f64::INFINITY } else { solve() };
    Interval {
        lower: end(tail.least, &|| solve(&|d| d.lower, false)),
        upper: end(tail.most, &|| solve(&|d| d.upper, true)),
    }
}
