//! The statistics of tables, and the mechanisms for vectors, lists and stable answers, audited
//! through their public doors; each with half of the noise, and with neighbours twice as far apart
//! as it was calibrated for, caught.

mod specimens;
mod suite;

use std::fmt::Debug;

use sordino_audit::{Audit, MechanismTester};
use sordino_mechanisms::statistics::{
    Bounds, Contributor, GaussianHistogram, Histogram, Mean, Mode, OpenGaussianHistogram, OpenHistogram,
    Quantile, RowCount, Rows, SmoothMedian, StableMedian, Sum, Variance,
};
use sordino_mechanisms::{
    Contributions, Counts, GaussianNoisyMax, KNorm, Mechanism, Proposal, ProposeTestRelease, ScoreShift,
    Shift, TopK,
};
use sordino_noise::Bits;
use sordino_privacy::{Accountant, ClipNorm, Neighbours, Rho, accounting};
use specimens::{patterns, single_patterns};
use suite::power::{floor, floor_of};
use suite::{count, delta, epsilon, is_caught, keeps, laws, on, release, sharper_tester, tester};

const CLAIMED: f64 = 1.0;
const HONEST: f64 = 1.0;
const HALF: f64 = 2.0;
/// Large enough to be seen in ten thousand outputs.
const DELTA: f64 = 0.05;

