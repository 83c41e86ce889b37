//! The area under the receiver operating characteristic, with its standard error.
//!
//! # Definition
//! For m records of a class with evidence x and n others with evidence y, the area is the mean over
//! all pairs of 1 if x > y, 1/2 if x = y and 0 otherwise. By midranks it takes O((m + n)
//! log(m + n)) (Sun, Xu, *Fast implementation of DeLong's algorithm*, 2014). Let `v_i` be the mean
//! over the others for one record of the class, and `w_j` the mean over the class for one of the
//! others; the variance is `var(v)/m + var(w)/n` (DeLong, DeLong, Clarke-Pearson, *Comparing the
//! areas under two or more correlated receiver operating characteristic curves*, 1988).
//!
//! # Pitfalls
//! If the two sides are perfectly separated, `v` and `w` do not vary, and DeLong's interval is a
//! point, however few records there are. Then the score interval of Newcombe (*Confidence intervals
//! for an effect size measure based on the Mann-Whitney statistic*, part 2, 2006, method 5) is
//! used.

use sordino_report::Interval;

use super::interval::{Z, normal, variance};

/// An area with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// The area.
    pub area: f64,
    /// DeLong's standard error; `None` for fewer than two records on either side.
    pub error: Option<f64>,
    members: usize,
    others: usize,
}

/// The area for evidence of membership; `None` if all records are members, or none is.
///
/// ```
/// use sordino_run::scores::area_under_curve;
/// let area = area_under_curve(&[0.1, 0.4, 0.35, 0.8], &[false, false, true, true]).unwrap();
/// assert_eq!(area.area, 0.75);
/// ```
pub fn area_under_curve(evidence: &[f64], is_member: &[bool]) -> Option<Area> {
    let side = |wanted: bool| -> Vec<f64> {
        let pairs = evidence.iter().zip(is_member);
        pairs.filter(|(_, is_member)| **is_member == wanted).map(|(evidence, _)| *evidence).collect()
    };
    let (members, others) = (side(true), side(false));
    if members.is_empty() || others.is_empty() {
        return None;
    }
    let (m, n) = (members.len(), others.len());
    let all = midranks(&[members.as_slice(), &others].concat());
    let (own, other) = (midranks(&members), midranks(&others));
    let v: Vec<f64> = (0..m).map(|i| (all[i] - own[i]) / n as f64).collect();
    let w: Vec<f64> = (0..n).map(|j| 1.0 - (all[m + j] - other[j]) / m as f64).collect();
    let error = (m >= 2 && n >= 2).then(|| (variance(&v) / m as f64 + variance(&w) / n as f64).sqrt());
    Some(Area { area: super::average(v.into_iter()), error, members: m, others: n })
}

impl Area {
    /// Its interval, clamped to 0 and 1.
    pub fn interval(&self) -> Option<Interval> {
        match self.error {
            Some(error) if error > 0.0 => Some(cut(normal(self.area, error, "DeLong"))),
            Some(_) | None => Some(self.newcombe()),
        }
    }

    /// The values θ with `|area - θ| <= z √V(θ)`, for
    /// `V(θ) = θ(1-θ) (1 + k ((1-θ)/(2-θ) + θ/(1+θ))) / mn` and `k = (m + n)/2 - 1`.
    fn newcombe(&self) -> Interval {
        let (m, n) = (self.members as f64, self.others as f64);
        let k = 0.5 * (m + n) - 1.0;
        let spread = |t: f64| t * (1.0 - t) * (1.0 + k * ((1.0 - t) / (2.0 - t) + t / (1.0 + t))) / (m * n);
        let is_inside = |t: f64| (self.area - t).abs() <= Z * spread(t).sqrt();
        // Bisection between a point inside, the area itself, and one outside.
        let end = |mut outside: f64| {
            let mut inside = self.area;
            for _ in 0..100 {
                let middle = 0.5 * (inside + outside);
                if is_inside(middle) { inside = middle } else { outside = middle }
            }
            inside
        };
        Interval { lower: end(0.0), upper: end(1.0), method: "Newcombe".to_owned() }
    }
}

/// The interval of a mean of areas that may depend on each other: the standard error of a mean is
/// at most the mean of standard errors.
pub(super) fn of_mean(areas: &[Area]) -> Option<Interval> {
    let errors: Option<Vec<f64>> = areas.iter().map(|area| area.error).collect();
    let error = super::average(errors?.into_iter());
    let mean = super::average(areas.iter().map(|area| area.area));
    (error > 0.0).then(|| cut(normal(mean, error, "DeLong, the mean of the standard errors of all classes")))
}

