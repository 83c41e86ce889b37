//! One number, one vector or one choice, released against a budget.

use numpy::{PyArray1, PyReadonlyArray2};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use sordino_ledger::{Digest, Label};
use sordino_mechanisms::{
    AboveThreshold, Contributions, Counts, DiscreteGaussian, DiscreteLaplace, Exponential, Gaussian,
    GaussianNoisyMax, KNorm, Laplace, MaxNoise, Mechanism, PermuteAndFlip, RandomizedResponse,
    ReportNoisyMax, ScoreShift, Shift, TopK,
};
use sordino_noise::grid::{GridSum, NoisySum};
use sordino_privacy::{ClipNorm, Count, Delta, Epsilon, Guarantee, Neighbours, Rho, Unit};
use sordino_run::{Payer, single};

use crate::accounting::relation;
use crate::budget::NativePayer;
use crate::errors::{Failure, long};

/// What the noise exceeds with probability at most 1 - confidence.
type Error = Box<dyn Fn(f64) -> f64 + Send + Sync>;

/// A value that has left the private side, with its guarantee.
#[pyclass(frozen, module = "sordino._sordino")]
pub(crate) struct Released {
    value: Py<PyAny>,
    guarantee: String,
    error: Option<Error>,
}

#[pymethods]
impl Released {
    /// The noisy value.
    #[getter]
    fn value(&self, py: Python<'_>) -> Py<PyAny> {
        self.value.clone_ref(py)
    }

    /// The guarantee in JSON.
    #[getter]
    fn guarantee(&self) -> &str {
        &self.guarantee
    }

    /// What the noise exceeds with probability at most 1 - confidence; none for a mechanism without
    /// such a number.
    fn error(&self, confidence: f64) -> PyResult<Option<f64>> {
        if !(confidence > 0.0 && confidence < 1.0) {
            let message = format!("confidence must be above 0 and below 1, got {confidence}; 0.95 is usual");
            return Err(Failure::declaration(message).into());
        }
        Ok(self.error.as_ref().map(|error| error(confidence)))
    }
}

/// The public side of a release: who pays, under which relation, for whom, from which seed.
struct Terms {
    payer: Payer,
    neighbours: Neighbours,
    unit: Unit,
    seed: Option<u64>,
}

impl Terms {
    /// The relation is the budget's unless it is stated, and `add_remove` without either.
    fn new(
        payer: Option<Py<NativePayer>>,
        neighbours: Option<&str>,
        unit: &str,
        seed: Option<u64>,
    ) -> Result<Self, Failure> {
        let neighbours = match (neighbours, &payer) {
            (Some(stated), _) => relation(stated)?,
            (None, Some(payer)) => payer.get().neighbours()?,
            (None, None) => Neighbours::AddRemove,
        };
        let payer = payer.map_or(Payer::Settings, |payer| payer.get().0.clone());
        Ok(Self { payer, neighbours, unit: serde_json::from_str(unit)?, seed })
    }

    fn shift(&self, sensitivity: u64) -> Result<Shift, Failure> {
        Ok(Shift::new(Count::new(sensitivity)?, self.neighbours).for_unit(self.unit.clone()))
    }

    fn score_shift(&self, sensitivity: u64, monotone: bool) -> Result<ScoreShift, Failure> {
        let sensitivity = Count::new(sensitivity)?;
        let shift = if monotone {
            ScoreShift::monotone(sensitivity, self.neighbours)?
        } else {
            ScoreShift::new(sensitivity, self.neighbours)?
        };
        Ok(shift.for_unit(self.unit.clone()))
    }

    /// Pays, draws and books. δ is of a release that nobody pays for.
    fn release<M: Mechanism>(
        &self,
        mechanism: &M,
        answer: M::Answer<'_>,
        delta: Delta,
        what: &str,
        bytes: impl FnOnce(&M::Output) -> Vec<u8>,
    ) -> Result<(M::Output, Guarantee), Failure> {
        let (what, digest) = (Label::new(what)?, |value: &M::Output| Digest::of(&bytes(value)));
        let release = single::release(mechanism, answer, &self.payer, delta, self.seed, what, digest)?;
        Ok(release.into_parts())
    }
}

