//! Reads a file into bounded or encoded data, chunk by chunk, in two passes: a [`Survey`], and a
//! pass that keeps what it reads.
//!
//! Between the two a caller can ask a budget and pay. Where nothing has to be paid,
//! [`Loader::read`] does both, in one pass if records are units.

use sordino_noise::Bits;

use crate::binding::Binding;
use crate::encoded::{Block, Encoded, Filling};
use crate::encoding::Encoding;
use crate::error::DataError;
use crate::limits::{ContributionLimit, Reservoirs};
use crate::misfit::{Notes, Reason};
use crate::raw::{Kind, RawChunk, RawColumn};
use crate::schema::Schema;
use crate::source::identity::Identifier;
use crate::source::{Door, Pick, Source};
use crate::split::Split;
use crate::survey::{Kept, Survey, Wanted};
use crate::table::Table;

/// The most records of a chunk. Raw data is in memory one chunk at a time.
const CHUNK_ROWS: usize = 2048;
/// The most values of a chunk: wide records come in shorter chunks.
const CHUNK_VALUES: usize = 1 << 22;
/// The same for a table in memory: few enough for the processor's cache, because columns are read
/// one after the other and rows may be stored so.
const MEMORY_CHUNK_VALUES: usize = 1 << 16;
/// The fewest records of a chunk of a table in memory.
const MEMORY_CHUNK_ROWS: usize = 16;

/// The part of a split that a record belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Train,
    Test,
}

/// What is known of encoded data beside its blocks.
pub(crate) struct Filled {
    has_target: bool,
    limit: ContributionLimit,
    pub(crate) content: [u8; 32],
}

/// Consecutive raw records.
pub(crate) struct Chunk {
    /// The slot of the first record.
    pub(crate) first: usize,
    pub(crate) raw: RawChunk,
    /// The unit of each record, if the pass reads units.
    units: Option<RawColumn>,
}

/// Reads a file by a schema, through one of the two doors.
///
/// ```no_run
/// use sordino_data::{Door, Loader, Schema, Source};
/// let schema = Schema::from_toml(&std::fs::read_to_string("patients.toml")?)?;
/// let source = Source::open("patients.csv".as_ref(), schema.csv())?;
/// let loader = Loader::new(&source, &schema, Door::Strict);
/// let table = loader.read_columns(&["age"], &mut sordino_noise::entropy()?)?;
/// let (bounds, ages) = table.numbers("age")?;
/// # let _ = (bounds, ages);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Loader<'a> {
    source: &'a Source,
    schema: &'a Schema,
    door: Door,
}

impl<'a> Loader<'a> {
    /// A loader for this file; it reads nothing yet.
    pub fn new(source: &'a Source, schema: &'a Schema, door: Door) -> Self {
        Self { source, schema, door }
    }

    /// The first pass: digests the file, counts its records, chooses which records each unit keeps
    /// and, through the strict door, checks that every record fits the schema. It fails because of
    /// the file or the schema, never because of a record's values: [`Survey::check`] tells the
    /// owner about those.
    pub fn survey<R: Bits + ?Sized>(&self, wanted: Wanted<'_>, bits: &mut R) -> Result<Survey, DataError> {
        self.surveyed(&self.bound(wanted)?, bits)
    }

    /// The second pass: reads and encodes all records. If the file has no target column, as at
    /// prediction, the result has no target.
    pub fn encoded(&self, encoding: &Encoding, survey: &Survey) -> Result<Encoded, DataError> {
        self.all(encoding, Some(survey))
    }

    /// The second pass: reads and bounds these columns.
    pub fn table(&self, columns: &[&str], survey: &Survey) -> Result<Table, DataError> {
        self.columns(columns, Some(survey))
    }

    /// Both passes: encodes all records, where nothing has to be paid in between. `bits` choose
    /// which records each unit keeps.
    pub fn read<R: Bits + ?Sized>(&self, encoding: &Encoding, bits: &mut R) -> Result<Encoded, DataError> {
        self.all(encoding, self.survey_units(Wanted::Encoding(encoding), bits)?.as_ref())
    }

    /// Both passes: bounds these columns. `bits` choose which records each unit keeps.
    pub fn read_columns<R: Bits + ?Sized>(&self, columns: &[&str], bits: &mut R) -> Result<Table, DataError> {
        self.columns(columns, self.survey_units(Wanted::Columns(columns), bits)?.as_ref())
    }

