//! Amplification by shuffling.
//!
//! # Definition
//! n units each report through a local eps0-DP randomizer; only the multiset of reports is seen.
//! One unit changes.
//! # Guarantee
//! The pair of Feldman, McMillan, Talwar (*Stronger Privacy Amplification by Shuffling for Rényi
//! and Approximate Differential Privacy*, 2023), with E = e^eps0:
//! ```text
//! C ~ Bin(n - 1, 2 / (E + 1)),  A ~ Bin(C, 1/2),  D ~ Bern(E / (E + 1))
//! (A + D, C - A + 1 - D)  against  (A + 1 - D, C - A + D)                                      (1)
//! ```
//! *Proof.* Let m be the least density of a report over all inputs, and `u m`, `v m` those of the
//! two versions of the unit, 1 <= u, v <= E. With `a = |u - v| / (E - 1) <= 1`, (u, v) is
//! `a (E, 1)` or `a (1, E)` plus a part that is the same for both. Let q0 and q1 be the measures
//! `a m` where u > v and where u < v. The two versions are `E q0 + q1 + w` and `q0 + E q1 + w`, so
//! that q0 and q1 have the same total p <= 1 / (E + 1), and every other report has density at least
//! `m >= q0 + q1`: it is like q0 with probability p, like q1 with probability p, or else like
//! something that does not depend on the unit. So the number of reports like q0 and like q1 tells
//! all. For p = 1 / (E + 1) that is (1); for a smaller p every report is forgotten independently
//! with probability `1 - p (E + 1)`, a post-processing of (1). ∎
//!
//! So (1) dominates, alone and in a composition. Given c, the outcome with a in the first place has
//! ```text
//! P = (e^eps0 B(a-1) + B(a)) / (1 + e^eps0)                                                    (2)
//! loss = ln((e^eps0 a + c + 1 - a) / (a + e^eps0 (c + 1 - a)))
//! ```
//! with B the binomial law of A. No loss exceeds eps0. In closed form (Feldman, McMillan, Talwar,
//! *Hiding Among the Clones*, 2021), for `eps0 <= ln(n / (16 ln(4/delta)))`,
//! ```text
//! eps <= ln(1 + b (1 - e^-eps0) / (1 + e^-eps0 / (1 + b)))                                     (3)
//! b = 8 sqrt(e^eps0 ln(4/delta) / n) + 8 e^eps0 / n
//! ```
//! which is several times larger.
//! # Reports with their own delta
//! If the randomizer is (eps0, d)-DP, the n reports are dominated by (1) with
//! ```text
//! e^eps0' = E + (E + 1) a / (1 - a)    and certain disclosure of probability
//! a = d (1 + (n - 1) (1 - e^-eps0))                                                            (4)
//! ```
//! *Proof.* Let f, g be the densities of the two versions and `h_i` those of the others; hence
//! `∫(f - E g)+`, `∫(g - E f)+`, `∫(f - E h_i)+` and `∫(g - E h_i)+` are at most d. Cut f and g
//! down to `f' = min(f, E g)` and `g' = min(g, E f)`: each loses at most d, and neither exceeds E
//! times the other. With `m = max(f', g') / E` both lie between m and E m, so that as above
//! `f' = E q0 + q1 + w`, `g' = q0 + E q1 + w`, with `q0 <= f'/E` where f' > g', `q1 <= g'/E` where
//! f' < g', and 0 elsewhere. Cut q0 and q1 down to the least of the `h_i`. That takes
//! `s0 <= sum ∫(f/E - h_i)+ <= (n-1) d/E` from q0, and s1, no more, from q1; of what is cut, one
//! part in E is common to f' and g' and goes to w, so that f' loses `(E-1) s0` and g' `(E-1) s1`.
//! Each has now lost at most a in all. If one has lost less, the totals of q0 and q1 differ; scale
//! the larger down in the same way, until both have lost the same, a or less. So with probability
//! 1 - a the two versions are `E q0 + q1 + w` and `q0 + E q1 + w` over 1 - a, and else whatever
//! they are: certain disclosure, at most (hockey-stick divergences are jointly convex). In the
//! first case the others are like `q0 / (1 - a)` with 1 - a times the probability that they had
//! before: (1) with fewer clones, as if of a larger E' with `2 / (E' + 1) = (1 - a) 2 / (E + 1)`.
//! The unit's own report is a mixture of that of E' and of a fair coin, and joint convexity says
//! that the pair of E' dominates. ∎ Feldman, McMillan, Talwar 2021 have `(e^eps + 1) (1 + e^-eps0 /
//! 2) n d` for a.
//!
//! Gaussian reports are (eps0, d(eps0))-DP for every eps0: any choice is a proof.
//! # How it is computed
//! Fewer clones hide less: the pair for C = c turns into that for a larger c by adding fair coins.
//! So C is rounded down to blocks, its lower tail to 0, and n beyond 2^32 to 2^32. What is cut off
//! at both ends of A, 1e-39 of the mass, counts with the largest loss.
//! # Pitfalls
//! Nothing is gained if the reports can be told apart by anything else, by time of arrival for one.