fn released<'py, T: IntoPyObject<'py>>(
    py: Python<'py>,
    (value, guarantee): (T, Guarantee),
    error: Option<Error>,
) -> PyResult<Released> {
    let guarantee = serde_json::to_string(&guarantee).map_err(Failure::from)?;
    Ok(Released { value: value.into_py_any(py)?, guarantee, error })
}

/// One integer, with discrete Laplace noise.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the keyword arguments of one Python function")]
pub(crate) fn discrete_laplace(
    py: Python<'_>,
    value: i64,
    epsilon: f64,
    sensitivity: u64,
    payer: Option<Py<NativePayer>>,
    neighbours: Option<&str>,
    unit: &str,
    seed: Option<u64>,
) -> PyResult<Released> {
    let (mechanism, made) = long(py, || {
        let terms = Terms::new(payer, neighbours, unit, seed)?;
        let mechanism = DiscreteLaplace::new(Epsilon::new(epsilon)?, terms.shift(sensitivity)?)?;
        let made = terms.release(&mechanism, value, Delta::ZERO, "query discrete_laplace", integer)?;
        Ok((mechanism, made))
    })?;
    released(py, made, Some(Box::new(move |confidence| mechanism.error_at(confidence))))
}

/// One integer, with discrete Gaussian noise: for ρ, or for (ε, δ).
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the keyword arguments of one Python function")]
pub(crate) fn discrete_gaussian(
    py: Python<'_>,
    value: i64,
    rho: Option<f64>,
    epsilon: Option<f64>,
    delta: f64,
    sensitivity: u64,
    payer: Option<Py<NativePayer>>,
    neighbours: Option<&str>,
    unit: &str,
    seed: Option<u64>,
) -> PyResult<Released> {
    let (mechanism, made) = long(py, || {
        let (terms, delta) = (Terms::new(payer, neighbours, unit, seed)?, Delta::new(delta)?);
        let shift = terms.shift(sensitivity)?;
        let mechanism = match (rho, epsilon) {
            (Some(rho), None) => DiscreteGaussian::new(Rho::new(rho)?, shift)?,
            (None, Some(epsilon)) => DiscreteGaussian::for_epsilon(Epsilon::new(epsilon)?, delta, shift)?,
            _ => return Err(Failure::declaration("state `rho`, or `epsilon` and `delta`")),
        };
        let made = terms.release(&mechanism, value, delta, "query discrete_gaussian", integer)?;
        Ok((mechanism, made))
    })?;
    released(py, made, Some(Box::new(move |confidence| mechanism.error_at(confidence))))
}

/// Many integers at once, with discrete Laplace noise.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the keyword arguments of one Python function")]
pub(crate) fn counts<'py>(
    py: Python<'py>,
    values: Vec<i64>,
    epsilon: f64,
    sensitivity: u64,
    one_moves: bool,
    payer: Option<Py<NativePayer>>,
    neighbours: Option<&str>,
    unit: &str,
    seed: Option<u64>,
) -> PyResult<Released> {
    let (mechanism, (noisy, guarantee)) = long(py, || {
        let terms = Terms::new(payer, neighbours, unit, seed)?;
        let length = Count::new(values.len() as u64)?;
        let mechanism = Counts::new(Epsilon::new(epsilon)?, terms.shift(sensitivity)?, length)?;
        let mechanism = if one_moves { mechanism.of_which_one_moves() } else { mechanism };
        let bytes = |noisy: &Vec<i64>| noisy.iter().flat_map(|value| value.to_le_bytes()).collect();
        let made = terms.release(&mechanism, &values, Delta::ZERO, "query counts", bytes)?;
        Ok((mechanism, made))
    })?;
    let noisy: Bound<'py, PyArray1<i64>> = PyArray1::from_vec(py, noisy);
    released(py, (noisy, guarantee), Some(Box::new(move |confidence| mechanism.error_at(confidence))))
}

/// A mechanism for sums of clipped vectors.
enum Sum {
    Laplace(Laplace),
    Gaussian(Gaussian),
    KNorm(KNorm),
}

impl Sum {
    fn empty(&self) -> GridSum {
        match self {
            Self::Laplace(mechanism) => mechanism.sum(),
            Self::Gaussian(mechanism) => mechanism.sum(),
            Self::KNorm(mechanism) => mechanism.sum(),
        }
    }

