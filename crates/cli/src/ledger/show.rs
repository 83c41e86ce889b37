//! `sordino ledger show`: what is left, in words and as a bar.

use serde::Serialize;
use sordino::prelude::*;
use sordino::privacy::{Choice, SoFar, Terms, Voucher};
use sordino_ledger::{DataSet, Digest, Grant, Label, Ledger, Rules, State};

use super::args::LedgerFile;
use super::rules;
use crate::args::Output;
use crate::decimal;
use crate::error::Error;
use crate::json::{self, Writer};
use crate::output;
use crate::table::Table;

/// Characters of a bar.
const WIDTH: usize = 30;

pub(super) fn run(args: LedgerFile) -> Result<(), Error> {
    print(&Ledger::open(&args.ledger)?, None, args.output)
}

/// All data sets, or the one that has this name.
pub(super) fn print(ledger: &Ledger, name: Option<&Label>, output: Output) -> Result<(), Error> {
    let charges = ledger.charges()?;
    let mut lines = Vec::new();
    for set in ledger.data_sets()? {
        if name.is_some_and(|name| !set.names.contains(name)) {
            continue;
        }
        let is_open = |state: &State| matches!(state, State::Reserved);
        let not_booked =
            charges.iter().filter(|charge| charge.data_set == set.number && is_open(&charge.state)).count();
        let share = Share::new(set.total()?, &set.terms);
        let shares = set.grants.iter().map(|grant| Ok(Share::new(grant.total()?, &grant.terms)));
        let shares = shares.collect::<Result<_, Error>>()?;
        lines.push(Line { said: set.so_far()?, set, share, shares, not_booked });
    }
    if output.json {
        let data_sets = lines.iter().map(Line::object).collect();
        return output::result(&json::text(&ShowObject { writer: Writer::this(), data_sets })?);
    }
    if lines.is_empty() {
        return output::result("no data sets\n");
    }
    output::result(&lines.iter().map(Line::table).collect::<Vec<_>>().join("\n"))
}

/// One budget.
struct Line {
    set: DataSet,
    share: Share,
    /// Of the grants, in their order.
    shares: Vec<Share>,
    said: SoFar,
    not_booked: usize,
}

impl Line {
    fn table(&self) -> String {
        let Self { set, share, .. } = self;
        let terms = &set.terms;
        let epsilon = decimal::exact(terms.epsilon.get());
        let names: Vec<&str> = set.names.iter().map(Label::as_str).collect();
        let mut table = Table::default();
        table.row(["data set", &names.join(", also ")]);
        table.row(["budget", &format!("epsilon {epsilon}, delta {}", decimal::exact(terms.delta.get()))]);
        if terms.set_aside.get() > 0.0 {
            table.row(["set aside", &format!("delta {}", decimal::exact(terms.set_aside.get()))]);
        }
        table.row(["spent", &format!("{} {}", share.bar(), decimal::up(share.spent))]);
        table.row(["left", &format!("{} of {epsilon}", decimal::left(share.left, share.budget))]);
        table.row(["in words", &share.words()]);
        if share.spent > 0.0 {
            table.row(["so far", &so_far(self.said)]);
        }
        for (grant, share) in set.grants.iter().zip(&self.shares) {
            let (left, all) = (decimal::left(share.left, share.budget), decimal::exact(share.budget));
            table.row([&format!("for {}", grant.to), &format!("{} {left} left of {all}", share.bar())]);
        }
        table.row(["charges", &self.charges()]);
        table.row(["neighbours", &terms.neighbours.to_string()]);
        table.row(["unit", &terms.unit.to_string()]);
        table.row(["chosen", chosen(terms.choice)]);
        let contents: Vec<String> = set.contents.iter().map(|content| short(*content)).collect();
        table.row(["content", &contents.join(", also ")]);
        rules::describe(set.rules.as_ref(), &mut table);
        table.text()
    }

    fn charges(&self) -> String {
        match (self.set.spent.charges(), self.not_booked) {
            (0, _) => "none".to_owned(),
            (all, 0) => all.to_string(),
            (all, open) => {
                format!("{all}, of which {open} not booked (at work or crashed; spent all the same)")
            }
        }
    }

    fn object(&self) -> DataSetObject<'_> {
        let Self { set, share, shares, said, not_booked } = self;
        DataSetObject {
            data_set: set.number,
            names: &set.names,
            contents: &set.contents,
            epsilon: set.terms.epsilon,
            delta: set.terms.delta,
            set_aside: set.terms.set_aside,
            neighbours: set.terms.neighbours,
            unit: &set.terms.unit,
            choice: set.terms.choice,
            spent: share.spent,
            left: share.left,
            so_far: SoFarObject { epsilon: said.within.epsilon, delta: said.within.delta, by: said.by },
            grants: set.grants.iter().zip(shares).map(GrantObject::new).collect(),
            charges: set.spent.charges(),
            not_booked: *not_booked,
            rules: set.rules.as_ref(),
        }
    }
}

