//! Tables that Python holds: arrays, frames, lists and sparse rows, side by side.

use std::ops::Range;
use std::sync::Arc;

use pyo3::buffer::{ElementType, PyUntypedBuffer};
use pyo3::prelude::*;
use sordino_data::{
    Columns, Element, FixedTexts, HeaderColumn, Lane, Matrix, RawTable, Schema, Source, SparseRows, Truth,
    TypeHint, Values,
};

use crate::borrowed::{Borrowed, Layout, Plain, batches, borrow};
use crate::errors::{Failure, long};

/// Columns in memory, by parts that stand side by side. Nothing is copied but texts of Python, and
/// nothing of it is shown.
#[pyclass(module = "sordino._sordino", name = "Table")]
pub(crate) struct PyTable {
    name: String,
    parts: Vec<Arc<dyn Columns>>,
}

#[pymethods]
impl PyTable {
    /// An empty table. `name` stands for it in messages.
    #[new]
    #[pyo3(signature = (name="the table"))]
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), parts: Vec::new() }
    }

    /// Adds the columns of an array of one or two dimensions: numbers, booleans, or texts of fixed
    /// width.
    fn array(&mut self, names: Vec<String>, array: &Bound<'_, PyAny>) -> PyResult<()> {
        let part = array_part(names, PyUntypedBuffer::get(array)?)?;
        self.parts.push(part);
        Ok(())
    }

    /// Adds a column of texts; `None` is a missing value.
    fn texts(&mut self, name: &str, values: Vec<Option<String>>) -> PyResult<()> {
        let values = values.iter().map(Option::as_deref);
        self.parts.push(Arc::new(RawTable::new().texts(name, values).map_err(Failure::from)?));
        Ok(())
    }

    /// Adds a column of categories: codes, -1 for a missing value, and what they stand for.
    fn codes(&mut self, name: &str, codes: &Bound<'_, PyAny>, categories: Vec<String>) -> PyResult<()> {
        let codes = lane(PyUntypedBuffer::get(codes)?)?;
        self.parts.push(Arc::new(Coded { name: name.to_owned(), codes, categories }));
        Ok(())
    }

    /// Adds the columns of compressed sparse rows.
    fn sparse(
        &mut self,
        names: Vec<String>,
        starts: &Bound<'_, PyAny>,
        columns: &Bound<'_, PyAny>,
        values: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (starts, columns) = (lane(PyUntypedBuffer::get(starts)?)?, lane(PyUntypedBuffer::get(columns)?)?);
        let values = number_lane(PyUntypedBuffer::get(values)?)?;
        let rows = SparseRows::new(names, Box::new(Places(starts)), Box::new(Places(columns)), values);
        self.parts.push(Arc::new(rows.map_err(Failure::from)?));
        Ok(())
    }

    /// Adds the columns of an object with `__arrow_c_stream__` or `__arrow_c_array__`.
    fn arrow(&mut self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        self.parts.push(Arc::new(batches(object)?));
        Ok(())
    }

    /// The number of rows.
    #[getter]
    fn rows(&self) -> usize {
        self.parts.first().map_or(0, |part| part.rows())
    }

    /// Name and type of each column: `number`, `boolean`, `text` or `other`.
    #[getter]
    fn columns(&self) -> Vec<(String, &'static str)> {
        let kind = |hint| match hint {
            TypeHint::Byte | TypeHint::Number => "number",
            TypeHint::Boolean => "boolean",
            TypeHint::Text => "text",
            TypeHint::Nested | TypeHint::Unknown => "other",
        };
        let columns = self.parts.iter().flat_map(|part| part.header());
        columns.map(|column| (column.name, kind(column.hint))).collect()
    }

    /// The identity of the table under a schema: the same for equal values in memory and in every
    /// file format.
    fn identity(&self, py: Python<'_>, schema: &str) -> PyResult<[u8; 32]> {
        let (source, schema) = (self.source()?, Schema::from_toml(schema).map_err(Failure::from)?);
        long(py, || Ok(source.identity(&schema)?))
    }

    fn __repr__(&self) -> String {
        format!("Table({:?}, {} columns)", self.name, self.columns().len())
    }
}

