//! What a private computation costs, and the permission to do it.
//!
//! Most modules *price*: relations, events, claims, accountants, notions, calibration. One module
//! *grants*: budgets, permits, releases. It alone can make a [`Permit`], a [`Guarantee`] or a
//! [`Release`], and nothing that prices uses it.
#![forbid(unsafe_code)]

pub mod accounting;
mod bound;
pub mod calibrate;
mod claim;
mod event;
mod grant;
pub mod notion;
mod numerics;
mod params;
mod relation;

use sordino_spelling as spelling;

pub use accounting::{AccountError, Accountant, Cost};
pub use bound::Bound;
pub use claim::{Claim, ReadError};
pub use event::{
    Event, EventError, FixedSample, GaussianNoise, LaplaceNoise, Nodes, RandomizedResponseLaw, RenyiCurve,
    Trials,
};
pub use grant::{
    Budget, Charge, ChargeError, Charged, Choice, Filter, Gate, Gauge, Guarantee, IndividualFilter, Journal,
    MemoryJournal, Odometer, OdometerReading, Paid, Permit, Prospect, Quote, Refusal, Release, ReleaseError,
    SoFar, Spent, Statement, Terms, TypicalRelease, Voucher, Work, danger,
};
pub use params::{
    ClipNorm, Count, Delta, Epsilon, Gamma, Inflation, MeanTrials, Mu, NoiseMultiplier, Norm, Order,
    ParamError, ParseNumberError, Radius, Rho, SamplingRate, Scale, Sensitivity, Shape, Smoothness, StepSize,
    StrongConvexity, TruthProbability,
};
pub use relation::{Contribution, MetricBall, Neighbours, RelationError, Unit, group_guarantee};
