//! Floating point: noise that leaks its input, sums that depend on order (opendp#414, opacus#616,
//! google/differential-privacy#126).
//!
//! A textbook Laplace in doubles cannot reach every double, and which ones it reaches moves with
//! the answer (Mironov, *On Significance of the Least Significant Bits for Differential Privacy*,
//! 2012). Here the set of possible outputs is the whole grid for every answer.

use super::Inputs;
use crate::danger;
use crate::grid::{Grid, GridPlan, GridSum, NoisySum, Norm};

const DRAWS: usize = 400;

/// The textbook: `answer ± ln U`, `U` a multiple of 2^-53.
fn textbook(answer: f64, source: &mut Inputs) -> f64 {
    answer - source.sign() * source.unit().ln()
}

/// Whether some `U` near `exp(-|noise|)` gives exactly this output for this answer.
fn textbook_can_reach(output: f64, answer: f64) -> bool {
    let centre = ((-(output - answer).abs()).exp() * 2f64.powi(53)).round() as i64;
    (centre - 64..=centre + 64).filter(|&j| j > 0).any(|j| {
        let noise = (j as f64 * 2f64.powi(-53)).ln();
        answer - noise == output || answer + noise == output
    })
}

#[test]
fn pitfall_11_textbook_noise_tells_two_neighbours_apart() {
    // This is the attack working, so that its failure below means something.
    let mut source = Inputs(4);
    let from_zero: Vec<f64> = (0..DRAWS).map(|_| textbook(0.0, &mut source)).collect();
    let from_one: Vec<f64> = (0..DRAWS).map(|_| textbook(1.0, &mut source)).collect();
    assert!(from_zero.iter().all(|&output| textbook_can_reach(output, 0.0)));
    let unreachable = from_one.iter().filter(|&&output| !textbook_can_reach(output, 0.0)).count();
    assert!(
        unreachable > DRAWS / 10,
        "{unreachable} of {DRAWS} outputs convict the data set with the record"
    );
}

fn column() -> Grid {
    GridPlan::new(1.0, 1.0, 1, 10).norm(Norm::L1).at_depth(20).unwrap()
}

/// Releases of the sum of `records` with rounded Laplace noise, each from the same records anew.
fn released(records: &[f64], draws: usize, bits: &mut danger::Seeded) -> Vec<NoisySum> {
    let sum = || {
        let mut sum = GridSum::new(column());
        records.iter().try_for_each(|&record| sum.add(&[record])).unwrap();
        sum
    };
    (0..draws).map(|_| sum().add_laplace(bits).unwrap()).collect()
}

/// Whether the grid can release this double: it is the image of an integer. (Every integer is then
/// possible, whatever the sum: its distance to the sum is an integer, and every integer is a
/// possible noise.)
fn grid_can_reach(output: f64) -> bool {
    let step = column().step();
    (output / step).round() * step == output
}

#[test]
fn pitfall_11_every_output_is_possible_for_both_neighbours() {
    let mut bits = danger::seeded(5);
    // Awkward records: no multiples of the step, and no short binary fractions.
    for records in [&[0.1, 0.7][..], &[0.1, 0.7, 1.0 / 3.0]] {
        let outputs = released(records, DRAWS, &mut bits);
        assert!(outputs.iter().all(|output| grid_can_reach(output.to_f64()[0])));
    }
    // Doubles off the grid are never released: the test above can fail.
    assert!(!grid_can_reach(0.1) && !grid_can_reach(1.0 / 3.0));
}

/// Two samples in 8 classes: chi-square with 7 degrees of freedom passes 50 with probability
/// 1.4e-8.
#[test]
fn pitfall_11_low_bits_do_not_tell_neighbours_apart() {
    let mut bits = danger::seeded(6);
    let mut counts = [[0f64; 8]; 2];
    for (count, records) in counts.iter_mut().zip([&[0.1, 0.7][..], &[0.1, 0.7, 1.0 / 3.0]]) {
        for output in released(records, 20_000, &mut bits) {
            count[output.units()[0].rem_euclid(8) as usize] += 1.0;
        }
    }
    let statistic: f64 =
        (0..8).map(|j| (counts[0][j] - counts[1][j]).powi(2) / (counts[0][j] + counts[1][j])).sum();
    assert!(statistic < 50.0, "{statistic}: {counts:?}");
}

#[test]
fn pitfall_11_one_record_cannot_change_how_the_others_round() {
    // In doubles, a record of 2^53 swallows the ones that come after it: its absence moves the sum
    // by 2^53 + 100.
    let float_sum = |records: &[f64]| records.iter().sum::<f64>();
    let mut records = vec![2f64.powi(53)];
    records.extend([1.0; 100]);
    assert_eq!(float_sum(&records), 2f64.powi(53));
    assert_eq!(float_sum(&records[1..]), 100.0);
    let mut reversed = records.clone();
    reversed.reverse();
    assert_ne!(float_sum(&records), float_sum(&reversed));

    // On the grid each record counts for itself.
    let plan = GridPlan::new(2f64.powi(53), 1.0, 1, 101).truncation_limit(1.0);
    let grid = plan.at_depth(53).unwrap();
    let total = |records: &[f64]| {
        let mut sum = GridSum::new(grid);
        records.iter().try_for_each(|&record| sum.add(&[record])).unwrap();
        sum.unprotected()[0]
    };
    assert_eq!(total(&records), (1 << 53) + 100);
    assert_eq!(total(&records), total(&reversed));
    assert_eq!(total(&records) - total(&records[1..]), grid.clip_units());
}

#[test]
fn pitfall_11_a_record_exactly_at_the_clip_is_not_refused_for_its_last_bit() {
    // 1.0000000000000002 > 1.0: a record one rounding above its bound is an everyday event, and
    // costs it nothing.
    let grid = GridPlan::new(1.0, 1.0, 2, 1).at_depth(30).unwrap();
    for record in
        [[1f64.next_up(), 0.0], [0.6f64.next_up(), 0.8f64.next_up()], [0.1 + 0.2, (1f64 - 0.09).sqrt()]]
    {
        let contribution = grid.quantise(&record).unwrap();
        for (unit, value) in contribution.units().iter().zip(record) {
            assert!((*unit as f64 * grid.step() - value).abs() <= 2.0 * grid.step());
        }
    }
}
