//! Memory that Python owns: buffers and Arrow capsules, read in place. The only file of the package
//! with `unsafe`.
//!
//! # Guarantee
//! A [`Borrowed`] holds the buffer of its owner, which cannot free or resize its memory meanwhile.
//!
//! # Pitfalls
//! Another thread of Python may write to an array while it is read: nobody can forbid that. The
//! elements are plain numbers, of which every bit pattern is valid, and each is clamped to its
//! bounds after it was read. A table that is bound to a budget or a checkpoint is digested in every
//! pass, and refused if it has changed.

use std::ptr::NonNull;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchReader, StructArray};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use sordino_data::{ArrowTable, Truth};

use crate::errors::Failure;

/// A type of which every bit pattern is a value.
pub(crate) trait Plain: Copy + Send + Sync + 'static {}

macro_rules! plain {
    ($($type:ty)*) => { $(impl Plain for $type {})* };
}
plain! { i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 Truth }

/// The memory of a buffer, from its lowest element to its highest.
pub(crate) struct Borrowed<T> {
    /// Keeps the memory.
    _owner: PyUntypedBuffer,
    first: NonNull<T>,
    length: usize,
}

// SAFETY: the memory stays until the owner is released, on whichever thread, and nobody writes to
// it through this type.
#[allow(unsafe_code, reason = "shared reading of plain numbers that the buffer keeps")]
unsafe impl<T: Plain> Send for Borrowed<T> {}
// SAFETY: as above.
#[allow(unsafe_code, reason = "shared reading of plain numbers that the buffer keeps")]
unsafe impl<T: Plain> Sync for Borrowed<T> {}

impl<T: Plain> AsRef<[T]> for Borrowed<T> {
    #[allow(unsafe_code, reason = "the one place where memory of Python becomes a slice")]
    fn as_ref(&self) -> &[T] {
        // SAFETY: `borrow` has checked that `length` aligned elements start at `first`, all of them
        // within the memory of the owner, and `T` is plain.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.length) }
    }
}

/// Rows, columns and places of an array of one or two dimensions, in elements of `T`: the index of
/// its first element, and the distances between two rows and between two columns.
pub(crate) struct Layout {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) places: [isize; 3],
}

/// Borrows an array whose items are `width` elements of `T` each. Fails if it has more than two
/// dimensions, or if its memory is not aligned.
pub(crate) fn borrow<T: Plain>(
    buffer: PyUntypedBuffer,
    width: usize,
) -> Result<(Borrowed<T>, Layout), Failure> {
    let (shape, strides) = match (buffer.shape(), buffer.strides()) {
        (&[rows], &[row]) => ([rows, 1], [row, 0]),
        (&[rows, columns], &[row, column]) => ([rows, columns], [row, column]),
        _ => return Err(Failure::declaration("expected an array of one or two dimensions")),
    };
    let unaligned = || Failure::declaration("the array is not aligned; pass numpy.ascontiguousarray of it");
    let size = size_of::<T>() as isize;
    if buffer.suboffsets().is_some() || buffer.item_size() != width * size_of::<T>() {
        return Err(unaligned());
    }
    let first = buffer.buf_ptr().cast::<T>();
    if shape.contains(&0) || width == 0 {
        let (first, layout) =
            (NonNull::dangling(), Layout { rows: shape[0], columns: shape[1], places: [0; 3] });
        return Ok((Borrowed { _owner: buffer, first, length: 0 }, layout));
    }
    let first = NonNull::new(first).ok_or_else(unaligned)?;
    // A single row or column has no distance, whatever the stride says.
    let distance = |axis: usize| if shape[axis] > 1 { strides[axis] } else { 0 };
    let (row, column) = (distance(0), distance(1));
    if !first.as_ptr().is_aligned() || row % size != 0 || column % size != 0 {
        return Err(unaligned());
    }
    let reach = |axis: usize| distance(axis) / size * (shape[axis] as isize - 1);
    let lowest = reach(0).min(0) + reach(1).min(0);
    let highest = reach(0).max(0) + reach(1).max(0) + width as isize - 1;
    let layout = Layout { rows: shape[0], columns: shape[1], places: [-lowest, row / size, column / size] };
    let length = usize::try_from(highest - lowest + 1).map_err(|_| unaligned())?;
    // Not below the first byte of the array's memory: the element at `lowest` belongs to it.
    #[allow(unsafe_code, reason = "arithmetic within one array")]
    // SAFETY: `lowest` is the offset of an element of the array, which lies in its memory.
    let first = unsafe { first.offset(lowest) };
    Ok((Borrowed { _owner: buffer, first, length }, layout))
}

/// The batches that an object offers through the Arrow PyCapsule interface.
pub(crate) fn batches(object: &Bound<'_, PyAny>) -> PyResult<ArrowTable> {
    let unread = |error: arrow_schema::ArrowError| {
        // Messages of the Arrow library speak of types and lengths, not of values.
        Failure::declaration(format!("the Arrow data cannot be read: {error}"))
    };
    if object.hasattr("__arrow_c_stream__")? {
        let capsule = object.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
        let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
        #[allow(unsafe_code, reason = "the C interface of Arrow")]
        // SAFETY: the capsule's name says what it points to. The reader takes the stream out and
        // leaves a released one behind, which the capsule's destructor accepts.
        let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) }.map_err(unread)?;
        let schema = reader.schema();
        let batches: Result<Vec<RecordBatch>, _> = reader.collect();
        return Ok(ArrowTable::new(schema, batches.map_err(unread)?).map_err(Failure::from)?);
    }
    let pair = object.call_method0("__arrow_c_array__")?.cast_into::<PyTuple>()?;
    let (schema, array) = (pair.get_item(0)?.cast_into::<PyCapsule>()?, pair.get_item(1)?);
    let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
    let array = array.cast_into::<PyCapsule>()?.pointer_checked(Some(c"arrow_array"))?;
    #[allow(unsafe_code, reason = "the C interface of Arrow")]
    // SAFETY: the capsules' names say what they point to. Both are taken out, and released ones are
    // left behind; the schema describes the array, as the interface demands.
    let data = unsafe {
        let schema = FFI_ArrowSchema::from_raw(schema.as_ptr());
        from_ffi(FFI_ArrowArray::from_raw(array.cast().as_ptr()), &schema)
    };
    let data = data.map_err(unread)?;
    if !matches!(data.data_type(), arrow_schema::DataType::Struct(_)) {
        return Err(Failure::declaration("expected a record batch, got one Arrow array").into());
    }
    let batch = RecordBatch::from(StructArray::from(data));
    Ok(ArrowTable::new(batch.schema(), vec![batch]).map_err(Failure::from)?)
}
