//! The statistics of tables, and the mechanisms for vectors, lists and stable answers, audited through their public
//! doors; each with half of the noise, and with neighbours twice as far apart as it was calibrated for, caught.

mod specimens;
mod suite;

use std::fmt::Debug;

use sordino_audit::{Audit, MechanismTester};
use sordino_mechanisms::statistics::{
    Bounds, Contributor, Histogram, Mean, Mode, OpenHistogram, Quantile, RowCount, Rows, SmoothMedian,
    StableMedian, Sum, Variance,
};
use sordino_mechanisms::{
    Contributions, Counts, GaussianNoisyMax, KNorm, Mechanism, Proposal, ProposeTestRelease, ScoreShift,
    Shift, TopK,
};
use sordino_noise::Bits;
use sordino_privacy::{Accountant, ClipNorm, Neighbours, Rho, accounting};
use specimens::{patterns, single_patterns};
use suite::{count, delta, epsilon, is_caught, keeps, on, release, sharper_tester, tester};

const CLAIMED: f64 = 1.0;
const HONEST: f64 = 1.0;
const HALF: f64 = 2.0;
const QUARTER: f64 = 4.0;
/// Large enough to be seen in ten thousand outputs.
const DELTA: f64 = 0.05;

/// Three of every kind: honest, with half of the noise, with neighbours twice as far apart. An audit is made for a
/// share of the noise and for a number of records that differ.
fn three(name: &str, least: f64, audit: impl Fn(f64, usize, u64) -> Audit) {
    keeps(name, &audit(HONEST, 1, 1), least);
    is_caught(&format!("{name} with half the noise"), &audit(HALF, 1, 2));
    is_caught(&format!("{name} with sensitivity off by two"), &audit(HONEST, 2, 3));
}

/// The same for a mechanism that loses on our tables about half of what it claims: broken by a factor of four.
fn three_loose(name: &str, least: f64, audit: impl Fn(f64, usize, u64) -> Audit) {
    keeps(name, &audit(HONEST, 1, 1), least);
    is_caught(&format!("{name} with a quarter of the noise"), &audit(QUARTER, 1, 2));
    is_caught(&format!("{name} with sensitivity off by four"), &audit(HONEST, 4, 3));
}

fn row() -> Contributor {
    Contributor::record(Neighbours::Replace)
}

fn unit() -> Bounds {
    Bounds::new(0.0, 1.0).unwrap()
}

/// Eight rows, of which the first few are replaced.
fn replaced<T: Copy>(before: T, after: T, rest: [T; 4], apart: usize) -> ([T; 8], [T; 8]) {
    let table = |replaced: usize| {
        std::array::from_fn(|i| {
            if i >= 4 {
                rest[i - 4]
            } else if i < replaced {
                after
            } else {
                before
            }
        })
    };
    (table(0), table(apart))
}

