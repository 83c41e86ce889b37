//! Privacy-loss distributions on a lattice, one certified from above and one from below.
//!
//! # Definition
//! Losses are `offset + step * k`. The upper object spreads the mass of a panel to the two ends
//! of an interval around it, keeping `P` and `Q = E[exp(-L)]`: a spread in the order of
//! likelihood ratios, so the result dominates (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi,
//! *Connect the Dots: Tighter Discrete Approximations of Privacy Loss Distributions*, 2022).
//! The lower object merges outcomes until the merged likelihood ratio lies on the lattice: what
//! an observer sees who is told only the bin, a post-processing, so the result is dominated.
//! Both keep the mean of `exp(-L)`, so both are wrong by a variance of order `step^2` only, and
//! stay on their side under composition.
//! # Pitfalls
//! - Rounding single losses up or down is an error of order `step` a release, not `step^2`.
//! - Almost all of a rarely sampled step's mass sits at one loss close to 0. The offset puts a
//!   lattice point there; without it merging would move that mass down by a whole step, every time.
//! - Steps that are taken 2^53 times may need lattices that memory cannot hold, or whose cells have
//!   no numbers. There is none then: `None`, and nothing is said about the step.

use super::panel::Panel;

/// Masses of the losses `offset + step * (first + i)`; a sub-probability.
#[derive(Clone, Debug)]
pub(super) struct Lattice {
    pub(super) offset: f64,
    pub(super) step: f64,
    pub(super) first: i64,
    pub(super) mass: Vec<f64>,
}

/// Most cells of a lattice: 128 MiB of masses.
const MOST_CELLS: f64 = (1u64 << 24) as f64;
/// Cells beyond it are not numbered: sums of two numbers must fit `i64`.
const FARTHEST_CELL: f64 = (1u64 << 61) as f64;
/// Room for the rounding of merged losses, relative to the largest one.
const ROUNDING: f64 = 4e-15;

/// The first cell and the number of cells for losses in `[low, high]`, with some to spare on both
/// sides. `None` where they are too many, or too far out to be numbered.
fn cells(offset: f64, step: f64, low: f64, high: f64) -> Option<(i64, usize)> {
    let room = ROUNDING * low.abs().max(high.abs());
    let first = ((low - room - offset) / step).floor() - 2.0;
    let last = ((high + room - offset) / step).ceil() + 3.0;
    // What is not a number is neither below nor above.
    let is_fine =
        -FARTHEST_CELL <= first && first <= last && last <= FARTHEST_CELL && last - first < MOST_CELLS;
    is_fine.then(|| (first as i64, (last - first) as usize + 1))
}

/// Collects panels, in rising order, into the upper object.
pub(super) struct Spreader {
    lattice: Lattice,
    spacing: f64, // 1 - exp(-step)
}

impl Spreader {
    /// For losses in `[low, high]`; `None` if no lattice of this step holds them.
    pub(super) fn new(offset: f64, step: f64, low: f64, high: f64) -> Option<Self> {
        let (first, cells) = cells(offset, step, low, high)?;
        let lattice = Lattice { offset, step, first, mass: vec![0.0; cells] };
        Some(Self { lattice, spacing: -(-step).exp_m1() })
    }

    /// Spreads a panel to its own ends, and these to the lattice.
    pub(super) fn panel(&mut self, panel: &Panel) {
        let mass = panel.mass * (1.0 + panel.error);
        let above = panel.above().min(1.0) * mass;
        self.atom(panel.high, above);
        if above < mass {
            self.atom(panel.low, mass - above);
        }
    }

    /// Spreads one loss to its two neighbours on the lattice.
    pub(super) fn atom(&mut self, loss: f64, mass: f64) {
        let at = (loss - self.lattice.offset) / self.lattice.step;
        let below = at.floor();
        let share = (-((below - at) * self.lattice.step).exp_m1() / self.spacing).clamp(0.0, 1.0);
        // A computed loss beyond the ends is off by no more than what all losses are
        // moved up by (see `plan::shift`).
        let i = (below as i64).saturating_sub(self.lattice.first).max(0) as usize;
        let i = i.min(self.lattice.mass.len() - 2);
        self.lattice.mass[i] += mass * (1.0 - share);
        self.lattice.mass[i + 1] += mass * share;
    }