impl PyTable {
    /// The table as a source of the core.
    pub(crate) fn source(&self) -> Result<Source, Failure> {
        Ok(Source::memory(&self.name, self.parts.clone())?)
    }
}

fn array_part(names: Vec<String>, buffer: PyUntypedBuffer) -> Result<Arc<dyn Columns>, Failure> {
    // A text of fixed width: `3w` is three characters of four bytes.
    if buffer.format().to_bytes().last() == Some(&b'w') {
        let width = buffer.item_size() / size_of::<u32>();
        let (memory, layout) = borrow::<u32>(buffer, width)?;
        check_names(&names, &layout)?;
        return Ok(Arc::new(FixedTexts::new(names, memory, layout.rows, layout.places, width)?));
    }
    Ok(match native(&buffer)? {
        ElementType::Float { bytes: 4 } => matrix::<f32>(names, buffer)?,
        ElementType::Float { bytes: 8 } => matrix::<f64>(names, buffer)?,
        ElementType::SignedInteger { bytes: 1 } => matrix::<i8>(names, buffer)?,
        ElementType::SignedInteger { bytes: 2 } => matrix::<i16>(names, buffer)?,
        ElementType::SignedInteger { bytes: 4 } => matrix::<i32>(names, buffer)?,
        ElementType::SignedInteger { bytes: 8 } => matrix::<i64>(names, buffer)?,
        ElementType::UnsignedInteger { bytes: 1 } => matrix::<u8>(names, buffer)?,
        ElementType::UnsignedInteger { bytes: 2 } => matrix::<u16>(names, buffer)?,
        ElementType::UnsignedInteger { bytes: 4 } => matrix::<u32>(names, buffer)?,
        ElementType::UnsignedInteger { bytes: 8 } => matrix::<u64>(names, buffer)?,
        ElementType::Bool => matrix::<Truth>(names, buffer)?,
        ElementType::SignedInteger { .. }
        | ElementType::UnsignedInteger { .. }
        | ElementType::Float { .. }
        | ElementType::Unknown => return Err(other_type()),
    })
}

/// The type of a buffer's elements, in the byte order of this machine.
fn native(buffer: &PyUntypedBuffer) -> Result<ElementType, Failure> {
    let other_order = if cfg!(target_endian = "little") { b">!" } else { b"<<" };
    let first = buffer.format().to_bytes().first();
    if first.is_some_and(|first| other_order.contains(first)) && buffer.item_size() > 1 {
        return Err(other_type());
    }
    Ok(ElementType::from_format(buffer.format()))
}

fn other_type() -> Failure {
    Failure::declaration(
        "the array has a type that is not read; expected float32, float64, integers, bool or texts in this \
         machine's byte order: convert it with astype",
    )
}

fn matrix<T: Element + Plain>(
    names: Vec<String>,
    buffer: PyUntypedBuffer,
) -> Result<Arc<dyn Columns>, Failure> {
    let (memory, layout) = borrow::<T>(buffer, 1)?;
    check_names(&names, &layout)?;
    Ok(Arc::new(Matrix::<T, Borrowed<T>>::new(names, memory, layout.rows, layout.places)?))
}

fn check_names(names: &[String], layout: &Layout) -> Result<(), Failure> {
    if names.len() == layout.columns {
        return Ok(());
    }
    let (names, columns) = (names.len(), layout.columns);
    Err(Failure::declaration(format!("{names} names for an array of {columns} columns")))
}

/// Whole numbers of any width, as one type.
struct Whole<T> {
    memory: Borrowed<T>,
    rows: usize,
    places: [isize; 3],
}

impl<T: Plain + TryInto<i64>> Lane<i64> for Whole<T> {
    fn len(&self) -> usize {
        self.rows
    }

    fn at(&self, index: usize) -> i64 {
        let [first, row, _] = self.places;
        let value = self.memory.as_ref()[(first + index as isize * row) as usize];
        value.try_into().unwrap_or(i64::MAX)
    }
}

