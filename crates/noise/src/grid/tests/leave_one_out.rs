//! With and without one record: how far the integer sum moves, for records one by one and for float
//! sums of groups.

use dashu::{integer::IBig, rational::RBig};
use proptest::prelude::*;

use super::Inputs;
use crate::grid::{Allowance, FloatGroups, Grid, GridPlan, GridSum, Grouping, Norm};

fn difference(with: &GridSum, without: &GridSum) -> Vec<IBig> {
    with.unprotected()
        .iter()
        .zip(without.unprotected())
        .map(|(a, b)| IBig::from(*a) - IBig::from(*b))
        .collect()
}

/// The square of the norm (its value for `L2`), exactly.
fn squared_norm(norm: Norm, units: &[IBig]) -> IBig {
    let size = |unit: &IBig| if *unit < IBig::ZERO { -unit } else { unit.clone() };
    let root: IBig = match norm {
        Norm::L1 => units.iter().map(size).sum(),
        Norm::L2 => return units.iter().map(|unit| unit * unit).sum(),
        Norm::Max => units.iter().map(size).max().unwrap_or_default(),
    };
    &root * &root
}

fn any_double() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits),
        -2.0..2.0f64,
        Just(1.0),
        Just(1f64.next_up()),
        Just(f64::MAX)
    ]
}

proptest! {
    #[test]
    fn a_record_moves_the_sum_by_at_most_the_clip(
        others in prop::collection::vec(prop::array::uniform4(any_double()), 0..12),
        record in prop::array::uniform4(any_double()),
        place in 0usize..12,
        depth in 0u32..=52,
    ) {
        for norm in [Norm::L1, Norm::L2, Norm::Max] {
            let plan = GridPlan::new(1.0, 1.0, 4, 13).norm(norm).truncation_limit(4.0);
            let grid = plan.at_depth(depth).unwrap();
            let mut with = others.clone();
            with.insert(place.min(others.len()), record);
            let total = |records: &[[f64; 4]]| {
                let mut sum = GridSum::new(grid);
                records.iter().try_for_each(|record| sum.add(record)).unwrap();
                sum
            };
            let moved = squared_norm(norm, &difference(&total(&with), &total(&others)));
            let clip = IBig::from(grid.clip_units());
            prop_assert!(moved <= &clip * &clip);
        }
    }
}

const ROWS: usize = 2;
const COLUMNS: usize = 3;
const POSITIONS: usize = 3;

/// A record of a layer: its gradient is the sum of `POSITIONS` outer products.
struct Record {
    inputs: [[f32; ROWS]; POSITIONS],
    deltas: [[f32; COLUMNS]; POSITIONS],
}

impl Record {
    /// Positions that nearly cancel and that differ by powers of two: the sum's error is then large
    /// next to the sum.
    fn adversarial(source: &mut Inputs) -> Self {
        let spread = source.below(12) as i32;
        let mut number = || {
            let exponent = source.below(2 * spread as usize + 1) as i32 - spread;
            (source.sign() * (0.5 + source.unit() / 2.0)) as f32 * 2f32.powi(exponent)
        };
        let mut record = Self {
            inputs: std::array::from_fn(|_| std::array::from_fn(|_| number())),
            deltas: std::array::from_fn(|_| std::array::from_fn(|_| number())),
        };
        record.inputs[1] = record.inputs[0];
        record.deltas[1] = record.deltas[0].map(|delta| -delta * (1.0 + 1.0 / 64.0));
        record
    }

    /// The largest weight with `w ‖g‖ <= N` and `w b <= beta N`, rounded down. In f64, with margins
    /// above its error.
    fn weight(&self, grid: &Grid, beta: f64) -> f32 {
        let entry = |row: usize, column: usize| -> f64 {
            (0..POSITIONS).map(|t| f64::from(self.inputs[t][row]) * f64::from(self.deltas[t][column])).sum()
        };
        let entries = (0..ROWS).flat_map(|row| (0..COLUMNS).map(move |column| (row, column)));
        let norm = entries.map(|(row, column)| entry(row, column).powi(2)).sum::<f64>().sqrt();
        let length = |vector: &[f32]| vector.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        let spread: f64 = (0..POSITIONS).map(|t| length(&self.inputs[t]) * length(&self.deltas[t])).sum();
        // The error of `norm` is at most 1e-14 of `spread`.
        let clip = grid.clip_units() as f64 * (1.0 - 1e-12);
        let weight = (clip / (norm + 1e-14 * spread)).min(beta * clip / spread);
        let nearest = weight as f32;
        if f64::from(nearest) > weight { nearest.next_down() } else { nearest }
    }
}

/// The weighted product of some records in single precision, summed in an order of its own.
fn product(records: &[(&Record, f32)], source: &mut Inputs) -> [f32; ROWS * COLUMNS] {
    let mut order: Vec<(usize, usize)> = (0..records.len())
        .flat_map(|record| (0..POSITIONS).map(move |position| (record, position)))
        .collect();
    source.shuffle(&mut order);
    let mut sum = [0f32; ROWS * COLUMNS];
    for (record, position) in order {
        let (record, weight) = records[record];
        for row in 0..ROWS {
            for column in 0..COLUMNS {
                let delta = weight * record.deltas[position][column];
                sum[row * COLUMNS + column] += delta * record.inputs[position][row];
            }
        }
    }
    sum
}

