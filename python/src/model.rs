//! A fitted model: its predictions, its coefficients, what it promises, and its files.

use std::collections::BTreeMap;
use std::path::Path;

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sordino_data::{Door, Encoded, Loader};
use sordino_noise::entropy;
use sordino_run::model::{Prediction, Stored};
use sordino_run::training::Fitted;

use crate::errors::{Failure, long};
use crate::table::PyTable;

/// Names of coordinates, weights by score and coordinate, and intercepts by score.
type Coefficients = (Vec<String>, Vec<Vec<f64>>, Vec<f64>);

/// A model with everything that its directory holds. It has no data, no seed and no password.
#[pyclass(module = "sordino._sordino", frozen)]
pub(crate) struct FittedModel {
    stored: Stored,
    /// Of a fit in this process: what the user should know.
    notes: Vec<String>,
    findings: Vec<String>,
    steps: Option<u64>,
}

impl FittedModel {
    pub(crate) fn of(fitted: Fitted) -> Result<Self, Failure> {
        let files = fitted.files().into_iter().map(|(name, content)| (name.to_owned(), content)).collect();
        let Fitted { notes, findings, steps, .. } = fitted;
        Ok(Self { stored: Stored::from_files(files)?, notes, findings, steps })
    }

    fn stored(stored: Stored) -> Self {
        Self { stored, notes: Vec::new(), findings: Vec::new(), steps: None }
    }

    /// Encodes the records of a table, all of which must fit the declarations.
    fn rows(&self, table: &PyTable) -> Result<impl FnOnce() -> Result<Encoded, Failure> + use<>, Failure> {
        let (source, encoding) = (table.source()?, self.stored.model.encoding().for_prediction());
        Ok(move || {
            // Units do not matter here, so no bit is drawn.
            let loader = Loader::new(&source, encoding.schema(), Door::Strict);
            Ok(loader.read(&encoding, &mut entropy()?)?)
        })
    }

    fn predictions(&self, py: Python<'_>, table: &PyTable, proba: bool) -> PyResult<Vec<Prediction>> {
        let rows = self.rows(table)?;
        let Stored { model, decision, .. } = &self.stored;
        long(py, || {
            let said = model.decided(&rows()?, proba, decision.as_ref())?;
            // A schema may drop records by its own rule; a prediction for each is expected here.
            said.into_iter().collect::<Option<Vec<_>>>().ok_or_else(dropped)
        })
    }

    fn text(&self, name: &str) -> Option<String> {
        self.stored.file(name).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }
}

fn dropped() -> Failure {
    Failure::declaration(
        "the schema drops a record because of a missing value, and there is nothing to \
        predict for it; leave the record out",
    )
}

#[pymethods]
impl FittedModel {
    /// One prediction for each row: the index of a class, or a number in the target's unit.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        table: PyRef<'_, PyTable>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let said = self.predictions(py, &table, false)?;
        let model = &self.stored.model;
        let is_class = model.is_classification();
        let value = |said: Prediction| if is_class { said.value } else { model.number(said.value) };
        Ok(PyArray1::from_vec(py, said.into_iter().map(value).collect()))
    }

    /// The probability of each class for each row; `None` if the model states none.
    fn predict_proba<'py>(
        &self,
        py: Python<'py>,
        table: PyRef<'_, PyTable>,
    ) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        if !self.stored.model.has_probabilities() {
            return Ok(None);
        }
        let said = self.predictions(py, &table, true)?;
        let classes = self.stored.model.encoding().classes().map_or(0, <[String]>::len);
        let rows = said.into_iter().map(|said| said.probabilities.unwrap_or_default()).collect::<Vec<_>>();
        matrix(py, rows, classes).map(Some)
    }

    /// The scores of a linear model for each row, before they become a class; `None` for a network.
    fn scores<'py>(
        &self,
        py: Python<'py>,
        table: PyRef<'_, PyTable>,
    ) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let (rows, model) = (self.rows(&table)?, &self.stored.model);
        let scores = long(py, || {
            let Some(scores) = model.scores(&rows()?) else { return Ok(None) };
            scores.into_iter().collect::<Option<Vec<_>>>().ok_or_else(dropped).map(Some)
        })?;
        let outputs = model.coefficients().map_or(0, |all| all.weights.len());
        scores.map(|scores| matrix(py, scores, outputs)).transpose()
    }

    /// Names of coordinates, weights by score and coordinate, and intercepts by score, in the units
    /// of the columns; `None` for a network.
    fn coefficients(&self) -> Option<Coefficients> {
        let all = self.stored.model.coefficients()?;
        Some((all.names, all.weights, all.intercepts))
    }

    /// The classes, if it predicts classes.
    #[getter]
    fn classes(&self) -> Option<Vec<String>> {
        self.stored.model.encoding().classes().map(<[String]>::to_vec)
    }

    /// The names of the columns that it needs, in order.
    #[getter]
    fn features(&self) -> Vec<String> {
        self.stored.model.encoding().features().map(str::to_owned).collect()
    }

    /// The name of the column that it predicts.
    #[getter]
    fn target(&self) -> Option<String> {
        self.stored.model.encoding().target().map(str::to_owned)
    }

    /// What it is, for people.
    #[getter]
    fn kind(&self) -> String {
        self.stored.model.kind()
    }

    /// The number of learned weights.
    #[getter]
    fn weights(&self) -> u64 {
        self.stored.model.weights()
    }

    /// The schema by which records are read, as TOML.
    #[getter]
    fn schema(&self) -> String {
        self.stored.model.encoding().schema().to_toml()
    }

    /// Its guarantee, as JSON: a statement.
    #[getter]
    fn guarantee(&self) -> PyResult<String> {
        Ok(serde_json::to_string(&self.stored.guarantee).map_err(Failure::from)?)
    }

    /// The number of steps, if this process has fitted it in steps.
    #[getter]
    fn steps(&self) -> Option<u64> {
        self.steps
    }

    /// Defaults that the user should know of, if this process has fitted it.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// What weakens the claim, if this process has fitted it.
    #[getter]
    fn findings(&self) -> Vec<String> {
        self.findings.clone()
    }

    /// A text file of its directory, such as `report.html`, `card.md`, `run.json`,
    /// `configuration.toml` or `network.toml`; `None` if there is none.
    fn file(&self, name: &str) -> Option<String> {
        self.text(name)
    }

    /// Writes the directory that `sordino predict` reads; it must not exist.
    fn save(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<()> {
        long(py, || Ok(self.stored.save(&path)?))
    }

    /// Reads a directory that `save` or the command wrote.
    #[staticmethod]
    fn load(py: Python<'_>, path: std::path::PathBuf) -> PyResult<Self> {
        long(py, || Ok(Self::stored(Stored::open(Path::new(&path))?)))
    }

    /// The files of its directory, for a pickle.
    fn files<'py>(&self, py: Python<'py>) -> BTreeMap<String, Bound<'py, PyBytes>> {
        self.stored.files().map(|(name, content)| (name.to_owned(), PyBytes::new(py, content))).collect()
    }

    /// A model from the files of its directory.
    #[staticmethod]
    fn from_files(py: Python<'_>, files: BTreeMap<String, Vec<u8>>) -> PyResult<Self> {
        long(py, || Ok(Self::stored(Stored::from_files(files)?)))
    }

    fn __repr__(&self) -> String {
        format!("FittedModel({})", self.stored.model.kind())
    }
}

fn matrix<'py>(py: Python<'py>, rows: Vec<Vec<f64>>, width: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let shape = [rows.len(), width];
    PyArray1::from_vec(py, rows.concat()).reshape(shape)
}
