//! From a file to bounded or encoded data, chunk by chunk.

use sordino_noise::Bits;

use crate::binding::Binding;
use crate::encoded::{Block, Encoded, Filling};
use crate::encoding::Encoding;
use crate::error::DataError;
use crate::limits::{ContributionLimit, Reservoirs};
use crate::raw::{RawChunk, Wanted};
use crate::schema::Schema;
use crate::source::{Door, Pick, Source};
use crate::split::Split;
use crate::table::{Table, unit_names};

/// Records that are read at a time, and values: what raw data there is in memory at any moment.
const CHUNK_ROWS: usize = 2048;
const CHUNK_VALUES: usize = 1 << 22;

/// A part of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Train,
    Test,
}

/// What is kept of units.
struct Kept {
    /// Whether a slot is.
    slots: Vec<bool>,
    /// The unit of each slot.
    owners: Vec<u64>,
}

/// Reads a file by a schema, through one of the two doors.
///
/// ```no_run
/// use sordino_data::{Door, Loader, Schema, Source};
/// let schema = Schema::from_toml(&std::fs::read_to_string("patients.toml")?)?;
/// let source = Source::open("patients.csv".as_ref(), schema.csv())?;
/// let loader = Loader::new(&source, &schema, Door::Strict);
/// let table = loader.table(&["age"], &mut sordino_noise::entropy()?)?;
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
    /// Nothing is read yet.
    pub fn new(source: &'a Source, schema: &'a Schema, door: Door) -> Self {
        Self { source, schema, door }
    }

    /// n: how many slots there are, empty ones included. Public under `zero_out` and `replace`; under `add_remove` it is a
    /// statistic that must be paid for. Values are not looked at.
    pub fn slots(&self) -> Result<u64, DataError> {
        let binding = self.binding(&[])?;
        let mut slots = 0;
        // One column will do: the others are as long.
        self.read_through(Door::Permissive, binding.picks().into_iter().take(1).collect(), |chunk, _| {
            slots += chunk.rows() as u64;
            Ok(())
        })?;
        self.not_empty(slots as usize)?;
        Ok(slots)
    }

    /// Whether every record fits the schema, for the owner: fails like [`Loader::encoded`] would and keeps nothing. Through
    /// the permissive door every record does.
    pub fn check(&self, encoding: &Encoding) -> Result<(), DataError> {
        self.check_bound(&self.encoding_binding(encoding)?)
    }

    /// The same for these columns alone, as [`Loader::table`] reads them. What file and schema are made of is compared first; through
    /// the permissive door that is all.
    pub fn check_columns(&self, columns: &[&str]) -> Result<(), DataError> {
        let binding = self.binding(&[])?.only(columns)?;
        match self.door {
            Door::Strict => self.check_bound(&binding),
            Door::Permissive => Ok(()),
        }
    }

    fn check_bound(&self, binding: &Binding) -> Result<(), DataError> {
        let mut table = Table::empty(binding, self.schema);
        if let Some(pick) = binding.unit_pick() {
            let name = pick.name.clone();
            self.read(vec![pick], |chunk, _| self.all_have_units(&chunk, &name))?;
        }
        self.read(binding.picks(), |chunk, _| {
            table.clear();
            table.extend(binding, chunk, self.door, self.source.path())
        })
    }

    /// These columns, bounded. Randomness chooses which records of a unit are kept.
    pub fn table<R: Bits + ?Sized>(&self, columns: &[&str], bits: &mut R) -> Result<Table, DataError> {
        let binding = self.binding(&[])?.only(columns)?;
        let mut table = Table::empty(&binding, self.schema);
        let owners = self.each_chunk(&binding, bits, |chunk, _| {
            table.extend(&binding, chunk, self.door, self.source.path())
        })?;
        self.not_empty(table.slots())?;
        Ok(table.owned_by(owners))
    }

    /// Everything, encoded. A target that the file does not have is left out: so it is at prediction.
    pub fn encoded<R: Bits + ?Sized>(&self, encoding: &Encoding, bits: &mut R) -> Result<Encoded, DataError> {
        let (all, _) = self.parts(encoding, None, bits)?;
        self.not_empty(all.slots())?;
        Ok(all)
    }

    /// The training part and the test part, encoded.
    pub fn split<R: Bits + ?Sized>(
        &self,
        encoding: &Encoding,
        split: &Split,
        bits: &mut R,
    ) -> Result<(Encoded, Encoded), DataError> {
        self.parts(encoding, Some(split), bits)
    }

    fn parts<R: Bits + ?Sized>(
        &self,
        encoding: &Encoding,
        split: Option<&Split>,
        bits: &mut R,
    ) -> Result<(Encoded, Encoded), DataError> {
        let (mut train, mut test) = (Vec::new(), Vec::new());
        let (has_target, limit) = self.fill(encoding, split, bits, &mut |side, block| {
            if side == Side::Train {
                train.push(block)
            } else {
                test.push(block)
            }
            Ok(())
        })?;
        let encoded = |blocks| Encoded::from_blocks(encoding, limit.clone(), has_target, blocks);
        Ok((encoded(train), encoded(test)))
    }

    /// Hands out encoded blocks as they are full.
    pub(crate) fn fill<R: Bits + ?Sized>(
        &self,
        encoding: &Encoding,
        split: Option<&Split>,
        bits: &mut R,
        take: &mut dyn FnMut(Side, Block) -> Result<(), DataError>,
    ) -> Result<(bool, ContributionLimit), DataError> {
        let binding = self.encoding_binding(encoding)?;
        let mut table = Table::empty(&binding, self.schema);
        let mut train = Filling::new(encoding, &table);
        let mut test = Filling::new(encoding, &table);
        let sides = split.map(|split| self.sides(&binding, split)).transpose()?;
        self.each_chunk(&binding, bits, |chunk, first| {
            let is_test = |slot: usize| match &sides {
                // A file that grew meanwhile grew in its training part.
                Some(sides) => sides.get(first + slot).copied().unwrap_or(false),
                None => false,
            };
            table.clear();
            table.extend(&binding, chunk, self.door, self.source.path())?;
            train.extend(&table, |slot| !is_test(slot), &mut |block| take(Side::Train, block))?;
            test.extend(&table, is_test, &mut |block| take(Side::Test, block))
        })?;
        test.finish(&mut |block| take(Side::Test, block))?;
        let has_target = train.finish(&mut |block| take(Side::Train, block))?;
        Ok((has_target, table.limit().clone()))
    }

    /// Features and target; other columns of the schema need not be there.
    pub(crate) fn encoding_binding(&self, encoding: &Encoding) -> Result<Binding, DataError> {
        let target: Vec<&str> = encoding.target().into_iter().collect();
        let binding = self.binding(&target)?;
        let mut names: Vec<&str> = encoding.features().collect();
        names.extend(target.iter().filter(|name| binding.fields().iter().any(|field| field.name == **name)));
        binding.only(&names)
    }

    /// Calls `take` with every chunk and its first slot, with the slots emptied that their units have too many of.
    /// Returns the unit of each slot, where the schema names one.
    pub(crate) fn each_chunk<R: Bits + ?Sized>(
        &self,
        binding: &Binding,
        bits: &mut R,
        mut take: impl FnMut(RawChunk, usize) -> Result<(), DataError>,
    ) -> Result<Option<Vec<u64>>, DataError> {
        let kept = self.kept(binding, bits)?;
        self.read(binding.picks(), |mut chunk, first| {
            if let Some(Kept { slots, .. }) = &kept {
                let kept = slots.get(first..first + chunk.rows()).unwrap_or_default();
                // A file that grew meanwhile has records that nobody chose.
                let kept = kept.iter().copied().chain(std::iter::repeat(false));
                chunk.present.iter_mut().zip(kept).for_each(|(present, kept)| *present &= kept);
            }
            take(chunk, first)
        })?;
        Ok(kept.map(|kept| kept.owners))
    }

    /// Which slots their units keep, and whose they are: a first pass over the unit's column alone. Nothing where records
    /// are units.
    fn kept<R: Bits + ?Sized>(&self, binding: &Binding, bits: &mut R) -> Result<Option<Kept>, DataError> {
        let Some(pick) = binding.unit_pick() else { return Ok(None) };
        let name = pick.name.clone();
        let mut units = Reservoirs::new(self.schema.unit().max_records());
        let mut owners = Vec::new();
        self.read(vec![pick], |chunk, first| {
            self.all_have_units(&chunk, &name)?;
            let names = unit_names(&chunk.columns[0]).into_iter().enumerate();
            owners.extend(names.map(|(row, unit)| units.see(unit.as_deref(), first + row, bits)));
            Ok(())
        })?;
        let mut kept = vec![true; units.slots()];
        units.keep(&mut kept);
        Ok(Some(Kept { slots: kept, owners }))
    }

    /// Which slots belong to the test part.
    fn sides(&self, binding: &Binding, split: &Split) -> Result<Vec<bool>, DataError> {
        let mut sides = Vec::new();
        let pick = binding.unit_pick();
        let is_by_unit = pick.is_some();
        // Without units the first column is read, to learn how many records there are.
        let pick = pick.or_else(|| binding.picks().into_iter().next());
        self.read(pick.into_iter().collect(), |chunk, first| {
            let units = if is_by_unit { unit_names(&chunk.columns[0]) } else { vec![None; chunk.rows()] };
            let side =
                |(row, unit): (usize, &Option<Vec<u8>>)| split.is_test((first + row) as u64, unit.as_deref());
            sides.extend(units.iter().enumerate().map(side));
            Ok(())
        })?;
        Ok(sides)
    }

    fn read(
        &self,
        picks: Vec<Pick>,
        take: impl FnMut(RawChunk, usize) -> Result<(), DataError>,
    ) -> Result<(), DataError> {
        self.read_through(self.door, picks, take)
    }

    fn read_through(
        &self,
        door: Door,
        picks: Vec<Pick>,
        mut take: impl FnMut(RawChunk, usize) -> Result<(), DataError>,
    ) -> Result<(), DataError> {
        let wanted: Vec<Wanted> = picks.iter().map(|pick| pick.wanted).collect();
        let most = (CHUNK_VALUES / picks.len().max(1)).clamp(1, CHUNK_ROWS);
        let mut rows = self.source.rows(picks, door)?;
        let mut first = 0usize;
        loop {
            let mut chunk = RawChunk::of(&wanted);
            chunk.first_row = first as u64;
            rows.read(&mut chunk, most)?;
            let read = chunk.rows();
            if read == 0 {
                return Ok(());
            }
            if first + read > u32::MAX as usize {
                return Err(DataError::TooManyRecords);
            }
            take(chunk, first)?;
            first += read;
        }
    }

    pub(crate) fn binding(&self, optional: &[&str]) -> Result<Binding, DataError> {
        Binding::all(self.source.path(), &self.source.names(), self.schema, optional)
    }

    /// That there is not one record is no secret about any of them; under every relation but `add_remove` n is public.
    fn not_empty(&self, slots: usize) -> Result<(), DataError> {
        match slots {
            0 if self.door == Door::Strict => {
                Err(DataError::NoRecords { path: self.source.path().to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// Through the strict door each record must say whose it is.
    fn all_have_units(&self, chunk: &RawChunk, column: &str) -> Result<(), DataError> {
        if self.door == Door::Permissive {
            return Ok(());
        }
        let units = unit_names(&chunk.columns[0]);
        match units.iter().zip(&chunk.present).position(|(unit, present)| unit.is_none() && *present) {
            Some(row) => Err(self.nobody(chunk.first_row + row as u64 + 1, column)),
            None => Ok(()),
        }
    }

    fn nobody(&self, row: u64, column: &str) -> DataError {
        DataError::Cell {
            path: self.source.path().to_owned(),
            row,
            column: column.to_owned(),
            expected: "the unit that the record belongs to".to_owned(),
            advice: "give each record its unit",
        }
    }
}
