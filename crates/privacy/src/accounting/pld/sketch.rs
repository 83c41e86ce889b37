//! A rough picture of a composition, to choose tilt, lattice step and tails before any exact work.
//!
//! Nothing here needs to be certified: a bad choice makes the
//! certified interval wider, never wrong.

use super::panel::Panel;

/// Losses and masses of one step, merged to a few hundred or thousand atoms, with its multiplicity.
pub(super) struct Sketch {
    pub(super) atoms: Vec<(f64, f64)>,
    pub(super) count: f64,
}

impl Sketch {
    pub(super) fn new(count: u64) -> Self {
        Self { atoms: Vec::new(), count: count as f64 }
    }

    pub(super) fn panel(&mut self, panel: &Panel) {
        if panel.mass > 0.0 {
            let loss = panel.loss(1.0);
            // Discrete noise of large scale has many outcomes at almost the same loss.
            let crowded = self.atoms.len() > 4096;
            match self.atoms.last_mut() {
                Some((last, mass)) if crowded && loss - *last < 1e-3 => {
                    let merged = (*last * *mass + loss * panel.mass) / (*mass + panel.mass);
                    (*last, *mass) = (merged, *mass + panel.mass);
                }
                _ => self.atoms.push((loss, panel.mass)),
            }
        }
    }

    /// `ln E[exp(t L)]` of one step, with the first two moments of the tilted loss.
    pub(super) fn cumulant(&self, t: f64) -> (f64, f64, f64) {
        let top = self.atoms.iter().map(|(l, m)| t * l + m.ln()).fold(f64::MIN, f64::max);
        let (mut sum, mut first) = (0.0, 0.0);
        for (l, m) in &self.atoms {
            let w = (t * l + m.ln() - top).exp();
            sum += w;
            first += w * l;
        }
        let mean = first / sum;
        let second: f64 =
            self.atoms.iter().map(|(l, m)| (t * l + m.ln() - top).exp() * (l - mean).powi(2)).sum();
        (top + sum.ln(), mean, second / sum)
    }

    /// With what lies above `cut` spread to it and to infinity, and the mass that is then infinite.
    pub(super) fn capped(&self, cut: f64) -> (Self, f64) {
        let small = self.atoms.partition_point(|(l, _)| *l < cut);
        let (mut at_cut, mut infinite) = (0.0, 0.0);
        for (l, m) in &self.atoms[small..] {
            at_cut += m * (cut - l).exp();
            infinite -= m * (cut - l).exp_m1();
        }
        let mut atoms = self.atoms[..small].to_vec();
        if at_cut > 0.0 {
            atoms.push((cut, at_cut));
        }
        (Self { atoms, count: self.count }, infinite)
    }

    /// Merged to atoms whose losses differ by a tenth: enough for a guess.
    fn thinned(&self) -> Self {
        let mut atoms: Vec<(f64, f64)> = Vec::new();
        for (l, m) in &self.atoms {
            match atoms.last_mut() {
                Some((last, mass)) if (l - *last).abs() < 0.05 * (l.abs() + last.abs()) => {
                    (*last, *mass) = ((*last * *mass + l * m) / (*mass + m), *mass + m);
                }
                _ => atoms.push((*l, *m)),
            }
        }
        Self { atoms, count: self.count }
    }

    /// `ln E[exp(t L)]` of one step.
    fn ln_moment(&self, t: f64) -> f64 {
        let top = if t < 0.0 { self.atoms.first() } else { self.atoms.last() }.map_or(0.0, |a| t * a.0);
        let excess: f64 = self.atoms.iter().map(|(l, m)| m * (t * l - top).exp()).sum();
        top + excess.ln()
    }

    /// The loss about which most of the mass sits, given the lattice
    /// step: where a lattice point belongs.
    pub(super) fn bulk(&self, step: f64) -> f64 {
        bulk(self.atoms.iter().copied(), step)
    }

