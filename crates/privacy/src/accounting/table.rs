//! Pairs of distributions given by finitely many losses.
//!
//! # Definition
//! An outcome of loss l has probability p under P and `p e^-l` under Q; `singular` is mass of P
//! where Q has none, and as much the other way round. A pair in a table stands above the pair it
//! was made from: its profile is nowhere smaller, so that it may replace it in any composition
//! (Zhu, Dong, Wang, *Optimal Accounting of Differential Privacy via Characteristic Function*,
//! 2022).
//! # How it is made
//! - *From losses:* each is spread to the two grid points round it, so that both probabilities stay
//!   as they are.
//! - *From a profile,* for a symmetric relation: connect the dots (Doroshenko, Ghazi, Kamath,
//!   Kumar, Manurangsi 2022). With `d_i = delta(e_i)` made convex in `e^eps` from below, the mass
//!   at `e_i > 0` is
//! ```text
//! (d_(i-1) - d_i) / (1 - e^(e_(i-1) - e_i)) - (d_i - d_(i+1)) / (e^(e_(i+1) - e_i) - 1)     (1)
//! ```
//!   the mass at `-e_i` is `e^-e_i` times that, and what is left is at 0.

/// Outcomes `(ln Q, loss)` in rising order of the loss, and the singular mass on either side.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    pub(crate) outcomes: Vec<(f64, f64)>,
    pub(crate) singular: f64,
}

/// Room for the error of masses that come from sums of probabilities.
const ROUND_UP: f64 = 1.0 + 1e-12;

impl Table {
    /// From losses with their probabilities under P, on a rising `grid` that encloses them all.
    pub(crate) fn spread(grid: &[f64], losses: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let mut masses = vec![0.0; grid.len()];
        for (loss, mass) in losses {
            let right = grid.partition_point(|point| *point < loss).clamp(1, grid.len() - 1);
            let (low, high) = (grid[right - 1], grid[right]);
            let share = ((low - loss).exp_m1() / (low - high).exp_m1()).clamp(0.0, 1.0);
            masses[right - 1] += mass * (1.0 - share);
            masses[right] += mass * share;
        }
        Self::new(grid.iter().copied().zip(masses), 0.0)
    }

    /// From points `(eps, delta)` at or above a profile that holds in both orders, from eps = 0
    /// upwards.
    pub(crate) fn from_profile(points: &[(f64, f64)]) -> Self {
        let points = convex(points);
        let singular = points.last().map_or(1.0, |point| point.1);
        let mut masses = Vec::with_capacity(2 * points.len());
        let mut total = singular;
        for (i, (e, d)) in points.iter().enumerate().skip(1) {
            let (below, before) = points[i - 1];
            let rise = (before - d) / -(below - e).exp_m1();
            let fall = points.get(i + 1).map_or(0.0, |(above, after)| (d - after) / (above - e).exp_m1());
            let mass = (rise - fall).max(0.0);
            masses.push((*e, mass));
            masses.push((-e, mass * (-e).exp()));
            total += mass * (1.0 + (-e).exp());
        }
        masses.push((0.0, (1.0 - total).max(0.0)));
        masses.sort_by(|x, y| x.0.total_cmp(&y.0));
        Self::new(masses, singular)
    }

    /// From points `(eps, delta)` at or above the profile of one order of a pair, rising from a
    /// negative eps: connect the dots, with delta = 1 at `e^eps = 0`. What lies above the last
    /// point is singular.
    pub(crate) fn from_whole_profile(points: &[(f64, f64)]) -> Self {
        let points = convex(points);
        let singular = points.last().map_or(1.0, |point| point.1);
        let mut masses = Vec::with_capacity(points.len());
        let mut total = singular;
        for (i, (e, d)) in points.iter().enumerate() {
            // P of the point: `e^e` times the change of the slope in `e^eps`.
            let rise = match i.checked_sub(1).map(|before| points[before]) {
                Some((below, before)) => (before - d) / -(below - e).exp_m1(),
                None => 1.0 - d,
            };
            let fall = points.get(i + 1).map_or(0.0, |(above, after)| (d - after) / (above - e).exp_m1());
            let mass = (rise - fall).max(0.0);
            masses.push((*e, mass));
            total += mass;
        }
        // All of P must be there: what rounding took goes to the largest loss.
        if let Some(last) = masses.last_mut() {
            last.1 += (1.0 - total).max(0.0);
        }
        Self::new(masses, singular)
    }