use super::memo::Memo;
use super::table::Table;
use crate::numerics::logspace::ln_binomial;

/// More reports than this hide no less.
const MOST_REPORTS: u64 = 1 << 32;

/// Blocks of C are this wide, relative to C.
const BLOCK: f64 = 4e-4;

/// Nats by which a tail is out of sight: e^-90 = 8e-40.
const FAR: f64 = 90.0;

/// The pair (1), from above.
pub(crate) fn table(reports: u64, epsilon: f64) -> Table {
    TABLES.with(|known| known.get(&(reports, epsilon), || computed(reports, epsilon)).as_ref().clone())
}

thread_local! {
    static TABLES: Memo<(u64, f64), Table> = const { Memo::new() };
}

fn computed(reports: u64, epsilon: f64) -> Table {
    let others = (reports.min(MOST_REPORTS) - 1) as f64;
    let (clone, own) = (2.0 / (epsilon.exp() + 1.0), (0.5 * epsilon).tanh());
    let blocks = blocks(others, clone, own);
    let typical = (others * clone).max(1.0);
    let grid = grid(epsilon, 2.0 * (0.5 * epsilon).tanh() / typical.sqrt());
    let mut losses = Vec::new();
    let mut cut = 0.0;
    for (clones, mass) in blocks {
        cut += mass * outcomes(clones, epsilon, mass, &mut losses);
    }
    losses.push((epsilon, cut));
    Table::spread(&grid, losses)
}

/// Equation (4): `eps0'` and a, rounded up; none if nothing is left of the guarantee.
pub(crate) fn approximate(reports: u64, epsilon: f64, delta: f64) -> Option<(f64, f64)> {
    if delta <= 0.0 {
        return Some((epsilon, 0.0));
    }
    let lost = delta * (1.0 + (reports - 1) as f64 * -(-epsilon).exp_m1()) * (1.0 + 8.0 * f64::EPSILON);
    let grown = epsilon + ((1.0 + (-epsilon).exp()) * lost / (1.0 - lost)).ln_1p();
    (lost < 1.0).then_some((grown * (1.0 + 4.0 * f64::EPSILON), lost))
}

/// Equation (3), or eps0 where it does not apply or is larger; rounded up.
pub(crate) fn closed_form(reports: u64, epsilon: f64, delta: f64) -> f64 {
    let (n, log) = (reports as f64, (4.0 / delta).ln());
    if delta <= 0.0 || epsilon > (n / (16.0 * log)).ln() {
        return epsilon;
    }
    let b = 8.0 * (epsilon.exp() * log / n).sqrt() + 8.0 * epsilon.exp() / n;
    let factor = -(-epsilon).exp_m1() / (1.0 + (-epsilon).exp() / (1.0 + b));
    ((factor * b).ln_1p() * (1.0 + 1e-12)).min(epsilon)
}

/// Values that C is rounded down to, with their probabilities.
fn blocks(others: f64, clone: f64, own: f64) -> Vec<(f64, f64)> {
    let mean = others * clone;
    // Bernstein: P[|C - mean| >= t] <= 2 exp(-t²/2 / (variance + t/3)).
    let far = FAR / 3.0 + (FAR * FAR / 9.0 + 2.0 * FAR * mean * own).sqrt();
    let (first, last) = ((mean - far).ceil().max(0.0), (mean + far).floor().min(others));
    let mut blocks = vec![(0.0, 2.0 * (-FAR).exp())];
    let mut low = first;
    while low <= last {
        let high = (low + (BLOCK * low).floor()).min(last);
        let mut mass = 0.0;
        let mut clones = low;
        while clones <= high {
            mass += ln_binomial(clones, others, clone, own).exp();
            clones += 1.0;
        }
        blocks.push((low, mass));
        low = high + 1.0;
    }
    blocks
}

