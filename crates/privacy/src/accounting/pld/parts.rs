//! From one step's panels to the tilted lattices that are composed.
//!
//! # Two scales
//! Rarely sampled steps have a bulk of tiny losses and rare larger ones, and a lattice that is fine
//! enough for the bulk may be too long for the rest. Then a step `m`, with masses `s` at losses
//! between `-b` and `b` and `j` at all others, becomes two parts: a *lottery* with the losses `j`
//! and one atom for everything else, and the *bulk*
//! ```text
//! lottery   J = j + stay * atom at lambda                                                             (1)
//! bulk      B = s / stay, losses lowered by lambda
//! ```
//! each on a lattice of its own. Without a jump, `J * B` is `s` exactly,
//! whatever `stay` and `lambda` are.
//!
//! *Above.* `m` is what somebody computes from `(J, B)` who looks at `B` only if `J` says
//! "everything else", so `J * B` dominates `m`, provided that looking at `B` in vain costs
//! something rather than helps: a pair of measures of totals `(p, q)` has `delta(e) >= p - e^e q`,
//! which is at least that of nothing at all if `p >= 1` and `q <= 1`, i.e. if `stay <= P[s]` and
//! `exp(lambda) Q[s] <= stay`. Cost: as many bulk steps too many as there are jumps.
//!
//! *Below.* In `T` steps with `i <= k` jumps there are at least `T - k` of the bulk.
//! Forgetting the other `k - i` (a post-processing: they become one atom of mass `P[s]^(k-i)`
//! at loss `(k-i) ln(P[s] / Q[s])`) leaves
//! ```text
//! C(T, i) j^i * s^(T-k) * (that atom)  >=  the terms with i <= k of  J^T * B^(T-k)                    (2)
//! ```
//! under the same two conditions, since a smaller mass at a smaller loss has a smaller delta. The
//! terms with more jumps hold at most `(P[s] / stay)^(T-k) P[Bin(T, P[j]) > k]`, which is taken off
//! delta (`forgotten`, by Chernoff).

use super::lattice::{Lattice, Merger, Spreader};
use super::pair::End;
use super::panel::Panel;
use super::plan::{Plan, Walk, shift};
use super::tilted::Tilted;

/// Lattice distributions of one step with the number of times that each is taken.
pub(super) type Parts = Vec<(Tilted, u64)>;

/// Larger losses go to a lottery on a lattice that is `factor` (a power of two) times coarser.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scales {
    pub(super) bulk: f64,
    pub(super) factor: f64,
}

/// Relative room for the rounding of sums in (1); it costs one part in `1 / ROOM`
/// for each jump, not for each step.
const ROOM: f64 = 1e-10;

impl Plan {
    /// The upper object of `count` releases of a step; `None` if no lattice holds it.
    pub(super) fn above(&self, walk: &Walk, anchor: f64, ln_moment: f64, count: u64) -> Option<Parts> {
        let trim = self.trimmed(walk, ln_moment, count);
        let (under, bulk, over) = self.scaled(trim.kept);
        let (low, top) = ends(bulk, anchor);
        let mut out = Spreader::new(anchor, self.step, low, top)?;
        bulk.iter().for_each(|p| out.panel(p));
        if under.is_empty() {
            out.atom(low, trim.left); // smaller losses, moved up to the first that is kept
        }
        let slack = |tilted: &Tilted| 1.1 * trim.right * (ln_moment - tilted.ln_scale).exp();
        let Some(scales) = self.scales else {
            out.atom(top, trim.top);
            let mut lattice = out.finish();
            lattice.offset += shift(bulk);
            let mut tilted = Tilted::new(&lattice, self.tilt, End::Upper);
            tilted.slack += slack(&tilted);
            return Some(vec![(tilted, count)]);
        };
        let mut lattice = out.finish();
        lattice.offset += shift(bulk);
        let (stay, lambda) = separated(&mut lattice);
        let (moved, step) = (shift(trim.kept), self.step * scales.factor);
        let (low, top) = ends(trim.kept, lambda);
        let mut lottery = Spreader::new(lambda, step, low.min(lambda) + moved, top.max(lambda) + moved)?;
        if !under.is_empty() {
            lottery.atom(low + moved, trim.left);
        }
        under.iter().for_each(|p| lottery.panel(&p.moved(moved)));
        lottery.atom(lambda, stay);
        over.iter().for_each(|p| lottery.panel(&p.moved(moved)));
        lottery.atom(top + moved, trim.top);
        let mut lottery = Tilted::new(&lottery.finish(), self.tilt, End::Upper);
        lottery.slack += slack(&lottery);
        Some(vec![(lottery, count), (Tilted::new(&lattice, self.tilt, End::Upper), count)])
    }

