//! DP-SGD on a network, as the command's other learners.

use std::num::NonZero;
use std::sync::Arc;
use std::time::Instant;

use sordino::noise::danger;
use sordino::prelude::*;
use sordino_data::{ContributionLimit, Encoded, Encoding, Sampling};
use sordino_nn::{Example, Examples, Network, NetworkObjective, Records, View};
use sordino_optim::{
    Checkpoint, Clipping, NoiseSplit, Plan, PlanOptions, Schedule, Training, TrainingOptions, UpdateRule,
};

use super::source;
use super::style::{self, ClippingStyle};
use crate::error::Error;
use crate::model::{Model, NetworkModel, network_loss};
use crate::train::args::Settings;
use crate::train::learner::{BatchMemory, Learner, Session, expected_batch, passes};
use crate::train::method::{Method, Task};

/// The seed of the first weights. Public, and the same for all.
const START: u64 = 1;
/// Passes over the data, unless `--epochs` or `--steps` says otherwise.
const EPOCHS: f64 = 20.0;
/// Records of a batch at least, and as a part of all.
const LEAST_BATCH: f64 = 256.0;
const PART: f64 = 0.01;
const MOMENTUM: f64 = 0.9;
/// Iterates that the result is averaged over, as a part of all.
pub(super) const TAIL: f64 = 0.1;
/// Records whose forward pass is timed, and what a step takes beside it.
const TIMED: usize = 64;
const BACKWARD: f64 = 3.0;

/// As many empty slots as there will be records.
struct Nobody {
    slots: usize,
    widths: [usize; 2],
}

impl Examples for Nobody {
    fn slots(&self) -> usize {
        self.slots
    }

    fn widths(&self) -> [usize; 2] {
        self.widths
    }

    fn example(&self, _: usize) -> Option<Example<'_>> {
        None
    }
}

struct ByNetwork {
    network: Arc<Network>,
    encoding: Encoding,
    method: Method,
    plan: Plan,
    clipping: ClippingStyle,
    training: TrainingOptions,
    /// For what grows with batches, in bytes.
    memory: Option<usize>,
}

/// The learner for the network that `--model` names.
pub(crate) fn plan(name: &str, task: &Task<'_>) -> Result<Box<dyn Learner>, Error> {
    let &Task { encoding, n, epsilon, delta, neighbours, settings, noise } = task;
    let method = Method::of(settings);
    method.check_network(settings)?;
    style::check(settings)?;
    if delta == Delta::ZERO {
        return Err(Error::PureTraining { method: method.name() });
    }
    let network = Arc::new(source::network(name, settings, encoding)?);
    let (sampling, rounds) = batches(method, task)?;
    let options = PlanOptions {
        sampling,
        slots: n,
        rounds,
        neighbours,
        clipping: Clipping::Flat { norm: style::clip_norm(settings) },
        scales: None,
        divisor: None,
        limit: ContributionLimit::of(encoding.schema().unit()),
    };
    let flat = match noise {
        Some(noise) => Plan::with_noise(options.clone(), noise)?,
        None => Plan::calibrated(options.clone(), epsilon, delta)?,
    };
    // Noise does not depend on the style; how much of it a count may take depends on the noise.
    let z = flat.noise_multiplier();
    let clipping = style::clipping(settings, z.get(), expected_batch(&flat));
    let plan = Plan::with_noise(PlanOptions { clipping, ..options }, z)?;
    let training = training(&network, &plan, settings);
    let memory = settings.memory.map(|megabytes| megabytes.get() as usize * 1_000_000);
    let learner = ByNetwork {
        network,
        encoding: encoding.clone(),
        method,
        plan,
        clipping: settings.clipping.unwrap_or_default(),
        training,
        memory,
    };
    // Whether the memory suffices is known before there is data.
    learner.objective(&learner.nobody(), settings.threads)?;
    Ok(Box::new(learner))
}