fn cut(interval: Interval) -> Interval {
    Interval { lower: interval.lower.max(0.0), upper: interval.upper.min(1.0), ..interval }
}

/// The midrank of each value, from 1: equal values share the mean of their ranks.
fn midranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    while first < order.len() {
        let same = order[first..].iter().take_while(|i| values[**i] == values[order[first]]).count().max(1);
        let rank = first as f64 + 0.5 * (same as f64 + 1.0);
        order[first..first + same].iter().for_each(|i| ranks[*i] = rank);
        first += same;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All pairs, and the variances of DeLong by their definition.
    fn by_definition(evidence: &[f64], is_member: &[bool]) -> (f64, f64) {
        let side = |wanted| -> Vec<f64> {
            evidence.iter().zip(is_member).filter(|pair| *pair.1 == wanted).map(|pair| *pair.0).collect()
        };
        let (x, y) = (side(true), side(false));
        let psi = |x: f64, y: f64| {
            if x > y {
                1.0
            } else if x == y {
                0.5
            } else {
                0.0
            }
        };
        let v: Vec<f64> =
            x.iter().map(|x| y.iter().map(|y| psi(*x, *y)).sum::<f64>() / y.len() as f64).collect();
        let w: Vec<f64> =
            y.iter().map(|y| x.iter().map(|x| psi(*x, *y)).sum::<f64>() / x.len() as f64).collect();
        let area = v.iter().sum::<f64>() / v.len() as f64;
        let s = |v: &[f64]| v.iter().map(|v| (v - area).powi(2)).sum::<f64>() / (v.len() as f64 - 1.0);
        (area, (s(&v) / v.len() as f64 + s(&w) / w.len() as f64).sqrt())
    }

    #[test]
    fn the_area_is_that_of_all_pairs_also_with_ties() {
        let mut state = 7_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        for levels in [2, 5, 1000] {
            let is_member: Vec<bool> = (0..60).map(|_| next() % 3 == 0).collect();
            let shift = |is_member: &bool| if *is_member { levels as f64 / 4.0 } else { 0.0 };
            let evidence: Vec<f64> =
                is_member.iter().map(|is| ((next() % levels) as f64 + shift(is)).floor()).collect();
            let (area, error) = by_definition(&evidence, &is_member);
            let found = area_under_curve(&evidence, &is_member).unwrap();
            assert!((found.area - area).abs() < 1e-12, "{found:?} instead of {area}");
            assert!((found.error.unwrap() - error).abs() < 1e-12, "{found:?} instead of {error}");
        }
    }

    /// By `sklearn.metrics.roc_auc_score`, version 1.9; ties on purpose.
    #[test]
    fn the_area_is_that_of_scikit_learn() {
        let found = area_under_curve(&EVIDENCE, &MEMBERS).unwrap();
        assert!((found.area - AUC).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn classes_that_are_apart_have_an_interval_all_the_same() {
        let interval = |count: usize| {
            let evidence: Vec<f64> = (0..2 * count).map(|i| i as f64).collect();
            let is_member: Vec<bool> = (0..2 * count).map(|i| i >= count).collect();
            area_under_curve(&evidence, &is_member).unwrap().interval().unwrap()
        };
        let (few, many) = (interval(3), interval(300));
        assert_eq!((few.upper, many.upper, few.method.as_str()), (1.0, 1.0, "Newcombe"));
        assert!(few.lower < 0.7 && many.lower > 0.98, "{few:?} {many:?}");
        // The equation of the module, typed again for an area of 1: (1 - θ)² = z² V(θ), with k =
        // n - 1.
        for (t, n) in [(few.lower, 3.0), (many.lower, 300.0)] {
            let v = t * (1.0 - t) * (1.0 + (n - 1.0) * ((1.0 - t) / (2.0 - t) + t / (1.0 + t))) / (n * n);
            assert!(((1.0 - t).powi(2) - 1.959_963_984_540_054_f64.powi(2) * v).abs() < 1e-12, "{t}");
        }
    }

    #[test]
    fn one_side_alone_has_no_area() {
        assert_eq!(area_under_curve(&[1.0, 2.0], &[true, true]), None);
        assert_eq!(area_under_curve(&[], &[]), None);
    }

    const EVIDENCE: [f64; 12] = [0.1, 0.4, 0.35, 0.8, 0.4, 0.9, 0.2, 0.35, 0.6, 0.6, 0.05, 0.7];
    const MEMBERS: [bool; 12] =
        [false, false, true, true, true, true, false, false, false, true, false, false];
    const AUC: f64 = 0.7857142857142858;
}