/// Adds the losses (2) for so many clones, weighted by `mass`; the share that was cut off.
fn outcomes(clones: f64, epsilon: f64, mass: f64, losses: &mut Vec<(f64, f64)>) -> f64 {
    // Hoeffding: P[|A - c/2| >= t] <= 2 exp(-2 t²/c).
    let far = (0.5 * FAR * clones).sqrt();
    let first = (0.5 * clones - far).floor().max(0.0);
    let last = (0.5 * clones + far).ceil().min(clones) + 1.0;
    let (truth, lie) = (1.0 / (1.0 + (-epsilon).exp()), 1.0 / (1.0 + epsilon.exp()));
    let weight = |a: f64| {
        if (0.0..=clones).contains(&a) { ln_binomial(a, clones, 0.5, 0.5).exp() } else { 0.0 }
    };
    let mut before = weight(first - 1.0);
    let mut a = first;
    while a <= last {
        let here = weight(a);
        let b = clones + 1.0 - a;
        // Divided by e^eps0 above and below; the quotient of two positive sums.
        let loss = ((a + b * (-epsilon).exp()) / (a * (-epsilon).exp() + b)).ln();
        losses.push((loss.clamp(-epsilon, epsilon), mass * (truth * before + lie * here)));
        before = here;
        a += 1.0;
    }
    if first > 0.0 { 2.0 * (-FAR).exp() } else { 0.0 }
}

/// No grid has more points on either side.
const MOST_POINTS: f64 = 4_096.0;

