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
//! | [`audit`] | does the code that is there lose more than was claimed? |
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
#![forbid(unsafe_code)]

pub use sordino_audit as audit;
pub use sordino_mechanisms as mechanisms;
pub use sordino_noise as noise;
pub use sordino_privacy as privacy;

pub mod prelude {
    //! The names that most programs need: `use sordino::prelude::*;`

    pub use sordino_privacy::{
        Accountant, Bound, Budget, Charge, Claim, Count, Delta, Epsilon, Event, Guarantee, Neighbours,
        NoiseMultiplier, Permit, Release, SamplingRate, Unit, accounting, calibrate,
    };
}
