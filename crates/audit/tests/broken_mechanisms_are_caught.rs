//! The broken mechanisms of the literature, each by name, and beside each the right one that it
//! imitates.

mod specimens;
mod suite;

use sordino_noise::Bits;
use sordino_noise::danger::seeded;
use specimens::{
    MaxNoise, NoisyHistogram, NoisyMax, NumericalSparseVector, PrefixSum, Rappor, SparseVector,
    SparseVector3, TruncatedGeometric, naive_laplace, patterns, single_patterns,
};
use suite::power::{floor, floor_of};
use suite::{is_caught, keeps, laws, on, sharper_tester, tester};

const CLAIMED: f64 = 1.0;

/// Laws of lists of answers in steps of 1/8, where discrete noise is about as good as that of the
/// specimens.
fn all_pairs<const N: usize>(law: impl Fn(&[i64]) -> Vec<f64>) -> Vec<(Vec<f64>, Vec<f64>)> {
    let steps = |list: [i64; N]| list.map(|answer| 8 * answer);
    patterns().into_iter().map(|(one, two)| (law(&steps(one)), law(&steps(two)))).collect()
}

/// How much there is to be found in where the first answer above comes.
fn first_above(scales: (f64, f64), times: u64) -> f64 {
    let law = |answers: &[i64]| laws::above_threshold((8.0 * scales.0, 8.0 * scales.1), 8, answers);
    floor_of(&all_pairs::<6>(law), 0.0, times)
}

fn one_laplace() -> f64 {
    floor(&(laws::laplace(0.0, 1.0), laws::laplace(1.0, 1.0)), 0.0, 1)
}

#[test]
fn svt1_is_private() {
    let mechanism = SparseVector::one(CLAIMED, 1, 1.0);
    let audit =
        on(&sharper_tester(CLAIMED, 11, 3), |a: &[i64; 6], bits| mechanism.release(a, bits), &patterns());
    keeps("SVT 1", &audit, first_above((2.0, 4.0), 3));
}

#[test]
fn svt2_is_private() {
    let mechanism = SparseVector::two(CLAIMED, 1, 1.0);
    let audit =
        on(&sharper_tester(CLAIMED, 12, 3), |a: &[i64; 6], bits| mechanism.release(a, bits), &patterns());
    keeps("SVT 2", &audit, first_above((2.0, 4.0), 3));
}

#[test]
fn svt3_which_reuses_its_noise_is_caught() {
    let mechanism = SparseVector3::new(CLAIMED, 1, 1.0);
    let audit =
        on(&sharper_tester(CLAIMED, 13, 10), |a: &[i64; 6], bits| mechanism.release(a, bits), &patterns());
    is_caught("SVT 3", &audit);
}

#[test]
fn svt4_whose_noise_ignores_the_number_of_positives_is_caught() {
    let mechanism = SparseVector::four(CLAIMED, 2, 1.0);
    let audit = on(&tester(CLAIMED, 14), |a: &[i64; 10], bits| mechanism.release(a, bits), &patterns());
    is_caught("SVT 4", &audit);
}

#[test]
fn svt5_without_noise_on_the_answers_is_caught() {
    let mechanism = SparseVector::five(CLAIMED, 1.0);
    let audit = on(&tester(CLAIMED, 15), |a: &[i64; 10], bits| mechanism.release(a, bits), &patterns());
    is_caught("SVT 5", &audit);
}

#[test]
fn svt6_which_never_halts_is_caught() {
    let mechanism = SparseVector::six(CLAIMED, 1.0);
    let audit = on(&tester(CLAIMED, 16), |a: &[i64; 10], bits| mechanism.release(a, bits), &patterns());
    is_caught("SVT 6", &audit);
}

#[test]
fn svt_restarted_with_the_whole_budget_each_time_is_caught() {
    // At ε = 3 the outputs that tell are not rare.
    let claimed = 3.0;
    let mechanism = SparseVector::restarted(claimed, 3, 0.5);
    // Three answers below and one above, three times.
    let pair = ([0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1], [1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0]);
    let audit =
        on(&sharper_tester(claimed, 17, 10), |a: &[i64; 12], bits| mechanism.release(a, bits), &[pair]);
    is_caught("SVT restarted", &audit);
}

#[test]
fn numerical_svt_is_private() {
    let mechanism = NumericalSparseVector::new(CLAIMED, 2, 1.0);
    let audit =
        on(&sharper_tester(CLAIMED, 18, 3), |a: &[i64; 6], bits| mechanism.release(a, bits), &patterns());
    keeps("numerical SVT", &audit, first_above((3.0, 12.0), 3));
}

#[test]
fn svt_3_and_4_in_parallel_are_caught() {
    let (three, four) = (SparseVector3::new(CLAIMED, 2, 1.0), SparseVector::four(CLAIMED, 2, 1.0));
    let both = |a: &[i64; 6], bits: &mut dyn Bits| (three.release(a, bits), four.release(a, bits));
    is_caught("SVT 3 and 4", &on(&sharper_tester(2.0 * CLAIMED, 19, 10), both, &patterns()));
}