    /// Both passes: encodes the training part and the test part. `bits` choose which records each
    /// unit keeps.
    pub fn split<R: Bits + ?Sized>(
        &self,
        encoding: &Encoding,
        split: &Split,
        bits: &mut R,
    ) -> Result<(Encoded, Encoded), DataError> {
        self.parts(encoding, Some(split), self.survey_units(Wanted::Encoding(encoding), bits)?.as_ref())
    }

    /// A survey that chooses which records each unit keeps; `None` where records are units.
    pub(crate) fn survey_units<R: Bits + ?Sized>(
        &self,
        wanted: Wanted<'_>,
        bits: &mut R,
    ) -> Result<Option<Survey>, DataError> {
        let units = self.bound(wanted)?.only(&[])?;
        units.unit_pick().map(|_| self.surveyed(&units, bits)).transpose()
    }

    fn all(&self, encoding: &Encoding, survey: Option<&Survey>) -> Result<Encoded, DataError> {
        self.parts(encoding, None, survey).map(|(all, _)| all)
    }

    fn parts(
        &self,
        encoding: &Encoding,
        split: Option<&Split>,
        survey: Option<&Survey>,
    ) -> Result<(Encoded, Encoded), DataError> {
        let (mut train, mut test) = (Vec::new(), Vec::new());
        let filled = self.fill(encoding, split, survey, &mut |side, block| {
            if side == Side::Train {
                train.push(block)
            } else {
                test.push(block)
            }
            Ok(())
        })?;
        let Filled { has_target, limit, content } = filled;
        let encoded =
            |blocks| Encoded::from_blocks(encoding, limit.clone(), has_target, blocks, Some(content));
        Ok((encoded(train), encoded(test)))
    }

    /// Passes each encoded block to `take` once it is full. Do not use the blocks before this
    /// returns: it may still find that the file has changed.
    pub(crate) fn fill(
        &self,
        encoding: &Encoding,
        split: Option<&Split>,
        survey: Option<&Survey>,
        take: &mut dyn FnMut(Side, Block) -> Result<(), DataError>,
    ) -> Result<Filled, DataError> {
        let binding = self.bound(Wanted::Encoding(encoding))?;
        let mut table = Table::empty(&binding, self.schema);
        // No truncation: a survey has at most u32::MAX slots.
        let slots = survey.filter(|_| split.is_none()).map(|survey| survey.slots as usize);
        let mut train = Filling::new(encoding, &table, slots);
        let mut test = Filling::new(encoding, &table, None);
        let content = self.kept_pass(&binding, split.is_some(), survey, |chunk, misfits| {
            let Chunk { first, raw, units } = chunk;
            let sides = split.map(|split| sides(split, first, raw.rows(), units.as_ref()));
            let is_test = |slot: usize| sides.as_ref().is_some_and(|sides| sides[slot]);
            table.clear();
            table.extend(&binding, raw, misfits)?;
            train.extend(&table, |slot| !is_test(slot), &mut |block| take(Side::Train, block))?;
            test.extend(&table, is_test, &mut |block| take(Side::Test, block))
        })?;
        test.finish(&mut |block| take(Side::Test, block))?;
        let has_target = train.finish(&mut |block| take(Side::Train, block))?;
        Ok(Filled { has_target, limit: table.limit().clone(), content })
    }

    fn columns(&self, columns: &[&str], survey: Option<&Survey>) -> Result<Table, DataError> {
        let binding = self.bound(Wanted::Columns(columns))?;
        let mut table = Table::empty(&binding, self.schema);
        self.kept_pass(&binding, false, survey, |chunk, misfits| table.extend(&binding, chunk.raw, misfits))?;
        let owners = survey.and_then(|survey| survey.kept.as_ref()).map(|kept| kept.owners.clone());
        Ok(table.owned_by(owners))
    }

