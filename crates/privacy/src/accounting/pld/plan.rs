//! How one evaluation is made: tilt, lattice and tails, and the parts that follow from them.
//!
//! The choices come from a rough picture; none of them can make an answer wrong, only wide.

use super::lattice::{Merger, Spreader};
use super::pair::Pair;
use super::panel::{Ends, LOSS_ERROR, Panel};
use super::sketch::bulk;
use super::tilted::Tilted;

/// Most panels of one step: a second's work.
const MOST_PANELS: usize = 1_000_000;

/// Public choices for one evaluation.
pub(super) struct Plan {
    pub(super) tilt: f64,
    pub(super) step: f64,
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
    /// The lattice could not be made as fine as asked.
    pub(super) limited: bool,
}

impl Plan {
    /// Panels of half a lattice step, and wider ones where there is little tilted mass to be moved by it.
    /// `None` where that would be too many.
    pub(super) fn panels(&self, pair: &Pair, ln_moment: f64) -> Option<(Vec<Panel>, Ends)> {
        let finest = 0.5 * self.step;
        let width = |ln_p: f64, loss: f64| {
            // How rare, in nats of tilted probability.
            let nats = ln_moment - self.tilt * loss - ln_p;
            // Within a panel the tilt must not change much, except where nothing is near.
            let widest = self.widest.max((nats - 40.0) / self.tilt);
            (finest * 0.25 * (0.5 * nats).min(40.0).exp()).clamp(finest, finest.max(widest))
        };
        let mut panels = Vec::new();
        let mut keep = |panel| {
            panels.push(panel);
            panels.len() < MOST_PANELS
        };
        let ends = pair.walk(&width, self.left, self.right, &mut keep);
        // All of the mass must be there: what was not walked through, or was lost, must not look free.
        let mass: f64 = panels.iter().map(|p| p.mass).sum();
        let whole = (mass + ends.left + ends.right - 1.0).abs() < 1e-9;
        (panels.len() < MOST_PANELS && whole).then_some((panels, ends))
    }

    pub(super) fn above(
        &self,
        panels: &[Panel],
        ends: Ends,
        anchor: f64,
        ln_moment: f64,
        count: u64,
    ) -> Tilted {
        let (kept, dropped) = self.trimmed(panels, ln_moment, count);
        let low = kept.first().map_or(0.0, |p| p.low);
        let high = kept.last().map_or(0.0, |p| p.high);
        let mut out = Spreader::new(anchor, self.step, low, high);
        kept.iter().for_each(|p| out.panel(p));
        let lowest_of_all = kept.len() == panels.len() || panels.first().map(|p| p.low) == Some(low);
        if ends.left > 0.0 && lowest_of_all {
            out.atom(low, ends.left); // smaller losses, moved up to the first that is kept
        }
        let mut lattice = out.finish();
        lattice.offset += shift(panels);
        let mut tilted = Tilted::new(&lattice, self.tilt);
        let unwalked = if lowest_of_all { 0.0 } else { ends.left * (self.tilt * low - ln_moment).exp() };
        // `dropped` is relative to the rough moment; a factor covers its distance from the exact one.
        tilted.slack += 1.1 * (dropped + unwalked) * (ln_moment - tilted.ln_scale).exp().max(1.0);
        tilted
    }

    pub(super) fn below(&self, panels: &[Panel], anchor: f64, ln_moment: f64, count: u64) -> Tilted {
        let mut out = Merger::new(anchor, self.step);
        self.trimmed(panels, ln_moment, count).0.iter().for_each(|p| out.panel(p));
        let mut lattice = out.finish();
        lattice.offset -= shift(panels);
        Tilted::new(&lattice, self.tilt)
    }

    /// Without the panels at both ends that hold next to no tilted mass, and the mass that they hold.
    fn trimmed<'a>(&self, panels: &'a [Panel], ln_moment: f64, count: u64) -> (&'a [Panel], f64) {
        let budget = self.rare / count as f64;
        let tilted = |p: &Panel| p.mass * (1.0 + p.error) * (self.tilt * p.high - ln_moment).exp();
        let rare = |panels: &mut dyn Iterator<Item = &Panel>| {
            let (mut sum, mut cells) = (0.0, 0);
            for p in panels {
                let more = tilted(p);
                if sum + more > budget || more.is_nan() {
                    break;
                }
                (sum, cells) = (sum + more, cells + 1);
            }
            (sum, cells)
        };
        let (right, at_right) = rare(&mut panels.iter().rev());
        let (left, at_left) = rare(&mut panels.iter().take(panels.len() - at_right));
        (&panels[at_left..panels.len() - at_right], left + right)
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
