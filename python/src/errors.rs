//! From errors of the house to exceptions of the package.
//!
//! The exceptions themselves are classes of `sordino.exceptions`: a bad value is also a
//! `ValueError`, which a native class could not say.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyType;
use sordino_audit::AuditError;
use sordino_data::{DataError, SchemaError};
use sordino_ledger::{LabelError, LedgerError};
use sordino_mechanisms::MechanismError;
use sordino_noise::EntropyError;
use sordino_privacy::{
    AccountError, ChargeError, EventError, ParamError, ReadError, RelationError, ReleaseError,
};
use sordino_run::{RunError, respelled};

/// Which exception is raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A parameter, a schema or a claim that cannot be.
    Declaration,
    /// A budget or a ledger that does not grant.
    Budget,
    /// A file, the system's entropy.
    Other,
    /// A bug of ours.
    Internal,
}

/// An error on its way to Python. It names things and shapes, never data.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: Kind,
    message: String,
}

impl Failure {
    /// A parameter, a schema or a claim that cannot be.
    pub(crate) fn declaration(message: impl Into<String>) -> Self {
        Self { kind: Kind::Declaration, message: message.into() }
    }

    /// A bug of ours.
    pub(crate) fn internal() -> Self {
        let message = "a bug in Sordino: please report what was called; what was charged stays charged";
        Self { kind: Kind::Internal, message: message.to_owned() }
    }

    /// What is said.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    fn of(kind: Kind, error: &dyn std::error::Error) -> Self {
        Self { kind, message: written(error) }
    }
}

/// The message with its causes, and with keyword arguments where the command has flags.
fn written(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !message.contains(&cause_text) {
            message = format!("{message}: {cause_text}");
        }
        source = cause.source();
    }
    respelled_for_python(&message)
}

/// Flags as keyword arguments: `--epsilon 0.2` is `epsilon=0.2`, and `--schema` alone `schema=`.
fn respelled_for_python(message: &str) -> String {
    const VALUE: char = '\u{1}';
    let marked = respelled(message, |setting| format!("{setting}={VALUE}"));
    let mut parts = marked.split(VALUE);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.strip_prefix(' ').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        text.push_str(rest.unwrap_or(part));
    }
    text
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        let name = match failure.kind {
            Kind::Declaration => "DeclarationError",
            Kind::Budget => "BudgetError",
            Kind::Other => "SordinoError",
            Kind::Internal => "InternalError",
        };
        Python::attach(|py| {
            let class = py.import("sordino.exceptions").and_then(|module| module.getattr(name));
            match class.and_then(|class| Ok(class.cast_into::<PyType>()?)) {
                Ok(class) => PyErr::from_type(class, failure.message),
                Err(_) => PyRuntimeError::new_err(failure.message),
            }
        })
    }
}

/// Runs what may take long without the interpreter's lock. A panic becomes an `InternalError`.
pub(crate) fn long<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, Failure> + Send) -> PyResult<T> {
    let done = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    Ok(done.unwrap_or_else(|_| Err(Failure::internal()))?)
}

macro_rules! always {
    ($kind:ident: $($error:ty),*) => { $(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::of(Kind::$kind, &error)
            }
        }
    )* };
}
always!(Declaration: AuditError, EventError, LabelError, ParamError, ReadError, RelationError, SchemaError);
always!(Other: EntropyError);

impl From<AccountError> for Failure {
    fn from(error: AccountError) -> Self {
        Self::of(Kind::Declaration, &error)
    }
}

impl From<ReleaseError> for Failure {
    fn from(error: ReleaseError) -> Self {
        Self::of(Kind::Budget, &error)
    }
}

impl From<ChargeError> for Failure {
    #[expect(clippy::wildcard_enum_match_arm, reason = "what is not a wrong declaration is a refusal")]
    fn from(error: ChargeError) -> Self {
        let kind = match &error {
            ChargeError::OtherRelation { .. }
            | ChargeError::TwoUnits { .. }
            | ChargeError::OtherTerms { .. }
            | ChargeError::Account(_) => Kind::Declaration,
            _ => Kind::Budget,
        };
        Self::of(kind, &error)
    }
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        Self::of(Kind::Budget, &error)
    }
}

impl From<MechanismError> for Failure {
    #[expect(clippy::wildcard_enum_match_arm, reason = "all others are wrong declarations")]
    fn from(error: MechanismError) -> Self {
        match error {
            MechanismError::Release(error) => error.into(),
            MechanismError::Entropy(error) => error.into(),
            other => Self::of(Kind::Declaration, &other),
        }
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        Self::of(Kind::Declaration, &error)
    }
}

impl From<RunError> for Failure {
    #[expect(clippy::wildcard_enum_match_arm, reason = "all others are wrong declarations")]
    fn from(error: RunError) -> Self {
        match error {
            RunError::SeededCharge => Self {
                kind: Kind::Budget,
                message: "a ledger pays for noise that nobody can repeat, and sordino.danger.seeded fixes a \
                          seed; leave the seed out, or leave budget= out for a test"
                    .to_owned(),
            },
            RunError::OtherUnit { ledger, schema, .. } => Self::declaration(format!(
                "the budget protects {ledger}, and what is asked for protects {schema}; one promise cannot \
                 be paid from the other's budget: use a budget with unit= {schema}, or state the budget's \
                 unit here"
            )),
            RunError::Charge(error) => error.into(),
            RunError::Ledger(error) => error.into(),
            RunError::Mechanism(error) => error.into(),
            other => Self::of(Kind::Declaration, &other),
        }
    }
}

impl From<serde_json::Error> for Failure {
    /// What a file says may be anything: its text is not repeated.
    fn from(error: serde_json::Error) -> Self {
        let place = format!("line {} column {}", error.line(), error.column());
        Self::declaration(format!("this is not the JSON of a guarantee, at {place}"))
    }
}
