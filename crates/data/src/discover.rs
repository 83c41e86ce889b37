//! Finds bounds, means, scales and categories that the owner cannot declare: with noise, paid from
//! a budget.
//!
//! # Definition
//! | asked for | found by | guarantee |
//! |---|---|---|
//! | a number | noisy counts between powers of two; the outermost high counts bound it | pure |
//! | its mean and scale | noisy sums of values clamped to these bounds | pure |
//! | a category | values that many records have: an open histogram | approximate |
//!
//! The result is the completed schema. A category gets the found values and one bucket for all
//! others; a missing number becomes the mean (or the middle of the bounds). So no record is dropped
//! for an unforeseen value. A column in which nothing was found is ignored.
//!
//! # Guarantee
//! Each column has an equal share of ε (and each category of δ). If mean and scale are asked for,
//! half of a number's share goes to its bounds and a quarter each to mean and scale; otherwise all
//! of it goes to its bounds. The parts are chosen before the data is seen, so their composition is
//! [`DiscoveryPlan::event`]; the sums use the bounds found first, which is adaptive composition of
//! pure parts. Records are read through the permissive door: no error depends on a record. The
//! records that each unit keeps are chosen once, for all columns. A value that is too long for a
//! category, or no text at all, counts nowhere; this rule looks at that value alone.
//!
//! Logarithmic histograms for bounds: Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo, Gipson,
//! *Differentially Private SQL with Bounded User Contribution*, 2020. Open histograms: Korolova,
//! Kenthapadi, Mishra, Ntoulas, *Releasing Search Queries and Clicks Privately*, 2009.
//!
//! # Pitfalls
//! - Found bounds are not public knowledge: rare large values are cut off, and another run finds
//!   other bounds.
//! - Declared bounds cost nothing. Discover only what you cannot know.

mod error;
mod magnitudes;
mod values;

use sordino_mechanisms::statistics::{Contributor, Histogram, Mean, OpenHistogram, Variance};
use sordino_mechanisms::{Mechanism, statistics};
use sordino_noise::{Bits, entropy};
use sordino_privacy::{
    Budget, Charge, Claim, Count, Delta, Epsilon, Event, Neighbours, Permit, Release, Terms,
};

pub use self::error::DiscoverError;
use self::values::{ColumnRows, Columns};
use crate::schema::{Bounds, CategoryColumn, Column, NumberColumn, Rule, Schema};
use crate::source::Source;

/// The factor that rounds each share down, so that the accountant, which rounds up, certifies at
/// most the whole for all shares together.
const SHARE_ROUNDING: f64 = 1.0 - 1e-11;

/// What is unknown about a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Its bounds.
    Number,
    /// Its values.
    Category,
}

/// A request: the columns whose bounds or values are unknown.
///
/// ```no_run
/// use sordino_data::{Discovery, Schema, Source};
/// use sordino_privacy::{Budget, Charge, Delta, Epsilon, Neighbours, Terms};
/// let schema = Schema::from_toml("columns.'*' = { kind = 'ignore' }")?; // nothing is known
/// let source = Source::open("patients.csv".as_ref(), schema.csv())?;
/// let (epsilon, delta) = (Epsilon::new(0.5)?, Delta::new(1e-6)?);
/// let wanted = Discovery::new(schema, Neighbours::ZeroOut).number("income").category("city");
/// let plan = wanted.plan(epsilon, delta)?;
/// let terms = Terms::new(epsilon, Neighbours::ZeroOut).with_delta(delta).setting_aside(delta);
/// let mut budget = Budget::new(terms);
/// let content = source.content()?; // or the content that a ledger has recorded
/// let release = plan.release(&source, content, budget.charge_claim(plan.claim())?)?;
/// println!("{}", release.value().schema.to_toml());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Discovery {
    schema: Schema,
    neighbours: Neighbours,
    columns: Vec<(String, Unknown)>,
    has_moments: bool,
}

impl Discovery {
    /// Completes `schema`, which declares all that is known: the unit, and other columns. Columns
    /// that it ignores or does not name can be asked for; the rest is ignored.
    pub fn new(schema: Schema, neighbours: Neighbours) -> Self {
        Self { schema, neighbours, columns: Vec::new(), has_moments: false }
    }

    /// Asks for the bounds of a column of numbers.
    pub fn number(self, column: &str) -> Self {
        self.with(column, Unknown::Number)
    }

    /// Asks for the values of a column of categories.
    pub fn category(self, column: &str) -> Self {
        self.with(column, Unknown::Category)
    }

    fn with(mut self, column: &str, unknown: Unknown) -> Self {
        self.columns.push((column.to_owned(), unknown));
        self
    }

    /// Asks for mean and scale of each number too.
    pub fn moments(self) -> Self {
        Self { has_moments: true, ..self }
    }

