//! The settings of a run, by the names of flags, files and keyword arguments. Every setting is
//! optional: defaults follow from public facts, and
//! [`training::RunPlan`](crate::training::RunPlan) has no options left.

mod class_weights;
pub mod file;

use std::num::NonZero;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sordino_privacy::{ClipNorm, Count, Delta, Epsilon, Neighbours, SamplingRate};

pub use self::class_weights::DeclaredWeights;
use crate::model::Threshold;
use crate::purse::Payment;
use crate::training::{By, ImageShape};

/// The settings of a training run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default)]
pub struct Settings {
    /// The table: CSV (also .gz, .zst), Parquet, Arrow IPC, NPY, IDX (MNIST) or CIFAR binary
    #[cfg_attr(feature = "clap", arg(value_name = "DATA"))]
    pub data: Option<PathBuf>,

    /// The column to predict
    #[cfg_attr(feature = "clap", arg(long, value_name = "COLUMN"))]
    pub target: Option<String>,

    /// The epsilon that the model costs
    #[cfg_attr(feature = "clap", arg(long, allow_hyphen_values = true))]
    pub epsilon: Option<Epsilon>,

    /// At this delta [default: that of the ledger; else 1e-6, or the first power of ten below
    /// 1/(10 n) if that is less]
    #[cfg_attr(feature = "clap", arg(long, allow_hyphen_values = true))]
    pub delta: Option<Delta>,

    /// The schema with bounds, values and the unit (TOML; see `sordino schema`)
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub schema: Option<PathBuf>,

    /// Spend this part of epsilon and delta to find, with noise, the bounds and categories that the
    /// schema does not declare, or all of them without a schema
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "FRACTION", value_parser = parse::fraction, allow_hyphen_values = true)
    )]
    pub estimate_schema_with: Option<f64>,

    /// With --estimate-schema-with: columns of numbers whose bounds to find
    #[cfg_attr(feature = "clap", arg(long, value_name = "COLUMNS", value_delimiter = ','))]
    pub numbers: Option<Vec<String>>,

    /// With --estimate-schema-with: columns of categories whose values to find
    #[cfg_attr(feature = "clap", arg(long, value_name = "COLUMNS", value_delimiter = ','))]
    pub categories: Option<Vec<String>>,

    /// What a neighbouring data set is: zero_out (one unit left empty) or replace (one exchanged
    /// for another), under which the number of records is public, as learning needs it [default:
    /// zero_out, or what the ledger says]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_enum, hide_possible_values = true, value_name = "zero_out|replace")
    )]
    pub neighbours: Option<Relation>,

    /// n, the number of records, which is public [default: counted]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", value_parser = parse::count))]
    pub rows: Option<Count>,

    /// How to learn.
    #[cfg_attr(feature = "clap", command(flatten))]
    #[serde(flatten)]
    pub learner: LearnerSettings,

    /// Public records that are no part of DATA: the model's accuracy on them is shown
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub public_test: Option<PathBuf>,

    /// Show scores for each value of this column of --public-test too; COLUMN=VALUE,VALUE if the
    /// schema declares no values
    #[cfg_attr(feature = "clap", arg(long, value_name = "COLUMN"))]
    pub by: Option<By>,

    /// Predict the second of two classes if its probability is at least this, or CLASS=P for the
    /// named class; it is part of the model, so declare it before you see results [default: the
    /// likelier class]
    #[cfg_attr(feature = "clap", arg(long, value_name = "P"))]
    pub threshold: Option<Threshold>,

    /// What the settings were tuned on before this run, for the report
    #[cfg_attr(feature = "clap", arg(long, value_enum))]
    pub tuned_on: Option<TunedOn>,

    /// Fit values to the schema by its rules, or drop the record, instead of stopping at a record
    /// that does not fit; no error then depends on a record
    #[cfg_attr(feature = "clap", arg(long))]
    #[serde(skip_serializing_if = "is_off")]
    pub permissive: bool,

    /// Who pays.
    #[cfg_attr(feature = "clap", command(flatten))]
    #[serde(flatten)]
    pub payment: Payment,

    /// The directory for the model; must not exist [default: the data's name with `.model`, here]
    #[cfg_attr(feature = "clap", arg(long, value_name = "DIR"))]
    pub out: Option<PathBuf>,

    /// Write the report here too; it is always in the model's directory
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub report: Option<PathBuf>,

    /// Threads to compute with; the result is the same [default: all processors]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub threads: Option<NonZero<usize>>,

    /// Repeatable noise, for tests: the guarantee is void and says so
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub danger_seed: Option<u32>,
}

/// How to learn. A planner *takes* the settings that its method uses out of a copy. The first
/// setting that is left over is refused by name: it has no meaning for the method.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default)]
pub struct LearnerSettings {
    /// Train a neural network instead of a linear model: a preset (softmax, mlp, cnn, tanh_cnn,
    /// cifar_cnn, resnet20), or a description in a file (.toml, .json)
    #[cfg_attr(feature = "clap", arg(long, value_name = "PRESET|FILE"))]
    pub model: Option<String>,

