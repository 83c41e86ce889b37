//! Coordinate descent against gradient descent at equal ε, on data whose columns differ in scale.
//!
//! # Protocol
//! ε = 1, δ = 1/n², no penalty. The excess loss is compared: the mean loss minus its minimum, which
//! Newton's method finds. Both learners have a grid of the same size: passes over the data × step
//! size × clip norm × three ways:
//!
//! | | gradient descent | coordinate descent |
//! |---|---|---|
//! | ways | full batches; Nesterov's momentum 0.9; Poisson samples | jointly, by smoothness, alike |
//! | a pass | one step; ten on samples | a step for each coordinate |
//! | step size | γ/λ, λ the largest eigenvalue of the Hessian (of its bound, for the logistic loss) | γ/M_j |
//! | clip norm | C, a part of the largest row norm that the declared bounds allow | the same C |
//! | result | the mean of the last half of the iterates | the same |
//!
//! Gradient descent gets λ, computed from the data, for free; coordinate descent estimates M_j and
//! pays for it. Every setting runs once (seed 1); the best eight of each learner run again (seeds 2
//! to 4), and the best of these again with the seeds of the table, 11 to 20. Choosing the best of a
//! grid on the data is not accounted for: this compares methods, and releases nothing.
//!
//! # Prediction
//! Mangold, Bellet, Salmon, Tommasi 2022: excess losses are in the ratio of
//! `Δ_{1/M} R_M` to `Δ_2 R_2`, where `Δ_{1/M}² = Σ Δ_j²/M_j`, and R is the distance from
//! the start to the optimum in the norm that M gives, or the plain one. With clipping by
//! smoothness `Δ_j² = C² M_j/Σ M` and it is
//! ```text
//! sqrt(p) ‖w*‖_M / (sqrt(Σ M_j) ‖w*‖_2)                                                        (1)
//! ```

use std::error::Error;
use std::path::Path;

use sordino_learn::{
    CoordinateClipping, CoordinateDescent, GradientDescent, LearnError, LearningPlan, LinearModel, Noise,
};
use sordino_optim::{Averaging, Clipping, TrainingOptions, UpdateRule};
use sordino_privacy::{Count, Delta, Epsilon, NoiseMultiplier, SamplingRate};

use crate::optimum::{minimiser, objective, second_moments};
use crate::plot;
use crate::problems::{self, Problem};
use crate::records::{Line, Record, Setting, Stage, Way, short};
use crate::study::{Summary, by_threads, models};

pub(crate) const PASSES: [u64; 4] = [10, 30, 100, 300];
const STEP_SIZES: [f64; 4] = [0.1, 0.3, 1.0, 3.0];
const CLIPS: [f64; 5] = [0.003, 0.01, 0.03, 0.1, 0.3];
/// Passes, step sizes and clip norms of [`beyond`].
const BEYOND: (u64, [f64; 3], [f64; 3]) = (1000, [3.0, 10.0, 30.0], [0.03, 0.3, 1.0]);
/// The sampling rate of Poisson samples.
const RATE: f64 = 0.1;
/// How many settings of each learner run again.
const FINALISTS: usize = 8;

/// Compares on all problems, or on those named, and prints the results of all runs so far.
pub(crate) fn run(folder: &Path, names: &[&str]) -> Result<(), Box<dyn Error>> {
    let problems = asked(folder, names)?;
    for problem in &problems {
        Comparison::new(problem, &Way::ALL, &PASSES)?.run()?.write()?;
    }
    table(folder)
}

/// Prints the tables and draws the plots of earlier results.
pub(crate) fn table(folder: &Path) -> Result<(), Box<dyn Error>> {
    let problems = problems::all(folder)?;
    let records: Vec<Record> = problems.iter().filter_map(|problem| Record::read(&problem.name)).collect();
    println!("| data | n | excess of zeros | excess, gradient | excess, coordinate | ratio | predicted |");
    println!("|---|---|---|---|---|---|---|");
    records.iter().for_each(|record| println!("{}", record.row()));
    println!("\n| data | best of gradient descent | best of coordinate descent |\n|---|---|---|");
    records.iter().for_each(|record| println!("{}", record.row_of_settings()));
    let levels: Vec<&str> =
        problems.iter().filter(|problem| problem.is_level).map(|problem| problem.name.as_str()).collect();
    plot::passes(&records)?;
    plot::ratios(&records, &levels)
}

/// The problems of these names, or all if there are no names.
fn asked(folder: &Path, names: &[&str]) -> Result<Vec<Problem>, Box<dyn Error>> {
    let mut problems = problems::all(folder)?;
    let known = || problems.iter().map(|problem| problem.name.as_str()).collect::<Vec<_>>().join(", ");
    if let Some(name) = names.iter().find(|name| problems.iter().all(|problem| problem.name != **name)) {
        return Err(format!("no problem `{name}`; there are: {}", known()).into());
    }
    problems.retain(|problem| names.is_empty() || names.contains(&problem.name.as_str()));
    Ok(problems)
}

