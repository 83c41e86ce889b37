//! The default for linear models against every other method.
//!
//! # Protocol
//! Each table of [`tables`] is split once, 80 % to train on. On the training part each method runs
//! with its own defaults and δ as `sordino train` has it, for ε = 0.5, 1 and 3, with numbered
//! seeds; the score is accuracy, or R² for a number, on the test part. No setting is chosen here.
//! At ε = 10^4 the objective of the default (mean loss and the penalty that it states) is compared
//! with that of the non-private optimum.

mod tables;

use std::error::Error;
use std::path::Path;

use sordino_data::Encoded;
use sordino_learn::danger::non_private_optimum;
use sordino_learn::{
    CoordinateDescent, DefaultChoice, Facts, GradientDescent, LearnError, LearningPlan, LinearModel, Loss,
    ObjectivePerturbation, OutputPerturbation, SufficientStatistics,
};
use sordino_privacy::{Count, Delta, Epsilon, Neighbours, SamplingRate};

use self::tables::Split;
use crate::study::{Summary, by_threads, models};

const EPSILONS: [f64; 3] = [0.5, 1.0, 3.0];
/// An ε at which noise is negligible.
const LARGE_EPSILON: f64 = 1e4;
/// The number of seeds for tables with fewer records than [`MANY_RECORDS`], and for others.
const SEEDS: (u64, u64) = (40, 6);
const MANY_RECORDS: usize = 3000;
/// How far the default may be behind, in accuracy and in R².
const ALLOWED_GAP: (f64, f64) = (0.01, 0.02);

type AnyPlan = Box<dyn LearningPlan<Model = LinearModel, Error = LearnError> + Sync>;

/// Compares on all tables, or on those named.
pub(crate) fn run(folder: &Path, names: &[&str]) -> Result<(), Box<dyn Error>> {
    println!(
        "| data | ε | default | score | best other method | score | default less best | two standard errors \
        | verdict |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let mut gaps = Vec::new();
    for split in tables::all(folder, names)? {
        for epsilon in EPSILONS {
            let task = Task::new(&split, epsilon)?;
            println!("{}", task.line()?);
        }
        gaps.push(Task::new(&split, LARGE_EPSILON)?.gap()?);
    }
    println!(
        "\n| data | default at ε = 10^4 | penalty | objective | at the optimum | difference \
        |\n|---|---|---|---|---|---|"
    );
    gaps.iter().for_each(|gap| println!("{gap}"));
    Ok(())
}

struct Task<'a> {
    split: &'a Split,
    epsilon: Epsilon,
    delta: Delta,
    n: Count,
    loss: Loss,
}

/// A method and its scores, one for each seed.
struct Scored {
    method: &'static str,
    scores: Vec<f64>,
}

impl<'a> Task<'a> {
    fn new(split: &'a Split, epsilon: f64) -> Result<Self, Box<dyn Error>> {
        let (n, epsilon) = (Count::new(split.train.slots() as u64)?, Epsilon::new(epsilon)?);
        // The default of `sordino train`.
        let digits = n.get().to_string().len() as i32 + 1;
        let delta = Delta::new(10f64.powi(-digits).min(1e-6))?;
        let facts = Facts {
            encoding: split.train.encoding(),
            n,
            epsilon,
            delta,
            neighbours: Neighbours::ZeroOut,
            pays_delta: true,
        };
        Ok(Self { split, epsilon, delta, n, loss: facts.loss()? })
    }

