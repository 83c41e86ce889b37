//! What a private computation costs: relations, events, accountants, calibration, permits.
#![forbid(unsafe_code)]

pub mod accounting;
mod bound;
mod budget;
pub mod calibrate;
mod claim;
pub mod danger;
mod event;
mod guarantee;
pub mod notion;
mod numerics;
mod paid;
mod params;
mod payer;
mod permit;
mod relation;
mod release;
mod spelling;
mod statement;

pub use accounting::{Account, AccountError, Accountant};
pub use bound::Bound;
pub use budget::{
    Budget, Charge, ChargeError, Charged, Choice, Filter, Gate, Gauge, Journal, Memory, Odometer, Prospect,
    Quote, Reading, Refusal, SoFar, Spent, Terms, Usual, Voucher, Work,
};
pub use claim::{Claim, ReadError};
pub use event::{
    Event, EventError, FixedSample, GaussianNoise, LaplaceNoise, Nodes, RandomizedResponse, RenyiCurve,
    Trials,
};
pub use guarantee::Guarantee;
pub use paid::Paid;
pub use params::{
    ClipNorm, Count, Delta, Epsilon, Gamma, Inflation, MeanTrials, Mu, NoiseMultiplier, Norm, Order,
    ParamError, ParseNumberError, Radius, Rho, SamplingRate, Scale, Sensitivity, Shape, Smoothness, StepSize,
    StrongConvexity, TruthProbability,
};
pub use permit::{Permit, ReleaseError};
pub use relation::{Contribution, MetricBall, Neighbours, RelationError, Unit, group_guarantee};
pub use release::Release;
pub use statement::Statement;
