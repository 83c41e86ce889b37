//! Poisson samples of bounded size.
//!
//! # Definition
//! Each of n units joins by its own coin of probability q. If more than B have joined, B of them
//! stay, chosen uniformly: the first ones in a random order. A null record (`zero_out`) may keep
//! its place or leave it.
//! # Guarantee
//! One step is dominated, in both orders, by that of the Poisson sample without a bound together
//! with certain disclosure of probability
//! ```text
//! lambda = (B / n) P[Bin(n, q) > B]            one unit                                        (1)
//! lambda = k q P[Bin(n - k, q) > B - k]        a group of k                                    (2)
//! ```
//! *Proof.* Fix the order and the coins of all but the k units that change; r of these others have
//! joined. Hockey-stick divergences are jointly convex: the divergence of the mixtures is at most
//! the mean of those for fixed coins. If `r <= B - k`, nobody is ever sent away, and the step is
//! that of the Poisson sample. Otherwise it is the same for both neighbours unless one of the k has
//! joined, so that no set has a probability that differs by more than `1 - (1-q)^k <= k q`: the
//! pair of certain disclosure with that probability dominates. The mean over the others' coins is
//! the Poisson pair with weight 1 - w and that disclosure with weight w, or less, since a Poisson
//! step costs no less than nothing. For k = 1 the unit, once joined, stays with probability
//! `B / (r + 1)` only, and `q P[Bin(n-1, q) = r] / (r + 1) = P[Bin(n, q) = r+1] / n`, which summed
//! over `r >= B` is (1). ∎
//!
//! Both parts are steps of their own, so that they compose like any others. The bound of Chua,
//! Ghazi, Kamath, Kumar, Manurangsi, Sinha, Zhang (*Scalable DP-SGD: Shuffling vs. Poisson
//! Subsampling*, 2024), `(1 + e^eps) P[Bin(n, q) > B]` for a step, follows from distances of whole
//! laws and is `(1 + e^eps) n / B` times larger.
//! # Pitfalls
//! - n must be public: under `add_remove` it is not.
//! - A batch that is drawn again until it is small enough is another law.
//! - Of pure releases no pure bound is left here: delta must be at least the steps times lambda.

use crate::numerics::logspace::ln_binomial;

/// A Poisson sample of at most `most` of `population` units.
#[derive(Clone, Copy, Debug)]
pub(super) struct Truncated {
    pub(super) rate: f64,
    pub(super) population: u64,
    pub(super) most: u64,
}

impl Truncated {
    /// The chance that the others fill the batch, rounded up.
    pub(super) fn full(self) -> f64 {
        if self.most >= self.population { 0.0 } else { tail(self.population - 1, self.rate, self.most - 1) }
    }

    /// (1) or (2), rounded up; 0 if nobody is ever sent away.
    pub(super) fn disclosure(self, group: u64) -> f64 {
        let Self { rate, population, most } = self;
        if most >= population {
            return 0.0;
        }
        let (n, k) = (population as f64, group as f64);
        let lambda = if group == 1 {
            most as f64 / n * tail(population, rate, most)
        } else if group > most || group > population {
            (k * rate).min(1.0)
        } else {
            (k * rate).min(1.0) * tail(population - group, rate, most - group)
        };
        // Positive, even if too small for a double.
        (lambda * (1.0 + 1e-15)).clamp(f64::MIN_POSITIVE, 1.0)
    }
}

/// Terms of the tail that are added up before the rest is bounded by a geometric series.
const TERMS: u64 = 20_000;