    fn error_at(&self, confidence: f64) -> f64 {
        match self {
            Self::Laplace(mechanism) => mechanism.error_at(confidence),
            Self::Gaussian(mechanism) => mechanism.error_at(confidence),
            Self::KNorm(mechanism) => mechanism.error_at(confidence),
        }
    }
}

/// The sum of the rows of a matrix, each clipped: `noise` is `laplace`, `gaussian` or `k_norm`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the keyword arguments of one Python function")]
pub(crate) fn noisy_sum<'py>(
    py: Python<'py>,
    rows: PyReadonlyArray2<'py, f64>,
    noise: &str,
    clip_norm: f64,
    max_records: u64,
    epsilon: f64,
    delta: f64,
    payer: Option<Py<NativePayer>>,
    neighbours: Option<&str>,
    unit: &str,
    seed: Option<u64>,
) -> PyResult<Released> {
    let view = rows.as_array();
    let (mechanism, (noisy, guarantee)) = long(py, || {
        let (terms, delta) = (Terms::new(payer, neighbours, unit, seed)?, Delta::new(delta)?);
        let (epsilon, dimension) = (Epsilon::new(epsilon)?, Count::new(view.ncols() as u64)?);
        let bounds =
            Contributions::new(terms.neighbours, ClipNorm::new(clip_norm)?, Count::new(max_records)?)
                .of_dimension(dimension)
                .for_unit(terms.unit.clone());
        let mechanism = match noise {
            "laplace" => Sum::Laplace(Laplace::new(epsilon, bounds)?),
            "gaussian" => Sum::Gaussian(Gaussian::new(epsilon, delta, bounds)?),
            _ => Sum::KNorm(KNorm::new(epsilon, bounds)?),
        };
        let (mut sum, mut row) = (mechanism.empty(), vec![0.0; view.ncols()]);
        // Before the charge: what is no number cannot be a contribution.
        if let Some(((place, column), _)) = view.indexed_iter().find(|(_, value)| !value.is_finite()) {
            return Err(Failure::declaration(format!(
                "rows must hold finite numbers, and row {place}, column {column} does not; replace or drop \
                 what is missing first"
            )));
        }
        for record in view.rows() {
            row.iter_mut().zip(record).for_each(|(to, from)| *to = *from);
            sum.add(&row).map_err(sordino_mechanisms::MechanismError::from)?;
        }
        let what = format!("query {noise}");
        let bytes = |noisy: &NoisySum| noisy.to_f64().iter().flat_map(|value| value.to_le_bytes()).collect();
        let made = match &mechanism {
            Sum::Laplace(mechanism) => terms.release(mechanism, sum, Delta::ZERO, &what, bytes)?,
            Sum::Gaussian(mechanism) => terms.release(mechanism, sum, delta, &what, bytes)?,
            Sum::KNorm(mechanism) => terms.release(mechanism, sum, Delta::ZERO, &what, bytes)?,
        };
        Ok((mechanism, made))
    })?;
    let noisy: Bound<'py, PyArray1<f64>> = PyArray1::from_vec(py, noisy.to_f64());
    released(py, (noisy, guarantee), Some(Box::new(move |confidence| mechanism.error_at(confidence))))
}

/// The index of a candidate with a high score, by one of the mechanisms that choose.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the keyword arguments of one Python function")]
pub(crate) fn choose(
    py: Python<'_>,
    scores: Vec<i64>,
    how: &str,
    price: f64,
    delta: f64,
    sensitivity: u64,
    monotone: bool,
    payer: Option<Py<NativePayer>>,
    neighbours: Option<&str>,
    unit: &str,
    seed: Option<u64>,
) -> PyResult<Released> {
    let (made, error) = long(py, || {
        let terms = Terms::new(payer, neighbours, unit, seed)?;
        let candidates = Count::new(scores.len() as u64)?;
        let what = format!("query {how}");
        if how == "gaussian_noisy_max" {
            let squared = Count::new(sensitivity)?;
            let mechanism = GaussianNoisyMax::new(Rho::new(price)?, squared, terms.neighbours, candidates)?
                .for_unit(terms.unit.clone());
            let made = terms.release(&mechanism, &scores, Delta::new(delta)?, &what, place)?;
            let error: Error = Box::new(move |confidence| mechanism.score_gap(confidence));
            return Ok((made, error));
        }
        let (epsilon, shift) = (Epsilon::new(price)?, terms.score_shift(sensitivity, monotone)?);
        macro_rules! by {
            ($mechanism:expr) => {{
                let mechanism = $mechanism;
                let made = terms.release(&mechanism, &scores, Delta::ZERO, &what, place)?;
                let error: Error = Box::new(move |confidence| mechanism.score_gap(confidence));
                Ok((made, error))
            }};
        }
        match how {
            "exponential" => by!(Exponential::new(epsilon, shift, candidates)?),
            "permute_and_flip" => by!(PermuteAndFlip::new(epsilon, shift, candidates)?),
            _ => by!(ReportNoisyMax::new(epsilon, shift, candidates, MaxNoise::Exponential)?),
        }
    })?;
    released(py, made, Some(error))
}

