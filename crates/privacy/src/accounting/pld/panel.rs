//! Walks through the outcomes of a pair in rising order of the privacy loss, a panel at a time.
//!
//! # Definition
//! A panel is a set of outcomes whose losses lie in `[low, high]`, with
//! ```text
//! mass   = P[panel]
//! excess = E_P[1 - exp(low - L); panel]
//! ```
//! These two numbers are all that both certified ends need (see `lattice`). Smooth parts are
//! integrated by Gauss-Legendre sums of three or five points over panels so narrow that the rule's
//! error term (Abramowitz and Stegun, *Handbook of Mathematical Functions*, 1964, 25.4.30) is below
//! 5e-14 of the panel, and in far tails, where high derivatives are large, below 1e-12; every
//! integrand is positive, so nothing cancels. `error` bounds the relative error of mass and excess.

use super::pair::{Base, Pair, View};

/// Outcomes whose losses are close together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Panel {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) mass: f64,
    pub(super) excess: f64,
    pub(super) error: f64,
}

impl Panel {
    /// Share of the mass that goes to the high end when the panel is spread to its ends.
    pub(super) fn above(&self) -> f64 {
        let room = -(self.low - self.high).exp_m1();
        let excess = self.excess / self.mass * (1.0 + 2.0 * self.error);
        if excess < room { excess / room } else { 1.0 }
    }

    /// With all losses changed by `by`.
    pub(super) fn moved(&self, by: f64) -> Self {
        Self { low: self.low + by, high: self.high + by, ..*self }
    }

    /// `ln(P / Q)` of the panel, with its excess scaled by `factor`.
    pub(super) fn loss(&self, factor: f64) -> f64 {
        let share = (factor * self.excess / self.mass).clamp(0.0, 1.0);
        (self.low - (-share).ln_1p()).min(self.high)
    }
}

/// What is left of a pair outside the panels.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ends {
    /// Bound on the mass of losses below the first panel.
    pub(super) left: f64,
    /// Bound on the mass of losses above the last panel, infinite ones included.
    pub(super) right: f64,
}

/// Error of a computed loss relative to the largest loss of its pair; all losses of the pair are
/// moved outward by it. (It also covers the rounding of `loss - low` in an excess, which acts like
/// a loss that is off by the same amount.)
pub(super) const LOSS_ERROR: f64 = 3e-14;
/// What is done with a panel; false stops the walk.
pub(super) type Visit<'a> = &'a mut dyn FnMut(Panel) -> bool;
/// How wide a panel may be in loss, given `(ln P, loss)` at its left end.
pub(super) type Width<'a> = &'a dyn Fn(f64, f64) -> f64;
const UNIT: f64 = f64::EPSILON / 2.0;

/// `ln P` below which a panel lies in a far tail.
const FAR: f64 = -20.0;
/// Gauss-Legendre nodes on [-1, 1] and weights that add up to 1.
const FIVE_NODES: [(f64, f64); 5] = [
    (-0.906_179_845_938_664, 0.118_463_442_528_094_54),
    (-0.538_469_310_105_683_1, 0.239_314_335_249_683_24),
    (0.0, 0.284_444_444_444_444_44),
    (0.538_469_310_105_683_1, 0.239_314_335_249_683_24),
    (0.906_179_845_938_664, 0.118_463_442_528_094_54),
];
const THREE_NODES: [(f64, f64); 3] =
    [(-0.774_596_669_241_483_4, 5.0 / 18.0), (0.0, 4.0 / 9.0), (0.774_596_669_241_483_4, 5.0 / 18.0)];

impl Pair {
    /// Visits every panel, none wider in loss than `width` says. Tails of mass at most `left` and
    /// `right` are left out and reported.
    pub(super) fn walk(&self, width: Width, left: f64, right: f64, visit: Visit) -> Ends {
        match &self.base {
            Base::Gaussian { mu } => {
                let (low, high) = gaussian_range(*mu, self.rate, self.view, left, right);
                let stride = |x: f64| {
                    let far = x.abs().max((x - mu).abs()).max(if self.view == View::Remove {
                        0.0
                    } else {
                        (x + mu).abs()
                    });
                    (0.25 / (1.0 + far / 3.0)).min(0.25 / mu)
                };
                self.march(low, high, width, &stride, visit);
                Ends { left, right }
            }
            Base::Crowd(crowd) => self.walk_crowd(crowd, width, left, right, visit),
            Base::Laplace { epsilon } => {
                self.walk_laplace(*epsilon, width, visit);
                Ends::default()
            }
            Base::DiscreteGaussian { sigma, shift, .. } => {
                let (low, high) =
                    gaussian_range(shift / sigma, self.rate, self.view, left / 2.0, right / 2.0);
                // A discrete tail is at most the continuous one's bound
                // with one more step on each side.
                let (low, high) = ((low * sigma).floor() - 2.0, (high * sigma).ceil() + 2.0);
                self.walk_integers(low, high, visit);
                Ends { left, right }
            }
            Base::DiscreteLaplace { scale, shift } => self.walk_discrete_laplace(*scale, *shift, visit),
            Base::Atoms { outcomes, .. } => {
                for i in 0..outcomes.len() {
                    self.atom(i as f64, 0.0, visit);
                }
                Ends { left: 0.0, right: self.singular() }
            }
        }
    }

