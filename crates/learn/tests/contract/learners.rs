//! Every learner, with the losses that it supports. A learner that is registered here is held to
//! the whole contract.

use sordino_data::Encoding;
use sordino_learn::{
    CoordinateClipping, CoordinateDescent, GradientDescent, LearnError, LearningPlan, LinearModel, Loss,
    Noise, ObjectivePerturbation, OutputPerturbation, Smoothness, SufficientStatistics,
};
use sordino_optim::{Averaging, Clipping, TrainingOptions, UpdateRule};
use sordino_privacy::{Count, Delta, Epsilon, Neighbours, NoiseMultiplier, SamplingRate};

pub(crate) type AnyPlan = Box<dyn LearningPlan<Model = LinearModel, Error = LearnError> + Sync>;

/// The penalty of every learner here.
pub(crate) const L2: f64 = 0.05;

pub(crate) const LOGISTIC: Loss = Loss::Logistic;
pub(crate) const HINGE: Loss = Loss::SmoothHinge { width: 0.5 };
pub(crate) const HUBER: Loss = Loss::Huber { width: 0.4 };
pub(crate) const SOFTMAX: Loss = Loss::Softmax { classes: 3 };
const ALL: &[Loss] = &[LOGISTIC, HINGE, Loss::Squared, HUBER, SOFTMAX];
const ONE_SCORE: &[Loss] = &[LOGISTIC, HINGE, Loss::Squared, HUBER];
const LIPSCHITZ: &[Loss] = &[LOGISTIC, HINGE, HUBER, SOFTMAX];
const RANK_ONE: &[Loss] = &[LOGISTIC, HINGE, HUBER];

/// How much noise, and how many steps.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Level {
    /// Noise for (ε, δ), with enough steps to converge.
    Budget { epsilon: f64, delta: f64 },
    /// Hardly any noise.
    Quiet,
    /// Noise for (ε, δ), one step, and a penalty that keeps minima where gradients are steepest.
    /// Fast enough for many thousand fits.
    Tiny { epsilon: f64, delta: f64 },
}

impl Level {
    fn noise(self) -> Noise {
        match self {
            Self::Budget { epsilon, delta } | Self::Tiny { epsilon, delta } => {
                Noise::Budget { epsilon: Epsilon::new(epsilon).unwrap(), delta: Delta::new(delta).unwrap() }
            }
            Self::Quiet => Noise::Multiplier(NoiseMultiplier::new(1e-3).unwrap()),
        }
    }

    fn budget(self) -> (Epsilon, Delta) {
        match self.noise() {
            Noise::Budget { epsilon, delta } => (epsilon, delta),
            Noise::Multiplier(_) => (Epsilon::new(1e5).unwrap(), Delta::new(1e-6).unwrap()),
        }
    }

    fn is_tiny(self) -> bool {
        matches!(self, Self::Tiny { .. })
    }

    fn steps(self, patient: u64) -> Count {
        Count::new(if self.is_tiny() { 1 } else { patient }).unwrap()
    }

    fn l2(self) -> f64 {
        if self.is_tiny() { 2.0 } else { L2 }
    }
}

/// A learner: how its plans are made, and what the contract needs to know about it.
pub(crate) struct Learner {
    pub(crate) name: &'static str,
    pub(crate) losses: &'static [Loss],
    /// The loss for audits, chosen so that one record moves the weights most.
    pub(crate) audited: Loss,
    /// By which factor ε grows if the noise is halved, at ε = 2 and δ = 0.05.
    pub(crate) half_noise_cost: f64,
    /// Whether it finds the optimum without noise. It does not if clipping always binds.
    pub(crate) converges: bool,
    /// How far an absent record may move the weights at [`Level::Tiny`] with the same noise, where
    /// there is a simple formula.
    pub(crate) moves: fn(Loss, &Encoding, u64) -> Option<f64>,
    pub(crate) plan: fn(Loss, &Encoding, u64, Level) -> Result<AnyPlan, LearnError>,
}