/// How much of something is spent.
#[derive(Clone, Copy)]
struct Share {
    spent: f64,
    left: f64,
    budget: f64,
}

impl Share {
    fn new(spent: f64, terms: &Terms) -> Self {
        Self { spent, left: terms.left(spent), budget: terms.epsilon.get() }
    }

    fn bar(self) -> String {
        bar(if self.left > 0.0 { self.spent } else { self.budget }, self.budget)
    }

    /// What is left, rounded down.
    fn words(self) -> String {
        let percent = (100.0 * self.left / self.budget).floor();
        if self.spent == 0.0 {
            "all of it is left".to_owned()
        } else if self.left <= 0.0 || percent.is_nan() {
            "nothing is left: further charges are refused".to_owned()
        } else if percent < 1.0 {
            "less than 1 % is left".to_owned()
        } else {
            format!("{percent} % is left")
        }
    }
}

fn so_far(said: SoFar) -> String {
    let (epsilon, delta) = (decimal::up(said.within.epsilon), decimal::up(said.within.delta));
    let by = match said.by {
        Voucher::Odometer => "",
        Voucher::Budget => " (the budget, which is never exceeded)",
    };
    format!(
        "everything released is within epsilon {epsilon}, delta {delta}{by}, at whatever moment one looks"
    )
}

/// Full when everything is spent, and not a moment before; empty only if nothing is.
fn bar(spent: f64, budget: f64) -> String {
    let share = if budget > 0.0 { (spent / budget).clamp(0.0, 1.0) } else { 1.0 };
    let full = match (share * WIDTH as f64) as usize {
        0 if spent > 0.0 => 1,
        cells => cells,
    };
    format!("[{}{}]", "#".repeat(full), ".".repeat(WIDTH - full))
}

pub(super) fn short(digest: Digest) -> String {
    format!("sha256 {:.16}…", digest.to_string())
}

fn chosen(choice: Choice) -> &'static str {
    match choice {
        Choice::Adaptive => "as one goes: charges may depend on earlier results",
        Choice::Planned => "in advance: charges do not depend on earlier results",
    }
}

/// `sordino ledger show --json`.
#[derive(Debug, Serialize)]
struct ShowObject<'a> {
    #[serde(flatten)]
    writer: Writer,
    data_sets: Vec<DataSetObject<'a>>,
}

#[derive(Debug, Serialize)]
struct DataSetObject<'a> {
    data_set: u64,
    names: &'a [Label],
    contents: &'a [Digest],
    epsilon: Epsilon,
    delta: Delta,
    set_aside: Delta,
    neighbours: Neighbours,
    unit: &'a Unit,
    choice: Choice,
    spent: f64,
    left: f64,
    so_far: SoFarObject,
    grants: Vec<GrantObject<'a>>,
    charges: u64,
    not_booked: usize,
    rules: Option<&'a Rules>,
}

/// What may be said at any moment, and who vouches for it.
#[derive(Debug, Serialize)]
struct SoFarObject {
    epsilon: f64,
    delta: f64,
    by: Voucher,
}

#[derive(Debug, Serialize)]
struct GrantObject<'a> {
    to: &'a Label,
    epsilon: Epsilon,
    delta: Delta,
    spent: f64,
    left: f64,
}

impl<'a> GrantObject<'a> {
    fn new((grant, share): (&'a Grant, &Share)) -> Self {
        let (epsilon, delta) = (grant.terms.epsilon, grant.terms.delta);
        Self { to: &grant.to, epsilon, delta, spent: share.spent, left: share.left }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_full_at_the_end_and_empty_at_the_beginning_only() {
        let cells = |spent, budget| bar(spent, budget).matches('#').count();
        assert_eq!((cells(0.0, 1.0), cells(1e-9, 1.0), cells(0.5, 1.0)), (0, 1, WIDTH / 2));
        assert_eq!(
            (cells(0.999_999, 1.0), cells(1.0, 1.0), cells(1.000_000_001, 1.0)),
            (WIDTH - 1, WIDTH, WIDTH)
        );
        assert_eq!(bar(0.3, 0.9).len(), WIDTH + 2);
    }

    #[test]
    fn words_never_promise_more_than_is_left() {
        let words = |spent, budget| {
            let terms = Terms::new(Epsilon::new(budget).unwrap(), Neighbours::ZeroOut);
            Share::new(spent, &terms).words()
        };
        assert_eq!(words(0.0, 2.0), "all of it is left");
        assert_eq!(words(0.001, 2.0), "99 % is left");
        assert_eq!(words(1.0, 2.0), "50 % is left");
        assert_eq!(words(1.99, 2.0), "less than 1 % is left");
        // What rounding leaves is nothing.
        for spent in [2.0 - 2.1e-11, 2.0, 2.1] {
            assert_eq!(words(spent, 2.0), "nothing is left: further charges are refused");
        }
    }
}
