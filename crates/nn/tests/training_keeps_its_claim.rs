//! Audits of whole training runs: do the releases of a network's training keep the ε of its plan?
//!
//! # The attacker
//! The attacker is as strong as the claim allows. One record, the canary, is in the data or not.
//! The attacker knows all other records and which of them each batch has, and sees the parameters
//! after every step and, with adaptive clipping, the clip norms. The canary's target is so far off
//! that its gradient is clipped in every step and in every part of the network. In each step the
//! attacker computes the noisy sum from the parameters before and after, subtracts the other
//! records, and projects the rest on the canary's direction. In clip norms the result is N(1, z²)
//! if the canary was in the batch, and N(0, z²) otherwise. The score is the likelihood ratio of all
//! steps, which is optimal for Gaussian noise.
//!
//! # The twins
//! Each training method is audited twice: as it is, and with half of its noise at the same claim.
//! An audit that missed the second would say nothing about the first.
//!
//! # Errors
//! Each audit has an error probability of 5e-8: with new seeds, the ten honest audits together
//! raise a false alarm with probability below 1e-6.

mod support;

use std::num::NonZero;
use std::sync::Mutex;

use sordino_audit::{Audit, MechanismTester, Verdict};
use sordino_data::{Batch, ContributionLimit, Sampling, UnitRule};
use sordino_nn::danger::unclipped_sum;
use sordino_nn::{Example, Examples, Layer, Network, NetworkLoss, NetworkObjective, Shape};
use sordino_noise::Bits;
use sordino_noise::danger::unprotected;
use sordino_noise::grid::{GridSum, NoisySum, SumError};
use sordino_optim::{
    Clip, ClippedSum, Clipping, FloatSums, Objective, PlanOptions, Training, TrainingOptions, TrainingPlan,
};
use sordino_privacy::{
    Accountant, Count, Delta, Epsilon, Neighbours, NoiseMultiplier, Unit, accounting, danger,
};
use support::images::poisson;
use support::random::Random;
use support::{full_batch, length};

const EPSILON: f64 = 2.0;
/// Large, so that revealing outputs are common and few samples are enough. A plan keeps its claim
/// at every δ.
const DELTA: f64 = 0.3;
/// Outputs of each of two neighbours, to certify on.
const OUTPUTS: u64 = 1_500;
/// For twins that differ by less than half the noise.
const MORE_OUTPUTS: u64 = 10_000;
const STEPS: u64 = 3;
const SLOTS: usize = 8;
/// The canary's slot.
const CANARY: usize = 5;
const CLIP_NORM: f64 = 0.5;
const LEARNING_RATE: f64 = 0.1;
const ONE_THREAD: NonZero<usize> = NonZero::<usize>::MIN;

/// What the canary's slot holds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Canary {
    There,
    /// The same input with the opposite target: a gradient in the other direction.
    Opposite,
    Absent,
}

/// A few records, some of which are clipped, and the canary.
struct Data {
    inputs: Vec<Vec<f32>>,
    targets: Vec<f32>,
    canary: Canary,
    /// No record but the canary is there.
    is_alone: bool,
}

impl Data {
    fn new(width: usize, canary: Canary, is_alone: bool) -> Self {
        let mut random = Random(11);
        let inputs = (0..SLOTS).map(|_| (0..width).map(|_| random.uniform() as f32).collect()).collect();
        let mut targets: Vec<f32> = (0..SLOTS).map(|_| 2.0 * random.uniform() as f32).collect();
        targets[CANARY] = if canary == Canary::Opposite { -1e4 } else { 1e4 };
        Self { inputs, targets, canary, is_alone }
    }
}

impl Examples for Data {
    fn slots(&self) -> usize {
        SLOTS
    }

    fn widths(&self) -> [usize; 2] {
        [self.inputs[0].len(), 1]
    }

    fn example(&self, slot: usize) -> Option<Example<'_>> {
        let is_there = if slot == CANARY { self.canary != Canary::Absent } else { !self.is_alone };
        is_there.then(|| Example { input: &self.inputs[slot], target: &self.targets[slot..=slot] })
    }
}

/// Four dense layers, 40 weights.
fn dense() -> Network {
    let layers = [
        Layer::linear(3),
        Layer::tanh(),
        Layer::linear(3),
        Layer::tanh(),
        Layer::linear(3),
        Layer::tanh(),
        Layer::linear(1),
    ];
    Network::new(Shape::Features(3), &layers, NetworkLoss::Squared).unwrap()
}