/// How batches are drawn, and how many.
fn batches(method: Method, task: &Task<'_>) -> Result<(Sampling, Count), Error> {
    let n = task.n.get() as f64;
    match method {
        Method::GradientDescent => Ok((Sampling::FullBatch, task.steps(1.0, EPOCHS)?)),
        // The others were refused.
        Method::Sgd
        | Method::CoordinateDescent
        | Method::OutputPerturbation
        | Method::ObjectivePerturbation
        | Method::SufficientStatistics => {
            let rate = task.rate((LEAST_BATCH / n).clamp(PART, 1.0))?;
            Ok((Sampling::Poisson { rate }, task.steps(rate.get(), EPOCHS)?))
        }
    }
}

/// All that is post-processing.
fn training(network: &Network, plan: &Plan, settings: &Settings) -> TrainingOptions {
    let clip_norm = style::clip_norm(settings);
    let start = network.initial(START);
    let usual_rate = || usual_rate(plan, clip_norm, &start);
    TrainingOptions {
        rule: UpdateRule::Momentum { momentum: settings.momentum.unwrap_or(MOMENTUM) },
        learning_rate: settings.learning_rate.unwrap_or_else(usual_rate),
        schedule: Schedule::Cosine,
        averaging: style::averaging(settings, plan.batches().steps()),
        l2: settings.l2.unwrap_or(0.0),
        radius: None,
        start: Some(start),
    }
}

/// `D/(C √(T (1 + ν²)))`: the rate that makes the most of T steps of a convex loss whose minimum is D away, when gradients have norm C and noise of ν
/// clip norms (see the [planner](super::planner)). How far a network has to go nobody knows; D is the length of its first weights, which is
/// public, and the scale on which they change what it does. A network that begins at 0 has a way of length 1 before it.
fn usual_rate(plan: &Plan, clip_norm: f64, start: &[f64]) -> f64 {
    let length = start.iter().map(|w| w * w).sum::<f64>().sqrt();
    let (steps, distance) = (plan.batches().steps() as f64, if length > 0.0 { length } else { 1.0 });
    let noise = noise_length(plan.noise_multiplier().get(), start.len(), expected_batch(plan));
    distance / (clip_norm * (steps * (1.0 + noise * noise)).sqrt())
}

/// ν: the length of the noise in the mean of a batch, in clip norms, about `z √d / batch`.
pub(crate) fn noise_length(noise_multiplier: f64, weights: usize, batch: f64) -> f64 {
    noise_multiplier * (weights as f64).sqrt() / batch
}

impl Learner for ByNetwork {
    fn claim(&self) -> Claim {
        self.plan.claim()
    }

