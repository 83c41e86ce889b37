//! Arrays in memory, of any strides: the numbers of NumPy, and its texts of fixed width.

use std::ops::Range;

use super::memory::{Columns, Values};
use crate::error::DataError;
use crate::schema::{HeaderColumn, TypeHint};

/// A number in an array.
pub trait Element: Copy + Send + Sync + 'static {
    /// The type that a header states.
    const HINT: TypeHint;

    /// The number.
    fn number(self) -> f64;

    /// Adds it to a column, exactly.
    fn push(self, out: &mut Values<'_>);
}

macro_rules! integers {
    ($($type:ty, $hint:ident;)*) => {
        $(impl Element for $type {
            const HINT: TypeHint = TypeHint::$hint;

            fn number(self) -> f64 {
                self as f64
            }

            fn push(self, out: &mut Values<'_>) {
                out.integer(self.into());
            }
        })*
    };
}

integers! {
    i8, Number; i16, Number; i32, Number; i64, Number; u8, Byte; u16, Number; u32, Number; u64, Number;
}

macro_rules! floats {
    ($($type:ty)*) => {
        $(impl Element for $type {
            const HINT: TypeHint = TypeHint::Number;

            fn number(self) -> f64 {
                self.into()
            }

            fn push(self, out: &mut Values<'_>) {
                out.number(self.into());
            }
        })*
    };
}

floats! { f32 f64 }

/// A byte that is false if it is 0, and true otherwise.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Truth(pub u8);

impl Element for Truth {
    const HINT: TypeHint = TypeHint::Boolean;

    fn number(self) -> f64 {
        f64::from(u8::from(self.0 != 0))
    }

    fn push(self, out: &mut Values<'_>) {
        out.boolean(self.0 != 0);
    }
}

/// The place of each element of an array in a buffer: element (r, c) is at
/// `first + r * row + c * column`.
#[derive(Clone, Copy, Debug)]
struct Strides {
    first: isize,
    row: isize,
    column: isize,
}

impl Strides {
    /// Refuses strides with which an element would lie outside of a buffer of this length.
    fn within(self, rows: usize, columns: usize, length: usize) -> bool {
        if rows == 0 || columns == 0 {
            return true;
        }
        let reach = |stride: isize, count: usize| stride as i128 * (count as i128 - 1);
        let (down, right) = (reach(self.row, rows), reach(self.column, columns));
        let corners = [0, down, right, down + right].map(|corner| self.first as i128 + corner);
        corners.into_iter().all(|corner| (0..length as i128).contains(&corner))
    }

    /// The index of element (row, column), which [`within`](Self::within) has checked.
    fn index(self, row: usize, column: usize) -> usize {
        (self.first + row as isize * self.row + column as isize * self.column) as usize
    }
}

/// A matrix of numbers, read in place. `B` keeps the buffer alive.
///
/// ```
/// use std::sync::Arc;
/// use sordino_data::{Matrix, Source};
/// // Two rows of three numbers, one row after the other.
/// let names = ["a", "b", "c"].map(str::to_owned).to_vec();
/// let matrix = Matrix::<f64, _>::new(names, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2, [0, 3, 1])?;
/// let source = Source::memory("numbers", vec![Arc::new(matrix)])?;
/// assert_eq!(source.names(), ["a", "b", "c"]);
/// # Ok::<(), sordino_data::DataError>(())
/// ```
#[derive(Clone)]
pub struct Matrix<T, B> {
    names: Vec<String>,
    buffer: B,
    rows: usize,
    strides: Strides,
    element: std::marker::PhantomData<T>,
}

impl<T: Element, B: AsRef<[T]> + Send + Sync> Matrix<T, B> {
    /// `places` are the index of the first element, and the distances between two rows and between
    /// two columns, in elements; they may be negative or 0. Refuses places outside of the buffer.
    pub fn new(names: Vec<String>, buffer: B, rows: usize, places: [isize; 3]) -> Result<Self, DataError> {
        let [first, row, column] = places;
        let strides = Strides { first, row, column };
        if !strides.within(rows, names.len(), buffer.as_ref().len()) {
            return Err(outside());
        }
        Ok(Self { names, buffer, rows, strides, element: std::marker::PhantomData })
    }
}

impl<T: Element, B: AsRef<[T]> + Send + Sync> Columns for Matrix<T, B> {
    fn header(&self) -> Vec<HeaderColumn> {
        self.names.iter().map(|name| HeaderColumn { name: name.clone(), hint: T::HINT }).collect()
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn read(&self, column: usize, rows: Range<usize>, out: &mut Values<'_>) {
        let (buffer, strides) = (self.buffer.as_ref(), self.strides);
        if rows.is_empty() {
            return;
        }
        if !out.takes_numbers() {
            rows.for_each(|row| buffer[strides.index(row, column)].push(out));
            return;
        }
        let first = strides.index(rows.start, column);
        // Slices spare the check of every index.
        match usize::try_from(strides.row) {
            Ok(1) => out.numbers(buffer[first..first + rows.len()].iter().map(|x| x.number())),
            Ok(step @ 2..) => {
                let last = strides.index(rows.end - 1, column);
                out.numbers(buffer[first..=last].chunks(step).map(|some| some[0].number()));
            }
            Ok(_) | Err(_) => out.numbers(rows.map(|row| buffer[strides.index(row, column)].number())),
        }
    }
}

impl<T, B> std::fmt::Debug for Matrix<T, B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Matrix").field("columns", &self.names.len()).finish_non_exhaustive()
    }
}

/// A matrix of texts of `width` characters in UTF-32, filled up with zeros; read in place.
#[derive(Clone)]
pub struct FixedTexts<B> {
    names: Vec<String>,
    buffer: B,
    rows: usize,
    strides: Strides,
    width: usize,
}

impl<B: AsRef<[u32]> + Send + Sync> FixedTexts<B> {
    /// `places` are as for a [`Matrix`], in characters.
    pub fn new(
        names: Vec<String>,
        buffer: B,
        rows: usize,
        places: [isize; 3],
        width: usize,
    ) -> Result<Self, DataError> {
        let [first, row, column] = places;
        let (strides, length) = (Strides { first, row, column }, buffer.as_ref().len());
        // The last character of the last text lies within the buffer, too.
        if width > 0 && !strides.within(rows, names.len(), (length + 1).saturating_sub(width)) {
            return Err(outside());
        }
        Ok(Self { names, buffer, rows, strides, width })
    }
}

impl<B: AsRef<[u32]> + Send + Sync> Columns for FixedTexts<B> {
    fn header(&self) -> Vec<HeaderColumn> {
        let column = |name: &String| HeaderColumn { name: name.clone(), hint: TypeHint::Text };
        self.names.iter().map(column).collect()
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn read(&self, column: usize, rows: Range<usize>, out: &mut Values<'_>) {
        let mut text = String::new();
        for row in rows {
            text.clear();
            if self.width > 0 {
                let first = self.strides.index(row, column);
                let characters = &self.buffer.as_ref()[first..first + self.width];
                let end = characters.iter().rposition(|character| *character != 0).map_or(0, |last| last + 1);
                let known = |code: &u32| char::from_u32(*code).unwrap_or(char::REPLACEMENT_CHARACTER);
                text.extend(characters[..end].iter().map(known));
            }
            out.text(&text);
        }
    }
}

impl<B> std::fmt::Debug for FixedTexts<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FixedTexts").field("columns", &self.names.len()).finish_non_exhaustive()
    }
}

fn outside() -> DataError {
    let reason = "its strides lead outside of its memory".to_owned();
    DataError::Damaged { path: "the table".into(), format: "array", reason }
}
