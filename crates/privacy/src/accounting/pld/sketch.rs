//! A rough picture of a composition, to choose tilt, lattice step and tails before any exact work.
//!
//! Nothing here needs to be certified: a bad choice makes the certified interval wider, never wrong.

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

    /// The loss about which most of the mass sits, given the lattice step: where a lattice point belongs.
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

/// `ln(P / Q)` of the losses within half a step of the median.
pub(super) fn bulk(atoms: impl Iterator<Item = (f64, f64)> + Clone, step: f64) -> f64 {
    let total: f64 = atoms.clone().map(|a| a.1).sum();
    let mut seen = 0.0;
    let median = atoms
        .clone()
        .find(|(_, m)| {
            seen += m;
            seen >= 0.5 * total
        })
        .map_or(0.0, |a| a.0);
    let near = atoms.filter(|(l, _)| (l - median).abs() < 0.5 * step);
    let (p, excess) = near.fold((0.0, 0.0), |(p, e), (l, m)| (p + m, e - m * (median - l).exp_m1()));
    if p > 0.0 { median - (-(excess / p)).ln_1p() } else { median }
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

/// The constant of the conversion from Rényi divergence (Canonne, Kamath, Steinke, *The Discrete Gaussian
/// for Differential Privacy*, 2020, Proposition 12) at order `t + 1`.
fn conversion(t: f64) -> f64 {
    t * t.ln() - (t + 1.0) * t.ln_1p()
}

/// The order that matters when `delta` is given.
pub(super) fn saddle_for_delta(sketches: &[Sketch], ln_delta: f64) -> Saddle {
    let cost = |t: f64| (total(sketches, t).0 + conversion(t) - ln_delta) / t;
    let tilt = minimise(cost);
    let (_, _, variance) = total(sketches, tilt);
    Saddle { tilt, epsilon: cost(tilt), ln_delta, deviation: variance.sqrt() }
}

/// The order that matters when `epsilon` is given.
pub(super) fn saddle_for_epsilon(sketches: &[Sketch], epsilon: f64) -> Saddle {
    let cost = |t: f64| total(sketches, t).0 - t * epsilon + conversion(t);
    let tilt = minimise(cost);
    let (_, _, variance) = total(sketches, tilt);
    Saddle { tilt, epsilon, ln_delta: cost(tilt).min(0.0), deviation: variance.sqrt() }
}

/// Scan and golden-section search over `ln t`; the curves may have two valleys.
fn minimise(cost: impl Fn(f64) -> f64) -> f64 {
    let scan = (-22..=24).map(f64::from).map(|u| (cost(u.exp()), u)).filter(|(c, _)| c.is_finite());
    let best = scan.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(0.0, |(_, u)| u);
    let (mut low, mut high) = (best - 1.0, best + 1.0);
    for _ in 0..12 {
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