    /// Length of the interval that holds all but a part `rest / count` of the tilted mass.
    pub(super) fn range(&self, t: f64, rest: f64) -> f64 {
        let ln_moment = self.cumulant(t).0;
        let common = |(l, m): &&(f64, f64)| (t * l + m.ln() - ln_moment).exp() > rest / self.count;
        let first = self.atoms.iter().find(common);
        let last = self.atoms.iter().rev().find(common);
        first.zip(last).map_or(0.0, |(a, b)| b.0 - a.0)
    }

    /// How many of all releases have a loss of size above `bulk`, in the tilted distribution.
    pub(super) fn jumps(&self, t: f64, bulk: f64) -> f64 {
        let ln_moment = self.cumulant(t).0;
        let above = self.atoms.iter().filter(|(l, _)| l.abs() >= bulk);
        self.count * above.map(|(l, m)| m * (t * l - ln_moment).exp()).sum::<f64>()
    }

    /// Variance that a lattice of this step and offset adds to one tilted step, about.
    fn spread(&self, t: f64, step: f64, offset: f64) -> f64 {
        let top = self.atoms.iter().map(|(l, m)| t * l + m.ln()).fold(f64::MIN, f64::max);
        let (mut sum, mut spread) = (0.0, 0.0);
        for (l, m) in &self.atoms {
            let w = (t * l + m.ln() - top).exp();
            sum += w;
            spread += w * ((l - offset).abs() * step).min(step * step / 6.0);
        }
        spread / sum
    }
}

/// `ln(P / Q)` of the losses in the interval of length `step` that holds most
/// mass. Atoms come in rising order.
pub(super) fn bulk(atoms: impl Iterator<Item = (f64, f64)> + Clone, step: f64) -> f64 {
    let (mut first, mut mass) = (atoms.clone(), 0.0);
    let mut lowest = first.next();
    let mut best = (0.0, 0.0, 0.0); // mass, from, to
    for (loss, m) in atoms.clone() {
        mass += m;
        while let Some((l, m)) = lowest.filter(|(l, _)| loss - l > step) {
            debug_assert!(l <= loss);
            mass -= m;
            lowest = first.next();
        }
        if let Some((from, _)) = lowest.filter(|_| mass > best.0) {
            best = (mass, from, loss);
        }
    }
    let (_, from, to) = best;
    let near = atoms.filter(|(l, _)| (from..=to).contains(l));
    let (p, excess) = near.fold((0.0, 0.0), |(p, e), (l, m)| (p + m, e - m * (from - l).exp_m1()));
    if p > 0.0 { from - (-(excess / p)).ln_1p() } else { from }
}

/// Where the composition's mass matters for the question at hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Saddle {
    pub(super) tilt: f64,
    pub(super) epsilon: f64,
    pub(super) ln_delta: f64,
    pub(super) deviation: f64,
}

/// Rényi view of the composition at order `t + 1`: (cumulant, mean, variance).
fn total(sketches: &[Sketch], t: f64) -> (f64, f64, f64) {
    sketches.iter().fold((0.0, 0.0, 0.0), |(k, m, v), s| {
        let (ck, cm, cv) = s.cumulant(t);
        (k + s.count * ck, m + s.count * cm, v + s.count * cv)
    })
}

/// The constant of the conversion from Rényi divergence (Canonne, Kamath, Steinke, *The Discrete
/// Gaussian for Differential Privacy*, 2020, Proposition 12) at order `t + 1`.
fn conversion(t: f64) -> f64 {
    t * t.ln() - (t + 1.0) * t.ln_1p()
}

