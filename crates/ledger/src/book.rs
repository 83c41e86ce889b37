//! The state that the entries add up to. It is read entry by entry, so reading it also checks the
//! whole chain.

use std::collections::HashMap;

use sordino_privacy::{Delta, Epsilon, Filter, Spent, Terms};

use crate::FORMAT_VERSION;
use crate::clock::Time;
use crate::digest::Digest;
use crate::entry::{Body, Entry, Head, Identity, Row};
use crate::error::LedgerError;
use crate::label::Label;
use crate::record::{ChargeRecord, DataSet, State};
use crate::rules::Rules;

/// A feature that older ledgers do not have.
const RULES: &str = "a data set with rules of its owner";

/// The state after some number of entries.
#[derive(Clone, Debug)]
pub(crate) struct Book {
    pub(crate) head: Head,
    /// The version of the next entry; 0 before the first.
    pub(crate) version: u32,
    pub(crate) time: Time,
    pub(crate) data_sets: Vec<DataSet>,
    pub(crate) charges: Vec<ChargeRecord>,
    names: HashMap<Label, usize>,
    contents: HashMap<Digest, usize>,
    /// Place in `charges` by number of the entry.
    reservations: HashMap<u64, usize>,
}

impl Book {
    pub(crate) fn new() -> Self {
        Self {
            head: Head::start(),
            version: 0,
            time: Time::from_millis(0),
            data_sets: Vec::new(),
            charges: Vec::new(),
            names: HashMap::new(),
            contents: HashMap::new(),
            reservations: HashMap::new(),
        }
    }

    /// Reads one more row, or says what is wrong with it; then nothing has changed.
    pub(crate) fn read(&mut self, row: &Row) -> Result<Entry, LedgerError> {
        let number = self.head.number + 1;
        let broken = |reason: String| LedgerError::Broken { number, reason };
        if row.number != number {
            return Err(broken(format!("entry {} stands in its place", row.number)));
        }
        if self.head.hash.then(row.body.as_bytes()) != row.hash {
            return Err(broken("its text, or its hash, is not what was written".to_owned()));
        }
        let entry: Entry = serde_json::from_str(&row.body).map_err(|error| broken(error.to_string()))?;
        if entry.number != number {
            return Err(broken(format!("it calls itself entry {}", entry.number)));
        }
        if entry.time < self.time {
            return Err(broken("it is older than the entry before it".to_owned()));
        }
        self.apply(&entry).map_err(|error| {
            if matches!(error, LedgerError::Broken { .. }) { error } else { broken(error.to_string()) }
        })?;
        self.head = Head { number, hash: row.hash };
        self.time = entry.time;
        Ok(entry)
    }

    /// Is this entry allowed now, and what does it change?
    fn apply(&mut self, entry: &Entry) -> Result<(), LedgerError> {
        if (entry.number == 1) != matches!(entry.body, Body::Ledger { .. }) {
            let reason = "the first entry, and it alone, says that this is a ledger".to_owned();
            return Err(LedgerError::Broken { number: entry.number, reason });
        }
        match &entry.body {
            Body::Ledger { format_version } | Body::Migrated { format_version } => {
                self.raise_version(entry.number, *format_version)
            }
            Body::Created { name, content, terms, rules } => {
                let identity = Identity { name: name.clone(), content: *content };
                self.create(entry.number, identity, terms, rules.as_ref())
            }
            Body::Ruled { data_set, rules } => {
                self.check_unruled(self.data_set(*data_set)?)?;
                let place = self.place(*data_set)?;
                self.data_sets[place].rules = Some(rules.clone());
                Ok(())
            }
            Body::Linked { data_set, name, content } => self.link(entry.number, *data_set, name, content),
            Body::Granted { data_set, to, epsilon, delta } => {
                self.grant(entry.number, *data_set, to, (*epsilon, *delta))
            }
            Body::Reserved { data_set, who, what, event, seeded, follows } => {
                let place = self.place(*data_set)?;
                let before = follows.map(|number| self.check_follows(number, *data_set)).transpose()?;
                self.check_kind(&self.data_sets[place], what, *seeded)?;
                self.data_sets[place].record(who, event)?;
                self.reservations.insert(entry.number, self.charges.len());
                self.charges.push(ChargeRecord {
                    number: entry.number,
                    time: entry.time,
                    data_set: *data_set,
                    who: who.clone(),
                    what: what.clone(),
                    event: event.clone(),
                    seeded: *seeded,
                    progress: None,
                    follows: *follows,
                    state: State::Reserved,
                });
                // Nobody else may resume the run.
                if let Some(before) = before {
                    self.charges[before].state = State::Booked { time: entry.time, result: None };
                }
                Ok(())
            }
            Body::Kept { reservation, steps, checkpoint, last } => {
                let place = self.check_progress(*reservation, *steps, *checkpoint)?;
                let progress = self.charges[place].progress.get_or_insert_default();
                progress.record(*steps, *checkpoint, *last);
                Ok(())
            }
            Body::Booked { reservation, result } => {
                let place = self.open_reservation(*reservation)?;
                self.charges[place].state = State::Booked { time: entry.time, result: *result };
                Ok(())
            }
        }
    }