/// A convolution and a dense layer, 29 weights.
fn convolution() -> Network {
    let layers = [Layer::conv2d(2, 3, 1, 0), Layer::tanh(), Layer::Flatten, Layer::linear(1)];
    Network::new(Shape::Image { channels: 1, height: 4, width: 4 }, &layers, NetworkLoss::Squared).unwrap()
}

/// A training method.
#[derive(Clone)]
struct Way {
    name: &'static str,
    network: fn() -> Network,
    sampling: Sampling,
    neighbours: Neighbours,
    /// Given the noise multiplier.
    clipping: fn(f64) -> Clipping,
    /// Shares of the clip norm, for each part.
    shares: Option<Vec<f64>>,
}

fn flat(_: f64) -> Clipping {
    Clipping::Flat { norm: CLIP_NORM }
}

fn automatic(_: f64) -> Clipping {
    Clipping::Automatic { norm: CLIP_NORM, gamma: 0.01 }
}

/// The noise multiplier of the count is half as much again as that of both: somewhat less than half
/// of what is paid is for the count.
fn quantile(noise: f64) -> Clipping {
    counting(1.5 * noise)
}

/// A count with this noise multiplier; its clip norm is 1/2. The rate is so low that no step of the
/// clip norm meets its bounds.
fn counting(noise: f64) -> Clipping {
    Clipping::Quantile { initial: CLIP_NORM, quantile: 0.5, rate: 0.2, count_noise: 0.5 * noise }
}

/// Flat clipping of full batches of the dense network, quantised in groups: what others differ
/// from.
fn plain() -> Way {
    Way {
        name: "flat clipping, full batches",
        network: dense,
        sampling: Sampling::FullBatch,
        neighbours: Neighbours::ZeroOut,
        clipping: flat,
        shares: None,
    }
}

fn by_quantiles() -> Way {
    Way { name: "adaptive clipping", clipping: quantile, ..plain() }
}

fn by_layers() -> Way {
    Way { name: "clipping by layers", shares: Some(vec![1.0, 2.0, 1.0, 3.0]), ..plain() }
}

fn ways() -> Vec<Way> {
    vec![
        plain(),
        Way { name: "flat clipping, Poisson samples", sampling: poisson(0.5), ..plain() },
        Way { name: "flat clipping, records one by one", neighbours: Neighbours::AddRemove, ..plain() },
        Way { name: "flat clipping, a record replaced", neighbours: Neighbours::ReplaceOrdered, ..plain() },
        Way { name: "flat clipping, a convolution", network: convolution, ..plain() },
        Way { name: "automatic clipping", clipping: automatic, ..plain() },
        by_layers(),
        Way {
            name: "clipping by layers, records one by one",
            neighbours: Neighbours::AddRemove,
            ..by_layers()
        },
        by_quantiles(),
    ]
}

impl Way {
    /// The plan with so much noise.
    fn plan(&self, noise: f64) -> TrainingPlan {
        TrainingPlan::with_noise(self.options((self.clipping)(noise)), NoiseMultiplier::new(noise).unwrap())
            .unwrap()
    }

    /// The least noise that keeps ε and δ.
    fn noise(&self) -> f64 {
        let (epsilon, delta) = (Epsilon::new(EPSILON).unwrap(), Delta::new(DELTA).unwrap());
        TrainingPlan::calibrated(self.options(flat(1.0)), epsilon, delta).unwrap().noise_multiplier().get()
    }

    fn options(&self, clipping: Clipping) -> PlanOptions {
        PlanOptions {
            sampling: self.sampling,
            slots: Count::new(SLOTS as u64).unwrap(),
            rounds: Count::new(STEPS).unwrap(),
            neighbours: self.neighbours,
            clipping,
            scales: None,
            divisor: Some(SLOTS as f64),
            limit: ContributionLimit::of(&UnitRule::Record),
        }
    }

    /// Neighbours that are as far apart as the relation lets them be.
    fn pair(&self) -> (Canary, Canary) {
        let is_replaced = self.neighbours == Neighbours::ReplaceOrdered;
        (Canary::There, if is_replaced { Canary::Opposite } else { Canary::Absent })
    }

    fn objective<'a>(&self, network: &'a Network, data: &'a Data) -> NetworkObjective<'a, Data> {
        let objective = NetworkObjective::new(network, data, SLOTS as f64).unwrap();
        match &self.shares {
            Some(shares) => objective.per_layer(shares).unwrap(),
            None => objective,
        }
    }