    /// The lower object of `count` releases of a step, and what must be taken off its
    /// delta; `None` if no lattice holds it.
    pub(super) fn below(&self, walk: &Walk, anchor: f64, ln_moment: f64, count: u64) -> Option<(Parts, f64)> {
        let kept = self.trimmed(walk, ln_moment, count).kept;
        let (under, bulk, over) = self.scaled(kept);
        let mut out = Merger::new(anchor, self.step);
        bulk.iter().for_each(|p| out.panel(p));
        let mut lattice = out.finish()?;
        lattice.offset -= shift(bulk);
        let Some(scales) = self.scales else {
            return Some((vec![(Tilted::new(&lattice, self.tilt, End::Lower), count)], 0.0));
        };
        let (stay, lambda) = separated(&mut lattice);
        let (moved, step) = (shift(kept), self.step * scales.factor);
        let mut lottery = Merger::new(lambda, step);
        under.iter().for_each(|p| lottery.panel(&p.moved(-moved)));
        lottery.atom(lambda, stay);
        over.iter().for_each(|p| lottery.panel(&p.moved(-moved)));
        let lottery = Tilted::new(&lottery.finish()?, self.tilt, End::Lower);
        let jumps: f64 =
            under.iter().chain(over).map(|p| p.mass * (1.0 + p.error)).sum::<f64>() * (1.0 + ROOM);
        let (most, forgotten) = most_jumps(count, jumps / (stay + jumps), self.negligible);
        let mut parts = vec![(lottery, count)];
        if most < count {
            parts.push((Tilted::new(&lattice, self.tilt, End::Lower), count - most));
        }
        Some((parts, forgotten * (2.0 * ROOM * count as f64).exp()))
    }

    /// Panels below the bulk, of the bulk, and above it.
    fn scaled<'a>(&self, panels: &'a [Panel]) -> (&'a [Panel], &'a [Panel], &'a [Panel]) {
        let bulk = self.scales.map_or(f64::INFINITY, |s| s.bulk);
        let (panels, over) = panels.split_at(panels.partition_point(|p| p.low < bulk));
        let (under, panels) = panels.split_at(panels.partition_point(|p| p.low <= -bulk));
        (under, panels, over)
    }

    /// Leaves out the panels at both ends that hold next to no tilted mass.
    fn trimmed<'a>(&self, walk: &'a Walk, ln_moment: f64, count: u64) -> Trimmed<'a> {
        let (panels, budget) = (&walk.panels[..], self.rare / count as f64);
        let tilted = |mass: f64, loss: f64| mass * (self.tilt * loss - ln_moment).exp();
        let mass = |p: &Panel| p.mass * (1.0 + p.error);
        let (mut right, mut to, mut top) = (0.0, panels.len(), walk.jumps.at_top);
        let jumps = tilted(top, panels.last().map_or(0.0, |p| p.high));
        if jumps <= budget {
            (right, top) = (jumps, 0.0);
            while to > 1 && right + tilted(mass(&panels[to - 1]), panels[to - 1].high) <= budget {
                to -= 1;
                right += tilted(mass(&panels[to]), panels[to].high);
            }
        }
        let (mut left, mut from) = (walk.left, 0);
        while from + 1 < to && tilted(left + mass(&panels[from]), panels[from].high) <= budget {
            left += mass(&panels[from]);
            from += 1;
        }
        Trimmed { kept: &panels[from..to], left: left * (1.0 + ROOM), right: right * (1.0 + ROOM), top }
    }
}

struct Trimmed<'a> {
    kept: &'a [Panel],
    /// Mass of smaller losses.
    left: f64,
    /// Tilted mass of larger losses, relative to the rough moment.
    right: f64,
    /// What jumps add at the largest loss.
    top: f64,
}

/// Lowest and highest loss of panels.
fn ends(panels: &[Panel], none: f64) -> (f64, f64) {
    (panels.first().map_or(none, |p| p.low), panels.last().map_or(none, |p| p.high))
}

/// Turns the masses of the middle into the bulk of (1), and returns `stay` and `lambda`.
fn separated(lattice: &mut Lattice) -> (f64, f64) {
    let p: f64 = lattice.mass.iter().sum();
    let q: f64 = lattice.mass.iter().enumerate().map(|(i, m)| m * (-lattice.loss(i)).exp()).sum();
    let stay = p * (1.0 - ROOM);
    let lambda = (stay / q).ln() - ROOM;
    lattice.mass.iter_mut().for_each(|m| *m /= stay);
    lattice.offset -= lambda;
    (stay, lambda)
}

/// A number of jumps `k` and a bound on `P[Bin(count, chance) > k]`,
/// about `negligible` or less (Chernoff).
fn most_jumps(count: u64, chance: f64, negligible: f64) -> (u64, f64) {
    let mean = count as f64 * chance;
    if mean <= 0.0 {
        return (0, 0.0);
    }
    let ln_tail = |k: f64| if k > mean { -(k * (k / mean).ln() - k + mean) } else { 0.0 };
    let (mut low, mut high) = (mean, mean + 1.0);
    while ln_tail(high) > negligible.ln() && high < count as f64 {
        high = mean + 2.0 * (high - mean);
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if ln_tail(middle) > negligible.ln() { low = middle } else { high = middle }
    }
    let most = high.ceil();
    if most >= count as f64 { (count, 0.0) } else { (most as u64, ln_tail(most).exp()) }
}
