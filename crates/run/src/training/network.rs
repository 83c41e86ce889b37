//! Plans neural networks from settings: a description or a preset becomes a learner,
//! which takes the settings that it uses.

use std::fmt;
use std::fs;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sordino_data::Sampling;
use sordino_nn::{
    ClippingStyle, Description, EPOCHS, Network, NetworkLearner, NetworkLoss, Shape, preset, style, usual,
    usual_rate_of_sampling, usual_steps,
};
use sordino_optim::Averaging;
use sordino_privacy::Count;

use super::learner::Learner;
use super::subject::Task;
use crate::error::RunError;
use crate::settings::{AveragingName, ClippingName, LearnerSettings, Method};

/// The longest description that is read, in bytes.
const MAX_DESCRIPTION_BYTES: u64 = 1 << 20;

/// Channels, height and width of an image, as `1x28x28`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ImageShape {
    channels: usize,
    height: usize,
    width: usize,
}

impl ImageShape {
    /// The shape that the file's format implies: grey and square for
    /// IDX, 32 × 32 in colour for CIFAR.
    pub(crate) fn of_format(format: &str, columns: usize) -> Option<Self> {
        let side = (columns as f64).sqrt().round() as usize;
        match format {
            "IDX" if side * side == columns => Some(Self { channels: 1, height: side, width: side }),
            "CIFAR binary" if columns == 3072 => Some(Self { channels: 3, height: 32, width: 32 }),
            _ => None,
        }
    }

    fn shape(self) -> Shape {
        let Self { channels, height, width } = self;
        Shape::Image { channels, height, width }
    }
}

impl FromStr for ImageShape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let sides: Option<Vec<usize>> = text
            .split('x')
            .map(|side| side.trim().parse().ok().filter(|side| (1..=1 << 14).contains(side)))
            .collect();
        match sides.as_deref() {
            Some(&[channels, height, width]) => Ok(Self { channels, height, width }),
            _ => Err(format!("a picture is CHANNELSxHEIGHTxWIDTH, such as 1x28x28; got `{text}`")),
        }
    }
}

impl TryFrom<String> for ImageShape {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<ImageShape> for String {
    fn from(shape: ImageShape) -> Self {
        shape.to_string()
    }
}

impl fmt::Display for ImageShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.channels, self.height, self.width)
    }
}

/// Plans the network that the settings name, from public facts alone.
pub(super) fn plan(name: &str, task: &Task<'_>, wishes: &mut LearnerSettings) -> Result<Learner, RunError> {
    let method = wishes.method.take().unwrap_or(Method::Sgd);
    task.check_delta(method)?;
    wishes.image.take();
    wishes.checkpoint_every.take();
    let network = network(name, task, wishes.hidden.take())?;
    let learner = NetworkLearner::new(Arc::new(network)).neighbours(task.neighbours).threads(task.threads);
    let (sampling, steps) = batches(method, task, wishes)?;
    let learner = learner
        .sampling(sampling)
        .steps(steps)
        .clipping(clipping(wishes))
        .averaging(averaging(wishes, steps));
    let learner = wishes.clip_norm.take().map_or(learner.clone(), |norm| learner.clip_norm(norm));
    let learner = wishes.momentum.take().map_or(learner.clone(), |momentum| learner.momentum(momentum));
    let learner = wishes.learning_rate.take().map_or(learner.clone(), |rate| learner.learning_rate(rate));
    let learner = wishes.l2.take().map_or(learner.clone(), |l2| learner.l2(l2));
    let weights = task.class_weights(wishes)?;
    let learner = weights.map_or(learner.clone(), |weights| learner.class_weights(weights));
    let bytes = wishes.memory.take().map(|megabytes| megabytes.get() as usize * 1_000_000);
    let learner = bytes.map_or(learner.clone(), |bytes| learner.memory(bytes));
    Ok(Learner::Network(Box::new(learner.plan_with(task.encoding, task.n, task.noise())?)))
}

/// How batches are drawn, and their number.
fn batches(
    method: Method,
    task: &Task<'_>,
    wishes: &mut LearnerSettings,
) -> Result<(Sampling, Count), RunError> {
    match method {
        Method::GradientDescent => Ok((Sampling::FullBatch, steps(Sampling::FullBatch, 1.0, task, wishes)?)),
        Method::Sgd => {
            let rate = task.rate(wishes, usual_rate_of_sampling(task.n)?.get())?;
            let sampling = Sampling::Poisson { rate };
            Ok((sampling, steps(sampling, rate.get(), task, wishes)?))
        }
        Method::CoordinateDescent
        | Method::OutputPerturbation
        | Method::ObjectivePerturbation
        | Method::SufficientStatistics => Err(RunError::MethodForLinear { method: method.name() }),
    }
}