    fn surveyed<R: Bits + ?Sized>(&self, binding: &Binding, bits: &mut R) -> Result<Survey, DataError> {
        self.source.check_picks(&binding.picks())?;
        let is_checked = self.door == Door::Strict;
        // The permissive door checks no values. A columnar file is read all the same, so that a
        // damaged column is found before anything is charged.
        let fields = if is_checked || self.source.is_columnar() { binding.picks() } else { Vec::new() };
        let mut table = Table::empty(binding, self.schema);
        let mut units = Reservoirs::new(self.schema.unit().max_records());
        let mut owners = Vec::new();
        let mut misfits = Notes::new(self.door);
        let (slots, content) = self.pass(fields, binding.unit_pick(), &mut misfits, |chunk, misfits| {
            if let Some(column) = &chunk.units {
                note_missing_units(binding, &chunk.raw, column, misfits);
                let names = column.spelled();
                let names = names.iter().enumerate();
                owners.extend(names.map(|(row, unit)| units.see(unit, chunk.first + row, bits)));
            }
            if is_checked {
                table.clear();
                table.extend(binding, chunk.raw, misfits)?;
            }
            Ok(())
        })?;
        let kept = binding.unit_pick().map(|_| {
            let mut kept = vec![true; units.slots()];
            units.keep(&mut kept);
            Kept { slots: kept, owners }
        });
        let (origin, unit) = (self.source.origin(), self.schema.unit().clone());
        Ok(Survey { origin, unit, door: self.door, content, slots, misfits: misfits.misfits(), kept })
    }

    /// A pass over the records that units keep, as the survey chose, if there is one. Returns the
    /// digest of the data. Fails if it is not what was surveyed or, through the strict door, if a
    /// record does not fit.
    pub(crate) fn kept_pass(
        &self,
        binding: &Binding,
        has_units: bool,
        survey: Option<&Survey>,
        mut take: impl FnMut(Chunk, &mut Notes) -> Result<(), DataError>,
    ) -> Result<[u8; 32], DataError> {
        if let Some(survey) = survey {
            self.check_survey(survey)?;
        }
        let kept = survey.and_then(|survey| survey.kept.as_ref());
        let unit = binding.unit_pick().filter(|_| has_units);
        let mut misfits = Notes::new(self.door);
        let read = self.pass(binding.picks(), unit, &mut misfits, |mut chunk, misfits| {
            if let Some(kept) = kept {
                // A file that grew meanwhile has records that the survey did not choose. They are
                // left out here, and the file is refused at its end.
                let kept = kept.slots.iter().skip(chunk.first).copied().chain(std::iter::repeat(false));
                chunk.raw.present.iter_mut().zip(kept).for_each(|(present, kept)| *present &= kept);
            }
            take(chunk, misfits)
        });
        // The first pass found a sound file, so somebody has written to it since.
        let is_damaged = matches!(&read, Err(DataError::Damaged { .. }));
        if is_damaged && survey.is_some() {
            return Err(self.source.changed());
        }
        let (slots, content) = read?;
        if survey.is_some_and(|survey| (survey.content, survey.slots) != (content, slots)) {
            return Err(self.source.changed());
        }
        misfits.check(self.source.path())?;
        match (self.door, slots) {
            (Door::Strict, 0) => Err(DataError::NoRecords { path: self.source.path().to_owned() }),
            _ => Ok(content),
        }
    }

    /// Refuses a survey of another file or with another unit: it chose among other records, or by
    /// another limit.
    fn check_survey(&self, survey: &Survey) -> Result<(), DataError> {
        if !survey.origin.is(&self.source.origin()) || survey.unit != *self.schema.unit() {
            return Err(DataError::OtherSurvey { path: self.source.path().to_owned() });
        }
        match self.door {
            Door::Strict => survey.check(),
            Door::Permissive => Ok(()),
        }
    }

    /// The identity of the table under the loader's schema; see
    /// [`Source::identity`](crate::Source::identity).
    pub(crate) fn identity(&self) -> Result<[u8; 32], DataError> {
        let mut identifier = self.identifier(self.schema)?;
        // No value is checked here, so nothing is noted.
        let mut misfits = Notes::new(Door::Permissive);
        let nothing = |_: Chunk, _: &mut Notes| Ok(());
        self.identified_pass(Vec::new(), None, Some(&mut identifier), &mut misfits, nothing)?;
        Ok(identifier.finish())
    }

    fn identifier(&self, schema: &Schema) -> Result<Identifier, DataError> {
        self.source.check_header(schema)?;
        let binding = Binding::all(self.source.path(), &self.source.names(), schema, &[])?;
        self.source.check_picks(&binding.picks())?;
        Ok(Identifier::new(schema, &binding))
    }