/// Runs gradient descent beyond the edge of the grid, where its best settings for uneven columns
/// are: more passes and longer steps, one seed.
pub(crate) fn beyond(folder: &Path, names: &[&str]) -> Result<(), Box<dyn Error>> {
    let (passes, step_sizes, clips) = BEYOND;
    println!(
        "| data | best of gradient descent, {passes} passes | excess | ratio to it |\n|---|---|---|---|"
    );
    for problem in &asked(folder, names)? {
        let mut settings = Vec::new();
        for way in Way::GRADIENT {
            for step_size in step_sizes {
                settings.extend(clips.map(|clip| Setting { way, passes, step_size, clip }));
            }
        }
        let lines =
            Comparison::new(problem, &Way::GRADIENT, &[passes])?.stage(Stage::Grid, &settings, &[1])?;
        let least = lines.iter().min_by(|a, b| a.mean.total_cmp(&b.mean)).ok_or("no settings")?;
        let record = Record::read(&problem.name);
        let coordinate = record.as_ref().and_then(|record| record.last(Way::COORDINATE));
        let ratio = coordinate.map_or("-".to_owned(), |line| short(line.mean / least.mean));
        let Setting { way, step_size, clip, .. } = least.setting;
        let about = format!("{}; γ = {step_size}, clip {clip}", way.about());
        println!("| {} | {about} | {:.2e} | {ratio} |", problem.name, least.mean);
    }
    Ok(())
}

struct Comparison<'a> {
    problem: &'a Problem,
    n: Count,
    delta: Delta,
    /// The least mean loss, and the minimiser.
    least: f64,
    optimum: Vec<f64>,
    /// The largest row norm that the declared bounds allow.
    row_norm: f64,
    smoothness: Vec<f64>,
    /// λ, the largest eigenvalue of the Hessian or of its bound.
    largest: f64,
    /// The noise multiplier of each way and number of passes.
    noise: Vec<(Way, u64, NoiseMultiplier)>,
}

impl<'a> Comparison<'a> {
    fn new(problem: &'a Problem, ways: &[Way], all_passes: &[u64]) -> Result<Self, Box<dyn Error>> {
        let Problem { loss, data, .. } = problem;
        let n = Count::new(data.slots() as u64)?;
        let delta = Delta::new((n.get() as f64).powi(-2))?;
        let optimum = minimiser(*loss, data, 0.0)?;
        let moments = second_moments(data);
        let mut comparison = Self {
            problem,
            n,
            delta,
            least: objective(*loss, data, &optimum, 0.0),
            optimum,
            row_norm: data.encoding().row_norm(),
            smoothness: (0..moments.len()).map(|j| loss.coordinate_smoothness(moments[j][j])).collect(),
            largest: loss.coordinate_smoothness(largest_eigenvalue(&moments)),
            noise: Vec::new(),
        };
        let budget = Noise::Budget { epsilon: Epsilon::new(1.0)?, delta };
        for way in ways.iter().copied() {
            for passes in all_passes.iter().copied() {
                // The multiplier does not depend on the clip norm and the step size.
                let setting = Setting { way, passes, step_size: 1.0, clip: 1.0 };
                let noise = comparison.multiplier(setting, budget)?;
                comparison.noise.push((way, passes, noise));
            }
        }
        Ok(comparison)
    }

    fn run(&self) -> Result<Record, Box<dyn Error>> {
        let mut lines = Vec::new();
        for ways in [Way::GRADIENT, Way::COORDINATE] {
            let grid = self.stage(Stage::Grid, &settings(ways), &[1])?;
            let again = self.stage(Stage::Again, &best(&grid, FINALISTS), &[2, 3, 4])?;
            let last = self.stage(Stage::Last, &best(&again, 1), &(11..=20).collect::<Vec<u64>>())?;
            lines.extend(grid.into_iter().chain(again).chain(last));
        }
        let at_zero = objective(self.problem.loss, &self.problem.data, &vec![0.0; self.optimum.len()], 0.0);
        Ok(Record {
            name: self.problem.name.clone(),
            n: self.n.get(),
            predicted: self.predicted(),
            at_zero: at_zero - self.least,
            lines,
        })
    }

    fn stage(&self, stage: Stage, settings: &[Setting], seeds: &[u64]) -> Result<Vec<Line>, Box<dyn Error>> {
        by_threads(settings, |setting| {
            let excesses = self.excesses(*setting, seeds)?;
            let Summary { mean, deviation, .. } = Summary::of(&excesses);
            // A run that diverged counts as infinite excess.
            let mean = if mean.is_nan() { f64::INFINITY } else { mean };
            Ok(Line { stage, setting: *setting, seeds: seeds.len(), mean, deviation })
        })
    }

