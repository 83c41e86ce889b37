//! From a composed distribution to `delta` at an `epsilon` and back.
//!
//! # Definition
//! With the tilted masses `p_k` at losses `l_k` (see `tilted`) and `S = exp(ln_scale)`,
//! ```text
//! delta(e) = infinite + S e^(-t e) sum over l_k > e of p_k (1 - e^(e - l_k)) e^(-t (l_k - e))     (1)
//! ```
//! An error of total size `slack` in the `p_k` moves the sum by at most `slack` times the largest
//! value of `(1 - e^-x) e^(-t x)`, which is `(t / (t + 1))^t / (t + 1)`; an error of `ripple` in
//! each of them by at most `ripple` times that plus the integral `1 / (t (t + 1))` over the lattice
//! step. To this comes `loose` (see `tilted`).

use super::jumps::Jumped;
use super::pair::End;
use super::tilted::Tilted;

/// One certified end of a privacy profile.
pub(super) struct Profile {
    composed: Tilted,
    rest: Rest,
    end: End,
    /// For each cell `c`: sums over the cells at or above it, relative to it: of
    /// `p e^(-(t+1)(l - l_c))` and of `p (1 - e^-(l - l_c)) e^(-t (l - l_c))`.
    sums: Vec<(f64, f64)>,
}

/// What a composition costs beside its lattice.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rest {
    /// At most this, at every epsilon.
    AtMost(f64),
    /// At least what jumps cost, and at least this mass of infinite loss, less what was forgotten.
    AtLeast { jumped: Jumped, infinite: f64, forgotten: f64 },
}

impl Rest {
    fn delta(self, epsilon: f64) -> f64 {
        match self {
            Self::AtMost(infinite) => infinite,
            Self::AtLeast { jumped, infinite, forgotten } => jumped.delta(epsilon).max(infinite) - forgotten,
        }
    }
}

impl Profile {
    pub(super) fn new(composed: Tilted, rest: Rest) -> Self {
        let end = if matches!(rest, Rest::AtMost(_)) { End::Upper } else { End::Lower };
        let (h, t) = (composed.step, composed.tilt);
        let (fade, both, gap) = ((-t * h).exp(), (-(t + 1.0) * h).exp(), -(-h).exp_m1());
        let mut sums = vec![(0.0, 0.0); composed.mass.len()];
        let (mut plain, mut excess) = (0.0, 0.0);
        for (c, m) in composed.mass.iter().enumerate().rev() {
            excess = fade * (excess + gap * plain);
            plain = m + both * plain;
            sums[c] = (plain, excess);
        }
        Self { composed, rest, end, sums }
    }

    fn loss(&self, cell: usize) -> f64 {
        self.composed.offset + self.composed.step * (self.composed.first + cell as i64) as f64
    }

    /// `delta` at `epsilon`, on this end's side.
    pub(super) fn delta(&self, epsilon: f64) -> f64 {
        let at = ((epsilon - self.composed.offset) / self.composed.step).ceil() as i64;
        let at = at.saturating_sub(self.composed.first);
        let Tilted { tilt: t, ln_scale, .. } = self.composed;
        // Logarithms: far from where the distribution was tilted for, factors leave the range of
        // doubles, and what has become 0 must not look free.
        let (ln_sum, up) = if at >= self.sums.len() as i64 {
            (f64::NEG_INFINITY, 0.0)
        } else {
            let cell = at.max(0) as usize;
            let up = self.loss(cell) - epsilon;
            let (plain, excess) = self.sums[cell];
            // A window that begins above epsilon has lost what lies between: that is in the slack.
            let sum = excess - (-up).exp_m1() * plain;
            // Below 0 it is nothing but the transform's error, which is in the slack.
            if sum <= 0.0 { (f64::NEG_INFINITY, up) } else { (sum.ln() - t * up, up) }
        };
        let rounding = 4.0 * f64::EPSILON * (ln_scale.abs() + t * (epsilon.abs() + up.abs())) + 1e-12;
        let scaled = |ln: f64| (ln_scale - t * epsilon + ln).exp();
        let (sum, slack) = (scaled(ln_sum), scaled(self.slack().ln()));
        let sum = match self.end {
            End::Upper => sum * rounding.exp() + slack * rounding.exp(),
            End::Lower => (sum * (-rounding).exp() - slack * rounding.exp()).max(0.0),
        };
        let delta = self.rest.delta(epsilon) + sum;
        // What is not a number must not look safe from either side.
        match self.end {
            End::Upper if delta.is_nan() => 1.0,
            End::Lower if delta.is_nan() => 0.0,
            End::Upper | End::Lower => delta.clamp(0.0, 1.0),
        }
    }

    /// Error of the sum in (1).
    fn slack(&self) -> f64 {
        let Tilted { tilt: t, step, slack, loose, ripple, .. } = self.composed;
        let most = (t * (t / (t + 1.0)).ln()).exp() / (t + 1.0);
        let all = (self.sums.len() as f64 * most).min(most + 1.0 / (step * t * (t + 1.0)));
        slack * most + loose + (ripple * all).min(self.composed.noise * most)
    }

    /// The losses that the window covers.
    pub(super) fn range(&self) -> (f64, f64) {
        (self.loss(0), self.loss(self.sums.len() - 1))
    }

    /// For the upper end an `epsilon` whose `delta` is at most the given one; for the
    /// lower end one whose `delta` is at least it (or minus infinity). `None` where
    /// even the largest loss is too small.
    pub(super) fn epsilon(&self, delta: f64) -> Option<f64> {
        let (first, last) = self.range();
        let first = first - (last - first) - 10.0 / self.composed.tilt; // dropped cells are in the slack
        // Far from the tilted mean the slack swamps the lower end, so that its delta is not
        // monotone: look for the largest epsilon that qualifies on a coarse grid first.
        let at = |i: i32| first + (last - first) * f64::from(i) / f64::from(GRID);
        let above = |e: f64| match self.end {
            End::Upper => self.delta(e) > delta,
            End::Lower => self.delta(e) >= delta,
        };
        let Some(i) = (0..=GRID).rev().find(|i| above(at(*i))) else {
            return Some(match self.end {
                End::Upper => first,
                End::Lower => f64::NEG_INFINITY,
            });
        };
        if i == GRID {
            return match self.end {
                End::Upper => None,
                End::Lower => Some(last),
            };
        }
        let (mut low, mut high) = (at(i), at(i + 1));
        loop {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high || high - low < 1e-13 * high.abs() {
                break;
            }
            if above(middle) { low = middle } else { high = middle }
        }
        Some(match self.end {
            End::Upper => high,
            End::Lower => low,
        })
    }
}

/// Points of the window at which a profile is looked at first.
const GRID: i32 = 512;