/// One statistic of numbers, of which the value is looked at.
fn numbers<M>(tester: &MechanismTester<'_>, plan: &M, value: fn(M::Output) -> f64, apart: usize) -> Audit
where
    M: for<'a> Mechanism<Answer<'a> = Rows<'a, f64>> + Sync,
{
    let pairs = [
        replaced(0.0, 1.0, [0.0, 0.0, 0.0, 0.0], apart),
        replaced(0.0, 1.0, [1.0, 1.0, 1.0, 1.0], apart),
        replaced(0.0, 1.0, [0.0, 1.0, 1.0, 1.0], apart),
        replaced(0.25, 0.75, [0.25, 0.75, 0.75, 0.75], apart),
        replaced(0.01, 0.99, [0.01, 0.99, 0.99, 0.99], apart),
        replaced(0.25, 0.75, [0.25, 0.25, 0.25, 0.25], apart),
    ];
    on(tester, |rows: &[f64; 8], bits| value(release(plan, Rows::new(rows), bits)), &pairs)
}

/// The same for keys.
fn keys<M, O: sordino_audit::Observe>(
    tester: &MechanismTester<'_>,
    plan: &M,
    observed: fn(M::Output) -> O,
    apart: usize,
) -> Audit
where
    M: for<'a> Mechanism<Answer<'a> = Rows<'a, &'a str>, Output: Debug> + Sync,
{
    let pairs =
        [replaced("a", "b", ["a", "b", "b", "b"], apart), replaced("a", "b", ["b", "b", "b", "b"], apart)];
    on(tester, |rows: &[&str; 8], bits| observed(release(plan, Rows::new(rows), bits)), &pairs)
}

#[test]
fn count_keeps_its_claim() {
    three("count", 0.8, |spent, apart, seed| {
        let plan = RowCount::new(epsilon(spent), row()).unwrap();
        let pair = replaced(false, true, [false, true, false, false], apart);
        on(
            &tester(CLAIMED, seed),
            |rows: &[bool; 8], bits| release(&plan, Rows::new(rows), bits).value,
            &[pair],
        )
    });
}

#[test]
fn sum_keeps_its_claim() {
    three("sum", 0.8, |spent, apart, seed| {
        let plan = Sum::new(epsilon(spent), unit(), row()).unwrap();
        numbers(&tester(CLAIMED, seed), &plan, |sum| sum.value, apart)
    });
}

#[test]
fn mean_keeps_its_claim() {
    three("mean", 0.5, |spent, apart, seed| {
        let plan = Mean::new(epsilon(spent), unit(), row()).unwrap();
        numbers(&tester(CLAIMED, seed), &plan, |mean| mean.value, apart)
    });
}

#[test]
fn variance_keeps_its_claim() {
    three_loose("variance", 0.1, |spent, apart, seed| {
        let plan = Variance::new(epsilon(spent), unit(), row()).unwrap();
        numbers(&tester(CLAIMED, seed), &plan, |variance| variance.value, apart)
    });
}

#[test]
fn quantile_keeps_its_claim() {
    three_loose("quantile", 0.1, |spent, apart, seed| {
        let plan = Quantile::new(epsilon(spent), 0.5, unit(), row()).unwrap();
        numbers(&tester(CLAIMED, seed), &plan, |median| median.value, apart)
    });
}

#[test]
fn smooth_median_keeps_its_claim() {
    three_loose("smooth median", 0.1, |spent, apart, seed| {
        let plan = SmoothMedian::new(epsilon(spent), unit(), 0.1, row()).unwrap();
        numbers(&tester(CLAIMED, seed), &plan, |median| median, apart)
    });
}

/// What our tables show of it is its test alone, which has half of ε: 60 rows, of which so many are 1 that the test
/// passes about as often as not.
#[test]
fn stable_median_keeps_its_claim() {
    let small = delta(1e-3);
    three_loose("stable median", 0.2, |spent, apart, seed| {
        let plan = StableMedian::new(epsilon(spent), small, unit(), 0.5, row()).unwrap();
        let table = |ones: usize| (0..60).map(|i| f64::from(u8::from(i < ones))).collect::<Vec<_>>();
        let pairs = [6, 10, 14, 18, 22, 26].map(|ones| (table(ones), table(ones + apart)));
        let tester = tester(CLAIMED, seed).with_delta(small);
        let told = |rows: &Vec<f64>, bits: &mut dyn Bits| {
            release(&plan, Rows::new(rows), bits).map(|median| median.value)
        };
        on(&tester, told, &pairs)
    });
}

#[test]
fn histogram_keeps_its_claim() {
    three("histogram", 0.7, |spent, apart, seed| {
        let plan = Histogram::new(epsilon(spent), &["a", "b"], row()).unwrap();
        let counts = |cells: <Histogram as Mechanism>::Output| {
            cells.counts.into_iter().map(|(_, count)| count).collect::<Vec<_>>()
        };
        keys(&tester(CLAIMED, seed), &plan, counts, apart)
    });
}

#[test]
fn open_histogram_keeps_its_claim() {
    three("open histogram", 0.5, |spent, apart, seed| {
        let one_row = Contributor::record(Neighbours::AddRemove);
        let plan = OpenHistogram::new(epsilon(spent), delta(DELTA), one_row).unwrap();
        let rows = |count: usize| vec!["a"; count];
        let threshold = plan.threshold() as usize;
        let pairs = [(rows(0), rows(apart)), (rows(threshold), rows(threshold + apart))];
        let tester = tester(CLAIMED, seed).with_delta(delta(DELTA));
        on(
            &tester,
            |rows: &Vec<&str>, bits| {
                release(&plan, Rows::new(rows), bits).counts.first().map(|(_, count)| *count)
            },
            &pairs,
        )
    });
}

#[test]
fn mode_keeps_its_claim() {
    three("mode", 0.3, |spent, apart, seed| {
        let plan = Mode::new(epsilon(spent), &["a", "b", "c"], row()).unwrap();
        keys(&tester(CLAIMED, seed), &plan, |winner| winner.key, apart)
    });
}

#[test]
fn k_norm_keeps_its_claim() {
    three("k-norm", 0.5, |spent, apart, seed| {
        let sums = Contributions::new(Neighbours::ZeroOut, ClipNorm::new(1.0).unwrap(), count(4));
        let mechanism = KNorm::new(epsilon(spent), sums.of_dimension(count(2))).unwrap();
        let one = [1.0 - apart as f64, 0.0];
        on(
            &tester(CLAIMED, seed),
            |record: &[f64; 2], bits| {
                let mut sum = mechanism.sum();
                sum.add(record).unwrap();
                release(&mechanism, sum, bits).to_f64().to_vec()
            },
            &[(one, [1.0, 0.0])],
        )
    });
}

#[test]
fn counts_keep_their_claim() {
    three("counts", 0.7, |spent, apart, seed| {
        let shift = Shift::new(count(1), Neighbours::AddRemove);
        let mechanism = Counts::new(epsilon(spent), shift, count(3)).unwrap();
        let moved = |list: [i64; 3]| list.map(|entry| apart as i64 * entry);
        let pairs: Vec<_> =
            single_patterns().into_iter().map(|(one, two)| (moved(one), moved(two))).collect();
        on(&tester(CLAIMED, seed), |list: &[i64; 3], bits| release(&mechanism, list, bits), &pairs)
    });
}

/// Two choices of one half each.
#[test]
fn top_k_keeps_its_claim() {
    three("top two", 0.3, |spent, apart, seed| {
        let shift = ScoreShift::new(count(1), Neighbours::AddRemove).unwrap();
        let mechanism = TopK::new(epsilon(0.5 * spent), shift, count(4), count(2)).unwrap();
        let moved = |list: [i64; 4]| list.map(|entry| apart as i64 * entry);
        let pairs: Vec<_> = patterns().into_iter().map(|(one, two)| (moved(one), moved(two))).collect();
        on(&sharper_tester(CLAIMED, seed, 3), |list: &[i64; 4], bits| release(&mechanism, list, bits), &pairs)
    });
}

/// Stable tables near the threshold, and tables that are not stable at all, whose answers may be far apart. With a
/// small δ, which hides less of ε than [`DELTA`].
#[test]
fn propose_test_release_keeps_its_claim() {
    let small = delta(1e-3);
    three("propose, test, release", 0.5, |spent, apart, seed| {
        let bound = Shift::new(count(1), Neighbours::Replace);
        let mechanism = ProposeTestRelease::new(epsilon(spent), small, bound).unwrap();
        let at = |answer, distance| Proposal { answer, distance };
        let near = |distance: u64| (at(0, distance), at(apart as i64, distance + apart as u64));
        let pairs = [(at(0, 0), at(1000, 0)), near(3), near(5), near(8), near(11), near(14)];
        let tester = tester(CLAIMED, seed).with_delta(small);
        on(&tester, |proposal: &Proposal, bits| release(&mechanism, *proposal, bits), &pairs)
    });
}

/// Its price is that of all noisy scores, of which the index tells a part: the claim is not tight.
#[test]
fn gaussian_noisy_max_keeps_its_claim() {
    let votes = |rho: f64| {
        GaussianNoisyMax::new(Rho::new(rho).unwrap(), count(2), Neighbours::Replace, count(2)).unwrap()
    };
    let claim = votes(0.5).claim();
    let claimed = accounting::epsilon(&claim, delta(DELTA), Accountant::Auto).unwrap().bound.upper;
    three("gaussian noisy max", 0.2, |spent, apart, seed| {
        let mechanism = votes(0.5 * spent * spent);
        let moved = apart as i64;
        let pairs = [0, 1, 2, 3, 4].map(|gap| ([0, gap], [moved, gap - moved]));
        let tester = tester(claimed, seed).with_delta(delta(DELTA));
        on(&tester, |scores: &[i64; 2], bits| release(&mechanism, scores, bits), &pairs)
    });
}
