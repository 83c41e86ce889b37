//! Turns a plan back into settings: for `configuration.toml`, for the report, and in words.

use std::path::Path;

use sordino_data::Sampling;
use sordino_nn::{ClippingStyle, Layer, NetworkPlan, style};
use sordino_optim::{Averaging, Clipping, UpdateRule};
use sordino_privacy::{ClipNorm, Count};
use sordino_report::Setting;

use super::learner::Learner;
use super::linear::{huber_width, loss_name};
use super::subject::Subject;
use crate::settings::{AveragingName, ClippingName, LearnerSettings, Relation, Settings};

/// Every setting of a run, from its plan.
pub(super) fn settings(
    asked: &Settings,
    subject: &Subject,
    learner: &Learner,
    out: Option<&Path>,
) -> Settings {
    let learner = LearnerSettings {
        // The plan does not hold the network's name, nor the memory limit.
        model: asked.learner.model.clone(),
        hidden: asked.learner.hidden.clone().or_else(|| hidden(asked, learner)),
        memory: asked.learner.memory,
        image: subject.image,
        row_norm: asked.learner.row_norm,
        checkpoint_every: asked.learner.checkpoint_every.or_else(|| twentieth(learner)),
        ..of_learner(learner)
    };
    Settings {
        delta: Some(subject.delta),
        neighbours: Relation::of(subject.neighbours),
        rows: Some(subject.n),
        out: out.map(Path::to_owned),
        learner,
        ..asked.clone()
    }
}

/// The widths of `mlp`, which follow from the price and the number of records.
fn hidden(asked: &Settings, learner: &Learner) -> Option<Vec<usize>> {
    let network = learner.network().filter(|_| asked.learner.model.as_deref() == Some("mlp"))?.network();
    let widths = network
        .layers()
        .iter()
        .filter_map(|layer| if let Layer::Linear { outputs, .. } = layer { Some(*outputs) } else { None });
    let mut widths: Vec<usize> = widths.collect();
    widths.pop(); // the outputs
    Some(widths)
}

/// The settings that follow from the learner alone.
pub(super) fn of_learner(learner: &Learner) -> LearnerSettings {
    let plain = LearnerSettings {
        method: Some(learner.method()),
        loss: learner.loss().map(loss_name),
        huber_width: learner.loss().and_then(huber_width),
        l2: Some(learner.l2()),
        class_weights: learner.class_weights(),
        ..LearnerSettings::default()
    };
    match learner {
        Learner::Coordinate(plan) => {
            LearnerSettings { steps: Count::new(plan.coordinate_steps()).ok(), ..plain }
        }
        Learner::Gradient(plan) => LearnerSettings {
            learning_rate: Some(plan.training().learning_rate),
            momentum: momentum(&plan.training().rule),
            clip_norm: flat_norm(plan.plan().clipping()),
            ..with_batches(plain, learner)
        },
        Learner::Network(plan) => of_network(plan, with_batches(plain, learner)),
        Learner::Output(_) | Learner::Objective(_) | Learner::Statistics(_) => plain,
    }
}

fn of_network(plan: &NetworkPlan, plain: LearnerSettings) -> LearnerSettings {
    let training = plan.training();
    let (clipping, clip_quantile) = match plan.clipping() {
        ClippingStyle::Flat => (ClippingName::Flat, None),
        ClippingStyle::Automatic => (ClippingName::Automatic, None),
        ClippingStyle::Adaptive { quantile } => (ClippingName::Adaptive, Some(quantile)),
        ClippingStyle::PerLayer => (ClippingName::PerLayer, None),
    };
    let (averaging, averaging_tail, averaging_decay) = match training.averaging {
        Averaging::Tail { fraction } => (AveragingName::Tail, Some(fraction), None),
        Averaging::Exponential { decay } => (AveragingName::Ema, None, Some(decay)),
        // A network has one of these three losses only.
        Averaging::Last | Averaging::All => (AveragingName::None, None, None),
    };
    LearnerSettings {
        learning_rate: Some(training.learning_rate),
        momentum: momentum(&training.rule),
        clip_norm: flat_norm(plan.plan().clipping()),
        clipping: Some(clipping),
        clip_quantile,
        averaging: Some(averaging),
        averaging_tail,
        averaging_decay,
        ..plain
    }
}