pub(crate) fn learners() -> Vec<Learner> {
    let learner = |name: &'static str, losses, audited, moves, plan| {
        // Sampled Gaussian noise, spherical noise, and Gaussian noise on all records.
        let half_noise_cost = match name {
            _ if name.contains("Poisson") => 3.86,
            _ if name.contains("pure") => 2.0,
            _ => 2.92,
        };
        Learner { name, losses, audited, half_noise_cost, converges: true, moves, plan }
    };
    let biased = |name, losses, audited, moves, plan| Learner {
        converges: false,
        ..learner(name, losses, audited, moves, plan)
    };
    vec![
        learner(
            "gradient descent, full batches",
            ALL,
            LOGISTIC,
            descent_moves,
            |loss, encoding, n, level| {
                boxed(descent(GradientDescent::full_batch(loss), loss, encoding, level), encoding, n, level)
            },
        ),
        learner(
            "gradient descent, Poisson samples",
            ALL,
            LOGISTIC,
            |loss, encoding, n| Some(2.0 * descent_moves(loss, encoding, n)?),
            |loss, encoding, n, level| {
                let rate = SamplingRate::new(if level.is_tiny() { 0.5 } else { 1.0 }).unwrap();
                boxed(
                    descent(GradientDescent::poisson(loss, rate), loss, encoding, level),
                    encoding,
                    n,
                    level,
                )
            },
        ),
        learner("gradient descent, fixed size", ALL, LOGISTIC, descent_moves, |loss, encoding, n, level| {
            let learner = GradientDescent::fixed_size(loss, Count::new(n).unwrap());
            boxed(descent(learner, loss, encoding, level), encoding, n, level)
        }),
        biased(
            "gradient descent, automatic clipping",
            RANK_ONE,
            LOGISTIC,
            |loss, encoding, n| Some(2.0 * descent_moves(loss, encoding, n)?),
            |loss, encoding, n, level| {
                let learner = descent(GradientDescent::full_batch(loss), loss, encoding, level);
                boxed(learner.clipping(Clipping::Automatic { norm: 1.0, gamma: 0.01 }), encoding, n, level)
            },
        ),
        learner(
            "gradient descent, clipping by coordinates",
            RANK_ONE,
            LOGISTIC,
            |loss, encoding, n| Some((encoding.width() as f64).sqrt() * descent_moves(loss, encoding, n)?),
            |loss, encoding, n, level| {
                let learner = descent(GradientDescent::full_batch(loss), loss, encoding, level);
                let bounds = vec![if level.is_tiny() { 0.5 } else { 1.0 }; encoding.width()];
                boxed(learner.clipping(Clipping::Coordinates { bounds }), encoding, n, level)
            },
        ),
        biased(
            "gradient descent, clipping at a quantile",
            RANK_ONE,
            LOGISTIC,
            descent_moves,
            |loss, encoding, n, level| {
                let learner = descent(GradientDescent::full_batch(loss), loss, encoding, level);
                let (initial, count_noise) = if level.is_tiny() { (0.5, 10.0) } else { (1.0, 1e3) };
                let quantile = Clipping::Quantile { initial, quantile: 0.99, rate: 0.2, count_noise };
                boxed(learner.clipping(quantile), encoding, n, level)
            },
        ),
        learner(
            "coordinate descent, clipped by smoothness",
            ONE_SCORE,
            LOGISTIC,
            |loss, encoding, n| coordinates_move(loss, encoding, n, |m, total| 0.5 * (m / total).sqrt()),
            |loss, encoding, n, level| {
                let clipping =
                    CoordinateClipping::BySmoothness { norm: if level.is_tiny() { 0.5 } else { 3.0 } };
                coordinates(loss, clipping, Smoothness::Declared, encoding, n, level)
            },
        ),
        learner(
            "coordinate descent, clipped jointly",
            ONE_SCORE,
            LOGISTIC,
            |loss, encoding, n| {
                let p = encoding.width() as f64;
                coordinates_move(loss, encoding, n, |m, total| 0.5 * (p * m / total).sqrt())
            },
            |loss, encoding, n, level| {
                let clipping = CoordinateClipping::Jointly { norm: if level.is_tiny() { 0.5 } else { 3.0 } };
                coordinates(loss, clipping, Smoothness::Declared, encoding, n, level)
            },
        ),
        learner(
            "coordinate descent, clipped uniformly",
            ONE_SCORE,
            LOGISTIC,
            |loss, encoding, n| {
                let bound = 0.5 / (encoding.width() as f64).sqrt();
                coordinates_move(loss, encoding, n, |_, _| bound)
            },
            |loss, encoding, n, level| {
                let clipping = CoordinateClipping::Uniform { norm: if level.is_tiny() { 0.5 } else { 3.0 } };
                coordinates(loss, clipping, Smoothness::Declared, encoding, n, level)
            },
        ),
        learner(
            "coordinate descent, Lipschitz",
            RANK_ONE,
            HINGE,
            |loss, encoding, n| coordinates_move(loss, encoding, n, |_, _| loss.slope().unwrap()),
            |loss, encoding, n, level| {
                coordinates(loss, CoordinateClipping::Lipschitz, Smoothness::Declared, encoding, n, level)
            },
        ),
        learner(
            "coordinate descent, smoothness estimated",
            ONE_SCORE,
            LOGISTIC,
            |_, _, _| None,
            |loss, encoding, n, level| {
                let clipping =
                    CoordinateClipping::BySmoothness { norm: if level.is_tiny() { 0.5 } else { 3.0 } };
                let smoothness = Smoothness::Estimated { share: 0.1, floor: 1e-2 };
                coordinates(loss, clipping, smoothness, encoding, n, level)
            },
        ),
        learner(
            "output perturbation, Gaussian",
            LIPSCHITZ,
            HINGE,
            |loss, encoding, n| minima_move(loss, encoding, n, 2.0),
            |loss, encoding, n, level| {
                let learner = OutputPerturbation::new(loss).l2(level.l2());
                Ok(Box::new(learner.plan_with(encoding, Count::new(n)?, level.noise())?))
            },
        ),
        learner(
            "output perturbation, pure",
            LIPSCHITZ,
            HINGE,
            |loss, encoding, n| minima_move(loss, encoding, n, 2.0),
            |loss, encoding, n, level| {
                let learner = OutputPerturbation::new(loss).l2(level.l2()).pure();
                Ok(Box::new(learner.plan_with(encoding, Count::new(n)?, level.noise())?))
            },
        ),
        learner(
            "output perturbation, replace",
            LIPSCHITZ,
            HINGE,
            |loss, encoding, n| minima_move(loss, encoding, n, 2.0),
            |loss, encoding, n, level| {
                let learner = OutputPerturbation::new(loss).l2(level.l2()).neighbours(Neighbours::Replace);
                Ok(Box::new(learner.plan_with(encoding, Count::new(n)?, level.noise())?))
            },
        ),
        learner(
            "objective perturbation, Gaussian",
            LIPSCHITZ,
            HINGE,
            |loss, encoding, n| minima_move(loss, encoding, n, 20.0),
            |loss, encoding, n, level| {
                let (epsilon, delta) = level.budget();
                let learner = ObjectivePerturbation::new(loss).l2(if level.is_tiny() { 20.0 } else { L2 });
                Ok(Box::new(learner.plan(encoding, Count::new(n)?, epsilon, delta)?))
            },
        ),
        learner(
            "objective perturbation, replace",
            LIPSCHITZ,
            HINGE,
            |loss, encoding, n| minima_move(loss, encoding, n, 20.0),
            |loss, encoding, n, level| {
                let (epsilon, delta) = level.budget();
                let learner = ObjectivePerturbation::new(loss).neighbours(Neighbours::Replace);
                let learner = learner.l2(if level.is_tiny() { 20.0 } else { L2 });
                Ok(Box::new(learner.plan(encoding, Count::new(n)?, epsilon, delta)?))
            },
        ),
        learner(
            "objective perturbation, pure",
            LIPSCHITZ,
            HINGE,
            |loss, encoding, n| minima_move(loss, encoding, n, 20.0),
            |loss, encoding, n, level| {
                let (epsilon, delta) = level.budget();
                let learner =
                    ObjectivePerturbation::new(loss).l2(if level.is_tiny() { 20.0 } else { L2 }).pure();
                Ok(Box::new(learner.plan(encoding, Count::new(n)?, epsilon, delta)?))
            },
        ),
        learner(
            "AdaSSP",
            &[Loss::Squared],
            Loss::Squared,
            |_, _, _| None,
            |loss, encoding, n, level| {
                statistics(SufficientStatistics::adaptive().l2(L2), loss, encoding, n, level)
            },
        ),
        learner(
            "private ridge",
            &[Loss::Squared],
            Loss::Squared,
            |_, _, _| None,
            |loss, encoding, n, level| statistics(SufficientStatistics::ridge(L2), loss, encoding, n, level),
        ),
    ]
}