    /// With what probability the canary is in a batch.
    fn rate(&self) -> f64 {
        if let Sampling::Poisson { rate } = self.sampling { rate.get() } else { 1.0 }
    }
}

/// What the attacker has of one step.
struct Step {
    /// Before the step.
    parameters: Vec<f64>,
    clip_norm: f64,
    /// Noise multipliers of the gradients and of the count.
    noise: (f64, Option<f64>),
    /// The sum and the count of all other records in the batch.
    others: Vec<f64>,
    others_count: f64,
}

/// An objective, and the attacker beside it.
struct Watched<'a> {
    objective: &'a dyn Objective,
    /// The same without the canary.
    others: &'a dyn Objective,
    steps: Mutex<Vec<Step>>,
}

impl Objective for Watched<'_> {
    fn dimension(&self) -> usize {
        self.objective.dimension()
    }

    fn slots(&self) -> usize {
        self.objective.slots()
    }

    fn float_sums(&self) -> FloatSums {
        self.objective.float_sums()
    }

    fn clipped_sum(
        &self,
        parameters: &[f64],
        batch: &Batch,
        clip: &Clip<'_>,
        threads: NonZero<usize>,
    ) -> Result<ClippedSum, SumError> {
        let others = self.others.clipped_sum(parameters, batch, clip, threads)?;
        self.steps.lock().unwrap().push(Step {
            parameters: parameters.to_vec(),
            clip_norm: clip.grid().clip_norm(),
            noise: (clip.grid().noise_multiplier(), clip.count().map(|grid| grid.noise_multiplier())),
            others: in_data_units(&others.gradient),
            others_count: others.count.map_or(0.0, |count| in_data_units(&count)[0]),
        });
        self.objective.clipped_sum(parameters, batch, clip, threads)
    }

    fn take_back(&self, spent: NoisySum) {
        self.objective.take_back(spent);
    }
}

fn in_data_units(sum: &GridSum) -> Vec<f64> {
    unprotected(sum).iter().map(|unit| *unit as f64 * sum.grid().step()).collect()
}

/// Everything that an audit runs.
struct Attack<'a> {
    way: &'a Way,
    network: &'a Network,
    /// What is done, whatever was claimed.
    plan: &'a TrainingPlan,
    /// Nothing but the canary.
    alone: NetworkObjective<'a, Data>,
    all: Batch,
}

impl Attack<'_> {
    /// One run of training, and how much it looks as if the canary had been there.
    fn score(&self, objective: &dyn Objective, others: &dyn Objective, bits: &mut dyn Bits) -> f64 {
        let watched = Watched { objective, others, steps: Mutex::default() };
        let options = TrainingOptions {
            learning_rate: LEARNING_RATE,
            start: Some(self.network.initial(3)),
            ..TrainingOptions::default()
        };
        let training = Training::new(self.plan, &watched, options).unwrap().threads(ONE_THREAD);
        // At δ = 0 an unbounded ε is priced at once.
        let permit = danger::unmetered(self.plan.claim(), Unit::Record, Delta::ZERO).unwrap();
        let (last, _) = training.run_with(permit, bits, &mut |_| {}).unwrap().into_parts();
        let steps = watched.steps.into_inner().unwrap();
        let after = |step: usize| steps.get(step + 1).map_or(&last, |next| &next.parameters);
        let next_norm = |step: usize| steps.get(step + 1).map(|next| next.clip_norm);
        steps.iter().enumerate().map(|(at, step)| self.of_step(step, after(at), next_norm(at))).sum()
    }

    /// The logarithm of the likelihood ratio of one step,
    /// `ln(1 - q + q e^(l of gradients + l of the count))`. The last step's count moves nothing
    /// that is seen.
    fn of_step(&self, step: &Step, after: &[f64], next_norm: Option<f64>) -> f64 {
        // N(1, z²) against N(0, z²).
        let ratio = |x: f64, noise: f64| (x - 0.5) / (noise * noise);
        let of_gradients = ratio(self.projection(step, after), step.noise.0);
        let of_count = match (self.plan.clipping(), step.noise.1, next_norm) {
            (Clipping::Quantile { quantile, rate, .. }, Some(noise), Some(next)) => {
                let part = quantile - (next / step.clip_norm).ln() / rate;
                let count = (part - 0.5) * self.plan.divisor();
                // A clipped record takes half away, and half is the count's clip norm.
                ratio(2.0 * (step.others_count - count), noise)
            }
            _ => 0.0,
        };
        let sampled = self.way.rate();
        (1.0 - sampled + sampled * (of_gradients + of_count).exp()).ln()
    }

    /// The noisy sum without the others, on the canary's direction, in clip norms.
    fn projection(&self, step: &Step, after: &[f64]) -> f64 {
        // Steps are no longer than with the first clip norm.
        let factor = self.plan.divisor() / LEARNING_RATE * (step.clip_norm / CLIP_NORM).max(1.0);
        let noisy = step.parameters.iter().zip(after).map(|(w, v)| (w - v) * factor);
        let canary = noisy.zip(&step.others).map(|(noisy, others)| noisy - others);
        let direction = self.direction(&step.parameters);
        canary.zip(direction).map(|(x, along)| x * along).sum::<f64>() / step.clip_norm
    }

    /// Where the canary's gradient points to after clipping, with length 1.
    fn direction(&self, parameters: &[f64]) -> Vec<f64> {
        let mut gradient = unclipped_sum(&self.alone, parameters, &self.all, ONE_THREAD, Vec::new());
        let parts = match &self.way.shares {
            Some(shares) => self.network.parts().into_iter().zip(shares.iter().copied()).collect(),
            None => vec![(gradient.len(), 1.0)],
        };
        let mut rest = &mut gradient[..];
        for (parameters, share) in parts {
            let (part, later) = rest.split_at_mut(parameters);
            let norm = length(part) / share;
            part.iter_mut().for_each(|g| *g /= norm);
            rest = later;
        }
        let norm = length(&gradient);
        gradient.iter_mut().for_each(|g| *g /= norm);
        gradient
    }
}