fn with_batches(plain: LearnerSettings, learner: &Learner) -> LearnerSettings {
    let Some(batches) = learner.batches().map(|plan| plan.batches()) else { return plain };
    let sampling_rate = if let Sampling::Poisson { rate } = batches.sampling() { Some(rate) } else { None };
    LearnerSettings { steps: Count::new(batches.steps()).ok(), sampling_rate, ..plain }
}

fn momentum(rule: &UpdateRule) -> Option<f64> {
    match rule {
        UpdateRule::Momentum { momentum } | UpdateRule::Nesterov { momentum } => Some(*momentum),
        UpdateRule::Sgd
        | UpdateRule::Adam { .. }
        | UpdateRule::AdaGrad { .. }
        | UpdateRule::Diagonal { .. } => None,
    }
}

/// The clip norm; its initial value if it is adaptive.
fn flat_norm(clipping: &Clipping) -> Option<ClipNorm> {
    match clipping {
        Clipping::Flat { norm } | Clipping::Automatic { norm, .. } => ClipNorm::new(*norm).ok(),
        Clipping::Quantile { initial, .. } => ClipNorm::new(*initial).ok(),
        Clipping::Coordinates { .. } => None,
    }
}

fn twentieth(learner: &Learner) -> Option<Count> {
    Count::new(learner.steps()?.div_ceil(20)).ok()
}

/// The settings that decide what was released, by name, with the numbers that follow from them.
pub(super) fn shown(subject: &Subject, learner: &Learner, settings: &LearnerSettings) -> Vec<Setting> {
    let mut shown: Vec<Setting> = Vec::new();
    shown.extend(settings.steps.map(|steps| Setting::from(("steps", steps.get()))));
    if let Learner::Network(plan) = learner {
        shown.push(("clipping", plan.clipping().name()).into());
        shown.push(("averaging", style::averaging_name(plan.training().averaging)).into());
    }
    let weights = settings.class_weights.as_ref().map(ToString::to_string);
    shown.extend(weights.map(|weights| Setting::from(("class_weights", weights.as_str()))));
    if let Some(widths) = &settings.hidden {
        let widths: Vec<String> = widths.iter().map(usize::to_string).collect();
        shown.push(("hidden", widths.join(",").as_str()).into());
    }
    let count = learner.count_noise();
    let is_automatic = settings.clipping == Some(ClippingName::Automatic);
    let is_linear = settings.model.is_none();
    let numbers = [
        ("noise_multiplier", learner.noise_multiplier()),
        ("gradient_noise_multiplier", count.map(|(gradients, _)| gradients)),
        ("count_noise_multiplier", count.map(|(_, count)| count)),
        ("clip_norm", settings.clip_norm.map(ClipNorm::get)),
        ("clip_quantile", settings.clip_quantile),
        ("clip_rate", count.map(|_| style::CLIP_RATE)),
        ("clip_gamma", is_automatic.then_some(style::GAMMA)),
        ("averaging_tail", settings.averaging_tail),
        ("averaging_decay", settings.averaging_decay),
        // Networks bound gradients, not rows.
        ("row_norm", is_linear.then(|| settings.row_norm.unwrap_or_else(|| subject.encoding.row_norm()))),
        ("sampling_rate", settings.sampling_rate.map(|rate| rate.get())),
        ("huber_width", settings.huber_width),
        ("learning_rate", settings.learning_rate),
        ("momentum", settings.momentum),
        ("l2", settings.l2),
    ];
    shown.extend(numbers.into_iter().filter_map(|(name, value)| Some(Setting::from((name, value?)))));
    shown
}

/// The method and, for a network, its name, and its clipping unless that is the default.
pub(crate) fn how(learner: &Learner, model: Option<&str>) -> String {
    let method = learner.method().name();
    match (learner, model) {
        (Learner::Network(plan), Some(model)) if plan.clipping() == ClippingStyle::Flat => {
            format!("{model} by {method}")
        }
        (Learner::Network(plan), Some(model)) => {
            format!("{model} by {method} with {} clipping", plan.clipping().name())
        }
        _ => method.to_owned(),
    }
}

/// The learner in full, for the error about a setting that it does not use.
pub(super) fn in_full(learner: &Learner, model: Option<&str>) -> String {
    let method = learner.method().name();
    match (learner, model) {
        (Learner::Network(plan), Some(model)) => format!(
            "{model} by {method} with {} clipping and {} averaging",
            plan.clipping().name(),
            style::averaging_name(plan.training().averaging)
        ),
        _ => format!("{method} on a linear model"),
    }
}
