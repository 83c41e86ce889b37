//! Differential privacy with exact noise and certified accounting.
//!
//! The library as users see it: one crate to depend on, one module for each room of the house, and a
//! [`prelude`] with the names that most programs need.
//!
//! | module | what it answers |
//! |---|---|
//! | [`privacy`] | whom does it protect, what does it cost, how much noise is enough, may it be released? |
//! | [`mechanisms`] | how is one number, one vector or one choice released? |
//! | [`noise`] | exact random integers from a cryptographic stream |
//! | [`data`] | what may a table hold, how does it come in, and in which batches? |
//! | [`learn`] | linear models within a budget |
//! | [`nn`] | neural networks within a budget |
//! | [`optim`] | the noisy steps of both: plans, clipping, averages, checkpoints |
//! | [`report`] | what does a promise mean to people? |
//! | [`audit`] | does the code that is there lose more than was claimed? |
//! | `ledger` | budgets that outlive a process (feature `ledger`) |
//!
//! What takes long to build is a feature: `ledger` and `postgresql` for durable budgets, `arrow` and `parquet` for files of those formats.
//!
//! # What does a training run cost?
//! DP-SGD on 60000 images: batches of 256 by Poisson sampling, 60 epochs, noise multiplier 1.1. The answer is an
//! interval that contains the true ε; what may be promised to people is its upper end.
//!
//! ```
//! use sordino::prelude::*;
//!
//! let step = Event::gaussian(NoiseMultiplier::new(1.1)?).poisson_sampled(SamplingRate::new(256.0 / 60_000.0)?);
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
//! The plan is made and paid for before an example is looked at: without a permit nothing is trained, and what comes out has its guarantee with it.
//!
//! ```
//! use sordino::data::{ContributionLimit, Sampling, UnitRule};
//! use sordino::nn::{NetworkObjective, Rows, Shape, preset};
//! use sordino::optim::{Averaging, Clipping, Plan, PlanOptions, Training, TrainingOptions};
//! use sordino::prelude::*;
//!
//! // Noise for 30 steps on batches of about 80 of 400 records, so that all of them together cost at most ε = 3.
//! let (epsilon, delta) = (Epsilon::new(3.0)?, Delta::new(1e-5)?);
//! let options = PlanOptions {
//!     sampling: Sampling::Poisson { rate: SamplingRate::new(0.2)? },
//!     slots: Count::new(400)?,
//!     rounds: Count::new(30)?,
//!     neighbours: Neighbours::ZeroOut,
//!     clipping: Clipping::Flat { norm: 1.0 },
//!     scales: None,
//!     divisor: None,
//!     limit: ContributionLimit::of(&UnitRule::Record),
//! };
//! let plan = Plan::calibrated(options, epsilon, delta)?;
//! let mut budget = Budget::new(Terms::new(epsilon, Neighbours::ZeroOut).with_delta(delta));
//! let permit = budget.charge(plan.event())?;
//!
//! // 400 points, whose class is the side of a line that they are on.
//! let points: Vec<f32> = (0..800).map(|at| ((at * 37) % 101) as f32 / 50.0 - 1.0).collect();
//! let classes = points.chunks(2).map(|point| f32::from(point[0] > point[1])).collect();
//! let examples = Rows::new(points, 2, classes, 1);
//!
//! let network = preset::named("mlp", Some(&[16]))?.network_for(Shape::Features(2), 2)?;
//! let objective = NetworkObjective::new(&network, &examples, 80.0)?;
//! let options = TrainingOptions {
//!     averaging: Averaging::Exponential { decay: 0.9 },
//!     start: Some(network.initial(1)),
//!     ..TrainingOptions::default()
//! };
//! let release = Training::new(&plan, &objective, options)?.run(permit, &mut |_| {})?;
//! assert_eq!(release.value().len(), network.parameters());
//! assert!(release.guarantee().epsilon.upper <= 3.0);
//!
//! // The budget is spent: a second run is refused.
//! assert!(budget.charge(plan.event()).is_err());
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