fn lane(buffer: PyUntypedBuffer) -> Result<Box<dyn Lane<i64>>, Failure> {
    fn whole<T: Plain + TryInto<i64>>(buffer: PyUntypedBuffer) -> Result<Box<dyn Lane<i64>>, Failure> {
        let (memory, Layout { rows, places, .. }) = borrow::<T>(buffer, 1)?;
        Ok(Box::new(Whole { memory, rows, places }))
    }
    match native(&buffer)? {
        ElementType::SignedInteger { bytes: 1 } => whole::<i8>(buffer),
        ElementType::SignedInteger { bytes: 2 } => whole::<i16>(buffer),
        ElementType::SignedInteger { bytes: 4 } => whole::<i32>(buffer),
        ElementType::SignedInteger { bytes: 8 } => whole::<i64>(buffer),
        ElementType::UnsignedInteger { bytes: 1 } => whole::<u8>(buffer),
        ElementType::UnsignedInteger { bytes: 2 } => whole::<u16>(buffer),
        ElementType::UnsignedInteger { bytes: 4 } => whole::<u32>(buffer),
        ElementType::SignedInteger { .. }
        | ElementType::UnsignedInteger { .. }
        | ElementType::Float { .. }
        | ElementType::Bool
        | ElementType::Unknown => Err(other_type()),
    }
}

/// Places in a list: a negative one is beyond every list, and refused there.
struct Places(Box<dyn Lane<i64>>);

impl Lane<usize> for Places {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn at(&self, index: usize) -> usize {
        usize::try_from(self.0.at(index)).unwrap_or(usize::MAX)
    }
}

/// Numbers of either width.
struct Numbers<T> {
    memory: Borrowed<T>,
    rows: usize,
    places: [isize; 3],
}

impl<T: Plain + Element> Lane<f64> for Numbers<T> {
    fn len(&self) -> usize {
        self.rows
    }

    fn at(&self, index: usize) -> f64 {
        let [first, row, _] = self.places;
        self.memory.as_ref()[(first + index as isize * row) as usize].number()
    }
}

fn number_lane(buffer: PyUntypedBuffer) -> Result<Box<dyn Lane<f64>>, Failure> {
    fn numbers<T: Plain + Element>(buffer: PyUntypedBuffer) -> Result<Box<dyn Lane<f64>>, Failure> {
        let (memory, Layout { rows, places, .. }) = borrow::<T>(buffer, 1)?;
        Ok(Box::new(Numbers { memory, rows, places }))
    }
    match native(&buffer)? {
        ElementType::Float { bytes: 4 } => numbers::<f32>(buffer),
        ElementType::Float { bytes: 8 } => numbers::<f64>(buffer),
        ElementType::SignedInteger { bytes: 4 } => numbers::<i32>(buffer),
        ElementType::SignedInteger { bytes: 8 } => numbers::<i64>(buffer),
        ElementType::UnsignedInteger { bytes: 1 } => numbers::<u8>(buffer),
        ElementType::SignedInteger { .. }
        | ElementType::UnsignedInteger { .. }
        | ElementType::Float { .. }
        | ElementType::Bool
        | ElementType::Unknown => Err(other_type()),
    }
}

/// A categorical column: codes and the categories that they stand for.
struct Coded {
    name: String,
    codes: Box<dyn Lane<i64>>,
    categories: Vec<String>,
}

impl Columns for Coded {
    fn header(&self) -> Vec<HeaderColumn> {
        vec![HeaderColumn { name: self.name.clone(), hint: TypeHint::Text }]
    }

    fn rows(&self) -> usize {
        self.codes.len()
    }

    fn read(&self, _: usize, rows: Range<usize>, out: &mut Values<'_>) {
        for row in rows {
            let code = usize::try_from(self.codes.at(row)).ok();
            match code.and_then(|code| self.categories.get(code)) {
                Some(category) => out.text(category),
                None => out.missing(),
            }
        }
    }
}