/// From -eps0 to eps0: fine within forty deviations of the loss, then wider and wider.
fn grid(epsilon: f64, deviation: f64) -> Vec<f64> {
    // The deviation of a loss next to the smallest double may be 0.
    let fine = (deviation / 16.0).max(epsilon / MOST_POINTS).max(f64::MIN_POSITIVE);
    let mut half = vec![0.0];
    let mut at = fine;
    while at < epsilon {
        half.push(at);
        at = if at < 40.0 * deviation { at + fine } else { at * 1.02 };
    }
    half.push(epsilon);
    half.iter().rev().map(|e| -e).chain(half[1..].iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::pld;
    use crate::accounting::step::{Step, Steps};
    use crate::numerics::search;

    fn numeric(reports: u64, epsilon: f64, delta: f64) -> f64 {
        let table = table(reports, epsilon);
        search::bisect(0.0, epsilon, |e| table.delta(e) <= delta).1
    }

    #[test]
    fn published_bounds() {
        // The last column is (1) by exact binomial tails; the one before, that with e^-eps0 clones
        // of 2021.
        for (epsilon, reports, delta, closed, before, clones) in [
            (1.0, 10_000, 1e-6, 0.233265596124, 0.0530053, 0.0432061581),
            (2.0, 100_000, 1e-6, 0.190579706666, 0.0450256, 0.0331872490),
            (0.5, 1_000, 1e-4, 0.282026350353, 0.0437091, 0.0384634145),
        ] {
            let found = closed_form(reports, epsilon, delta);
            assert!((found / closed - 1.0).abs() < 1e-10, "{found} against {closed}");
            let found = numeric(reports, epsilon, delta);
            assert!((found / clones - 1.0).abs() < 2e-3 && found < before, "{found} against {clones}");
        }
        // Outside the precondition nothing is gained.
        assert_eq!(closed_form(100, 3.0, 1e-6), 3.0);
        assert_eq!(closed_form(100, 3.0, 0.0), 3.0);
    }

    /// All outcomes of (1) for a few reports, by brute force over C, A and D.
    #[test]
    fn never_below_the_enumerated_pair() {
        let (n, epsilon) = (9u32, 1.2f64);
        let clone = 2.0 / (epsilon.exp() + 1.0);
        let truth = 1.0 / (1.0 + (-epsilon).exp());
        let choose = |n: u32, k: u32| (1..=k).fold(1.0, |c, i| c * f64::from(n - k + i) / f64::from(i));
        let mut laws = std::collections::BTreeMap::<(u32, u32), (f64, f64)>::new();
        for c in 0..n {
            let ways = choose(n - 1, c) * clone.powi(c as i32) * (1.0 - clone).powi((n - 1 - c) as i32);
            for a in 0..=c {
                let p = ways * choose(c, a) * 0.5f64.powi(c as i32);
                for (d, chance) in [(1, truth), (0, 1.0 - truth)] {
                    laws.entry((a + d, c - a + 1 - d)).or_default().0 += p * chance;
                    laws.entry((a + 1 - d, c - a + d)).or_default().1 += p * chance;
                }
            }
        }
        let table = table(u64::from(n), epsilon);
        for e in [0.0f64, 0.1, 0.35, 0.8, 1.1] {
            let exact: f64 = laws.values().map(|(p, q)| (p - e.exp() * q).max(0.0)).sum();
            let found = table.delta(e);
            assert!(found >= exact * (1.0 - 1e-12), "{e}: {found} below {exact}");
            assert!(found <= exact * 1.01, "{e}: {found} above {exact}");
        }
        assert!(table.delta(epsilon) < 1e-30);
    }

    /// The real thing: n binary randomized responses of which only the number of ones is seen.
    #[test]
    fn never_below_a_shuffled_survey() {
        let (n, epsilon) = (500.0f64, 1.0f64);
        let (truth, lie) = (1.0 / (1.0 + (-epsilon).exp()), 1.0 / (1.0 + epsilon.exp()));
        let rest =
            |x: f64| if (0.0..n).contains(&x) { ln_binomial(x, n - 1.0, lie, truth).exp() } else { 0.0 };
        let table = table(500, epsilon);
        for e in [0.0f64, 0.05, 0.1, 0.2, 0.4] {
            let law = |x: f64, one: f64| one * rest(x - 1.0) + (1.0 - one) * rest(x);
            let exact: f64 =
                (0..=500).map(f64::from).map(|x| (law(x, truth) - e.exp() * law(x, lie)).max(0.0)).sum();
            assert!(table.delta(e) >= exact, "{e}: {} below {exact}", table.delta(e));
        }
    }

    /// Random local randomizers over four reports and three inputs, three units: every pair of
    /// neighbours, all multisets of reports, both orders. Where a randomizer sometimes tells all,
    /// (1) alone would be too low.
    #[test]
    fn never_below_enumerated_reports_with_their_own_delta() {
        let mut state = 7u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let hockey = |p: &[f64], q: &[f64], factor: f64| -> f64 {
            p.iter().zip(q).map(|(p, q)| (p - factor * q).max(0.0)).sum()
        };
        let mut broken = false;
        for round in 0..60 {
            let mut laws: Vec<Vec<f64>> =
                (0..3).map(|_| (0..4).map(|_| uniform().powi(1 + round % 3) + 0.02).collect()).collect();
            if round % 2 == 0 {
                laws[0][3] = 1e-9; // next to a report that only some inputs give
            }
            for law in &mut laws {
                let total: f64 = law.iter().sum();
                law.iter_mut().for_each(|p| *p /= total);
            }
            let local = 0.3 + 1.5 * uniform();
            let pairs = (0..3).flat_map(|x| (0..3).map(move |y| (x, y)));
            let delta = pairs.map(|(x, y)| hockey(&laws[x], &laws[y], local.exp())).fold(0.0, f64::max);
            let Some((grown, lost)) = approximate(3, local, delta) else { continue };
            let (with, without) = (table(3, grown), table(3, local));
            let multisets = |units: [usize; 3]| {
                let mut seen = vec![0.0; 64];
                for code in 0..64 {
                    let reports = [code % 4, code / 4 % 4, code / 16];
                    let mut sorted = reports;
                    sorted.sort_unstable();
                    let chance: f64 = (0..3).map(|i| laws[units[i]][reports[i]]).product();
                    seen[sorted[0] + 4 * sorted[1] + 16 * sorted[2]] += chance;
                }
                seen
            };
            for code in 0..81 {
                let [x, y, a, b] = [code % 3, code / 3 % 3, code / 9 % 3, code / 27];
                let (p, q) = (multisets([x, a, b]), multisets([y, a, b]));
                for e in [0.0f64, 0.1, 0.3, 0.7, 1.2] {
                    let exact = hockey(&p, &q, e.exp());
                    let bound = lost + (1.0 - lost) * with.delta(e);
                    assert!(exact <= bound + 1e-12, "{laws:?} {code} at {e}: {exact} above {bound}");
                    broken |= exact > without.delta(e) + 1e-6;
                }
            }
        }
        assert!(broken, "the disclosure is needed");
    }

    /// 10⁴ reports of (1, 1e-12): 6.3e-9 of disclosure.
    #[test]
    fn the_price_of_a_local_delta() {
        let (grown, lost) = approximate(10_000, 1.0, 1e-12).unwrap();
        assert!((lost / (1e-12 * (1.0 + 9_999.0 * (1.0 - (-1f64).exp()))) - 1.0).abs() < 1e-12, "{lost}");
        let exact = (1f64.exp() + (1f64.exp() + 1.0) * lost / (1.0 - lost)).ln();
        assert!(grown >= exact && grown < exact + 1e-14, "{grown} {exact}");
        assert_eq!(approximate(10_000, 1.0, 0.0), Some((1.0, 0.0)));
        assert_eq!(approximate(10_000, 1.0, 1e-3), None);
    }

    /// Several surveys among the same people compose; more reports never hurt.
    #[test]
    fn composed_and_monotone() {
        let at = |reports, count| {
            let steps = Steps(vec![(Step::Shuffled { reports, epsilon: 1.0 }, count)]);
            pld::epsilon(&steps, 1e-6).unwrap().upper
        };
        let (one, four) = (at(10_000, 1), at(10_000, 4));
        assert!((one / 0.0432061581 - 1.0).abs() < 3e-3, "{one}");
        assert!(four > 1.8 * one && four < 2.4 * one, "{four}"); // about the square root of four
        assert!(at(40_000, 1) < 0.6 * one && at(40, 1) <= 1.0);
        assert!(at(1, 1) <= 1.0 + 1e-9);
    }
}