/// The given number of steps, or the usual one.
fn steps(
    sampling: Sampling,
    rate: f64,
    task: &Task<'_>,
    wishes: &mut LearnerSettings,
) -> Result<Count, RunError> {
    match (wishes.steps, wishes.epochs) {
        (None, None) => Ok(usual_steps(sampling)?),
        _ => task.steps(wishes, rate, EPOCHS),
    }
}

fn clipping(wishes: &mut LearnerSettings) -> ClippingStyle {
    match wishes.clipping.take().unwrap_or_default() {
        ClippingName::Flat => ClippingStyle::Flat,
        ClippingName::Automatic => ClippingStyle::Automatic,
        ClippingName::PerLayer => ClippingStyle::PerLayer,
        ClippingName::Adaptive => {
            ClippingStyle::Adaptive { quantile: wishes.clip_quantile.take().unwrap_or(style::QUANTILE) }
        }
    }
}

fn averaging(wishes: &mut LearnerSettings, steps: Count) -> Averaging {
    match wishes.averaging.take().unwrap_or_default() {
        AveragingName::Tail => {
            Averaging::Tail { fraction: wishes.averaging_tail.take().unwrap_or(style::TAIL) }
        }
        AveragingName::Ema => {
            let usual = || style::usual_decay(steps.get());
            Averaging::Exponential { decay: wishes.averaging_decay.take().unwrap_or_else(usual) }
        }
        AveragingName::None => Averaging::Last,
    }
}

/// The network for records of this encoding.
fn network(name: &str, task: &Task<'_>, hidden: Option<Vec<usize>>) -> Result<Network, RunError> {
    let encoding = task.encoding;
    let input = match task.image {
        Some(image) if image.shape().size() == encoding.width() => image.shape(),
        Some(image) => {
            return Err(RunError::OtherPicture { image: image.to_string(), numbers: encoding.width() });
        }
        None => Shape::Features(encoding.width()),
    };
    let (loss, outputs) = match encoding.classes() {
        Some(classes) => (NetworkLoss::CrossEntropy, classes.len()),
        None => (NetworkLoss::Squared, 1),
    };
    let hidden = match hidden {
        None if name == "mlp" && task.network.is_none() => {
            Some(usual::hidden(encoding.width(), outputs, |weights| task.facts().signal(weights))?)
        }
        given => given,
    };
    let mut description = match (task.network, &hidden) {
        (Some(network), None) => network.clone(),
        (Some(_), Some(_)) => {
            let by = "a network that is described: write the widths into it".to_owned();
            return Err(RunError::Unused { setting: "--hidden".to_owned(), by });
        }
        (None, _) => description(name, hidden.as_deref())?,
    };
    match description.loss {
        Some(stated) if stated != loss => return Err(RunError::OtherLoss { target: kind(loss) }),
        _ => description.loss = Some(loss),
    }
    described(name, description.network_for(input, outputs))
}

/// The description in a file, if `name` looks like a path; else the preset of this name.
fn description(name: &str, hidden: Option<&[usize]>) -> Result<Description, RunError> {
    let path = Path::new(name);
    if !is_file(path) {
        return described(name, preset::named(name, hidden));
    }
    if hidden.is_some() {
        let by = format!("`{name}`, which is a file: write the widths into it");
        return Err(RunError::Unused { setting: "--hidden".to_owned(), by });
    }
    let failed = |source| RunError::Read { name: format!("`{name}`"), source };
    if fs::metadata(path).map_err(failed)?.len() > MAX_DESCRIPTION_BYTES {
        let reason = format!("it has more than {MAX_DESCRIPTION_BYTES} bytes");
        return Err(RunError::Config { name: name.to_owned(), reason });
    }
    let text = fs::read_to_string(path).map_err(failed)?;
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    described(name, if is_json { Description::from_json(&text) } else { Description::from_toml(&text) })
}

fn is_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml" || extension == "json")
        || path.components().count() > 1
}

fn described<T>(name: &str, result: Result<T, sordino_nn::DescriptionError>) -> Result<T, RunError> {
    result.map_err(|source| RunError::Description { name: name.to_owned(), source: Box::new(source) })
}

fn kind(loss: NetworkLoss) -> &'static str {
    match loss {
        NetworkLoss::CrossEntropy => "classes, which cross_entropy is for",
        NetworkLoss::Squared => "a number, which squared is for",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_three_numbers() {
        let shape: ImageShape = "3x32x32".parse().unwrap();
        assert_eq!(shape.to_string(), "3x32x32");
        assert_eq!(ImageShape::of_format("CIFAR binary", 3072), Some(shape));
        assert_eq!(ImageShape::of_format("IDX", 784).unwrap().to_string(), "1x28x28");
        assert_eq!(ImageShape::of_format("IDX", 785), None);
        assert_eq!(ImageShape::of_format("CSV", 784), None);
        for text in ["", "3", "3x32", "0x1x1", "1x1x99999999", "1x2x3x4", "axbxc"] {
            assert!(text.parse::<ImageShape>().is_err(), "{text}");
        }
    }
}
