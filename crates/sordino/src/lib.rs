//! Differential privacy with exact noise and certified accounting.
//!
//! The library as users see it: one crate to depend on, one module for each room of the house, and
//! a [`prelude`] with the names that most programs need.
//!
//! | module | what it answers |
//! |---|---|
//! | [`privacy`] | whom does it protect, what does it cost, how much noise is enough, may it be released? |
//! | [`mechanisms`] | how is one number, one vector or one choice released? |
//! | [`noise`] | exact random integers from a cryptographic stream |
//! | [`data`] | what may a table hold, how does it come in, and in which batches? |
//! | [`learn`] | linear models within a budget |
//! | [`nn`] | neural networks within a budget |
//! | [`optim`] | what both share: the gate before a fit, plans, clipping, averages, checkpoints |
//! | [`report`] | what does a promise mean to people? |
//! | [`audit`] | does the code that is there lose more than was claimed? |
//! | `ledger` | budgets that outlive a process (feature `ledger`) |
//!
//! What takes long to build is a feature: `ledger` and `postgresql` for durable budgets, `arrow`
//! and `parquet` for files of those formats.
//!
//! # What does a training run cost?
//! DP-SGD on 60000 images: batches of 256 by Poisson sampling, 60 epochs, noise multiplier 1.1. The
//! answer is an interval that contains the true ε; what may be promised to people is its upper end.
//!
//! ```
//! use sordino::prelude::*;
//!
//! let rate = SamplingRate::new(256.0 / 60_000.0)?;
//! let step = Event::gaussian(NoiseMultiplier::new(1.1)?).poisson_sampled(rate);
//! let training = Claim::new(Neighbours::AddRemove, step.repeated(Count::new(14_062)?));
//! let cost = accounting::epsilon(&training, Delta::new(1e-5)?, Accountant::Auto)?;
//! assert!(cost.bound.lower <= 2.3816 && 2.3815 <= cost.bound.upper);
//! assert!(cost.bound.relative_gap() < 1e-3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How much noise is enough?
//! Calibration stays on the safe side of its target.
//!
//! ```
//! use sordino::prelude::*;
//!
//! let (epsilon, delta) = (Epsilon::new(2.0)?, Delta::new(1e-5)?);
//! let (rate, steps) = (SamplingRate::new(256.0 / 60_000.0)?, Count::new(14_062)?);
//! let enough = calibrate::noise_multiplier(epsilon, delta, Neighbours::AddRemove, rate, steps)?;
//! assert!(enough.epsilon.upper <= 2.0);
//! println!("noise multiplier {}", enough.value);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A network within a budget
//! The plan is made and paid for before a record is looked at: without a permit nothing is trained,
//! and what comes out has its guarantee with it.
//!
//! ```
//! use std::sync::Arc;
//!
//! use sordino::data::{Door, Encoded, Encoding, EncodingOptions, RawTable, Schema, Table};
//! use sordino::nn::{NetworkLearner, Shape, preset};
//! use sordino::optim::LearningPlan;
//! use sordino::prelude::*;
//!
//! let schema = Schema::from_toml(
//!     "columns.x = { kind = 'number', bounds = [-1, 1] }
//!      columns.y = { kind = 'number', bounds = [-1, 1] }
//!      columns.side = { kind = 'category', values = ['above', 'below'] }",
//! )?;
//! let options = EncodingOptions { target: Some("side".into()), ..Default::default() };
//! let encoding = Encoding::new(&schema, &["x", "y", "side"].map(String::from), options)?;
//!
//! // Noise for 30 steps on batches of about 256 of 400 records: together they cost at most ε = 3.
//! let (epsilon, delta) = (Epsilon::new(3.0)?, Delta::new(1e-5)?);
//! let network = preset::named("mlp", Some(&[16]))?.network_for(Shape::Features(2), 2)?;
//! let learner = NetworkLearner::new(Arc::new(network)).steps(Count::new(30)?);
//! let plan = learner.plan(&encoding, Count::new(400)?, epsilon, delta)?;
//! let mut budget = Budget::new(Terms::new(epsilon, Neighbours::ZeroOut).with_delta(delta));
//! let permit = budget.charge_claim(plan.claim())?;
//!
//! // 400 points, whose class is the side of a line that they are on.
//! let number = |at: usize| ((at * 37) % 101) as f64 / 50.0 - 1.0;
//! let (x, y): (Vec<f64>, Vec<f64>) = (0..400).map(|row| (number(2 * row), number(2 * row + 1))).unzip();
//! let sides: Vec<_> = x.iter().zip(&y).map(|(x, y)| Some(if x > y { "below" } else { "above" })).collect();
//! let raw = RawTable::new().numbers("x", x)?.numbers("y", y)?.texts("side", sides)?;
//! let table = Table::new(raw, &schema, Door::Permissive, &mut sordino::noise::entropy()?)?;
//! let release = plan.fit(&Encoded::new(&encoding, &table)?, permit)?;
//! assert_eq!(release.value().parameters().len(), plan.network().parameters());
//! assert!(release.guarantee().epsilon.upper <= 3.0);
//!
//! // The budget is spent: a second run is refused.
//! assert!(budget.charge_claim(plan.claim()).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub use sordino_audit as audit;
pub use sordino_data as data;
pub use sordino_learn as learn;
#[cfg(feature = "ledger")]
pub use sordino_ledger as ledger;
pub use sordino_mechanisms as mechanisms;
pub use sordino_nn as nn;
pub use sordino_noise as noise;
pub use sordino_optim as optim;
pub use sordino_privacy as privacy;
pub use sordino_report as report;

pub mod prelude {
    //! The names that most programs need: `use sordino::prelude::*;`

    pub use sordino_privacy::{
        Accountant, Bound, Budget, Charge, Claim, Count, Delta, Epsilon, Event, Guarantee, Neighbours,
        NoiseMultiplier, Permit, Release, SamplingRate, Terms, Unit, accounting, calibrate,
    };
}
