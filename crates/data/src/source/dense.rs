//! Arrays of numbers: records of a fixed number of elements of one type, one after the other.

use std::io::{BufReader, Read};

use super::kept::{KeptFile, with_labels};
use super::packed::Unpacked;
use super::{Pick, ReadRows};
use crate::error::DataError;
use crate::misfit::Notes;
use crate::raw::{RawChunk, RawColumn};
use crate::schema::{HeaderColumn, TypeHint};

/// The layout of an array's records.
pub(super) struct DenseLayout {
    pub(super) format: &'static str,
    /// The bytes before the first record.
    pub(super) head: Vec<u8>,
    pub(super) rows: u64,
    /// Whether the number of records follows from the length of the content, so that nothing may
    /// follow the last record.
    pub(super) is_whole: bool,
    pub(super) element: Element,
    /// Names of the elements of a record.
    pub(super) names: Vec<String>,
    pub(super) labels: Option<Labels>,
}

/// A second file with one more column, of bytes.
pub(super) struct Labels {
    pub(super) file: KeptFile,
    /// The column's name.
    pub(super) name: &'static str,
    /// The bytes before the first record.
    pub(super) head: Vec<u8>,
}

/// The type of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) kind: ElementKind,
    pub(super) bytes: usize,
    pub(super) is_big_endian: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ElementKind {
    Unsigned,
    Signed,
    Float,
    Boolean,
}

impl Element {
    pub(super) const BYTE: Self = Self { kind: ElementKind::Unsigned, bytes: 1, is_big_endian: false };

    fn hint(self) -> TypeHint {
        match (self.kind, self.bytes) {
            (ElementKind::Unsigned, 1) => TypeHint::Byte,
            (ElementKind::Boolean, _) => TypeHint::Boolean,
            _ => TypeHint::Number,
        }
    }

    /// Adds the number with these bytes to a column.
    fn push(self, bytes: &[u8], column: &mut RawColumn) {
        let mut word = [0u8; 8];
        for (at, byte) in bytes.iter().enumerate() {
            word[if self.is_big_endian { bytes.len() - 1 - at } else { at }] = *byte;
        }
        let word = u64::from_le_bytes(word);
        let unused = 64 - 8 * bytes.len() as u32;
        match self.kind {
            ElementKind::Unsigned => column.push_integer(word.into()),
            ElementKind::Boolean => column.push_integer((word != 0).into()),
            ElementKind::Signed => column.push_integer(((word << unused) as i64 >> unused).into()),
            ElementKind::Float if bytes.len() == 4 => column.push_number(f32::from_bits(word as u32).into()),
            ElementKind::Float => column.push_number(f64::from_bits(word)),
        }
    }
}

impl DenseLayout {
    pub(super) fn header(&self) -> Vec<HeaderColumn> {
        let hint = self.element.hint();
        let mut header: Vec<_> =
            self.names.iter().map(|name| HeaderColumn { name: name.clone(), hint }).collect();
        if let Some(labels) = &self.labels {
            header.push(HeaderColumn { name: labels.name.to_owned(), hint: TypeHint::Number });
        }
        header
    }

    pub(super) fn rows(&self, file: &KeptFile, picks: Vec<Pick>) -> Result<Box<dyn ReadRows>, DataError> {
        let labels = self.labels.as_ref();
        let labels = labels.map(|labels| Elements::behind(&labels.file, &labels.head, self.format));
        Ok(Box::new(DenseRows {
            elements: Elements::behind(file, &self.head, self.format)?,
            labels: labels.transpose()?,
            picks,
            element: self.element,
            left: self.rows,
            is_whole: self.is_whole,
            record: vec![0; self.names.len() * self.element.bytes],
        }))
    }
}

struct DenseRows {
    elements: Elements,
    labels: Option<Elements>,
    picks: Vec<Pick>,
    element: Element,
    left: u64,
    is_whole: bool,
    record: Vec<u8>,
}

