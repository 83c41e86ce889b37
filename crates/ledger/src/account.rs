//! Paying from one data set's budget.

use std::borrow::Borrow;
use std::cell::{Cell, RefCell};

use sordino_privacy::{
    Budget, Charge, ChargeError, Charged, Event, Gate, Gauge, Journal, Paid, Permit, Quote, Spent, Terms,
};

use crate::digest::Digest;
use crate::entry::{Body, Identity};
use crate::error::LedgerError;
use crate::label::Label;
use crate::ledger::Ledger;
use crate::record::DataSet;
use crate::rules::Rules;

/// The budget of one data set, as one analyst sees it.
///
/// [`charge`](Charge::charge) is the first phase: the charge is durable before there is a permit.
/// [`book`](Self::book) is the second. Whatever happens between them, the charge is spent.
#[derive(Debug)]
pub struct Account<L: Borrow<Ledger> = Ledger> {
    budget: Budget<Entries<L>>,
}

/// What an analyst may spend, and how much of it is used.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Limit {
    /// The analyst, if it is a share of the budget and not the whole.
    pub share_of: Option<Label>,
    /// What may be spent.
    pub terms: Terms,
    /// How much of it is used.
    pub gauge: Gauge,
}

impl<L: Borrow<Ledger>> Account<L> {
    /// Opens the budget of the data set that has both this name and this content. Fails if it is
    /// spent by [grants](Ledger::grant) and `who` has none.
    pub fn open(ledger: L, identity: &Identity, who: Label, what: Label) -> Result<Self, LedgerError> {
        let (data_set, terms, rules) = {
            let book = ledger.borrow().fresh()?;
            let set = book.find(identity)?;
            set.share(&who)?;
            (set.number, set.terms.clone(), set.rules.clone())
        };
        let what = RefCell::new(what);
        let entries = Entries {
            ledger,
            data_set,
            terms: terms.clone(),
            rules,
            who,
            what,
            gate: None,
            follows: Cell::new(None),
            admitted: None,
        };
        Ok(Self { budget: Budget::with_journal(&terms, entries)? })
    }

    /// Sets the purpose of the charges that follow.
    pub fn set_purpose(&mut self, what: Label) {
        self.budget.journal().what.replace(what);
    }

    /// Would this be granted now? Changes nothing, and promises nothing: somebody else may be
    /// faster.
    pub fn ask(&self, event: &Event) -> Result<(), ChargeError> {
        let entries = self.budget.journal();
        let Entries { ledger, data_set, terms, who, what, .. } = entries;
        entries.check_price(event)?;
        let book = ledger.borrow().fresh()?;
        let set = book.data_set(*data_set)?;
        check_rules(&entries.rules, set)?;
        book.check_kind(set, &what.borrow(), false)?;
        decide_share(&mut None, who, set, event)?;
        Gate::new(terms).decide(&set.spent, event)
    }

    /// What `event` would take of what is left to `who`: of their share if there is one, else of
    /// the budget. Changes nothing, and fails as [`ask`](Self::ask) does.
    pub fn quote(&self, event: &Event) -> Result<Quote, ChargeError> {
        self.ask(event)?;
        self.with_limit(|terms, spent| Gate::new(terms).quote(spent, event))
    }

    /// What `who` may spend, and how much of it is used: their share if there is one, else the
    /// budget.
    pub fn limit(&self) -> Result<Limit, ChargeError> {
        let Entries { ledger, data_set, who, .. } = self.budget.journal();
        let is_share = ledger.borrow().fresh()?.data_set(*data_set)?.share(who)?.is_some();
        self.with_limit(|terms, spent| {
            let (terms, gauge) = (terms.clone(), Gate::new(terms).gauge(spent)?);
            Ok(Limit { share_of: is_share.then(|| who.clone()), terms, gauge })
        })
    }

    fn with_limit<T>(
        &self,
        look: impl FnOnce(&Terms, &Spent) -> Result<T, ChargeError>,
    ) -> Result<T, ChargeError> {
        let Entries { ledger, data_set, who, .. } = self.budget.journal();
        let book = ledger.borrow().fresh()?;
        let set = book.data_set(*data_set)?;
        match set.share(who)? {
            Some(grant) => look(&grant.terms, &grant.spent),
            None => look(&set.terms, &set.spent),
        }
    }

    /// Pays for `event`, which resumes the run that the charge `earlier` paid for, and ends that
    /// charge in the same entry. So only one of several copies of the run's files can be resumed.
    /// Fails if `earlier` is of another data set or has ended.
    pub fn charge_after(&mut self, earlier: u64, event: Event) -> Result<Permit, ChargeError> {
        self.budget.journal().follows.set(Some(earlier));
        let charged = self.budget.charge(event);
        self.budget.journal().follows.set(None);
        charged
    }

    /// Pays for `event` with noise from a fixed seed, and records that it was seeded: nobody is
    /// protected. No other charge of a ledger pays for such noise.
    pub fn charge_seeded(&mut self, event: Event) -> Result<Permit, ChargeError> {
        self.budget.charge_seeded(event)
    }

    /// Evidence of charges that were made earlier, from this data set's budget; see
    /// [`Budget::paid`].
    pub fn paid(&mut self, reservations: &[u64]) -> Result<Paid, ChargeError> {
        self.budget.paid(reservations)
    }