/// Clips each part to the whole clip norm: for each part an objective in which the others have next
/// to no share.
struct Unshared<'a>(Vec<NetworkObjective<'a, Data>>);

fn unshared<'a>(_: &Way, network: &'a Network, data: &'a Data) -> Box<dyn Objective + 'a> {
    let parts = network.parts().len();
    let objective = |part: usize| {
        let shares: Vec<f64> = (0..parts).map(|other| if other == part { 1.0 } else { 1e-4 }).collect();
        NetworkObjective::new(network, data, SLOTS as f64).unwrap().per_layer(&shares).unwrap()
    };
    Box::new(Unshared((0..parts).map(objective).collect()))
}

impl Objective for Unshared<'_> {
    fn dimension(&self) -> usize {
        self.0[0].dimension()
    }

    fn slots(&self) -> usize {
        SLOTS
    }

    fn float_sums(&self) -> FloatSums {
        self.0[0].float_sums()
    }

    fn clipped_sum(
        &self,
        parameters: &[f64],
        batch: &Batch,
        clip: &Clip<'_>,
        threads: NonZero<usize>,
    ) -> Result<ClippedSum, SumError> {
        let mut units = vec![0; self.dimension()];
        for objective in &self.0 {
            let part = objective.clipped_sum(parameters, batch, clip, threads)?.gradient;
            units.iter_mut().zip(unprotected(&part)).for_each(|(unit, more)| *unit += more);
        }
        Ok(ClippedSum { gradient: GridSum::of_groups(clip.grid(), units, [])?, count: None })
    }
}

/// What the accountants make of the plan's claim.
fn claimed(plan: &TrainingPlan) -> f64 {
    let delta = Delta::new(DELTA).unwrap();
    accounting::epsilon(&plan.claim(), delta, Accountant::Auto).unwrap().bound.upper
}

/// Makes an objective of data.
type Make = for<'a> fn(&Way, &'a Network, &'a Data) -> Box<dyn Objective + 'a>;

fn as_it_is<'a>(way: &Way, network: &'a Network, data: &'a Data) -> Box<dyn Objective + 'a> {
    Box::new(way.objective(network, data))
}

