//! Lower bounds on what a mechanism really leaks.
//!
//! An accountant says what a mechanism costs *at most*, if it does what its event says. An audit
//! runs the code that is there, and says what it costs *at least*. A claim below this bound is
//! false. A claim above it is not thereby true.
//!
//! # What it offers
//! - [`MechanismTester`]: point it at any function of an input and random bits. It looks for an
//!   event that tells two neighbouring inputs apart, and certifies on fresh outputs how far apart
//!   they are.
//! - [`ErrorRates`]: ε and δ from the counts of any test of yours; [`OneRun`]: from one training
//!   run with canaries.
//! - [`clopper_pearson`], [`limits`]: the exact intervals, and the best that any attacker can do.
//!
//! ```
//! use sordino_audit::{MechanismTester, Verdict};
//! use sordino_noise::{Bits, Probability};
//! use sordino_privacy::Epsilon;
//!
//! // A coin that tells the truth three times in four: ε = ln 3, about 1.0986.
//! let truth = Probability::new(3, 4)?;
//! let respond = |smokes: &bool, bits: &mut dyn Bits| *smokes == truth.flip(bits);
//! let audit = MechanismTester::new(Epsilon::new(1.0987)?).test(respond, &true, &false)?;
//! assert_eq!(audit.verdict, Verdict::NoViolationFound);
//! assert!(audit.epsilon > 1.05);
//! println!("{audit}"); // no violation found; ε ≥ 1.0843 at 95 %, ceiling of this test 11.11
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it does not say
//! It never says that a mechanism is private. What it does say holds for the inputs, the outputs
//! and the relation that it was shown: time, memory and error messages are outputs only if they are
//! passed to it.
#![forbid(unsafe_code)]

mod binomial;
mod boosting;
pub mod clopper_pearson;
mod error;
mod error_rates;
mod event;
mod histogram;
pub mod limits;
mod observe;
mod one_run;
mod report;
mod sampling;
mod tester;

pub use error::AuditError;
pub use error_rates::ErrorRates;
pub use event::EventSize;
pub use observe::{Observe, Row};
pub use one_run::OneRun;
pub use report::{Audit, Verdict};
pub use sampling::AuditProgress;
pub use tester::MechanismTester;