    fn walk_laplace(&self, epsilon: f64, width: Width, visit: Visit) {
        let stride = |_: f64| 0.12;
        // Beyond the shifts the loss is constant and the mass is that of an exponential tail,
        // which is the density at the cut.
        let low = if self.view == View::Remove { 0.0 } else { -epsilon };
        let high = if self.view == View::Add { 0.0 } else { epsilon };
        self.atom(low, 0.0, visit);
        if low < 0.0 {
            self.march(low, 0.0, width, &stride, visit);
        }
        if high > 0.0 {
            self.march(0.0, high, width, &stride, visit);
        }
        self.atom(high, 0.0, visit);
    }

    fn walk_discrete_laplace(&self, scale: f64, shift: f64, visit: Visit) -> Ends {
        let low = if self.view == View::Remove { 0.0 } else { -shift };
        let high = if self.view == View::Add { 0.0 } else { shift };
        // All integers at or beyond a shift share one loss: a geometric
        // tail, 1 / (1 - r) times its head.
        let tail = -(-(-1.0 / scale).exp_m1()).ln();
        self.atom(low, tail, visit);
        self.walk_integers(low + 1.0, high - 1.0, visit);
        if high > low {
            self.atom(high, tail, visit);
        }
        Ends::default()
    }

    fn walk_integers(&self, low: f64, high: f64, visit: Visit) {
        let mut k = low;
        while k <= high && self.atom(k, 0.0, visit) {
            k += 1.0;
        }
    }

    /// One outcome, or several of the same loss whose masses add up to
    /// `exp(ln_factor)` times this one's.
    pub(super) fn atom(&self, x: f64, ln_factor: f64, visit: Visit) -> bool {
        let (ln_p, loss) = self.at(x);
        let mass = (ln_p + ln_factor).exp();
        mass == 0.0 || visit(Panel { low: loss, high: loss, mass, excess: 0.0, error: rounding(ln_p, loss) })
    }

    /// Panels from `low` to `high`, each at most `stride(x)` wide in `x` and `width` in loss.
    pub(super) fn march(&self, low: f64, high: f64, width: Width, stride: &dyn Fn(f64) -> f64, visit: Visit) {
        let mut x = low;
        let mut here = self.at(x);
        let mut step = stride(x);
        while x < high {
            let (most, room) = (stride(x), width(here.0, here.1));
            step = step.min(most);
            let mut next = x + step;
            if high - next < 0.01 * step {
                next = high;
            }
            let mut there = self.at(next);
            // Narrow until the loss rises by no more than it may; usually the first
            // guess fits. (A wider panel than asked for is still correct, so this may
            // stop at the resolution of `x`.)
            while there.1 - here.1 > room && step > 1e-13 * (1.0 + x.abs()) {
                step = (next - x) * 0.9 * room / (there.1 - here.1);
                next = x + step;
                there = self.at(next);
            }
            if !visit(self.panel((x, here.1), (next, there.1), next - x < most / 12.0)) {
                return;
            }
            let rise = there.1 - here.1;
            if rise < 0.7 * room {
                step = if rise > 0.0 { step * (0.95 * room / rise).min(8.0) } else { most };
            }
            x = next;
            here = there;
        }
    }

    /// The panel between two points `(x, loss)`; three nodes are enough for a `narrow` one.
    fn panel(&self, (from, low): (f64, f64), (to, high): (f64, f64), narrow: bool) -> Panel {
        let (middle, length) = (0.5 * (from + to), to - from);
        let (mut mass, mut excess, mut error) = (0.0, 0.0, 5e-14_f64);
        for (node, weight) in if narrow { &THREE_NODES[..] } else { &FIVE_NODES[..] } {
            let (ln_p, loss) = self.at(middle + 0.5 * length * node);
            let p = weight * ln_p.exp();
            mass += p;
            excess += p * -(low - loss).min(0.0).exp_m1();
            error = error.max(rounding(ln_p, loss) + if ln_p < FAR { 1e-12 } else { 5e-14 });
        }
        Panel { low, high, mass: mass * length, excess: excess * length, error }
    }
}

/// Relative error of `exp(ln_p)`: the exponent's own rounding, and a few operations.
fn rounding(ln_p: f64, loss: f64) -> f64 {
    (ln_p.abs() + 2.0 * loss.abs() + 16.0) * 4.0 * UNIT
}

/// Where the losses of a (mixture of) Gaussian pair are walked: outside,
/// `P` has at most the given masses.
fn gaussian_range(mu: f64, rate: f64, view: View, left: f64, right: f64) -> (f64, f64) {
    // P[N > z] <= exp(-z^2 / 2) / 2 for z >= 0.
    let z = |tail: f64| (2.0 * (0.5 / tail).ln().max(0.0)).sqrt();
    match view {
        View::Add => (-z(left), z(right)),
        View::Remove | View::Replace if rate == 1.0 => (mu - z(left), mu + z(right)),
        View::Remove | View::Replace => {
            (-z(left), z(right / 2.0).max(mu + z((right / (2.0 * rate)).min(0.5))))
        }
    }
}