/// Audits what `does` does against what `claims` claims.
fn audit(
    way: &Way,
    claims: &TrainingPlan,
    does: &TrainingPlan,
    make: Make,
    outputs: u64,
    seed: u64,
) -> Audit {
    let network = (way.network)();
    let width = network.input().size();
    let data = |canary| Data::new(width, canary, false);
    let (one, two, absent) = (data(way.pair().0), data(way.pair().1), data(Canary::Absent));
    let canary = Data::new(width, Canary::There, true);
    let objective = |data| make(way, &network, data);
    let (one, two, others) = (objective(&one), objective(&two), objective(&absent));
    let alone = NetworkObjective::new(&network, &canary, 1.0).unwrap();
    let attack = Attack { way, network: &network, plan: does, alone, all: full_batch(SLOTS) };
    MechanismTester::new(Epsilon::new(claimed(claims)).unwrap())
        .with_delta(Delta::new(DELTA).unwrap())
        .with_samples(1_500, outputs)
        .at_confidence(1.0 - 5e-8)
        .with_threads(2)
        .seeded(seed)
        .test(
            |data: &&dyn Objective, bits: &mut dyn Bits| attack.score(*data, &*others, bits),
            &&*one,
            &&*two,
        )
        .unwrap()
}

#[test]
fn audits_find_nothing_against_any_way_to_train() {
    for (seed, way) in ways().iter().enumerate() {
        let plan = way.plan(way.noise());
        let audit = audit(way, &plan, &plan, as_it_is, OUTPUTS, seed as u64);
        assert_eq!(audit.verdict, Verdict::NoViolationFound, "{}: {audit}", way.name);
        assert!(audit.epsilon > 0.25 * EPSILON, "{}: the audit has no power; {audit}", way.name);
    }
}

#[test]
fn audits_catch_half_of_the_noise_in_every_way_to_train() {
    for (seed, way) in ways().iter().enumerate() {
        let noise = way.noise();
        let audit = audit(way, &way.plan(noise), &way.plan(0.5 * noise), as_it_is, OUTPUTS, seed as u64);
        assert_eq!(audit.verdict, Verdict::Violation, "{}: {audit}", way.name);
    }
}

/// Four parts of the whole clip norm each are a contribution of twice that norm.
#[test]
fn shares_that_are_not_scaled_are_caught() {
    let way = Way { shares: Some(vec![1.0; 4]), ..by_layers() };
    let plan = way.plan(way.noise());
    let audit = audit(&way, &plan, &plan, unshared, OUTPUTS, 20);
    assert_eq!(audit.verdict, Verdict::Violation, "{audit}");
}

/// Full batches must not be charged as samples.
#[test]
fn full_batches_at_the_price_of_samples_are_caught() {
    let samples = Way { sampling: poisson(0.5), ..plain() };
    let noise = samples.noise();
    let audit = audit(&plain(), &samples.plan(noise), &plain().plan(noise), as_it_is, OUTPUTS, 21);
    assert_eq!(audit.verdict, Verdict::Violation, "{audit}");
}

/// The plan of adaptive clipping with these noise multipliers of gradients and count, whatever both
/// together cost.
fn counted(gradients: f64, count: f64) -> TrainingPlan {
    let both = (gradients.powi(-2) + count.powi(-2)).powf(-0.5);
    let options = by_quantiles().options(counting(count));
    TrainingPlan::with_noise(options, NoiseMultiplier::new(both).unwrap()).unwrap()
}

/// A count that is dear, so that its price shows: five sixths of what is paid. Honest, it is not
/// caught; gradients that have all of z beside it, as if no event had to pay for the count, are;
/// and so is each of the two with half of its noise while the other has its own.
#[test]
fn a_count_is_paid_for_and_one_that_is_not_is_caught() {
    let way = by_quantiles();
    let noise = way.noise();
    let rest = |count: f64| (noise.powi(-2) - count.powi(-2)).powf(-0.5);
    let (dear, cheap) = (1.1 * noise, 1.5 * noise);
    let (honest, caught) = (Verdict::NoViolationFound, Verdict::Violation);
    let audits = [
        ("a count that is booked", rest(dear), dear, MORE_OUTPUTS, honest),
        ("a count that is not booked", noise, dear, MORE_OUTPUTS, caught),
        ("half of the count's noise", rest(dear), 0.5 * dear, OUTPUTS, caught),
        ("half of the gradients' noise", 0.5 * rest(cheap), cheap, OUTPUTS, caught),
    ];
    for (seed, (name, gradients, count, outputs, verdict)) in audits.into_iter().enumerate() {
        let does = counted(gradients, count);
        let audit = audit(&way, &way.plan(noise), &does, as_it_is, outputs, 30 + seed as u64);
        assert_eq!(audit.verdict, verdict, "{name}: {audit}");
    }
}