    fn raise_version(&mut self, number: u64, version: u32) -> Result<(), LedgerError> {
        if version <= self.version || version > FORMAT_VERSION {
            let reason = format!(
                "it states format_version {version} after {}, and this program knows versions up to \
                 {FORMAT_VERSION}",
                self.version
            );
            return Err(LedgerError::Broken { number, reason });
        }
        self.version = version;
        Ok(())
    }

    /// Does the format of this ledger have what came with version `needed`?
    pub(crate) fn needs(&self, what: &'static str, needed: u32) -> Result<(), LedgerError> {
        let found = self.version;
        if found < needed { Err(LedgerError::NeedsMigration { what, found, needed }) } else { Ok(()) }
    }

    fn grant(
        &mut self,
        number: u64,
        data_set: u64,
        to: &Label,
        share: (Epsilon, Delta),
    ) -> Result<(), LedgerError> {
        let terms = self.share(data_set, share)?;
        let place = self.place(data_set)?;
        let before = self.charges.iter().filter(|charge| charge.data_set == data_set && charge.who == *to);
        self.data_sets[place].grant(number, to, terms, before);
        Ok(())
    }

    /// The terms of a share of a budget.
    pub(crate) fn share(
        &self,
        data_set: u64,
        (epsilon, delta): (Epsilon, Delta),
    ) -> Result<Terms, LedgerError> {
        self.needs("a grant", 2)?;
        let whole = &self.data_set(data_set)?.terms;
        if epsilon.get() > whole.epsilon.get() || delta.get() > whole.delta.get() {
            let (epsilon, delta) = (whole.epsilon.get(), whole.delta.get());
            return Err(LedgerError::GrantTooLarge { epsilon, delta });
        }
        Ok(whole.clone().with_epsilon(epsilon).with_delta(delta))
    }

    fn create(
        &mut self,
        number: u64,
        identity: Identity,
        terms: &Terms,
        rules: Option<&Rules>,
    ) -> Result<(), LedgerError> {
        self.check_new(&identity, terms, rules)?;
        let Identity { name, content } = identity;
        let place = self.data_sets.len();
        self.names.insert(name.clone(), place);
        self.contents.insert(content, place);
        self.data_sets.push(DataSet {
            number,
            names: vec![name],
            contents: vec![content],
            terms: terms.clone(),
            spent: Spent::default(),
            grants: Vec::new(),
            rules: rules.cloned(),
        });
        Ok(())
    }

    fn link(
        &mut self,
        number: u64,
        data_set: u64,
        name: &Label,
        content: &Digest,
    ) -> Result<(), LedgerError> {
        let identity = Identity { name: name.clone(), content: *content };
        let known = self.linkable(&identity)?.number;
        if known != data_set {
            let reason = format!("it links data set {known} to data set {data_set}");
            return Err(LedgerError::Broken { number, reason });
        }
        let place = self.place(data_set)?;
        let set = &mut self.data_sets[place];
        if self.names.insert(name.clone(), place).is_none() {
            set.names.push(name.clone());
        }
        if self.contents.insert(*content, place).is_none() {
            set.contents.push(*content);
        }
        Ok(())
    }

    /// The data set that `identity` names, if name and content agree.
    pub(crate) fn find(&self, identity: &Identity) -> Result<&DataSet, LedgerError> {
        let Identity { name, content } = identity;
        match (self.names.get(name), self.contents.get(content)) {
            (Some(named), Some(held)) if named == held => Ok(&self.data_sets[*named]),
            (Some(_), Some(held)) => {
                Err(LedgerError::TwoDataSets { name: name.clone(), known: self.first_name(*held) })
            }
            (Some(_), None) => Err(LedgerError::ChangedContent { name: name.clone(), content: *content }),
            (None, Some(held)) => {
                Err(LedgerError::OtherName { name: name.clone(), known: self.first_name(*held) })
            }
            (None, None) => Err(LedgerError::Unknown { name: name.clone() }),
        }
    }