impl ReadRows for DenseRows {
    fn read(&mut self, chunk: &mut RawChunk, rows: usize, _: &mut Notes) -> Result<(), DataError> {
        for _ in 0..self.left.min(rows as u64) {
            self.elements.fill(&mut self.record)?;
            let mut label = [0];
            if let Some(labels) = &mut self.labels {
                labels.fill(&mut label)?;
            }
            for (pick, column) in self.picks.iter().zip(&mut chunk.columns) {
                let size = self.element.bytes;
                match self.record.get(pick.index * size..(pick.index + 1) * size) {
                    Some(bytes) => self.element.push(bytes, column),
                    None => column.push_integer(label[0].into()),
                }
            }
            chunk.present.push(true);
            self.left -= 1;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<[u8; 32], DataError> {
        if self.is_whole && !self.elements.is_at_end()? {
            return Err(self.elements.file.changed());
        }
        let labels = self.labels.map(Elements::finish).transpose()?;
        Ok(with_labels(self.elements.finish()?, labels))
    }
}

/// The content of a file, from its start.
pub(super) struct Elements {
    file: KeptFile,
    format: &'static str,
    input: BufReader<Unpacked>,
}

impl Elements {
    pub(super) fn open(file: &KeptFile, format: &'static str) -> Result<Self, DataError> {
        Ok(Self { file: file.clone(), format, input: BufReader::new(Unpacked::open(file)?) })
    }

    /// Opens the file after its header, which must be the one that was found at first.
    fn behind(file: &KeptFile, head: &[u8], format: &'static str) -> Result<Self, DataError> {
        let mut elements = Self::open(file, format)?;
        let mut found = vec![0; head.len()];
        elements.fill(&mut found)?;
        if found == head { Ok(elements) } else { Err(file.changed()) }
    }

    pub(super) fn fill(&mut self, bytes: &mut [u8]) -> Result<(), DataError> {
        self.input.read_exact(bytes).map_err(|source| {
            if source.kind() != std::io::ErrorKind::UnexpectedEof {
                return DataError::io(self.file.path(), source);
            }
            let reason = "it ends before its last record; was it copied whole?".to_owned();
            DataError::Damaged { path: self.file.path().to_owned(), format: self.format, reason }
        })
    }

    fn is_at_end(&mut self) -> Result<bool, DataError> {
        let read = self.input.read(&mut [0]);
        Ok(read.map_err(|source| DataError::io(self.file.path(), source))? == 0)
    }

    fn finish(self) -> Result<[u8; 32], DataError> {
        let digest = self.input.into_inner().finish();
        digest.map_err(|source| DataError::io(self.file.path(), source))
    }
}

/// `prefix0`, `prefix1`, ...
pub(super) fn numbered(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|index| format!("{prefix}{index}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(element: Element, bytes: &[u8]) -> f64 {
        let mut column = RawColumn::Numbers(Vec::new());
        element.push(bytes, &mut column);
        match column {
            RawColumn::Numbers(values) => values[0],
            RawColumn::Texts(_) => unreachable!("it was made of numbers"),
        }
    }

    #[test]
    fn elements_are_read_in_either_order() {
        let element = |kind, bytes, is_big_endian| Element { kind, bytes, is_big_endian };
        assert_eq!(value(element(ElementKind::Signed, 2, false), &(-2i16).to_le_bytes()), -2.0);
        assert_eq!(value(element(ElementKind::Signed, 4, true), &(-70_000i32).to_be_bytes()), -70_000.0);
        assert_eq!(value(element(ElementKind::Unsigned, 8, true), &7u64.to_be_bytes()), 7.0);
        assert_eq!(value(element(ElementKind::Float, 4, true), &1.5f32.to_be_bytes()), 1.5);
        assert_eq!(value(element(ElementKind::Float, 8, false), &(-0.1f64).to_le_bytes()), -0.1);
        assert_eq!(value(element(ElementKind::Boolean, 1, false), &[1]), 1.0);
        assert_eq!(value(Element::BYTE, &[255]), 255.0);
    }

    /// Two units whose numbers round to the same double are two units.
    #[test]
    fn large_integers_are_exact_as_text() {
        let element = Element { kind: ElementKind::Unsigned, bytes: 8, is_big_endian: false };
        let mut column = RawColumn::Texts(Default::default());
        let large = (1u64 << 53) + 1;
        element.push(&large.to_le_bytes(), &mut column);
        let RawColumn::Texts(texts) = column else { unreachable!("it was made of texts") };
        assert_eq!(texts.iter().next(), Some(Some(large.to_string().as_bytes())));
    }
}