    fn loss_name(&self) -> &'static str {
        network_loss(self.network.loss())
    }

    fn weights(&self) -> usize {
        self.network.parameters()
    }

    fn settle(&self, settings: &mut Settings) {
        let (plan, training) = (&self.plan, &self.training);
        settings.method = Some(self.method);
        settings.steps = Count::new(plan.batches().steps()).ok();
        settings.epochs = None;
        settings.batch_size = None;
        settings.learning_rate = Some(training.learning_rate);
        settings.l2 = Some(training.l2);
        if let UpdateRule::Momentum { momentum } = training.rule {
            settings.momentum = Some(momentum);
        }
        style::settle(settings, plan.clipping(), training.averaging);
        if let Sampling::Poisson { rate } = plan.batches().sampling() {
            settings.sampling_rate = Some(rate);
        }
        let twentieth = plan.batches().steps().div_ceil(20);
        settings.checkpoint_every = settings.checkpoint_every.or(Count::new(twentieth).ok());
    }

    fn noise_multiplier(&self) -> Option<f64> {
        Some(self.plan.noise_multiplier().get())
    }

    fn noise_split(&self) -> Option<NoiseSplit> {
        Some(self.plan.noise_split())
    }

    fn steps(&self) -> Option<u64> {
        Some(self.plan.batches().steps())
    }

    fn passes(&self) -> Option<f64> {
        Some(passes(&self.plan))
    }

    fn work(&self) -> f64 {
        let inputs = vec![0.5; TIMED * self.network.input().size()];
        let parameters = self.network.initial(START);
        let start = Instant::now();
        // Fails only for other shapes than these.
        let _ = self.network.outputs(&parameters, &inputs);
        let nanoseconds = start.elapsed().as_secs_f64() * 1e9;
        (BACKWARD * nanoseconds / TIMED as f64).max(self.weights() as f64)
    }

    fn batches(&self, threads: NonZero<usize>) -> Option<BatchMemory> {
        let nobody = self.nobody();
        // It was made before, when the plan was.
        let objective = self.objective(&nobody, Some(threads)).ok()?;
        Some(BatchMemory { records: objective.micro_batch(), bytes: objective.batch_bytes(threads) })
    }

    fn replay_claim(&self, checkpoint: &Checkpoint) -> Result<Claim, Error> {
        Ok(self.plan.replay_claim(checkpoint)?)
    }

    fn model(&self, parameters: &[f64]) -> Result<Model, Error> {
        Ok(self.model_of(parameters.to_vec()))
    }

    fn fit(&self, data: &Encoded, permit: Permit, session: Session<'_>) -> Result<Release<Model>, Error> {
        self.check(data, &permit, session.from.as_ref())?;
        let records = Records::new(data);
        let objective = self.objective(&records, session.threads)?;
        let mut training = Training::new(&self.plan, &objective, self.training.clone())?;
        training = training.cancelled_by(session.stop);
        if let Some(threads) = session.threads {
            training = training.threads(threads);
        }
        if let Some(checkpoints) = session.checkpoints {
            let (layers, loss) = (self.network.layers(), self.network.loss());
            let mut about = format!("{} {layers:?} {loss:?}", self.encoding.to_json());
            if *self.network.views() != [View::Same] {
                about.push_str(&format!(" {:?}", self.network.views()));
            }
            // The other styles are the plan's, which a checkpoint must agree with anyway.
            if self.clipping == ClippingStyle::PerLayer {
                about.push_str(" per-layer");
            }
            training = training.with_checkpoints(checkpoints)?.about(about);
        }
        let mut seeded = session.seed.map(danger::seeded);
        let release = match (session.from, &mut seeded) {
            (None, None) => training.run(permit, session.watch)?,
            (None, Some(bits)) => training.run_with(permit, bits, session.watch)?,
            (Some(checkpoint), None) => training.resume(checkpoint, permit, session.watch)?,
            (Some(checkpoint), Some(bits)) => {
                training.resume_with(checkpoint, permit, bits, session.watch)?
            }
        };
        Ok(release.post_process(|parameters| self.model_of(parameters)))
    }
}

impl ByNetwork {
    fn nobody(&self) -> Nobody {
        Nobody { slots: self.plan.batches().slots().get() as usize, widths: [self.encoding.width(), 1] }
    }

    fn model_of(&self, parameters: Vec<f64>) -> Model {
        Model::Network(NetworkModel::new(Arc::clone(&self.network), self.encoding.clone(), parameters))
    }

    fn objective<'a, E: Examples>(
        &'a self,
        examples: &'a E,
        threads: Option<NonZero<usize>>,
    ) -> Result<NetworkObjective<'a, E>, Error> {
        let objective = NetworkObjective::new(&self.network, examples, expected_batch(&self.plan))?;
        let objective = match self.clipping {
            ClippingStyle::PerLayer => objective.per_layer(&vec![1.0; self.network.parts().len()])?,
            ClippingStyle::Flat | ClippingStyle::Automatic | ClippingStyle::Adaptive => objective,
        };
        let Some(bytes) = self.memory else { return Ok(objective) };
        let threads = threads.or_else(|| std::thread::available_parallelism().ok());
        Ok(objective.memory(bytes, threads.unwrap_or(NonZero::<usize>::MIN))?)
    }

    /// The permit first, then shapes: that it pays for this, under the schema's unit, and that the data is what the plan was made for.
    fn check(&self, data: &Encoded, permit: &Permit, from: Option<&Checkpoint>) -> Result<(), Error> {
        let claim = from.map_or_else(|| Ok(self.claim()), |checkpoint| self.replay_claim(checkpoint))?;
        permit.covers(&claim)?;
        let unit = self.encoding.schema().unit();
        if *permit.unit() != unit.unit() {
            return Err(Error::other_unit(permit.unit(), &unit.unit()));
        }
        let is_planned_for = *data.encoding() == self.encoding
            && *data.limit() == ContributionLimit::of(unit)
            && data.slots() as u64 == self.plan.batches().slots().get()
            && data.has_target();
        if is_planned_for { Ok(()) } else { Err(Error::ChangedData) }
    }
}