    /// The data set that `identity` can be linked to: one half of it is known, and the other is
    /// not.
    pub(crate) fn linkable(&self, identity: &Identity) -> Result<&DataSet, LedgerError> {
        let Identity { name, content } = identity;
        match (self.names.get(name), self.contents.get(content)) {
            (Some(place), None) | (None, Some(place)) => Ok(&self.data_sets[*place]),
            (Some(named), Some(held)) if named == held => {
                Err(LedgerError::AlreadyLinked { name: name.clone() })
            }
            (Some(_), Some(_)) | (None, None) => Err(self.find(identity).err().unwrap_or_else(|| {
                // `find` succeeds only where both halves name one data set, which the arm above
                // took.
                LedgerError::AlreadyLinked { name: name.clone() }
            })),
        }
    }

    /// Checks that neither half of `identity` has a budget, and that the format can express its
    /// terms and rules.
    pub(crate) fn check_new(
        &self,
        identity: &Identity,
        terms: &Terms,
        rules: Option<&Rules>,
    ) -> Result<(), LedgerError> {
        if terms.set_aside.get() > 0.0 {
            self.needs("a budget that sets delta aside", 2)?;
        }
        if rules.is_some() {
            self.needs(RULES, 3)?;
        }
        if terms.filter != Filter::Renyi {
            self.needs("a budget with another filter than the Rényi one", 4)?;
        }
        match self.find(identity) {
            Err(LedgerError::Unknown { .. }) => Ok(()),
            Ok(_) => Err(LedgerError::HasBudget { name: identity.name.clone() }),
            Err(error) => Err(error),
        }
    }

    /// Checks that `set` has no rules, and that the format can express them.
    pub(crate) fn check_unruled(&self, set: &DataSet) -> Result<(), LedgerError> {
        self.needs(RULES, 3)?;
        match set.rules {
            Some(_) => Err(LedgerError::HasRules { name: set.names[0].clone() }),
            None => Ok(()),
        }
    }

    /// May `set` be charged for this, whatever it costs, and can the format express it?
    pub(crate) fn check_kind(&self, set: &DataSet, what: &Label, seeded: bool) -> Result<(), LedgerError> {
        if seeded {
            self.needs("a charge with seeded noise", 3)?;
        }
        set.rules.as_ref().map_or(Ok(()), |rules| rules.check_kind(&set.names[0], what, seeded))
    }

    /// The charge with this number.
    pub(crate) fn charge(&self, number: u64) -> Option<&ChargeRecord> {
        self.reservation(number).map(|place| &self.charges[place])
    }

    /// The place of the charge with this number.
    pub(crate) fn reservation(&self, number: u64) -> Option<usize> {
        self.reservations.get(&number).copied()
    }

    /// The place of a charge whose run may be resumed: one of this data set that is reserved and
    /// not booked.
    pub(crate) fn check_follows(&self, number: u64, data_set: u64) -> Result<usize, LedgerError> {
        self.needs("a charge that goes on with another's run", 3)?;
        let place = self.open_reservation(number)?;
        if self.charges[place].data_set == data_set {
            return Ok(place);
        }
        Err(LedgerError::NotReserved { number, reason: "it is of another data set" })
    }

    /// The place of a charge that was reserved and not booked.
    pub(crate) fn open_reservation(&self, number: u64) -> Result<usize, LedgerError> {
        let place = self
            .reservation(number)
            .ok_or(LedgerError::NotReserved { number, reason: "no charge has this number" })?;
        match self.charges[place].state {
            State::Reserved => Ok(place),
            State::Booked { .. } => Err(LedgerError::NotReserved { number, reason: "it was booked before" }),
        }
    }

    /// The data set that has this name, whatever its content.
    pub(crate) fn named(&self, name: &Label) -> Result<&DataSet, LedgerError> {
        let place = self.names.get(name).ok_or_else(|| LedgerError::Unknown { name: name.clone() })?;
        Ok(&self.data_sets[*place])
    }

    /// The data set with this number.
    pub(crate) fn data_set(&self, number: u64) -> Result<&DataSet, LedgerError> {
        Ok(&self.data_sets[self.place(number)?])
    }

    fn place(&self, number: u64) -> Result<usize, LedgerError> {
        // Data sets are pushed in order of their numbers.
        self.data_sets
            .binary_search_by_key(&number, |set| set.number)
            .map_err(|_| LedgerError::NoDataSet { number })
    }

    fn first_name(&self, place: usize) -> Label {
        self.data_sets[place].names[0].clone()
    }
}