    /// Widths of the layers of `--model mlp` [default: one layer of 32 to 256 units, by records,
    /// columns and price]
    #[cfg_attr(feature = "clap", arg(long, value_name = "WIDTHS", value_delimiter = ','))]
    pub hidden: Option<Vec<usize>>,

    /// The records are images of this shape, such as 1x28x28 [default: what the file's format says,
    /// if it is a format of images]
    #[cfg_attr(feature = "clap", arg(long, value_name = "CxHxW"))]
    pub image: Option<ImageShape>,

    /// How to learn [default: for a linear model gradient-descent, sgd or objective-perturbation,
    /// by the number of records and the price; for a network sgd]
    #[cfg_attr(feature = "clap", arg(long, value_enum))]
    pub method: Option<Method>,

    /// What to minimise [default: logistic for two classes, softmax for more, huber for a number]
    #[cfg_attr(feature = "clap", arg(long, value_enum))]
    pub loss: Option<LossName>,

    /// For --loss huber: residuals beyond this count linearly, on a scale where the bounds of the
    /// target are -1 and 1 [default: the less noise, the larger]
    #[cfg_attr(feature = "clap", arg(long, value_name = "WIDTH", allow_hyphen_values = true))]
    pub huber_width: Option<f64>,

    /// How much a record of each class counts, as in no=1,yes=3. Take the weights from public
    /// knowledge, not from counts of the private data; the largest is scaled to 1 [default: all
    /// equal]
    #[cfg_attr(feature = "clap", arg(long, value_name = "CLASS=W,...", allow_hyphen_values = true))]
    pub class_weights: Option<DeclaredWeights>,

    /// The number of noisy steps [default: the method's]
    #[cfg_attr(feature = "clap", arg(long, value_name = "T", value_parser = parse::count))]
    pub steps: Option<Count>,

    /// How sgd draws its batches: poisson (each record by a coin of its own) or fixed (a uniform
    /// set of --batch-size records; needs --neighbours replace) [default: poisson]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_enum, hide_possible_values = true, value_name = "poisson|fixed")
    )]
    pub sampling: Option<SamplingName>,

    /// For --method sgd: the probability with which each record enters a batch [default: 256/n]
    #[cfg_attr(feature = "clap", arg(long, value_name = "Q", allow_hyphen_values = true))]
    pub sampling_rate: Option<SamplingRate>,

    /// The mean batch size, instead of --sampling-rate: the rate is this divided by n. With
    /// --sampling fixed, the size of every batch
    #[cfg_attr(feature = "clap", arg(long, value_name = "B", value_parser = parse::count))]
    pub batch_size: Option<Count>,

    /// Passes over the data, instead of --steps
    #[cfg_attr(feature = "clap", arg(long, value_name = "E", value_parser = parse::count))]
    pub epochs: Option<Count>,

    /// The learning rate [default: what suits the number of steps and their noise]
    #[cfg_attr(feature = "clap", arg(long, value_name = "RATE", allow_hyphen_values = true))]
    pub learning_rate: Option<f64>,

    /// The part of the last step that goes into the next [default: 0.9; for a linear model at least
    /// that]
    #[cfg_attr(feature = "clap", arg(long, value_name = "BETA", allow_hyphen_values = true))]
    pub momentum: Option<f64>,

    /// The largest norm of one record's gradient; longer gradients are scaled down [default: the
    /// method's; for a network 1 to 10, the less noise the larger]
    #[cfg_attr(feature = "clap", arg(long, value_name = "C", allow_hyphen_values = true))]
    pub clip_norm: Option<ClipNorm>,

    /// How gradients of a network are clipped [default: flat]
    #[cfg_attr(feature = "clap", arg(long, value_enum))]
    pub clipping: Option<ClippingName>,

    /// For --clipping adaptive: the part of the gradients that is not clipped. --clip-norm is the
    /// initial clip norm, which never falls below a quarter of that [default: 0.5]
    #[cfg_attr(feature = "clap", arg(long, value_name = "PART", allow_hyphen_values = true))]
    pub clip_quantile: Option<f64>,

    /// Which iterates of a network are the result; costs nothing [default: tail]
    #[cfg_attr(feature = "clap", arg(long, value_enum))]
    pub averaging: Option<AveragingName>,

    /// For --averaging tail: the last part of the iterates, which is averaged [default: 0.1]
    #[cfg_attr(feature = "clap", arg(long, value_name = "PART", allow_hyphen_values = true))]
    pub averaging_tail: Option<f64>,

    /// For --averaging ema: the part of the average that stays at each step [default: 1 - 10/T for
    /// T steps]
    #[cfg_attr(feature = "clap", arg(long, value_name = "BETA", allow_hyphen_values = true))]
    pub averaging_decay: Option<f64>,

    /// The largest norm of one encoded record; longer records are scaled down [default: what the
    /// schema allows]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NORM", allow_hyphen_values = true))]
    pub row_norm: Option<f64>,

    /// Penalty on large weights: lambda of (lambda/2) |w|^2 [default: what suits the noise; 0 for a
    /// network]
    #[cfg_attr(feature = "clap", arg(long, value_name = "LAMBDA", allow_hyphen_values = true))]
    pub l2: Option<f64>,

    /// Steps between two checkpoints (passes, for coordinate-descent); after a crash at most as
    /// many are charged again [default: a twentieth of all]
    #[cfg_attr(feature = "clap", arg(long, value_name = "T", value_parser = parse::count))]
    pub checkpoint_every: Option<Count>,

    /// Megabytes of memory for a network's batches; the result is the same up to rounding
    #[cfg_attr(feature = "clap", arg(long, value_name = "MB", value_parser = parse::count))]
    pub memory: Option<Count>,
}