    pub(super) fn finish(self) -> Lattice {
        self.lattice.trimmed()
    }
}

/// Collects panels, in rising order, and merges them into the lower object.
pub(super) struct Merger {
    offset: f64,
    step: f64,
    atoms: Vec<(f64, f64)>, // (loss, mass)
}

/// What merging made.
pub(super) struct Merged {
    pub(super) lattice: Lattice,
    /// No outcome was moved up by more.
    pub(super) lift: f64,
}

/// Steps beyond which merging gains nothing.
const WIDE: f64 = 1.0;

impl Merger {
    pub(super) fn new(offset: f64, step: f64) -> Self {
        Self { offset, step, atoms: Vec::new() }
    }

    /// Merges a panel into one atom at `ln(P / Q)` of the panel.
    pub(super) fn panel(&mut self, panel: &Panel) {
        let mass = panel.mass * (1.0 - panel.error);
        if mass > 0.0 {
            self.atom(panel.loss(1.0 - 2.0 * panel.error), mass);
        }
    }

    /// In any order.
    pub(super) fn atom(&mut self, loss: f64, mass: f64) {
        self.atoms.push((loss, mass));
    }

    /// Fills bins from both ends inward (outward filling would let a bin's phase drift). What is
    /// left where they meet is merged with a neighbour or rounded down by up to a step, so they
    /// meet where there is least mass. `None` if no lattice of this step holds the losses.
    pub(super) fn finish(self) -> Option<Lattice> {
        Some(self.merged()?.lattice)
    }

    pub(super) fn merged(mut self) -> Option<Merged> {
        let (offset, step) = (self.offset, self.step);
        // The atom of a lottery's bulk is put where it belongs, which may be among
        // smaller losses than those before it.
        self.atoms.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (Some(lowest), Some(highest)) = (self.atoms.first(), self.atoms.last()) else {
            let lattice = Lattice { offset, step, first: 0, mass: vec![0.0] };
            return Some(Merged { lattice, lift: 0.0 });
        };
        let (first, cells) = cells(offset, step, lowest.0, highest.0)?;
        let mut mass = vec![0.0; cells];
        let place = |mass: &mut Vec<f64>, bin: f64, m: f64| mass[(bin as i64 - first) as usize] += m;

        if step > WIDE {
            // `Q` of a merged bin is that of its lowest loss: rounding
            // each loss down loses no more.
            self.atoms.iter().for_each(|(loss, m)| place(&mut mass, ((loss - offset) / step).floor(), *m));
            return Some(Merged { lattice: Lattice { offset, step, first, mass }.trimmed(), lift: 0.0 });
        }
        let meeting = self.meeting_point();
        let (mut left, mut right) = (self.atoms, Vec::new());
        if let Some(at) = left.iter().position(|a| a.0 >= meeting) {
            right = left.split_off(at);
        }
        left.reverse(); // both lists are taken from their ends
        let (mut rest, mut lift) = (Vec::new(), 0.0);
        while let Some(&(loss, _)) = right.last() {
            let bin = ((loss - offset) / step).floor();
            fill(&mut right, offset + step * bin, 1.0, &mut rest, &mut lift)
                .into_iter()
                .for_each(|m| place(&mut mass, bin, m));
        }
        while let Some(&(loss, _)) = left.last() {
            let bin = ((loss - offset) / step).ceil();
            fill(&mut left, offset + step * bin, -1.0, &mut rest, &mut lift)
                .into_iter()
                .for_each(|m| place(&mut mass, bin, m));
        }
        if let Some((loss, m)) = merged(&rest) {
            let bin = ((loss - offset) / step).floor();
            // From the lowest that was left over; a bin below that spares
            // some moves it up by a step.
            let lowest = rest.iter().map(|a| a.0).fold(f64::INFINITY, f64::min);
            lift = lift.max(offset + step * bin - lowest).max(lift + step);
            let i = (bin as i64 - first) as usize;
            // Where the bin below can spare enough to bring the remainder down
            // to the lattice exactly, it does.
            let needed = m * -(offset + step * bin - loss).exp_m1() / step.exp_m1();
            if i > 0 && needed > 0.0 && mass[i - 1] > needed {
                mass[i - 1] -= needed;
                mass[i] += m + needed;
            } else {
                mass[i] += m;
            }
        }
        mass.iter_mut().for_each(|m| *m *= 1.0 - 8.0 * f64::EPSILON);
        Some(Merged { lattice: Lattice { offset, step, first, mass }.trimmed(), lift })
    }

