//! One-dimensional searches that say on which side of the answer they end.

/// Halves `[low, high]` until its ends are neighbours to about one part in 1e15, keeping
/// `test(low)` false and `test(high)` true; the caller knows both at the start. For a test that
/// changes once, the two ends enclose the change, and `high` always passed the test.
pub(crate) fn bisect(mut low: f64, mut high: f64, mut test: impl FnMut(f64) -> bool) -> (f64, f64) {
    for _ in 0..MAX_HALVINGS {
        let middle = low + 0.5 * (high - low);
        if middle <= low || middle >= high || high - low <= high.abs() * f64::EPSILON {
            break;
        }
        if test(middle) { high = middle } else { low = middle }
    }
    (low, high)
}

/// Enough to go from any bracket of doubles with one sign to neighbours.
const MAX_HALVINGS: usize = 1_100;

/// The place and value of the least `f` on `[low, high]`, to within `tolerance` of the place:
/// golden sections, and parabolas through the best three points where they help (Brent, *Algorithms
/// for Minimization without Derivatives*, 1973, chapter 5).
///
/// For a function with one valley this is its minimum; for any other it is still a
/// value that `f` takes. Where the first probe is not finite, the minimum is looked
/// for to its left. NaN counts as +∞.
///
/// Near a smooth minimum a place known to `t` gives the value to about `t^2`, so a tolerance of
/// 1e-8 is all that doubles can use.
pub(crate) fn least(low: f64, high: f64, tolerance: f64, mut f: impl FnMut(f64) -> f64) -> (f64, f64) {
    let mut f = |x: f64| {
        let value = f(x);
        Probe { x, value: if value.is_nan() { f64::INFINITY } else { value } }
    };
    let mut high = high;
    let mut best = f(low + SECTION * (high - low));
    for _ in 0..MAX_PROBES {
        if best.value < f64::INFINITY {
            break;
        }
        high = best.x;
        best = f(low + SECTION * (high - low));
    }
    let mut valley = Valley { low, high, best, second: best, third: best, step: 0.0, before: 0.0 };
    for _ in 0..MAX_PROBES {
        let Some(place) = valley.next(tolerance) else { break };
        valley.insert(f(place));
    }
    (valley.best.x, valley.best.value)
}

const MAX_PROBES: usize = 200;

/// (3 - sqrt(5)) / 2.
const SECTION: f64 = 0.381_966_011_250_105_1;

#[derive(Clone, Copy)]
struct Probe {
    x: f64,
    value: f64,
}

/// Brent's state: a bracket, the three best probes, the last step and the one before.
struct Valley {
    low: f64,
    high: f64,
    best: Probe,
    second: Probe,
    third: Probe,
    step: f64,
    before: f64,
}

impl Valley {
    /// Where to look next; `None` once the bracket is down to the tolerance.
    fn next(&mut self, tolerance: f64) -> Option<f64> {
        let (x, middle) = (self.best.x, 0.5 * (self.low + self.high));
        let tolerance = tolerance.max(f64::EPSILON * x.abs());
        if (x - middle).abs() <= 2.0 * tolerance - 0.5 * (self.high - self.low) {
            return None;
        }
        match self.parabola(tolerance) {
            Some(step) => {
                self.before = self.step;
                let near_an_end = (x + step - self.low).min(self.high - x - step) < 2.0 * tolerance;
                self.step = if near_an_end { tolerance.copysign(middle - x) } else { step };
            }
            None => {
                self.before = if x >= middle { self.low - x } else { self.high - x };
                self.step = SECTION * self.before;
            }
        }
        Some(x + if self.step.abs() >= tolerance { self.step } else { tolerance.copysign(self.step) })
    }

    /// The step to the vertex of the parabola through the three best, if it
    /// is inside and steps are shrinking.
    fn parabola(&self, tolerance: f64) -> Option<f64> {
        if self.before.abs() <= tolerance {
            return None;
        }
        let Probe { x, value } = self.best;
        let r = (x - self.second.x) * (value - self.third.value);
        let q = (x - self.third.x) * (value - self.second.value);
        let step = -((x - self.third.x) * q - (x - self.second.x) * r) / (2.0 * (q - r));
        let inside = x + step > self.low && x + step < self.high;
        (inside && step.abs() < 0.5 * self.before.abs()).then_some(step) // false for NaN
    }

    fn insert(&mut self, probe: Probe) {
        let x = self.best.x;
        if probe.value <= self.best.value {
            if probe.x >= x {
                self.low = x
            } else {
                self.high = x
            }
            (self.third, self.second, self.best) = (self.second, self.best, probe);
            return;
        }
        if probe.x < x {
            self.low = probe.x
        } else {
            self.high = probe.x
        }
        if probe.value <= self.second.value || self.second.x == x {
            (self.third, self.second) = (self.second, probe);
        } else if probe.value <= self.third.value || self.third.x == x || self.third.x == self.second.x {
            self.third = probe;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bisection_ends_on_both_sides_of_the_change() {
        let (low, high) = bisect(0.0, 10.0, |x| x * x >= 2.0);
        assert!(low * low < 2.0 && high * high >= 2.0 && high - low <= 4.0 * f64::EPSILON);
        let (_, tiny) = bisect(0.0, 1.0, |x| x >= 1e-200);
        assert!((tiny / 1e-200 - 1.0).abs() < 1e-15);
    }

    #[test]
    fn one_valley() {
        let mut probes = 0;
        let (place, value) = least(-3.0, 9.0, 1e-9, |x| {
            probes += 1;
            (x - 1.25).cosh() + 7.0
        });
        assert!((place - 1.25).abs() < 1e-7 && (value - 8.0).abs() < 1e-14);
        assert!(probes < 25, "{probes} probes");
        // A corner, and minima at the ends.
        assert!((least(0.0, 4.0, 1e-9, |x| (x - 1.0).abs()).0 - 1.0).abs() < 1e-8);
        assert!(least(0.0, 4.0, 1e-9, |x| x.exp()).0 < 1e-8);
        assert!(least(0.0, 4.0, 1e-9, |x| -x.sqrt()).0 > 4.0 - 1e-8);
    }

    #[test]
    fn what_is_not_a_number_is_avoided() {
        let (place, value) = least(0.0, 4.0, 1e-9, |x| if x > 1.2 { f64::NAN } else { (x - 1.0).abs() });
        assert!((place - 1.0).abs() < 1e-8 && value < 1e-8);
        assert_eq!(least(0.0, 4.0, 1e-9, |_| f64::NAN).1, f64::INFINITY);
    }
}