/// A neighbouring relation that needs no further numbers, spelled as in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum), value(rename_all = "snake_case"))]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// One unit more or one unit fewer
    AddRemove,
    /// One unit's contribution set to zero; the number of units is public
    ZeroOut,
    /// One unit exchanged for another
    Replace,
}

impl Relation {
    /// The name of a relation, if it has one here.
    pub fn of(neighbours: Neighbours) -> Option<Self> {
        [Self::AddRemove, Self::ZeroOut, Self::Replace]
            .into_iter()
            .find(|relation| relation.neighbours() == neighbours)
    }

    /// The relation.
    pub fn neighbours(self) -> Neighbours {
        match self {
            Self::AddRemove => Neighbours::AddRemove,
            Self::ZeroOut => Neighbours::ZeroOut,
            Self::Replace => Neighbours::Replace,
        }
    }
}

/// A learner's method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Noisy gradient descent on all records
    GradientDescent,
    /// Noisy gradient descent on random batches (DP-SGD)
    Sgd,
    /// One noisy coordinate per step; for two classes or a number
    CoordinateDescent,
    /// The minimum, with noise added to it; for classes, or a number with --loss huber
    OutputPerturbation,
    /// The minimum of an objective with noise in it; for classes, or a number with --loss huber
    ObjectivePerturbation,
    /// From noisy sums of products (AdaSSP); for a number
    SufficientStatistics,
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 6] = [
        Self::GradientDescent,
        Self::Sgd,
        Self::CoordinateDescent,
        Self::OutputPerturbation,
        Self::ObjectivePerturbation,
        Self::SufficientStatistics,
    ];

    /// As flags and files spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::GradientDescent => "gradient-descent",
            Self::Sgd => "sgd",
            Self::CoordinateDescent => "coordinate-descent",
            Self::OutputPerturbation => "output-perturbation",
            Self::ObjectivePerturbation => "objective-perturbation",
            Self::SufficientStatistics => "sufficient-statistics",
        }
    }
}

/// What a linear model minimises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum LossName {
    /// Two classes
    Logistic,
    /// Two classes, with a margin
    SmoothHinge,
    /// Two classes or more
    Softmax,
    /// A number
    Squared,
    /// A number, with large residuals counted linearly
    Huber,
}

/// How sgd draws its batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum SamplingName {
    /// Each record enters a batch by a coin of its own
    #[default]
    Poisson,
    /// Every batch is a uniform set of distinct records, of fixed size
    Fixed,
}

/// How gradients of a network are clipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum ClippingName {
    /// Each record's whole gradient is scaled down to the clip norm
    #[default]
    Flat,
    /// Every gradient is scaled to about the clip norm, short ones too
    Automatic,
    /// The clip norm follows a quantile of the gradients' norms, by a noisy count that is part of
    /// the price
    Adaptive,
    /// The gradient of each layer is scaled down to its share of the clip norm
    PerLayer,
}

/// Which iterates of a network are the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum AveragingName {
    /// The mean of the last iterates
    #[default]
    Tail,
    /// An exponential moving average of all iterates
    Ema,
    /// The last iterate
    None,
}

/// What the settings were tuned on, as the user states it. Nobody can check it; the report repeats
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum TunedOn {
    /// Nothing: they are defaults, or follow a rule
    None,
    /// Data that everybody may see
    Public,
    /// The private data, and each run was charged to the same budget
    Booked,
    /// The private data, without a charge
    Private,
}

fn is_off(flag: &bool) -> bool {
    !flag
}

/// Parsers of values on the command line.
#[cfg(feature = "clap")]
pub mod parse {
    use sordino_privacy::{Count, ParamError, ParseNumberError};

    /// Parses a count. The error shows the number as it was typed: the library's own error holds a
    /// float, and the float nearest to 2^53 + 1 is 2^53.
    pub fn count(text: &str) -> Result<Count, String> {
        text.parse().map_err(|error| match (error, text.trim().parse::<u64>()) {
            (ParseNumberError::OutOfRange(ParamError { name, expected, .. }), Ok(whole)) => {
                format!("{name} must be {expected}, got {whole}")
            }
            (error, _) => error.to_string(),
        })
    }

    /// A number between 0 and 1.
    pub(super) fn fraction(text: &str) -> Result<f64, String> {
        match text.trim().parse::<f64>() {
            Ok(part) if part > 0.0 && part < 1.0 => Ok(part),
            Ok(_) | Err(_) => Err(format!("a fraction must be a number above 0 and below 1, got `{text}`")),
        }
    }
}