/// Three of every kind: honest, with half of the noise, with neighbours twice as far apart. An
/// audit is made for a share of the noise and for a number of records that differ.
fn three(name: &str, least: f64, audit: impl Fn(f64, usize, u64) -> Audit) {
    keeps(name, &audit(HONEST, 1, 1), least);
    is_caught(&format!("{name} with half the noise"), &audit(HALF, 1, 2));
    is_caught(&format!("{name} with sensitivity off by two"), &audit(HONEST, 2, 3));
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

/// One statistic of numbers, of which the value is looked at. Between eight rows and their
/// neighbour the mean moves through the middle of the bounds, where no output is clamped.
fn numbers<M>(tester: &MechanismTester<'_>, plan: &M, value: fn(M::Output) -> f64, apart: usize) -> Audit
where
    M: for<'a> Mechanism<Answer<'a> = Rows<'a, f64>> + Sync,
{
    tables(tester, plan, value, &[replaced(0.0, 1.0, [0.0, 1.0, 1.0, 1.0], apart)])
}

/// The same on other tables.
fn tables<M, T: AsRef<[f64]> + Sync>(
    tester: &MechanismTester<'_>,
    plan: &M,
    value: fn(M::Output) -> f64,
    pairs: &[(T, T)],
) -> Audit
where
    M: for<'a> Mechanism<Answer<'a> = Rows<'a, f64>> + Sync,
{
    on(tester, |rows: &T, bits| value(release(plan, Rows::new(rows.as_ref()), bits)), pairs)
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
    let least = floor(&(laws::discrete_laplace(0, 1.0), laws::discrete_laplace(1, 1.0)), 0.0, 1);
    three("count", least, |spent, apart, seed| {
        let plan = RowCount::new(epsilon(spent), row()).unwrap();
        let pair = replaced(false, true, [false, true, false, false], apart);
        on(
            &tester(CLAIMED, seed),
            |rows: &[bool; 8], bits| release(&plan, Rows::new(rows), bits).value,
            &[pair],
        )
    });
}

/// A row that moves from one bound to the other, and noise of scale 1/ε of that.
fn one_laplace() -> (Vec<f64>, Vec<f64>) {
    (laws::laplace(0.0, 1.0), laws::laplace(1.0, 1.0))
}

#[test]
fn sum_keeps_its_claim() {
    three("sum", floor(&one_laplace(), 0.0, 1), |spent, apart, seed| {
        let plan = Sum::new(epsilon(spent), unit(), row()).unwrap();
        numbers(&tester(CLAIMED, seed), &plan, |sum| sum.value, apart)
    });
}

#[test]
fn mean_keeps_its_claim() {
    three("mean", floor(&one_laplace(), 0.0, 1), |spent, apart, seed| {
        let plan = Mean::new(epsilon(spent), unit(), row()).unwrap();
        numbers(&tester(CLAIMED, seed), &plan, |mean| mean.value, apart)
    });
}

/// The proof adds the losses of two sums, each with half of ε, as if one row could move both as far
/// as possible. In units of half the width, from the middle: a row that moves from u to v moves
/// them by `|u - v|` of 2 and `|u^2 - v^2|` of 1, and no row by more than 25/16 of the two halves
/// together (from 1/4 to -1). The variance `second - first^2` shows all of that where the mean is
/// 1/4: there its noise is the sum of two Laplace numbers of one scale. So 25/32 of ε is the whole
/// loss, and half of the noise loses 25/16 of ε: at ε = 3 tails show it that are not rare.
#[test]
fn variance_keeps_its_claim() {
    let claimed = 3.0;
    let table = |from: usize| {
        let mut rows = [vec![1.0; 80], vec![0.5; 88], vec![0.0; 30], vec![0.625; from]].concat();
        rows.resize(200, 0.0);
        rows
    };
    let least =
        floor(&(laws::two_laplaces(0.0, 1.0), laws::two_laplaces(25.0 / 32.0 * claimed, 1.0)), 0.0, 3);
    three("variance", least, |spent, apart, seed| {
        let plan = Variance::new(epsilon(claimed * spent), unit(), row()).unwrap();
        let tester = sharper_tester(claimed, seed, 3);
        tables(&tester, &plan, |variance| variance.value, &[(table(2), table(2 - apart))])
    });
}

/// Half of the rows at 1/20, the others all at 0, or all but some at 1: the scores of what lies
/// below 1/20 fall by Δ and those of what lies above rise by Δ, so that the odds of the two sides
/// move by all of e^ε. One side is narrow, so that its odds are about its probability.
#[test]
fn quantile_keeps_its_claim() {
    let narrow = 0.05;
    let table = |apart: usize, moved: usize| {
        let mut rows = vec![narrow; apart];
        rows.extend((0..apart).map(|i| f64::from(u8::from(i < moved))));
        rows
    };
    let odds = |change: f64| (1.0 / narrow - 1.0) * change.exp();
    let law = |odds: f64| vec![1.0 / (1.0 + odds), odds / (1.0 + odds)];
    let least = floor(&(law(odds(-0.5)), law(odds(0.5))), 0.0, 1);
    three("quantile", least, |spent, apart, seed| {
        let plan = Quantile::new(epsilon(spent), 0.5, unit(), row()).unwrap();
        let pair = (table(apart, 0), table(apart, apart));
        tables(&tester(CLAIMED, seed), &plan, |median| median.value, &[pair])
    });
}

/// A table for which the two parts of the proof meet, in units of the floor a, with e^β the step of
/// the ladder of noise: the median is the lowest of many equal rows; the next `near` rows lie
/// `a e^(β steps)` below it, all others at `far` a. The median's level is the least one. Each row
/// that goes from the top to the bottom moves the median down and the noise up by one level, if
/// `far` is within the room that the smoothness leaves.
fn brink(beta: f64, steps: f64, near: usize, far: f64, moved: usize) -> Vec<f64> {
    const FLOOR: f64 = 0.01;
    const HALF_OF_ROWS: usize = 24;
    let below = HALF_OF_ROWS - near;
    let mut rows = vec![0.5; HALF_OF_ROWS + 1 - moved];
    // Less than a floor, by more than rows are rounded.
    rows.push(0.5 - 0.999 * FLOOR);
    rows.extend(vec![0.5 - 0.999 * FLOOR * (beta * steps).exp(); near - 1]);
    rows.extend(vec![0.5 - FLOOR * far; below + moved]);
    rows
}

/// Moving the median costs at most ε/2, and a level at most ε/2; but Cauchy noise shows the one at
/// a distance of one scale, and the other at none and at infinity. Together they cost at most 0.71
/// to 0.80 of ε for ε up to 1 (the tests of the mechanism compute it), on tables like [`brink`].
/// Half of the noise loses up to 1.26 of ε = 1/2 and 1.14 of ε = 1: enough to be seen, in hundreds
/// of thousands of outputs. The number of rows that a step on the ladder needs follows from
/// `e^(kβ) (e^β - 1) > 1`.
#[test]
fn smooth_median_keeps_its_claim() {
    let audit = |claimed: f64, spent: f64, times: u64, seed: u64, pair: (Vec<f64>, Vec<f64>)| {
        let plan = SmoothMedian::new(epsilon(claimed * spent), unit(), 0.01, row()).unwrap();
        tables(&sharper_tester(claimed, seed, times), &plan, |median| median, &[pair])
    };
    let pair = |beta, steps, near, far, moved| {
        (brink(beta, steps, near, far, 0), brink(beta, steps, near, far, moved))
    };
    // One level: from a scale of 4 floors to one of 4 e^(1/4).
    let laws = (laws::cauchy(0.0, 4.0), laws::cauchy(-1.0, 4.0 * 0.25_f64.exp()));
    let honest = audit(0.5, HONEST, 10, 1, pair(0.25, 0.0, 7, 5.6, 1));
    keeps("smooth median", &honest, floor(&laws, 0.0, 10));
    let half = audit(0.5, HALF, 10, 2, pair(0.5, 0.0, 3, 4.1, 1));
    is_caught("smooth median with half the noise", &half);
    let far = audit(1.0, HONEST, 25, 3, pair(0.5, 1.0, 3, 4.44, 2));
    is_caught("smooth median with sensitivity off by two", &far);
}

/// Where both parts of the proof meet: rows at 0, at the proposed bound and at twice that, the
/// median the last at 0. If one row of 0 becomes one of the bound, then the median moves by the
/// bound, and the distance to a table that is not stable (the number of rows in the middle) grows
/// by 1.
#[test]
fn stable_median_keeps_its_claim() {
    let small = delta(1e-3);
    let table = |middle: usize, moved: usize| {
        let mut rows = vec![0.0; 30 - moved];
        rows.extend(vec![0.5; middle + moved]);
        rows.extend(vec![1.0; 30 - middle]);
        rows
    };
    // The threshold is the least integer of the test's noise with a tail of at most δ; one row
    // below it, the test passes most often among the distances that lose all of its share. Answers
    // in cells of the bound over 16.
    let threshold =
        |spent: f64| (0..).find(|k| laws::discrete_laplace_tail(*k, 2.0 / spent) <= 1e-3).unwrap();
    let law = |missing: i64, answer: i64| laws::tested((2.0, 32.0), missing, answer);
    three("stable median", floor(&(law(1, 0), law(0, 16)), 1e-3, 1), |spent, apart, seed| {
        let plan = StableMedian::new(epsilon(spent), small, unit(), 0.5, row()).unwrap();
        let middle = threshold(spent) as usize - 1;
        let tester = tester(CLAIMED, seed).with_delta(small);
        let told = |rows: &Vec<f64>, bits: &mut dyn Bits| {
            release(&plan, Rows::new(rows), bits).map(|median| median.value)
        };
        on(&tester, told, &[(table(middle, 0), table(middle, apart))])
    });
}

#[test]
fn histogram_keeps_its_claim() {
    // A row that changes its key moves two counts by 1: noise of scale 2.
    let law =
        |one: i64, two: i64| laws::both(&laws::discrete_laplace(one, 2.0), &laws::discrete_laplace(two, 2.0));
    three("histogram", floor(&(law(0, 1), law(1, 0)), 0.0, 1), |spent, apart, seed| {
        let plan = Histogram::new(epsilon(spent), &["a", "b"], row()).unwrap();
        let counts = |cells: <Histogram as Mechanism>::Output| {
            cells.counts.into_iter().map(|(_, count)| count).collect::<Vec<_>>()
        };
        keys(&tester(CLAIMED, seed), &plan, counts, apart)
    });
}

#[test]
fn open_histogram_keeps_its_claim() {
    let threshold = 1 + (0..).find(|k| laws::discrete_laplace_tail(*k, 1.0) <= DELTA).unwrap();
    let shown = |rows: i64| {
        let counts: Vec<f64> = laws::discrete_laplace(rows, 1.0).split_off((threshold + 120) as usize);
        std::iter::once(1.0 - counts.iter().sum::<f64>()).chain(counts).collect::<Vec<_>>()
    };
    three(
        "open histogram",
        floor(&(shown(threshold), shown(threshold + 1)), DELTA, 1),
        |spent, apart, seed| {
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
        },
    );
}

/// ρ prices the noise of both counts, at every δ: the claim is not tight.
#[test]
fn gaussian_histogram_keeps_its_claim() {
    let plan = |rho: f64| GaussianHistogram::new(Rho::new(rho).unwrap(), &["a", "b"], row()).unwrap();
    let claimed =
        accounting::epsilon(&plan(0.5).claim(), delta(DELTA), Accountant::Auto).unwrap().bound.upper;
    // A row that changes its key moves two counts by 1: sigma is 2^(1/2) / (2ρ)^(1/2).
    let law = |one: i64, two: i64| {
        let count = |count: i64| laws::discrete_gaussian(count, 2.0_f64.sqrt());
        laws::both(&count(one), &count(two))
    };
    three("gaussian histogram", floor(&(law(0, 1), law(1, 0)), DELTA, 1), |spent, apart, seed| {
        let counts = |cells: <GaussianHistogram as Mechanism>::Output| {
            cells.counts.into_iter().map(|(_, count)| count).collect::<Vec<_>>()
        };
        let tester = tester(claimed, seed).with_delta(delta(DELTA));
        keys(&tester, &plan(0.5 * spent * spent), counts, apart)
    });
}

/// One fifth of δ is for keys, the rest for the noise.
#[test]
fn open_gaussian_histogram_keeps_its_claim() {
    let one_row = Contributor::record(Neighbours::AddRemove);
    let plan = |rho: f64| {
        OpenGaussianHistogram::new(Rho::new(rho).unwrap(), delta(DELTA / 5.0), one_row.clone()).unwrap()
    };
    let claimed =
        accounting::epsilon(&plan(0.5).claim(), delta(DELTA), Accountant::Auto).unwrap().bound.upper;
    let shown = |rows: i64, threshold: i64| {
        let counts = laws::discrete_gaussian(rows, 1.0).split_off((threshold + 120) as usize);
        std::iter::once(1.0 - counts.iter().sum::<f64>()).chain(counts).collect::<Vec<_>>()
    };
    let threshold = 1 + (0..).find(|k| shown(0, *k)[0] >= 1.0 - DELTA / 5.0).unwrap();
    let laws = (shown(threshold, threshold), shown(threshold + 1, threshold));
    three("open gaussian histogram", floor(&laws, DELTA, 1), |spent, apart, seed| {
        let plan = plan(0.5 * spent * spent);
        let rows = |count: usize| vec!["a"; count];
        let threshold = plan.threshold() as usize;
        let pairs = [(rows(0), rows(apart)), (rows(threshold), rows(threshold + apart))];
        let tester = tester(claimed, seed).with_delta(delta(DELTA));
        let first = |rows: &Vec<&str>, bits: &mut dyn Bits| {
            release(&plan, Rows::new(rows), bits).counts.first().map(|(_, count)| *count)
        };
        on(&tester, first, &pairs)
    });
}

#[test]
fn mode_keeps_its_claim() {
    let law = |a: i64, b: i64| laws::noisy_max(laws::one_sided(2.0), &[a, b, 0]);
    let pairs = [(law(5, 3), law(4, 4)), (law(4, 4), law(3, 5))];
    three("mode", floor_of(&pairs, 0.0, 1), |spent, apart, seed| {
        let plan = Mode::new(epsilon(spent), &["a", "b", "c"], row()).unwrap();
        keys(&tester(CLAIMED, seed), &plan, |winner| winner.key, apart)
    });
}

#[test]
fn k_norm_keeps_its_claim() {
    three("k-norm", floor(&(laws::plane(0.0, 1.0), laws::plane(1.0, 1.0)), 0.0, 1), |spent, apart, seed| {
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
    let least = floor(&(laws::discrete_laplace(0, 1.0), laws::discrete_laplace(1, 1.0)), 0.0, 1);
    three("counts", least, |spent, apart, seed| {
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
    let law = |list: &[i64]| laws::first_two(0.25, list);
    let pairs: Vec<_> = patterns::<4>().iter().map(|(one, two)| (law(one), law(two))).collect();
    three("top two", floor_of(&pairs, 0.0, 3), |spent, apart, seed| {
        let shift = ScoreShift::new(count(1), Neighbours::AddRemove).unwrap();
        let mechanism = TopK::new(epsilon(0.5 * spent), shift, count(4), count(2)).unwrap();
        let moved = |list: [i64; 4]| list.map(|entry| apart as i64 * entry);
        let pairs: Vec<_> = patterns().into_iter().map(|(one, two)| (moved(one), moved(two))).collect();
        on(&sharper_tester(CLAIMED, seed, 3), |list: &[i64; 4], bits| release(&mechanism, list, bits), &pairs)
    });
}

/// Stable tables near the threshold, and tables that are not stable at all, whose answers may be
/// far apart. With a small δ, which hides less of ε than [`DELTA`].
#[test]
fn propose_test_release_keeps_its_claim() {
    let small = delta(1e-3);
    let threshold = (0..).find(|k| laws::discrete_laplace_tail(*k, 2.0) <= 1e-3).unwrap();
    let law = |distance: i64, answer: i64| laws::tested((2.0, 2.0), threshold - distance, answer);
    let pairs = [3, 5, 8, 11, 14].map(|distance| (law(distance, 0), law(distance + 1, 1)));
    three("propose, test, release", floor_of(&pairs, 1e-3, 1), |spent, apart, seed| {
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
    // Two counts move by 1: the gap by 2, and sigma is 2^(1/2) / (2ρ)^(1/2).
    let pairs = [0, 1, 2, 3, 4].map(|gap| {
        let law = |gap: i64| laws::duel(-gap as f64, 2.0_f64.sqrt());
        (law(gap), law(gap - 2))
    });
    three("gaussian noisy max", floor_of(&pairs, DELTA, 1), |spent, apart, seed| {
        let mechanism = votes(0.5 * spent * spent);
        let moved = apart as i64;
        let pairs = [0, 1, 2, 3, 4].map(|gap| ([0, gap], [moved, gap - moved]));
        let tester = tester(claimed, seed).with_delta(delta(DELTA));
        on(&tester, |scores: &[i64; 2], bits| release(&mechanism, scores, bits), &pairs)
    });
}