    /// One pass over the data: calls `take` with every chunk. Returns the number of records and the
    /// digest of the data: of the file's bytes, or the identity of a table in memory if that was
    /// asked for.
    fn pass(
        &self,
        fields: Vec<Pick>,
        unit: Option<Pick>,
        misfits: &mut Notes,
        take: impl FnMut(Chunk, &mut Notes) -> Result<(), DataError>,
    ) -> Result<(u64, [u8; 32]), DataError> {
        let identified = self.source.identified_by();
        let mut identifier = identified.map(|schema| self.identifier(schema)).transpose()?;
        let (rows, digest) = self.identified_pass(fields, unit, identifier.as_mut(), misfits, take)?;
        Ok((rows, identifier.map_or(digest, Identifier::finish)))
    }

    /// A pass that shows each chunk to `identifier` first. Returns the number of records and the
    /// digest that the reader computed.
    fn identified_pass(
        &self,
        fields: Vec<Pick>,
        unit: Option<Pick>,
        mut identifier: Option<&mut Identifier>,
        misfits: &mut Notes,
        mut take: impl FnMut(Chunk, &mut Notes) -> Result<(), DataError>,
    ) -> Result<(u64, [u8; 32]), DataError> {
        let has_unit = unit.is_some();
        let identifying = identifier.as_ref().map(|identifier| identifier.picks()).into_iter().flatten();
        let picks: Vec<Pick> = fields.into_iter().chain(unit).chain(identifying).collect();
        let kinds: Vec<Kind> = picks.iter().map(|pick| pick.kind).collect();
        let (values, least) = if self.source.is_memory() {
            (MEMORY_CHUNK_VALUES, MEMORY_CHUNK_ROWS)
        } else {
            (CHUNK_VALUES, 1)
        };
        let most = (values / picks.len().max(1)).clamp(least, CHUNK_ROWS);
        let mut rows = self.source.rows(picks)?;
        let mut first = 0usize;
        loop {
            let mut raw = RawChunk::of(&kinds);
            raw.first_row = first as u64;
            misfits.clear_unread();
            rows.read(&mut raw, most, misfits)?;
            let read = raw.rows();
            if read == 0 {
                return Ok((first as u64, rows.finish()?));
            }
            if first + read > u32::MAX as usize {
                return Err(DataError::TooManyRecords);
            }
            if let Some(identifier) = &mut identifier {
                identifier.take(&mut raw);
            }
            let units = if has_unit { raw.columns.pop() } else { None };
            take(Chunk { first, raw, units }, misfits)?;
            first += read;
        }
    }

    fn bound(&self, wanted: Wanted<'_>) -> Result<Binding, DataError> {
        let encoding = match wanted {
            Wanted::Columns(names) => return self.binding(&[])?.only(names),
            Wanted::Encoding(encoding) => encoding,
        };
        // Binds features, and the target if the file has it.
        let target: Vec<&str> = encoding.target().into_iter().collect();
        let binding = self.binding(&target)?;
        let mut names: Vec<&str> = encoding.features().collect();
        names.extend(target.iter().filter(|name| binding.fields().iter().any(|field| field.name == **name)));
        binding.only(&names)
    }

    pub(crate) fn binding(&self, optional: &[&str]) -> Result<Binding, DataError> {
        self.source.check_header(self.schema)?;
        Binding::all(self.source.path(), &self.source.names(), self.schema, optional)
    }
}

/// Whether each of these records belongs to the test part.
fn sides(split: &Split, first: usize, rows: usize, units: Option<&RawColumn>) -> Vec<bool> {
    let side = |row: usize, unit: Option<&[u8]>| split.is_test((first + row) as u64, unit);
    match units {
        None => (0..rows).map(|row| side(row, None)).collect(),
        Some(units) => units.spelled().iter().enumerate().map(|(row, unit)| side(row, unit)).collect(),
    }
}

/// Notes the records that name no unit.
fn note_missing_units(binding: &Binding, chunk: &RawChunk, units: &RawColumn, misfits: &mut Notes) {
    for (row, (unit, present)) in units.spelled().iter().zip(&chunk.present).enumerate() {
        if unit.is_none() && *present {
            misfits.note(chunk.first_row + row as u64 + 1, || Reason::Cell {
                column: binding.unit_pick().map(|pick| pick.name).unwrap_or_default(),
                expected: "the unit that the record belongs to",
                advice: "give each record its unit",
            });
        }
    }
}