/// `η C/n`, for one step.
fn descent_moves(loss: Loss, encoding: &Encoding, n: u64) -> Option<f64> {
    Some(0.5 / (loss.smoothness(encoding.row_norm()) + L2) / n as f64)
}

/// The longest step `C_j/(n M_j)`. `bound` gives C_j from M_j and the sum of all M.
fn coordinates_move(loss: Loss, encoding: &Encoding, n: u64, bound: impl Fn(f64, f64) -> f64) -> Option<f64> {
    let smoothness = encoding.coordinate_bounds().into_iter().map(|x| loss.coordinate_smoothness(x * x) + L2);
    let smoothness: Vec<f64> = smoothness.collect();
    let total = smoothness.iter().sum();
    smoothness.iter().map(|m| bound(*m, total) / m / n as f64).reduce(f64::max)
}

/// `G/(nλ)`, the distance of minima.
fn minima_move(loss: Loss, encoding: &Encoding, n: u64, l2: f64) -> Option<f64> {
    Some(loss.lipschitz(encoding.row_norm())? / (n as f64 * l2))
}

fn descent(learner: GradientDescent, loss: Loss, encoding: &Encoding, level: Level) -> GradientDescent {
    let training = TrainingOptions {
        rule: UpdateRule::Nesterov { momentum: if level.is_tiny() { 0.0 } else { 0.9 } },
        learning_rate: 1.0 / (loss.smoothness(encoding.row_norm()) + L2),
        averaging: Averaging::Tail { fraction: 0.2 },
        l2: L2,
        ..TrainingOptions::default()
    };
    let learner = learner.training(training).steps(level.steps(600));
    // At margin 0 the logistic gradient is half as long as it can be, and no residual here exceeds
    // 2.
    let norm = if level.is_tiny() { 0.5 } else { 2.0 };
    learner.clipping(Clipping::Flat { norm })
}

fn boxed(learner: GradientDescent, encoding: &Encoding, n: u64, level: Level) -> Result<AnyPlan, LearnError> {
    Ok(Box::new(learner.plan_with(encoding, Count::new(n)?, level.noise())?))
}

fn coordinates(
    loss: Loss,
    clipping: CoordinateClipping,
    smoothness: Smoothness,
    encoding: &Encoding,
    n: u64,
    level: Level,
) -> Result<AnyPlan, LearnError> {
    let learner = CoordinateDescent::new(loss).smoothness(smoothness).l2(L2).clipping(clipping);
    let learner = if level.is_tiny() {
        learner.rounds(1).steps(1)
    } else {
        learner.rounds(12).steps(40 * encoding.width() as u64)
    };
    Ok(Box::new(learner.plan_with(encoding, Count::new(n)?, level.noise())?))
}

/// Plans for sufficient statistics, which have the squared loss only: another loss is checked
/// against the target here.
fn statistics(
    learner: SufficientStatistics,
    loss: Loss,
    encoding: &Encoding,
    n: u64,
    level: Level,
) -> Result<AnyPlan, LearnError> {
    loss.check(encoding)?;
    Ok(Box::new(learner.plan_with(encoding, Count::new(n)?, level.noise())?))
}