/// The indices of k candidates with high scores, ε for each choice.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the keyword arguments of one Python function")]
pub(crate) fn top_k(
    py: Python<'_>,
    scores: Vec<i64>,
    k: u64,
    epsilon: f64,
    delta: f64,
    sensitivity: u64,
    monotone: bool,
    payer: Option<Py<NativePayer>>,
    neighbours: Option<&str>,
    unit: &str,
    seed: Option<u64>,
) -> PyResult<Released> {
    let (mechanism, made) = long(py, || {
        let terms = Terms::new(payer, neighbours, unit, seed)?;
        let (shift, candidates) =
            (terms.score_shift(sensitivity, monotone)?, Count::new(scores.len() as u64)?);
        let mechanism = TopK::new(Epsilon::new(epsilon)?, shift, candidates, Count::new(k)?)?;
        let bytes = |chosen: &Vec<usize>| chosen.iter().flat_map(place).collect();
        let made = terms.release(&mechanism, &scores, Delta::new(delta)?, "query top_k", bytes)?;
        Ok((mechanism, made))
    })?;
    released(py, made, Some(Box::new(move |confidence| mechanism.score_gap(confidence))))
}

/// One person's own category, before it leaves them. Under `replace`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the keyword arguments of one Python function")]
pub(crate) fn randomized_response(
    py: Python<'_>,
    category: u64,
    categories: u64,
    epsilon: f64,
    payer: Option<Py<NativePayer>>,
    neighbours: Option<&str>,
    unit: &str,
    seed: Option<u64>,
) -> PyResult<Released> {
    let made = long(py, || {
        let terms = Terms::new(payer, Some(neighbours.unwrap_or("replace")), unit, seed)?;
        let (epsilon, categories) = (Epsilon::new(epsilon)?, Count::new(categories)?);
        let mechanism =
            RandomizedResponse::new(epsilon, categories, terms.neighbours)?.for_unit(terms.unit.clone());
        let what = "query randomized_response";
        terms.release(&mechanism, category, Delta::ZERO, what, |report| report.to_le_bytes().to_vec())
    })?;
    released(py, made, None)
}

/// The place of the first answer above a threshold, if there is any.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the keyword arguments of one Python function")]
pub(crate) fn above_threshold(
    py: Python<'_>,
    answers: Vec<i64>,
    threshold: i64,
    epsilon: f64,
    sensitivity: u64,
    payer: Option<Py<NativePayer>>,
    neighbours: Option<&str>,
    unit: &str,
    seed: Option<u64>,
) -> PyResult<Released> {
    let answered = answers.len() as u64;
    let (mechanism, made) = long(py, || {
        let terms = Terms::new(payer, neighbours, unit, seed)?;
        let mechanism = AboveThreshold::new(Epsilon::new(epsilon)?, terms.shift(sensitivity)?, threshold)?;
        let bytes = |place: &Option<usize>| format!("{place:?}").into_bytes();
        let made = terms.release(&mechanism, &answers, Delta::ZERO, "query above_threshold", bytes)?;
        Ok((mechanism, made))
    })?;
    let answers = Count::new(answered.max(1)).map_err(Failure::from)?;
    released(py, made, Some(Box::new(move |confidence| mechanism.error_at(confidence, answers))))
}

fn integer(value: &i64) -> Vec<u8> {
    value.to_le_bytes().to_vec()
}

fn place(value: &usize) -> Vec<u8> {
    (*value as u64).to_le_bytes().to_vec()
}
