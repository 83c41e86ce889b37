//! The loop that every private gradient method shares.
//!
//! ```text
//!            Plan: batches, clipping, divisor, noise  ──►  Claim  ──►  (budget)  ──►  Permit
//!              │                                                                       │
//!  Objective ──┴──► Training: batch ► clipped sum on the grid ► exact noise ► update ──┴──► Release
//! ```
//! # Guarantee
//! A [`TrainingPlan`] is made from public numbers. Sampling, clip norm, divisor, noise and
//! charge are all read from that one value, so they cannot disagree. All iterates are
//! accounted for as if they were released; update rules, schedules, averaging, projections
//! and penalties are post-processing.
//!
//! # Beyond gradients
//! A [`PaidRun`] checks the payment of a run and writes its checkpoints. It serves every learner
//! with steps ([`Priced`]), gradients or not.
//!
//! # Words
//! An [`Objective`] knows the data and returns the *sum* of clipped gradients as integers on the
//! plan's grid, never a mean. The sum of an empty batch is zero, and its release is noise.
#![forbid(unsafe_code)]

mod average;
mod checkpoint;
mod class_weights;
mod clip;
mod error;
mod learner;
mod objective;
mod plan;
mod progress;
mod rule;
mod run;
mod schedule;
mod threads;
mod trained;
mod training;

pub use average::Averaging;
pub use checkpoint::{CHECKPOINT_FORMAT_VERSION, Checkpoint, Checkpoints, Kept, Snapshot, Witness};
pub use class_weights::{ClassWeights, ClassWeightsError};
pub use clip::{Clip, ClipRule, Clipping};
pub use error::OptimError;
pub use learner::{
    FitOptions, Fitted, LearningPlan, Noise, StepwisePlan, Stopped, check_data, check_permit,
    check_public_size,
};
pub use objective::{ClippedSum, Contributions, FloatSums, Objective, Partial, sum_by_groups};
pub use plan::{NoiseSplit, PlanOptions, TrainingPlan};
pub use progress::Progress;
pub use rule::UpdateRule;
pub use run::{PaidRun, Priced};
pub use schedule::Schedule;
pub use trained::{CheckedFit, TrainedPlan};
pub use training::{Training, TrainingOptions};