/// `epsilon` at `delta`, about and rather too large: the least Rényi bound over all ways of
/// treating losses above some `cut` as infinite.
pub(super) fn guess(sketches: &[Sketch], delta: f64) -> f64 {
    let sketches: Vec<Sketch> = sketches.iter().map(Sketch::thinned).collect();
    let mut cut = sketches.iter().filter_map(|s| s.atoms.last()).map(|a| a.0).fold(0.0, f64::max) * 1.001;
    let (mut best, mut near) = (f64::INFINITY, None);
    for _ in 0..200 {
        let (capped, infinite) = capped(&sketches, cut);
        if infinite >= 0.95 * delta || cut == 0.0 {
            break;
        }
        let ln_delta = (delta - infinite).ln();
        let ln_moment = |t: f64| capped.iter().map(|s| s.count * s.ln_moment(t)).sum::<f64>();
        let cost = |t: f64| (ln_moment(t) + conversion(t) - ln_delta) / t;
        let tilt = minimise(cost, near);
        let epsilon = cost(tilt).max(0.0);
        // No jump is then too large to be on the lattice.
        if epsilon > 1.5 * best || epsilon == 0.0 {
            return best.min(epsilon);
        }
        best = best.min(epsilon);
        near = Some(tilt.ln());
        cut *= 0.8;
    }
    best
}

/// All sketches capped, and the mass that is then infinite in the composition.
pub(super) fn capped(sketches: &[Sketch], cut: f64) -> (Vec<Sketch>, f64) {
    let mut ln_finite = 0.0;
    let capped = sketches
        .iter()
        .map(|s| {
            let (capped, infinite) = s.capped(cut);
            ln_finite += s.count * (-infinite.min(1.0)).ln_1p();
            capped
        })
        .collect();
    (capped, -f64::exp_m1(ln_finite))
}

/// How far the sum of all losses may fall below 0, but for one case in
/// `e^18` of the other distribution.
pub(super) fn depth(sketches: &[Sketch]) -> f64 {
    let sketches: Vec<Sketch> = sketches.iter().map(Sketch::thinned).collect();
    let ln_moment = |u: f64| sketches.iter().map(|s| s.count * s.ln_moment(-1.0 - u)).sum::<f64>();
    let depth = |u: f64| (ln_moment(u).max(0.0) + 18.0) / u;
    depth(minimise(depth, None))
}

/// The order that matters for `delta` at `epsilon`.
pub(super) fn saddle(sketches: &[Sketch], epsilon: f64) -> Saddle {
    let cost = |t: f64| total(sketches, t).0 - t * epsilon + conversion(t);
    let tilt = minimise(cost, None);
    let (_, _, variance) = total(sketches, tilt);
    Saddle { tilt, epsilon, ln_delta: cost(tilt).min(0.0), deviation: variance.sqrt() }
}

/// Scan and golden-section search over `ln t`; the curves may have two valleys. The scan is short
/// if the place is known to be `near` some `ln t`.
fn minimise(cost: impl Fn(f64) -> f64, near: Option<f64>) -> f64 {
    let (from, steps) = near.map_or((-22.0, 60), |u| (u - 1.0, 4));
    let scan =
        (0..=steps).map(|i| from + f64::from(i)).map(|u| (cost(u.exp()), u)).filter(|(c, _)| c.is_finite());
    let best = scan.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(0.0, |(_, u)| u);
    let (mut low, mut high) = (best - 1.0, best + 1.0);
    for _ in 0..if near.is_some() { 6 } else { 12 } {
        let (a, b) = (low + 0.382 * (high - low), low + 0.618 * (high - low));
        if cost(a.exp()) <= cost(b.exp()) { high = b } else { low = a }
    }
    (0.5 * (low + high)).exp()
}

/// The largest step whose two ends differ by about `tolerance` in epsilon.
pub(super) fn lattice_step(sketches: &[Sketch], saddle: &Saddle, tolerance: f64) -> f64 {
    let gap = |step: f64| {
        let variance: f64 =
            sketches.iter().map(|s| s.count * s.spread(saddle.tilt, step, s.bulk(step))).sum();
        (saddle.tilt + 1.0) * variance
    };
    // A shift of one step a release is the most that can happen at all.
    let releases: f64 = sketches.iter().map(|s| s.count).sum();
    let (mut low, mut high) = ((tolerance / releases).ln(), (0.5 / saddle.tilt).ln());
    if gap(high.exp()) <= tolerance || high <= low {
        return high.exp();
    }
    for _ in 0..16 {
        let middle = 0.5 * (low + high);
        if gap(middle.exp()) <= tolerance { low = middle } else { high = middle }
    }
    low.exp()
}