    fn new(masses: impl IntoIterator<Item = (f64, f64)>, singular: f64) -> Self {
        let present = masses.into_iter().filter(|(_, mass)| *mass > 0.0);
        let outcomes = present.map(|(loss, mass)| ((mass * ROUND_UP).ln() - loss, loss)).collect();
        Self { outcomes, singular }
    }

    /// delta at `epsilon`, rounded up.
    #[cfg(test)]
    pub(crate) fn delta(&self, epsilon: f64) -> f64 {
        let gain = |(ln_q, loss): &(f64, f64)| (ln_q + loss).exp() * -(epsilon - loss).min(0.0).exp_m1();
        self.singular + self.outcomes.iter().map(gain).sum::<f64>()
    }
}

/// The greatest curve below the points that is convex in `e^eps`: their lower hull.
fn convex(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut hull: Vec<(f64, f64)> = Vec::with_capacity(points.len());
    for &(e, d) in points {
        // Falling: a larger delta than before says nothing new.
        let d = hull.last().map_or(d, |last| d.min(last.1));
        while let [.., (e0, d0), (e1, d1)] = hull[..] {
            // Slopes in e^eps, both divided by e^e1.
            let (left, right) = (-(e0 - e1).exp_m1(), (e - e1).exp_m1());
            if (d0 - d1) * right > (d1 - d) * left {
                break;
            }
            hull.pop();
        }
        hull.push((e, d));
    }
    hull
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::gaussian_profile;

    /// Exact at the grid, above it between, and never below: the Gaussian's own profile.
    #[test]
    fn dots_are_connected_from_above() {
        let points: Vec<(f64, f64)> =
            (0..=240).map(|i| 0.05 * f64::from(i)).map(|e| (e, gaussian_profile::delta(e, 1.0))).collect();
        let table = Table::from_profile(&points);
        for epsilon in [-2.0, -0.3, 0.0, 0.02, 0.5, 1.0, 1.025, 4.0, 7.77] {
            let (found, exact) = (table.delta(epsilon), gaussian_profile::delta(epsilon, 1.0));
            assert!(found >= exact * (1.0 - 1e-13), "{epsilon}: {found} below {exact}");
            assert!(found <= exact * 1.02, "{epsilon}: {found} above {exact}");
        }
        assert!((table.delta(1.0) / gaussian_profile::delta(1.0, 1.0) - 1.0).abs() < 1e-10);
        let mass: f64 = table.outcomes.iter().map(|(ln_q, loss)| (ln_q + loss).exp()).sum();
        assert!((mass + table.singular - 1.0).abs() < 1e-9, "{mass}");
    }

    /// The toy grid of step 1 from -2 to 2 for the Gaussian of distance 1.
    #[test]
    fn the_masses_of_a_toy_grid() {
        let points: Vec<(f64, f64)> =
            (0..=2).map(f64::from).map(|e| (e, gaussian_profile::delta(e, 1.0))).collect();
        let table = Table::from_profile(&points);
        for ((ln_q, loss), exact) in table.outcomes.iter().zip([
            0.0226971151990,
            0.1262820457288,
            0.3191167555963,
            0.3432701901653,
            0.1677102574895,
        ]) {
            assert!(((ln_q + loss).exp() / exact - 1.0).abs() < 1e-9, "{loss}");
        }
        assert!((table.singular - 0.0209236358211).abs() < 1e-12);
    }

    #[test]
    fn points_off_the_hull_are_passed_over() {
        let mut points: Vec<(f64, f64)> =
            (0..=40).map(|i| 0.2 * f64::from(i)).map(|e| (e, gaussian_profile::delta(e, 1.0))).collect();
        points[7].1 *= 1.5;
        points[20].1 *= 3.0;
        let table = Table::from_profile(&points);
        for epsilon in [0.0, 1.3, 1.4, 1.5, 4.0, 6.0] {
            let (found, exact) = (table.delta(epsilon), gaussian_profile::delta(epsilon, 1.0));
            assert!(found >= exact * (1.0 - 1e-12) && found <= exact * 1.6 + 1e-12, "{epsilon}");
        }
    }
}