    /// A plan with its costs. δ may be 0 if no category is asked for.
    pub fn plan(&self, epsilon: Epsilon, delta: Delta) -> Result<DiscoveryPlan, DiscoverError> {
        self.check()?;
        let columns = self.columns.len() as f64;
        let categories = self.columns.iter().filter(|(_, unknown)| *unknown == Unknown::Category).count();
        let share = |part: f64| Epsilon::new(epsilon.get() / columns * part * SHARE_ROUNDING);
        let delta = Delta::new(delta.get() / categories.max(1) as f64 * SHARE_ROUNDING)?;
        let who = self.keyed();
        let part = |(name, unknown): &(String, Unknown)| {
            let search = match unknown {
                Unknown::Number => {
                    let epsilon = share(if self.has_moments { 0.5 } else { 1.0 })?;
                    let histogram = Histogram::new(epsilon, magnitudes::names(), who.clone())?;
                    let moments = if self.has_moments { Some(share(0.25)?) } else { None };
                    Search::Number { epsilon, histogram, moments }
                }
                Unknown::Category => {
                    let epsilon = share(1.0)?;
                    Search::Category { epsilon, histogram: OpenHistogram::new(epsilon, delta, who.clone())? }
                }
            };
            Ok::<_, DiscoverError>((name.clone(), search))
        };
        let parts = self.columns.iter().map(part).collect::<Result<_, _>>()?;
        Ok(DiscoveryPlan { wanted: self.clone(), parts, delta })
    }

    fn check(&self) -> Result<(), DiscoverError> {
        if self.columns.is_empty() {
            return Err(DiscoverError::NoColumns);
        }
        for (place, (name, _)) in self.columns.iter().enumerate() {
            let is_declared = self.schema.column(name).is_some_and(|column| *column != Column::Ignore)
                || self.schema.unit().column() == Some(name);
            if is_declared || self.columns[..place].iter().any(|(other, _)| other == name) {
                return Err(DiscoverError::Known { column: name.clone() });
            }
        }
        Ok(())
    }

    /// The contributor that sums protect.
    fn owner(&self) -> Contributor {
        match self.schema.unit().column() {
            Some(column) => Contributor::owner(self.neighbours, column, self.schema.unit().max_records()),
            None => Contributor::record(self.neighbours),
        }
    }

    /// The contributor that counts protect. Each of a unit's k records may be in another cell, and
    /// counts once.
    fn keyed(&self) -> Contributor {
        match self.schema.unit().column() {
            Some(column) => {
                let owner = Contributor::owner(self.neighbours, column, Count::ONE);
                owner.in_keys(self.schema.unit().max_records())
            }
            None => Contributor::record(self.neighbours),
        }
    }
}

/// A discovery with all its numbers, ready to be charged.
#[derive(Debug)]
pub struct DiscoveryPlan {
    wanted: Discovery,
    parts: Vec<(String, Search)>,
    /// δ of one category.
    delta: Delta,
}

#[derive(Debug)]
enum Search {
    Number {
        epsilon: Epsilon,
        histogram: Histogram,
        /// ε of the mean, and again of the scale.
        moments: Option<Epsilon>,
    },
    Category {
        epsilon: Epsilon,
        histogram: OpenHistogram,
    },
}

impl DiscoveryPlan {
    /// The event of the whole search.
    pub fn event(&self) -> Event {
        let mut events = Vec::new();
        for (_, search) in &self.parts {
            match search {
                Search::Number { histogram, moments, .. } => {
                    events.push(histogram.event());
                    if let Some(epsilon) = *moments {
                        // Each of the two sums costs this ε, whatever bounds are found.
                        events.extend([Event::Pure { epsilon }, Event::Pure { epsilon }]);
                    }
                }
                Search::Category { histogram, .. } => events.push(histogram.event()),
            }
        }
        Event::composed(events)
    }

    /// The claim of the whole search: its event under the relation.
    pub fn claim(&self) -> Claim {
        Claim::new(self.wanted.neighbours, self.event())
    }

    /// Searches, with noise from the operating system's entropy. Checks the permit before it reads
    /// a record, and `content` ([`Source::content`]) in every pass: a charge for this content pays
    /// for no other.
    pub fn release(
        &self,
        source: &Source,
        content: [u8; 32],
        permit: Permit,
    ) -> Result<Release<Discovered>, DiscoverError> {
        self.release_with(source, content, permit, &mut entropy()?)
    }

    /// The same with the given bits. With [`danger::seeded`](sordino_noise::danger::seeded) bits
    /// the guarantee says that it is void.
    pub fn release_with<R: Bits + ?Sized>(
        &self,
        source: &Source,
        content: [u8; 32],
        permit: Permit,
        bits: &mut R,
    ) -> Result<Release<Discovered>, DiscoverError> {
        let claim = self.claim();
        permit.covers(&claim, &self.wanted.schema.unit().unit())?;
        let permit = permit.drawn_with(bits.is_seeded())?;
        let mut schema = self.start(source);
        let read = Columns::of(source, self.wanted.schema.unit(), content, bits)?;
        let mut columns = Vec::new();
        for (name, search) in &self.parts {
            let found = match search {
                Search::Number { .. } => self.number(search, &read.numbers(name)?, bits)?,
                Search::Category { .. } => self.category(search, &read.texts(name)?, bits)?,
            };
            schema = schema.with_column(name, found.column());
            columns.push((name.clone(), found));
        }
        Ok(permit.seal(&claim.event, Discovered { schema, columns })?)
    }