    /// Left end of the step with the least mass, inside the range of losses.
    fn meeting_point(&self) -> f64 {
        let mut least = (f64::INFINITY, f64::INFINITY);
        let mut cell = (f64::NEG_INFINITY, 0.0);
        for (loss, mass) in &self.atoms {
            let here = ((loss - self.offset) / self.step).floor();
            if here == cell.0 {
                cell.1 += mass;
            } else {
                if cell.1 < least.0 && cell.0.is_finite() {
                    least = (cell.1, cell.0);
                }
                cell = (here, *mass);
            }
        }
        if cell.1 < least.0 {
            least = (cell.1, cell.0);
        }
        self.offset + self.step * least.1
    }
}

/// Takes atoms from the end of the list until `P - exp(target) Q` of what was taken is 0, and
/// returns their mass. `side` is 1 if the list ends above the target, -1 if below. If the list ends
/// before, what was taken goes to `rest`. `lift` keeps the farthest that anything was moved up.
fn fill(
    atoms: &mut Vec<(f64, f64)>,
    target: f64,
    side: f64,
    rest: &mut Vec<(f64, f64)>,
    lift: &mut f64,
) -> Option<f64> {
    let (mut taken, mut surplus) = (0.0, 0.0);
    let begun = rest.len();
    while let Some((loss, mass)) = atoms.pop() {
        *lift = lift.max(target - loss);
        let worth = -side * (target - loss).exp_m1(); // (P - exp(target) Q) / P, on this side positive
        if worth < 0.0 && taken > 0.0 && surplus + mass * worth <= 0.0 {
            let part = (surplus / -worth).min(mass);
            if part < mass {
                atoms.push((loss, mass - part));
            }
            rest.truncate(begun);
            return Some(taken + part);
        }
        taken += mass;
        // The first atom belongs to the bin even where rounding says that it lies an ulp outside.
        surplus = (surplus + mass * worth).max(0.0);
        if surplus == 0.0 {
            rest.truncate(begun);
            return Some(taken);
        }
        rest.push((loss, mass));
    }
    None
}

/// All atoms in one, at `ln(P / Q)`.
fn merged(atoms: &[(f64, f64)]) -> Option<(f64, f64)> {
    let about = atoms.iter().map(|a| a.0).reduce(f64::min)?;
    let mass: f64 = atoms.iter().map(|a| a.1).sum();
    let share: f64 = atoms.iter().map(|(loss, m)| -m * (about - loss).exp_m1()).sum::<f64>() / mass;
    Some((about - (-share).ln_1p() - 1e-15 * about.abs(), mass))
}

impl Lattice {
    /// Loss of entry `i`.
    pub(super) fn loss(&self, i: usize) -> f64 {
        self.offset + self.step * (self.first + i as i64) as f64
    }

    /// Without the empty cells at both ends.
    fn trimmed(mut self) -> Self {
        let used = |m: &f64| *m > 0.0;
        let Some(from) = self.mass.iter().position(used) else {
            self.mass.truncate(1);
            return self;
        };
        let to = self.mass.iter().rposition(used).unwrap_or(from);
        self.mass.truncate(to + 1);
        self.mass.drain(..from);
        self.first += from as i64;
        self
    }
}