/// `P[Bin(n, q) > most]`, rounded up by a part in 10⁹. Quotients of neighbouring terms fall, so
/// that a term and its quotient bound all that follow.
fn tail(n: u64, rate: f64, most: u64) -> f64 {
    if most >= n {
        return 0.0;
    }
    let quotient = |x: u64| (n - x) as f64 / (x + 1) as f64 * (rate / (1.0 - rate));
    let first = most + 1;
    if rate == 1.0 || quotient(first) >= 1.0 {
        return 1.0;
    }
    let mut term = ln_binomial(first as f64, n as f64, rate, 1.0 - rate).exp();
    let (mut sum, mut x) = (term, first);
    while x < n && x - first < TERMS && term > 1e-18 * sum {
        term *= quotient(x);
        sum += term;
        x += 1;
    }
    let rest = if x < n { term * quotient(x) / (1.0 - quotient(x)) } else { 0.0 };
    ((sum + rest) * (1.0 + 1e-9) + f64::MIN_POSITIVE).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(n: u64, k: u64) -> f64 {
        (1..=k).map(|i| (n - k + i) as f64 / i as f64).product()
    }

    #[test]
    fn tails_are_those_of_the_binomial_law() {
        for (n, rate, most) in [(10u64, 0.2f64, 3), (10, 0.9, 9), (40, 0.01, 2), (300, 0.05, 31), (5, 0.5, 4)]
        {
            let exact: f64 = (most + 1..=n)
                .map(|x| choose(n, x) * rate.powi(x as i32) * (1.0 - rate).powi((n - x) as i32))
                .sum();
            let found = tail(n, rate, most);
            assert!(found >= exact && found <= exact * (1.0 + 2e-9), "{n} {rate} {most}: {found} {exact}");
        }
        // Below the mean nothing is claimed; far above it next to nothing is left.
        assert_eq!(tail(1000, 0.5, 400), 1.0);
        assert!(tail(60_000, 256.0 / 60_000.0, 512) < 1e-40);
        // P[X > 10^6 + 5 deviations] of 10^12 units: the normal tail is 2.87e-7.
        let far = tail(1_000_000_000_000, 1e-6, 1_005_000);
        assert!(far > 2.7e-7 && far < 3.1e-7, "{far}");
        assert_eq!(tail(1 << 53, 1.0, 9), 1.0);
    }

    /// (1) from the enumeration of all coins and of who stays.
    #[test]
    fn the_chance_to_push_another_out() {
        let (n, rate, most) = (6u64, 0.4f64, 2u64);
        let joined = |x: u64| choose(n - 1, x) * rate.powi(x as i32) * (1.0 - rate).powi((n - 1 - x) as i32);
        let exact: f64 = (most..n).map(|r| joined(r) * rate * most as f64 / (r + 1) as f64).sum();
        let found = Truncated { rate, population: n, most }.disclosure(1);
        assert!(found >= exact, "{found} {exact}");
        // Next to the mean the tail is bounded by 1 or by a series that is summed to its end.
        let known = Truncated { rate, population: n, most: 4 };
        let exact = 4.0 / 6.0 * (choose(6, 5) * rate.powi(5) * 0.6 + rate.powi(6));
        assert!((known.disclosure(1) / exact - 1.0).abs() < 1e-8);
        assert_eq!(Truncated { rate, population: n, most: 6 }.disclosure(1), 0.0);
        let full: f64 = (4..n).map(joined).sum();
        assert!((known.full() / full - 1.0).abs() < 1e-8 && known.full() >= full);
        assert_eq!(Truncated { rate, population: n, most: 6 }.full(), 0.0);
        assert!(Truncated { rate, population: n, most: 1 }.disclosure(3) <= 1.0);
    }

    /// All coins of four units, all subsets that may stay, integer noise on their sum: no choice of
    /// the records exceeds (1) or (2), under zero-out (a null record keeps its place, or leaves it)
    /// and replace, in both orders. Without the disclosure the bound would be broken.
    #[test]
    fn no_batch_costs_more_than_a_poisson_step_and_disclosure() {
        const REACH: i32 = 60;
        let noise = |k: i32| (0.5f64).tanh() * f64::from(-k.abs()).exp(); // scale 1
        let n = 4usize;
        // The law of the released integer: `present` of the units, each with a value.
        let law = |rate: f64, values: &[i32], counts: &[bool], most: u32| -> Vec<f64> {
            let mut law = vec![0.0; 2 * REACH as usize + 1];
            let alive: u32 = (0..n).filter(|i| counts[*i]).map(|i| 1 << i).sum();
            for coins in 0u32..1 << n {
                let heads = (coins & alive).count_ones();
                let chance = rate.powi(coins.count_ones() as i32)
                    * (1.0 - rate).powi(n as i32 - coins.count_ones() as i32);
                let stay: Vec<u32> = (0u32..1 << n)
                    .filter(|set| set & !(coins & alive) == 0 && set.count_ones() == heads.min(most))
                    .collect();
                for set in &stay {
                    let sum: i32 = (0..n).filter(|i| set >> i & 1 == 1).map(|i| values[i]).sum();
                    for (k, mass) in (-REACH..=REACH).zip(&mut law) {
                        *mass += chance / stay.len() as f64 * noise(k - sum);
                    }
                }
            }
            law
        };
        let hockey = |p: &[f64], q: &[f64], epsilon: f64| -> f64 {
            p.iter().zip(q).map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
        };
        let all = vec![true; n];
        let mut broken = false;
        for (rate, most) in [(0.6, 1), (0.6, 2), (0.6, 3), (0.3, 1), (0.3, 2), (0.1, 1), (0.1, 2)] {
            let truncated = Truncated { rate, population: n as u64, most: u64::from(most) };
            for others in [[1, 1, 1], [-1, -1, -1], [1, -1, 0], [0, 0, 0]] {
                let with = |own: &[i32]| [own, &others[own.len() - 1..]].concat();
                let gone = |k: usize| (0..n).map(|i| i >= k).collect::<Vec<_>>();
                let none = vec![0; n];
                for (k, one, other, presence) in [
                    (1, vec![1], vec![0], all.clone()),
                    (1, vec![1], vec![0], gone(1)),
                    (1, vec![1], vec![-1], all.clone()),
                    (2, vec![1, 1], vec![0, 0], gone(2)),
                    (2, vec![1, 1], vec![-1, -1], all.clone()),
                ] {
                    let p = law(rate, &with(&one), &all, most);
                    let q = law(rate, &with(&other), &presence, most);
                    // What the Poisson sample of the group alone would show.
                    let alone = |own: &[i32]| law(rate, &[own, &none[own.len()..]].concat(), &all, n as u32);
                    let (plain, none) = (alone(&one), alone(&other));
                    let lambda = truncated.disclosure(k);
                    for epsilon in [0.0, 0.1, 0.3, 0.6, 1.0, 1.5] {
                        for (p, q, plain, none) in [(&p, &q, &plain, &none), (&q, &p, &none, &plain)] {
                            let found = hockey(p, q, epsilon);
                            let poisson = hockey(plain, none, epsilon);
                            let bound = lambda + (1.0 - lambda) * poisson;
                            assert!(
                                found <= bound + 1e-12,
                                "{rate} {most} {others:?} {one:?} {other:?} {epsilon}: {found} above {bound}"
                            );
                            broken |= found > poisson + 1e-6;
                        }
                    }
                }
            }
        }
        assert!(broken, "the disclosure is needed");
    }
}