const GROUP_SIZE: usize = 4;
const BETA: f64 = 8.0;

fn layer_grid(depth: u32) -> Grid {
    let groups = FloatGroups {
        group_size: GROUP_SIZE as u32,
        chain: (GROUP_SIZE * POSITIONS + 2) as u64,
        unit_roundoff: FloatGroups::F32,
        beta: BETA,
        positions: POSITIONS as u64,
        grouping: Grouping::FixedSlotsSurplusAlone,
    };
    let plan = GridPlan::new(1.0, 1.0, ROWS * COLUMNS, 100).allowance(Allowance::FloatGroups(groups));
    plan.at_depth(depth).unwrap()
}

/// Sums what was sampled, block by block: the first few of a block together, each further one by
/// itself.
fn sum_of_blocks(grid: Grid, blocks: &[Vec<Record>], sampled: &[Vec<usize>], seed: u64) -> GridSum {
    let mut sum = GridSum::new(grid);
    for (number, (block, slots)) in blocks.iter().zip(sampled).enumerate() {
        let weighted: Vec<_> =
            slots.iter().map(|&slot| (&block[slot], block[slot].weight(&grid, BETA))).collect();
        let (group, surplus) = weighted.split_at(weighted.len().min(GROUP_SIZE));
        // A kernel may sum in another order for another number of rows, but depends on nothing
        // else.
        let mut source = Inputs(seed ^ (number as u64) << 32 ^ group.len() as u64);
        sum.add_group(&product(group, &mut source), group.len() as u32).unwrap();
        for alone in surplus {
            sum.add_group(&product(&[*alone], &mut source), 1).unwrap();
        }
    }
    sum
}

#[test]
fn groups_with_and_without_a_record_stay_within_the_allowance() {
    let grid = layer_grid(30);
    let clip = grid.clip_units() as f64;
    let u = 2f64.powi(-24);
    let chain = (GROUP_SIZE * POSITIONS + 2) as f64;
    let gamma = chain * u / (1.0 - chain * u);
    let grid_term = 2.0 * ((ROWS * COLUMNS) as f64).sqrt();
    let allowed = clip * (1.0 + (2.0 * GROUP_SIZE as f64 + 1.0) * gamma * BETA) + grid_term;
    // What is allowed fits the noise that is accounted.
    assert!(allowed <= 2f64.powi(30) && clip * (1.0 + grid.inflation()) >= allowed * (1.0 - 1e-12));

    let mut beyond_naive = 0;
    let mut source = Inputs(2);
    for trial in 0..2000 {
        let blocks: Vec<Vec<Record>> =
            (0..2).map(|_| (0..7).map(|_| Record::adversarial(&mut source)).collect()).collect();
        // Overfull blocks included: up to seven of seven slots in groups of four.
        let sampled: Vec<Vec<usize>> =
            blocks.iter().map(|_| (0..7).filter(|_| source.below(8) > 1).collect()).collect();
        let (block, slot) = (source.below(2), source.below(7));
        let mut without = sampled.clone();
        without[block].retain(|&other| other != slot);
        let present = without[block].len() < sampled[block].len();

        let full = sum_of_blocks(grid, &blocks, &sampled, trial);
        let rest = sum_of_blocks(grid, &blocks, &without, trial);
        let moved = squared_norm(Norm::L2, &difference(&full, &rest));
        if !present {
            assert_eq!(moved, IBig::ZERO, "a record that was not sampled moved the sum");
        }
        let moved = RBig::from(moved).to_f64().value().sqrt();
        assert!(moved <= allowed * (1.0 + 1e-12), "moved {moved} of {allowed} steps");
        beyond_naive += u32::from(moved > clip + grid_term);
    }
    // Without the float term the bound is false, so that this test can fail.
    assert!(beyond_naive > 10, "{beyond_naive}");
}

#[test]
fn dropping_the_surplus_would_double_the_sensitivity() {
    // Why further records are summed by themselves: if they were dropped, one record's absence
    // would let another in.
    let grid = layer_grid(30);
    let mut source = Inputs(3);
    let mut doubled = 0;
    for _ in 0..100 {
        let records: Vec<Record> = (0..5).map(|_| Record::adversarial(&mut source)).collect();
        let total = |slots: &[usize]| {
            let weighted: Vec<_> =
                slots.iter().map(|&slot| (&records[slot], records[slot].weight(&grid, BETA))).collect();
            let mut sum = GridSum::new(grid);
            sum.add_group(&product(&weighted, &mut Inputs(0)), 4).unwrap();
            sum
        };
        let moved = squared_norm(Norm::L2, &difference(&total(&[0, 1, 2, 3]), &total(&[1, 2, 3, 4])));
        doubled += u32::from(RBig::from(moved).to_f64().value().sqrt() > 1.2 * grid.clip_units() as f64);
    }
    assert!(doubled > 10, "{doubled}");
}