#[test]
fn report_noisy_max_1_and_2_are_private() {
    for (name, noise) in
        [("report-noisy-max 1", MaxNoise::Laplace), ("report-noisy-max 2", MaxNoise::Exponential)]
    {
        let mechanism = NoisyMax::new(CLAIMED, noise);
        let audit = on(&tester(CLAIMED, 20), |a, bits| mechanism.index::<5>(a, bits), &patterns());
        let law = |scores: &[i64]| match noise {
            MaxNoise::Laplace => laws::noisy_max(laws::two_sided(16.0), scores),
            MaxNoise::Exponential => laws::noisy_max(laws::one_sided(16.0), scores),
        };
        keeps(name, &audit, floor_of(&all_pairs::<5>(law), 0.0, 1));
    }
}

#[test]
fn report_noisy_max_3_and_4_which_tell_the_value_are_caught() {
    for (name, noise) in
        [("report-noisy-max 3", MaxNoise::Laplace), ("report-noisy-max 4", MaxNoise::Exponential)]
    {
        let mechanism = NoisyMax::new(CLAIMED, noise);
        let audit = on(&tester(CLAIMED, 21), |a, bits| mechanism.value::<5>(a, bits), &patterns());
        is_caught(name, &audit);
    }
}

#[test]
fn noisy_histogram_1_is_private() {
    let mechanism = NoisyHistogram::with_scale(1.0 / CLAIMED);
    let audit = on(&tester(CLAIMED, 22), |a, bits| mechanism.release::<5>(a, bits), &single_patterns());
    keeps("noisy histogram 1", &audit, one_laplace());
}

/// Its scale is ε where 1/ε belongs: right by chance at ε = 1.
#[test]
fn noisy_histogram_2_with_the_scale_upside_down_is_caught() {
    let mechanism = NoisyHistogram::with_scale(0.5);
    let audit = on(&tester(0.5, 23), |a, bits| mechanism.release::<5>(a, bits), &single_patterns());
    is_caught("noisy histogram 2", &audit);
}

#[test]
fn prefix_sums_are_private_if_one_answer_moves_and_caught_if_all_do() {
    let mechanism = PrefixSum::new(CLAIMED);
    let audit = on(&tester(CLAIMED, 24), |a, bits| mechanism.release::<10>(a, bits), &single_patterns());
    keeps("prefix sum", &audit, one_laplace());
    let audit = on(&tester(CLAIMED, 25), |a, bits| mechanism.release::<10>(a, bits), &patterns());
    is_caught("prefix sum of answers that all move", &audit);
}

#[test]
fn truncated_geometric_is_as_private_as_its_integers_say() {
    let mechanism = TruncatedGeometric::new(CLAIMED, 5);
    // k = ceil(ln 2) = 1, so that ε is ln(1 + 1/2).
    let truth = 1.5_f64.ln();
    let release = |count: &u32, bits: &mut dyn Bits| mechanism.release(*count, bits);
    let least = floor(&(mechanism.law(2), mechanism.law(3)), 0.0, 1);
    keeps("truncated geometric", &on(&tester(truth, 26), release, &[(2, 3), (1, 0)]), least);
}

#[test]
fn rappor_is_as_private_as_its_bits_say() {
    // Six bits of the filters of "0" and "1" differ.
    let truth = |set: f64| 6.0 * (set / (1.0 - set)).ln();
    // How many of them speak for the one: a binomial number.
    let law = |set: f64| {
        let ways = [1.0, 6.0, 15.0, 20.0, 15.0, 6.0, 1.0];
        (0..7).map(|j| ways[j as usize] * set.powi(j) * (1.0 - set).powi(6 - j)).collect::<Vec<_>>()
    };
    for (name, mechanism, set) in
        [("RAPPOR", Rappor::full(), 0.5125), ("one-time RAPPOR", Rappor::one_time(), 0.525)]
    {
        let release = |value: &&str, bits: &mut dyn Bits| mechanism.release(value, bits);
        let audit = on(&tester(truth(set) + 1e-6, 27), release, &[("0", "1")]);
        keeps(name, &audit, floor(&(law(set), law(1.0 - set)), 0.0, 1));
    }
}

#[test]
fn naive_floating_point_laplace_is_caught() {
    for (one, two) in [(0.0, 1.0), (0.0, 0.5), (3.0, 2.0)] {
        let naive = |answer: &f64, bits: &mut dyn Bits| naive_laplace(*answer, 1.0, bits);
        is_caught("naive laplace", &on(&tester(CLAIMED, 28), naive, &[(one, two)]));
    }
}

/// The event by which it is caught, spelled out: |x| < 1/4 and x is no multiple of 2^-53. About
/// 0.186 of the outputs on 0, and none on 1, where the subtraction is exact.
#[test]
fn naive_floating_point_laplace_has_outputs_that_only_one_input_can_give() {
    let odd = |x: f64| x.abs() < 0.25 && (x * (1_u64 << 53) as f64).fract() != 0.0;
    let mut bits = seeded(29);
    let mut share = |answer: f64| (0..50_000).filter(|_| odd(naive_laplace(answer, 1.0, &mut bits))).count();
    let (zero, one) = (share(0.0) as f64 / 50_000.0, share(1.0));
    // Six standard deviations.
    assert!((zero - 0.186).abs() < 0.011, "{zero}");
    assert_eq!(one, 0);
}