    fn facts(&self) -> Facts<'_> {
        Facts {
            encoding: self.split.train.encoding(),
            n: self.n,
            epsilon: self.epsilon,
            delta: self.delta,
            neighbours: Neighbours::ZeroOut,
            pays_delta: true,
        }
    }

    /// The default method, its plan and its penalty.
    fn default_plan(&self) -> Result<(&'static str, AnyPlan, f64), LearnError> {
        let (encoding, n, epsilon, delta) = (self.split.train.encoding(), self.n, self.epsilon, self.delta);
        Ok(match self.facts().learner(self.loss)? {
            DefaultChoice::Gradient(learner) => {
                let plan = learner.plan(encoding, n, epsilon, delta)?;
                let l2 = plan.training().l2;
                ("gradient-descent", Box::new(plan), l2)
            }
            DefaultChoice::Objective(learner) => {
                let plan = learner.plan(encoding, n, epsilon, delta)?;
                let l2 = plan.l2();
                ("objective-perturbation", Box::new(plan), l2)
            }
        })
    }

    /// Every method with its defaults. Methods that do not support the loss are left out.
    fn methods(&self) -> Result<Vec<(&'static str, AnyPlan)>, Box<dyn Error>> {
        let (encoding, n, epsilon, delta, loss) =
            (self.split.train.encoding(), self.n, self.epsilon, self.delta, self.loss);
        let rate = SamplingRate::new((256.0 / n.get() as f64).min(1.0))?;
        let steps = Count::new(((10.0 / rate.get()).ceil() as u64).max(1000))?;
        let mut plans: Vec<(&'static str, Result<AnyPlan, LearnError>)> = vec![
            ("gradient-descent", boxed(GradientDescent::full_batch(loss).plan(encoding, n, epsilon, delta))),
            (
                "sgd",
                boxed(GradientDescent::poisson(loss, rate).steps(steps).plan(encoding, n, epsilon, delta)),
            ),
            ("coordinate-descent", boxed(CoordinateDescent::new(loss).plan(encoding, n, epsilon, delta))),
            ("output-perturbation", boxed(OutputPerturbation::new(loss).plan(encoding, n, epsilon, delta))),
            (
                "objective-perturbation",
                boxed(ObjectivePerturbation::new(loss).plan(encoding, n, epsilon, delta)),
            ),
        ];
        if encoding.target_bounds().is_some() {
            let statistics = SufficientStatistics::adaptive().plan(encoding, n, epsilon, delta);
            plans.push(("sufficient-statistics", boxed(statistics)));
            let squared = CoordinateDescent::new(Loss::Squared).plan(encoding, n, epsilon, delta);
            plans.push(("coordinate-descent, squared loss", boxed(squared)));
        }
        Ok(plans.into_iter().filter_map(|(name, plan)| Some((name, plan.ok()?))).collect())
    }

    fn scored(&self, method: &'static str, plan: &AnyPlan) -> Result<Scored, Box<dyn Error>> {
        let seeds = if self.split.train.slots() < MANY_RECORDS { SEEDS.0 } else { SEEDS.1 };
        let (models, _) = models(plan.as_ref(), &self.split.train, self.delta, 1..=seeds)?;
        Ok(Scored { method, scores: models.iter().map(|model| score(model, &self.split.test)).collect() })
    }

    fn line(&self) -> Result<String, Box<dyn Error>> {
        let (name, plan, _) = self.default_plan()?;
        let default = self.scored(name, &plan)?;
        let mut methods = self.methods()?;
        methods.retain(|(method, _)| *method != name);
        let others = by_threads(&methods, |(method, plan)| self.scored(method, plan))?;
        let mean = |scored: &Scored| Summary::of(&scored.scores).mean;
        let best = others.iter().max_by(|a, b| mean(a).total_cmp(&mean(b))).ok_or("no method")?;
        let pairs: Vec<f64> = default.scores.iter().zip(&best.scores).map(|(a, b)| a - b).collect();
        let behind = Summary::of(&pairs);
        let error = 2.0 * behind.deviation / (pairs.len() as f64).sqrt();
        let is_number = self.split.train.encoding().classes().is_none();
        let allowed = if is_number { ALLOWED_GAP.1 } else { ALLOWED_GAP.0 }.max(error);
        let verdict = if behind.mean >= -allowed { "within" } else { "**behind**" };
        Ok(format!(
            "| {} | {} | {} | {} | {} | {} | {:+.4} | {error:.4} | {verdict} |",
            self.split.name,
            self.epsilon.get(),
            default.method,
            shown(&default),
            best.method,
            shown(best),
            behind.mean
        ))
    }

    /// Compares the objective of the default, the worst of three seeds, with the optimum.
    fn gap(&self) -> Result<String, Box<dyn Error>> {
        let (name, plan, l2) = self.default_plan()?;
        let data = &self.split.train;
        let objective = |model: &LinearModel| {
            model.mean_loss(data) + 0.5 * l2 * model.weights().flatten().map(|w| w * w).sum::<f64>()
        };
        let (found, _) = models(plan.as_ref(), data, self.delta, 1..=3)?;
        let worst = found.iter().map(objective).fold(f64::NEG_INFINITY, f64::max);
        let optimum = objective(&non_private_optimum(self.loss, data, l2)?);
        Ok(format!(
            "| {} | {name} | {l2:.1e} | {worst:.6} | {optimum:.6} | {:.1e} |",
            self.split.name,
            worst - optimum
        ))
    }
}

fn boxed<P>(plan: Result<P, LearnError>) -> Result<AnyPlan, LearnError>
where
    P: LearningPlan<Model = LinearModel, Error = LearnError> + Sync + 'static,
{
    plan.map(|plan| Box::new(plan) as AnyPlan)
}

fn shown(scored: &Scored) -> String {
    let Summary { mean, deviation, .. } = Summary::of(&scored.scores);
    format!("{mean:.4} ± {deviation:.4}")
}

/// Accuracy, or R² of predictions within the declared bounds.
fn score(model: &LinearModel, test: &Encoded) -> f64 {
    if test.encoding().classes().is_some() {
        return model.accuracy(test);
    }
    let records: Vec<(f64, f64)> = (0..test.slots())
        .filter_map(|slot| {
            Some((model.scores(test.row(slot)?)[0].clamp(-1.0, 1.0), f64::from(test.target(slot))))
        })
        .collect();
    let mean = records.iter().map(|(_, y)| y).sum::<f64>() / records.len() as f64;
    let of = |f: fn(f64, f64, f64) -> f64| records.iter().map(|(p, y)| f(*p, *y, mean)).sum::<f64>();
    1.0 - of(|p, y, _| (p - y).powi(2)) / of(|_, y, mean| (y - mean).powi(2))
}