    /// The declared schema, with every other column of the file ignored.
    fn start(&self, source: &Source) -> Schema {
        let names = source.header().iter().map(|column| column.name.as_str());
        let schema = &self.wanted.schema;
        let is_unknown = |name: &&str| schema.column(name).is_none() && schema.unit().column() != Some(name);
        names.filter(is_unknown).fold(schema.clone(), |schema, name| schema.with_column(name, Column::Ignore))
    }

    fn number<R: Bits + ?Sized>(
        &self,
        search: &Search,
        rows: &ColumnRows<f64>,
        bits: &mut R,
    ) -> Result<Found, DiscoverError> {
        let Search::Number { epsilon, histogram, moments } = search else { return Ok(Found::Nothing) };
        let keys: Vec<&str> = rows.values.iter().map(|x| magnitudes::name_of(*x)).collect();
        let cells = self.part(*epsilon, histogram, rows.of(&keys)?, bits)?;
        let Some(bounds) = magnitudes::bounds(&cells, histogram.error_at(magnitudes::CONFIDENCE)) else {
            return Ok(Found::Nothing);
        };
        let Some(epsilon) = *moments else { return Ok(Found::Number { bounds, mean: None, scale: None }) };
        let (within, who) = (statistics::Bounds::new(bounds.lower(), bounds.upper())?, self.wanted.owner());
        let mean =
            self.part(epsilon, &Mean::new(epsilon, within, who.clone())?, rows.of(&rows.values)?, bits)?;
        let variance = Variance::new(epsilon, within, who)?;
        let variance = self.part(epsilon, &variance, rows.of(&rows.values)?, bits)?;
        let (mean, scale) = (bounds.clamp(mean.value), variance.value.max(0.0).sqrt());
        Ok(Found::Number { bounds, mean: Some(mean), scale: Some(scale) })
    }

    fn category<R: Bits + ?Sized>(
        &self,
        search: &Search,
        rows: &ColumnRows<String>,
        bits: &mut R,
    ) -> Result<Found, DiscoverError> {
        let Search::Category { epsilon, histogram } = search else { return Ok(Found::Nothing) };
        let keys: Vec<&str> = rows.values.iter().map(String::as_str).collect();
        let cells = self.part(*epsilon, histogram, rows.of(&keys)?, bits)?;
        let values: Vec<String> = cells.counts.into_iter().map(|(value, _)| value).collect();
        Ok(if values.is_empty() { Found::Nothing } else { Found::Category { values } })
    }

    /// Releases one part of the search. The permit of the whole has paid for it, so its own permit
    /// comes from a temporary budget of exactly its share.
    fn part<M: Mechanism, R: Bits + ?Sized>(
        &self,
        share: Epsilon,
        mechanism: &M,
        rows: M::Answer<'_>,
        bits: &mut R,
    ) -> Result<M::Output, DiscoverError> {
        let terms = Terms::new(share, self.wanted.neighbours).with_delta(self.delta);
        let terms = terms.for_unit(self.wanted.schema.unit().unit());
        let permit = Budget::new(terms).charge_claim(mechanism.claim())?;
        Ok(mechanism.release_with(rows, permit, bits)?.into_parts().0)
    }
}

/// The completed schema, and what was found about each column that was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Discovered {
    /// Declared columns as they were declared, found ones as they were found, all others ignored.
    pub schema: Schema,
    /// In the order in which they were asked for.
    pub columns: Vec<(String, Found)>,
}

/// What was found about one column; all of it is released.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// Bounds of most values and, if asked for, mean and scale.
    Number {
        /// Powers of two, or 0.
        bounds: Bounds,
        /// The mean of the clamped values.
        mean: Option<f64>,
        /// The standard deviation of the clamped values.
        scale: Option<f64>,
    },
    /// Values that many records have.
    Category {
        /// The values, in alphabetical order.
        values: Vec<String>,
    },
    /// Nothing stood out of the noise: the column is ignored.
    Nothing,
}

impl Found {
    /// The declaration of the column in the completed schema.
    fn column(&self) -> Column {
        match self {
            Self::Number { bounds, mean, .. } => {
                let middle = 0.5 * bounds.lower() + 0.5 * bounds.upper();
                let missing = Rule::Become(bounds.clamp(mean.unwrap_or(middle)));
                // Never `Ignore`: the value was just clamped to the bounds.
                NumberColumn::new(*bounds).missing(missing).map_or(Column::Ignore, Column::Number)
            }
            Self::Category { values } => with_bucket(values).map_or(Column::Ignore, Column::Category),
            Self::Nothing => Column::Ignore,
        }
    }
}

/// A category of these values and a bucket, which takes other values and missing ones.
fn with_bucket(values: &[String]) -> Option<CategoryColumn> {
    let mut bucket = "other".to_owned();
    while values.contains(&bucket) {
        bucket = format!("({bucket})");
    }
    let column = CategoryColumn::new(values.iter().chain([&bucket])).ok()?;
    column.other(Rule::Become(&bucket)).ok()?.missing(Rule::Become(&bucket)).ok()
}

#[cfg(test)]
mod tests;
