//! How one evaluation is made: tilt, lattice and tails, and the parts that follow from them.
//!
//! The choices come from a rough picture; none of them can make an answer wrong, only wide.

use super::jumps::Jumps;
use super::pair::Pair;
use super::panel::{Ends, LOSS_ERROR, Panel};
use super::parts::Scales;
use super::sketch::bulk;

/// Most panels of one step: a second's work.
const MOST_PANELS: usize = 1_000_000;

/// One step, walked through: the panels that go to the lattice, and the rest.
pub(super) struct Walk {
    pub(super) panels: Vec<Panel>,
    pub(super) left: f64,
    pub(super) jumps: Jumps,
}

impl Walk {
    fn new(mut panels: Vec<Panel>, ends: Ends, cut: f64) -> Self {
        let small = panels.partition_point(|p| p.low < cut).max(1).min(panels.len());
        let above = panels.split_off(small);
        let top = panels.last().map_or(0.0, |p| p.high);
        let jumps = Jumps::new(&above, top, shift(&above), ends);
        Self { left: ends.left, jumps, panels }
    }

    /// No loss on the lattice is larger.
    pub(super) fn largest(&self) -> f64 {
        self.panels.last().map_or(0.0, |p| p.high) + shift(&self.panels)
    }
}

/// Public choices for one evaluation.
pub(super) struct Plan {
    pub(super) tilt: f64,
    pub(super) step: f64,
    /// Larger losses are jumps (see `jumps`).
    pub(super) cut: f64,
    /// Two lattices instead of one (see `parts`).
    pub(super) scales: Option<Scales>,
    /// A delta that does not matter.
    pub(super) negligible: f64,
    /// Panels at outcomes of tilted density `e^-n` may be `grain e^(n/2)` wide:
    /// each then adds the same variance.
    pub(super) grain: f64,
    /// Widest panel, in loss: over it the tilt must not change much.
    pub(super) widest: f64,
    /// Masses of the tails that are not walked through.
    pub(super) left: f64,
    pub(super) right: f64,
    /// `ln E[exp(tilt L)]` of each step, about.
    pub(super) ln_moment: Vec<f64>,
    /// Cells of a transform that pay.
    pub(super) ring: f64,
    /// Tilted mass that may be left out at both ends.
    pub(super) rare: f64,
    /// Epsilon may well be 0.
    pub(super) doubtful: bool,
    /// The lattice could not be made as fine as asked.
    pub(super) limited: bool,
}

impl Plan {
    /// Panels of half a lattice step, and wider ones where there is little tilted mass to be moved
    /// by it. `None` where that would be too many.
    pub(super) fn walk(&self, pair: &Pair, ln_moment: f64) -> Option<Walk> {
        let width = |ln_p: f64, loss: f64| {
            if loss >= self.cut {
                return f64::INFINITY; // only the two masses of all jumps together are needed
            }
            let coarse = self.scales.filter(|s| loss >= s.bulk || loss <= -s.bulk).map_or(1.0, |s| s.factor);
            let finest = 0.5 * self.step * coarse;
            // How rare, in nats of tilted probability.
            let nats = ln_moment - self.tilt * loss - ln_p;
            // Within a panel the tilt must not change much, except where nothing is near.
            let widest = self.widest.max((nats - 40.0) / self.tilt);
            (self.grain * (0.5 * nats).min(40.0).exp()).clamp(finest, finest.max(widest))
        };
        let mut panels = Vec::new();
        let mut keep = |panel| {
            panels.push(panel);
            panels.len() < MOST_PANELS
        };
        let ends = pair.walk(&width, self.left, self.right, &mut keep);
        // All of the mass must be there: what was not walked through, or
        // was lost, must not look free.
        let mass: f64 = panels.iter().map(|p| p.mass).sum();
        let whole = (mass + ends.left + ends.right - 1.0).abs() < 1e-9;
        (panels.len() < MOST_PANELS && whole).then(|| Walk::new(panels, ends, self.cut))
    }

    /// Where a lattice point belongs: at the heaviest atom, or in the bulk of the mass.
    pub(super) fn anchor(&self, pair: &Pair, panels: &[Panel]) -> f64 {
        let heaviest = panels.iter().filter(|p| p.low == p.high).max_by(|a, b| a.mass.total_cmp(&b.mass));
        match heaviest {
            Some(atom) if pair.has_atoms() => atom.low,
            _ => bulk(panels.iter().map(|p| (p.loss(1.0), p.mass)), self.step),
        }
    }
}

/// By how much the losses of these panels may be off.
pub(super) fn shift(panels: &[Panel]) -> f64 {
    LOSS_ERROR * panels.iter().map(|p| p.low.abs().max(p.high.abs())).fold(0.0, f64::max)
}