    /// Records that the result of a charge was released.
    pub fn book(&mut self, reservation: u64, result: Option<Digest>) -> Result<(), LedgerError> {
        self.ledger().book(reservation, result)
    }

    /// The total that is compared with the budget, whoever has spent it.
    pub fn total(&self) -> Result<f64, ChargeError> {
        self.budget.total()
    }

    /// The budget less the total. An analyst with a share may spend less: see
    /// [`limit`](Self::limit).
    pub fn left(&self) -> Result<f64, ChargeError> {
        self.budget.left()
    }

    /// The rules of the owner when the account was opened. A charge fails if they were changed
    /// since.
    pub fn rules(&self) -> Option<&Rules> {
        self.budget.journal().rules.as_ref()
    }

    /// The number of the data set.
    pub fn data_set(&self) -> u64 {
        self.budget.journal().data_set
    }

    /// The ledger behind it.
    pub fn ledger(&self) -> &Ledger {
        self.budget.journal().ledger.borrow()
    }
}

impl<L: Borrow<Ledger>> Charge for Account<L> {
    fn charge(&mut self, event: Event) -> Result<Permit, ChargeError> {
        self.budget.charge(event)
    }

    fn terms(&self) -> &Terms {
        self.budget.terms()
    }
}

/// Totals of budgets. Reading them changes nothing.
impl Ledger {
    /// The total of the data set with this number, as it is compared with its budget.
    pub fn total(&self, data_set: u64) -> Result<f64, LedgerError> {
        self.fresh()?.data_set(data_set)?.total()
    }
}

/// The charges of one data set, in a ledger.
#[derive(Debug)]
struct Entries<L> {
    ledger: L,
    data_set: u64,
    terms: Terms,
    rules: Option<Rules>,
    who: Label,
    what: RefCell<Label>,
    /// The gate of the analyst's own share, if there is one.
    gate: Option<Gate>,
    /// The charge whose run the next charge resumes.
    follows: Cell<Option<u64>>,
    /// The last event that the rules were found to allow: its price is not looked up again.
    admitted: Option<Event>,
}

impl<L> Entries<L> {
    /// Do the rules allow what `event` costs alone? It follows from the rules, which never change,
    /// so no lock is needed.
    fn check_price(&self, event: &Event) -> Result<(), LedgerError> {
        match self.rules.as_ref().and_then(Rules::lock) {
            Some(lock) if self.admitted.as_ref() != Some(event) => lock.check_price(&self.terms, event),
            _ => Ok(()),
        }
    }
}

impl<L: Borrow<Ledger>> Journal for Entries<L> {
    fn terms(&self) -> &Terms {
        &self.terms
    }

    fn spent(&self) -> Result<Spent, ChargeError> {
        Ok(self.ledger.borrow().fresh()?.data_set(self.data_set)?.spent.clone())
    }

    fn append(
        &mut self,
        charge: &Charged,
        decide: &mut dyn FnMut(&Spent) -> Result<(), ChargeError>,
    ) -> Result<u64, ChargeError> {
        let Charged { event, seeded } = charge;
        self.check_price(event)?;
        self.admitted = self.rules.as_ref().and_then(Rules::lock).map(|_| event.clone());
        let (ledger, rules, follows) = (self.ledger.borrow(), &self.rules, self.follows.get());
        let (data_set, who, what) = (self.data_set, self.who.clone(), self.what.borrow().clone());
        let gate = &mut self.gate;
        let number = ledger.append(&mut |book| {
            let set = book.data_set(data_set)?;
            check_rules(rules, set)?;
            book.check_kind(set, &what, *seeded)?;
            decide_share(gate, &who, set, event)?;
            decide(&set.spent)?;
            follows.map(|number| book.check_follows(number, data_set)).transpose()?;
            Ok(Body::Reserved {
                data_set,
                who: who.clone(),
                what: what.clone(),
                event: event.clone(),
                seeded: *seeded,
                follows,
            })
        })?;
        Ok(number)
    }

    fn recorded(&self, number: u64) -> Result<Option<Charged>, ChargeError> {
        let book = self.ledger.borrow().fresh()?;
        let charge = book.charge(number).filter(|charge| charge.data_set == self.data_set);
        Ok(charge.map(|charge| Charged { event: charge.event.clone(), seeded: charge.seeded }))
    }

    fn is_durable(&self) -> bool {
        true
    }
}

/// Are the rules still those that the account was opened under?
fn check_rules(known: &Option<Rules>, set: &DataSet) -> Result<(), LedgerError> {
    if set.rules == *known { Ok(()) } else { Err(LedgerError::RulesChanged { name: set.names[0].clone() }) }
}

/// Does `event` fit the share of `who`? A share may have been given or changed since the last
/// charge.
fn decide_share(
    gate: &mut Option<Gate>,
    who: &Label,
    set: &DataSet,
    event: &Event,
) -> Result<(), LedgerError> {
    let Some(grant) = set.share(who)? else { return Ok(()) };
    let new = || {
        let remedy = format!(
            "the data's owner can grant more: `sordino ledger grant LEDGER {} --to {who} --epsilon EPSILON`",
            set.names[0]
        );
        Gate::named(format!("the grant of `{who}`"), &grant.terms).advising(remedy)
    };
    if gate.as_ref().is_some_and(|gate| *gate.terms() != grant.terms) {
        *gate = None;
    }
    Ok(gate.get_or_insert_with(new).decide(&grant.spent, event)?)
}