    fn excesses(&self, setting: Setting, seeds: &[u64]) -> Result<Vec<f64>, Box<dyn Error>> {
        let Problem { loss, data, .. } = self.problem;
        let known =
            self.noise.iter().find(|(way, passes, _)| (*way, *passes) == (setting.way, setting.passes));
        let (.., noise) = known.ok_or("no noise for this setting")?;
        let plan = self.plan(setting, Noise::Multiplier(*noise))?;
        let (models, _) = models(&*plan, data, self.delta, seeds.iter().copied())?;
        let excess = |model: &LinearModel| {
            let weights: Vec<f64> = model.weights().flatten().copied().collect();
            objective(*loss, data, &weights, 0.0) - self.least
        };
        Ok(models.iter().map(excess).collect())
    }

    fn plan(
        &self,
        setting: Setting,
        noise: Noise,
    ) -> Result<Box<dyn LearningPlan<Model = LinearModel, Error = LearnError>>, Box<dyn Error>> {
        let encoding = self.problem.data.encoding();
        Ok(match setting.way {
            Way::Full | Way::Momentum | Way::Poisson => {
                Box::new(self.gradient(setting)?.plan_with(encoding, self.n, noise)?)
            }
            Way::Jointly | Way::BySmoothness | Way::Equal => {
                Box::new(self.coordinate(setting).plan_with(encoding, self.n, noise)?)
            }
        })
    }

    fn multiplier(&self, setting: Setting, noise: Noise) -> Result<NoiseMultiplier, Box<dyn Error>> {
        let encoding = self.problem.data.encoding();
        Ok(match setting.way {
            Way::Full | Way::Momentum | Way::Poisson => {
                self.gradient(setting)?.plan_with(encoding, self.n, noise)?.plan().noise_multiplier()
            }
            Way::Jointly | Way::BySmoothness | Way::Equal => {
                self.coordinate(setting).plan_with(encoding, self.n, noise)?.noise_multiplier()
            }
        })
    }

    fn gradient(&self, setting: Setting) -> Result<GradientDescent, Box<dyn Error>> {
        let Setting { way, passes, step_size, clip } = setting;
        let training = TrainingOptions {
            learning_rate: step_size / self.largest,
            averaging: Averaging::Tail { fraction: 0.5 },
            rule: if way == Way::Momentum { UpdateRule::Nesterov { momentum: 0.9 } } else { UpdateRule::Sgd },
            ..TrainingOptions::default()
        };
        let (learner, steps) = if way == Way::Poisson {
            let rate = SamplingRate::new(RATE)?;
            (GradientDescent::poisson(self.problem.loss, rate), (passes as f64 / RATE).round() as u64)
        } else {
            (GradientDescent::full_batch(self.problem.loss), passes)
        };
        let clipping = Clipping::Flat { norm: clip * self.row_norm };
        Ok(learner.steps(Count::new(steps)?).clipping(clipping).training(training))
    }

    fn coordinate(&self, setting: Setting) -> CoordinateDescent {
        let Setting { way, passes, step_size, clip } = setting;
        let norm = clip * self.row_norm;
        let clipping = match way {
            Way::Equal => CoordinateClipping::Uniform { norm },
            Way::BySmoothness => CoordinateClipping::BySmoothness { norm },
            Way::Jointly | Way::Full | Way::Momentum | Way::Poisson => CoordinateClipping::Jointly { norm },
        };
        let steps = passes * self.optimum.len() as u64;
        CoordinateDescent::new(self.problem.loss).steps(steps).step_size(step_size).clipping(clipping)
    }

    /// The ratio that equation (1) predicts.
    fn predicted(&self) -> f64 {
        let sum: f64 = self.smoothness.iter().sum();
        let by_smoothness: f64 = self.optimum.iter().zip(&self.smoothness).map(|(w, m)| m * w * w).sum();
        let plain: f64 = self.optimum.iter().map(|w| w * w).sum();
        (self.optimum.len() as f64 * by_smoothness / (sum * plain)).sqrt()
    }
}

fn settings(ways: [Way; 3]) -> Vec<Setting> {
    let mut all = Vec::new();
    for way in ways {
        for passes in PASSES {
            for step_size in STEP_SIZES {
                all.extend(CLIPS.map(|clip| Setting { way, passes, step_size, clip }));
            }
        }
    }
    all
}

/// The settings with the least mean excess.
fn best(lines: &[Line], count: usize) -> Vec<Setting> {
    let mut ranked: Vec<&Line> = lines.iter().collect();
    ranked.sort_by(|a, b| a.mean.total_cmp(&b.mean));
    ranked.into_iter().take(count).map(|line| line.setting).collect()
}

/// The largest eigenvalue of a positive semidefinite matrix, by power iteration.
fn largest_eigenvalue(matrix: &[Vec<f64>]) -> f64 {
    let mut vector = vec![1.0; matrix.len()];
    let mut value = 0.0;
    for _ in 0..1000 {
        let image: Vec<f64> =
            matrix.iter().map(|row| row.iter().zip(&vector).map(|(a, x)| a * x).sum()).collect();
        value = image.iter().map(|x| x * x).sum::<f64>().sqrt();
        vector = image.into_iter().map(|x| x / value).collect();
    }
    value
}
