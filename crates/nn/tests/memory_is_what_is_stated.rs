//! Training takes no more memory than is stated: the system counts the peak of a process of its
//! own.
//!
//! This file is its own worker. With `step NETWORK SAMPLING LIMIT` it takes two steps, and prints
//! the stated bytes, the growth of memory at its peak (touched pages), and the growth of reserved
//! memory at the end (touched or not).

use std::num::NonZero;
use std::process::Command;

use sordino_data::{ContributionLimit, Sampling, UnitRule};
use sordino_nn::{Example, Examples, Layer, Network, NetworkLoss, NetworkObjective, Shape, View, preset};
use sordino_noise::danger::seeded;
use sordino_optim::{Clipping, Objective, PlanOptions, TrainingPlan};
use sordino_privacy::{Count, Neighbours, NoiseMultiplier, SamplingRate};

const TWO: NonZero<usize> = NonZero::new(2).unwrap();

/// Bytes per weight beside micro-batches: two integer sums (this step's and the last one's), a
/// float sum on each of two threads, and two packed layouts, one of them padded.
const WEIGHT: usize = 2 * 8 + 2 * 4 + 4 + 8;
/// Bytes per record of a batch: its places in lists.
const RECORD: usize = 16;
/// The program's own pages, stacks of threads, and lists of tasks.
const PROGRAM: usize = 4 << 20;

/// The network, and records out of slots.
const CASES: [(&str, &str); 7] = [
    // 64 views of each example: derivatives, padded images and the state of pooling are a large
    // part.
    ("tanh_cnn", "48/48"),
    ("cifar_cnn", "48/48"),
    // Padded inputs are a large part.
    ("resnet20", "48/48"),
    ("mlp", "2048/2048"),
    // Groups of a sample have room for far more records than come; kept rows do not.
    ("mlp", "2000/60000"),
    ("cifar_cnn", "300/60000"),
    ("wide", "2000/60000"),
];

#[allow(clippy::print_stdout, reason = "a worker's answer")]
fn main() {
    let words: Vec<String> = std::env::args().collect();
    match words.as_slice() {
        [_, role, network, sampling, limit] if role == "step" => {
            let [weights, stated, peak, reserved] = step(network, sampling, limit);
            println!("{weights} {stated} {peak} {reserved}");
        }
        // The system does not report memory: there is nothing to compare.
        _ if status("VmHWM:").is_none() => {}
        _ => CASES.into_iter().for_each(|(network, sampling)| check(network, sampling)),
    }
}

fn check(network: &str, sampling: &str) {
    let records: usize = sampling.split('/').next().unwrap().parse().unwrap();
    let within = |limit: usize, of: [usize; 4]| {
        let [weights, stated, peak, reserved] = of;
        let most = stated + weights * WEIGHT + records * RECORD + PROGRAM;
        assert!(stated <= limit, "{network} {sampling}: stated {stated} with a limit of {limit}");
        assert!(peak <= most, "{network} {sampling}: a peak of {peak} above {most}, stated {stated}");
        assert!(reserved <= most, "{network} {sampling}: reserved {reserved}, above {most}, stated {stated}");
        stated
    };
    let stated = within(usize::MAX, run(network, sampling, usize::MAX));
    let limit = stated * 3 / 5;
    within(limit, run(network, sampling, limit));
}

/// The numbers that a worker prints.
fn run(network: &str, sampling: &str, limit: usize) -> [usize; 4] {
    let (this, limit) = (std::env::current_exe().unwrap(), limit.to_string());
    let output = Command::new(this).args(["step", network, sampling, &limit]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let numbers = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<usize> = numbers.split_whitespace().map(|word| word.parse().unwrap()).collect();
    numbers.try_into().unwrap()
}

/// The number of weights, the stated bytes, the growth of memory at its peak, and the growth of
/// reserved memory.
fn step(name: &str, sampling: &str, limit: &str) -> [usize; 4] {
    let network = network(name);
    let (records, slots) = sampling.split_once('/').unwrap();
    let (records, slots): (usize, usize) = (records.parse().unwrap(), slots.parse().unwrap());
    let sampling = if records == slots {
        Sampling::FullBatch
    } else {
        Sampling::Poisson { rate: SamplingRate::new(records as f64 / slots as f64).unwrap() }
    };
    let options = PlanOptions {
        sampling,
        slots: Count::new(slots as u64).unwrap(),
        rounds: Count::new(2).unwrap(),
        neighbours: Neighbours::ZeroOut,
        clipping: Clipping::Flat { norm: 1.0 },
        scales: None,
        divisor: Some(1.0),
        limit: ContributionLimit::of(&UnitRule::Record),
    };
    let plan = TrainingPlan::with_noise(options, NoiseMultiplier::new(1.0).unwrap()).unwrap();
    let same = Same { input: vec![1.0; network.input().size()], target: vec![0.0], slots };
    let parameters = network.initial(1);
    // Resets the peak. If that is refused, the growth is overstated.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let before = ["VmRSS:", "VmData:"].map(|name| status(name).unwrap());
    let mut objective = NetworkObjective::new(&network, &same, records as f64).unwrap();
    let limit: usize = limit.parse().unwrap();
    if limit < usize::MAX {
        objective = objective.memory(limit, TWO).unwrap();
    }
    let stated = objective.batch_bytes(TWO);
    let clip = plan.clip(1.0, objective.dimension(), objective.float_sums()).unwrap();
    let (mut bits, batches) = (seeded(3), plan.batches());
    let mut batches = batches.batches();
    while let Some(batch) = batches.next(&mut bits) {
        objective.clipped_sum(&parameters, &batch, &clip, TWO).unwrap();
    }
    let after = ["VmHWM:", "VmData:"].map(|name| status(name).unwrap());
    let [peak, reserved] = [0, 1].map(|at| after[at].saturating_sub(before[at]));
    [network.parameters(), stated, peak, reserved]
}

fn network(name: &str) -> Network {
    let image = |channels: usize, side: usize| Shape::Image { channels, height: side, width: side };
    let hidden = (name == "mlp").then_some(&[1024, 1024][..]);
    let preset = |input: Shape| preset::named(name, hidden).unwrap().network_for(input, 10).unwrap();
    match name {
        "tanh_cnn" => {
            let plain = preset(image(1, 28));
            Network::with_views(plain.input(), plain.layers(), plain.loss(), &[View::Same; 64]).unwrap()
        }
        "mlp" => preset(Shape::Features(784)),
        // A large dense layer behind a small convolution.
        "wide" => {
            let layers = [
                Layer::conv2d(8, 3, 2, 1),
                Layer::relu(),
                Layer::Flatten,
                Layer::linear(128),
                Layer::linear(10),
            ];
            Network::new(image(1, 28), &layers, NetworkLoss::CrossEntropy).unwrap()
        }
        _ => preset(image(3, 32)),
    }
}

/// The same example in every slot.
struct Same {
    input: Vec<f32>,
    target: Vec<f32>,
    slots: usize,
}

impl Examples for Same {
    fn slots(&self) -> usize {
        self.slots
    }

    fn widths(&self) -> [usize; 2] {
        [self.input.len(), self.target.len()]
    }

    fn example(&self, _slot: usize) -> Option<Example<'_>> {
        Some(Example { input: &self.input, target: &self.target })
    }
}

/// A number of bytes that Linux reports about this process.
fn status(name: &str) -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse::<usize>().ok().map(|kibibytes| kibibytes * 1024)
}
