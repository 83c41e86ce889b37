//! `sordino ledger show`: what is left of each budget, in words and as a bar.

use serde::Serialize;
use sordino::prelude::*;
use sordino::privacy::{Choice, Filter, Gauge, Prospect, SoFar, TypicalRelease, Voucher};
use sordino_ledger::{DataSet, Digest, Grant, Label, Ledger, Rules, State};

use super::args::LedgerFile;
use super::rules;
use crate::args::Output;
use crate::decimal;
use crate::error::Error;
use crate::json::{self, Writer};
use crate::output;
use crate::table::Table;

/// The cells of a bar.
const WIDTH: usize = 30;

pub(super) fn run(args: LedgerFile) -> Result<(), Error> {
    print(&Ledger::open_to_read(&args.ledger)?, None, args.output)
}

/// Prints all data sets, or the one with this name.
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
        let share = Share { gauge: set.gauge()?, prospects: set.prospects()? };
        let shares = set.grants.iter();
        let shares = shares.map(|grant| Ok(Share { gauge: grant.gauge()?, prospects: grant.prospects()? }));
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

/// One data set with its budget.
struct Line {
    set: DataSet,
    share: Share,
    /// The shares of the grants, in their order.
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
        table.row([
            "used",
            &format!("{} {}", share.bar(), used(share.gauge.epsilon, share.gauge.used, share.gauge.left)),
        ]);
        table.row(["left", &format!("{} of {epsilon}", share.left())]);
        table.row(["can ask", &can_ask(&share.prospects)]);
        if share.gauge.left_beyond_pure < share.gauge.left {
            let then = decimal::left(share.gauge.left_beyond_pure, share.gauge.epsilon);
            table.row([
                "",
                &format!("trainings see {then} left: after one, the earlier charges count for more"),
            ]);
        }
        if share.gauge.used > 0.0 {
            table.row(["so far", &so_far(self.said)]);
        }
        for (grant, share) in set.grants.iter().zip(&self.shares) {
            let all = decimal::exact(share.gauge.epsilon);
            let row = format!("{} {} left of {all}", share.bar(), share.left());
            table.row([&format!("for {}", grant.to), &row]);
            table.row(["", &can_ask(&share.prospects)]);
        }
        table.row(["charges", &self.charges()]);
        table.row(["neighbours", &terms.neighbours.to_string()]);
        table.row(["unit", &terms.unit.to_string()]);
        table.row(["chosen", chosen(terms.choice)]);
        if terms.filter == Filter::Gaussian && terms.choice == Choice::Adaptive {
            table
                .row(["filter", "squares of Gaussian distances: noise on samples of the records is refused"]);
        }
        let contents: Vec<String> = set.contents.iter().map(|content| digest_of(*content)).collect();
        table.row(["content", &contents.join(", also ")]);
        rules::describe(set.rules.as_ref(), &mut table);
        table.text()
    }

    fn charges(&self) -> String {
        match (charges(&self.set), self.not_booked) {
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
            filter: set.terms.filter,
            spent: share.gauge.used,
            left: share.gauge.left,
            left_beyond_pure: share.gauge.left_beyond_pure,
            can_ask: share.asks(),
            so_far: SoFarObject { epsilon: said.within.epsilon, delta: said.within.delta, by: said.by },
            grants: set.grants.iter().zip(shares).map(GrantObject::new).collect(),
            charges: charges(set),
            not_booked: *not_booked,
            rules: set.rules.as_ref(),
        }
    }
}

/// The number of charges, without the free ones of resumed runs.
fn charges(set: &DataSet) -> u64 {
    set.spent.charges() - set.spent.count(&Event::composed([]))
}

/// How much of a budget or grant is used, and what the rest still allows.
struct Share {
    gauge: Gauge,
    prospects: Vec<Prospect>,
}

impl Share {
    fn bar(&self) -> String {
        let Gauge { epsilon, used, left, .. } = self.gauge;
        bar(if left > 0.0 { used } else { epsilon }, epsilon)
    }

    fn left(&self) -> String {
        decimal::left(self.gauge.left, self.gauge.epsilon)
    }

    fn asks(&self) -> Vec<AskObject> {
        let object = |prospect: &Prospect| {
            let what = match prospect.release {
                TypicalRelease::Training => "training",
                TypicalRelease::Count => "count",
            };
            let Prospect { epsilon, times, or_more, .. } = *prospect;
            AskObject { what, epsilon, times, or_more }
        };
        self.prospects.iter().map(object).collect()
    }
}

/// The used share, rounded up: `54 % of the budget`.
fn used(epsilon: f64, used: f64, left: f64) -> String {
    let percent = (100.0 * used / epsilon - 1e-7).ceil();
    if used == 0.0 {
        "nothing".to_owned()
    } else if left <= 0.0 || percent.is_nan() {
        "all of the budget: further charges are refused".to_owned()
    } else if percent >= 100.0 {
        "all but less than 1 % of the budget".to_owned()
    } else {
        format!("{percent} % of the budget")
    }
}

/// What the rest of a budget still buys: `40 more counts at 0.03, or 5 more trainings at 0.3 by
/// full batches`.
fn can_ask(prospects: &[Prospect]) -> String {
    let words = |prospect: &Prospect| {
        let Prospect { release, epsilon, times, or_more, .. } = *prospect;
        let (one, many, how) = match release {
            TypicalRelease::Training => ("training", "trainings", " by full batches"),
            TypicalRelease::Count => ("count", "counts", ""),
        };
        let at = format!("at {}{how}", decimal::exact(epsilon.get()));
        match times {
            0 => format!("no {one} {at}"),
            1 => format!("1 more {one} {at}"),
            _ if or_more => format!("more than {times} {many} {at}"),
            _ => format!("{times} more {many} {at}"),
        }
    };
    if prospects.is_empty() || prospects.iter().all(|prospect| prospect.times == 0) {
        return prospects.iter().map(words).collect::<Vec<_>>().join(", ");
    }
    prospects.iter().map(words).collect::<Vec<_>>().join(", or ")
}

fn so_far(said: SoFar) -> String {
    let (epsilon, delta) = (decimal::up(said.within.epsilon), decimal::up(said.within.delta));
    let by = match said.by {
        Voucher::Odometer => "",
        Voucher::Budget => " (the budget, which is never exceeded)",
    };
    format!("everything released is within epsilon {epsilon}, delta {delta}{by}, at every moment")
}

/// A bar that is full only if everything is spent, and empty only if nothing is.
fn bar(spent: f64, budget: f64) -> String {
    let share = if budget > 0.0 { (spent / budget).clamp(0.0, 1.0) } else { 1.0 };
    let full = match (share * WIDTH as f64) as usize {
        0 if spent > 0.0 => 1,
        cells => cells,
    };
    format!("[{}{}]", "#".repeat(full), ".".repeat(WIDTH - full))
}

/// The digest with all its digits, so that it can be compared and copied.
pub(super) fn digest_of(digest: Digest) -> String {
    format!("sha256 {digest}")
}

fn chosen(choice: Choice) -> &'static str {
    match choice {
        Choice::Adaptive => "adaptively: charges may depend on earlier results",
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
    filter: Filter,
    spent: f64,
    left: f64,
    left_beyond_pure: f64,
    can_ask: Vec<AskObject>,
    so_far: SoFarObject,
    grants: Vec<GrantObject<'a>>,
    charges: u64,
    not_booked: usize,
    rules: Option<&'a Rules>,
}

/// The running bound on everything released, and what certifies it.
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
    can_ask: Vec<AskObject>,
}

/// How often a usual charge still fits.
#[derive(Debug, Serialize)]
struct AskObject {
    what: &'static str,
    epsilon: Epsilon,
    times: u64,
    /// Whether it fits even more often: counting ended there.
    or_more: bool,
}

impl<'a> GrantObject<'a> {
    fn new((grant, share): (&'a Grant, &Share)) -> Self {
        let (epsilon, delta) = (grant.terms.epsilon, grant.terms.delta);
        let Gauge { used, left, .. } = share.gauge;
        Self { to: &grant.to, epsilon, delta, spent: used, left, can_ask: share.asks() }
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
    fn the_used_share_is_rounded_up() {
        let used = |spent: f64, budget: f64| {
            let terms = sordino::privacy::Terms::new(Epsilon::new(budget).unwrap(), Neighbours::ZeroOut);
            super::used(budget, spent, terms.left(spent))
        };
        assert_eq!(used(0.0, 2.0), "nothing");
        assert_eq!(used(0.001, 2.0), "1 % of the budget");
        assert_eq!(
            (used(1.0, 2.0), used(0.3, 1.0)),
            ("50 % of the budget".into(), "30 % of the budget".into())
        );
        assert_eq!(used(1.99, 2.0), "all but less than 1 % of the budget");
        // A rest within rounding counts as nothing.
        for spent in [2.0 - 2.1e-11, 2.0, 2.1] {
            assert_eq!(used(spent, 2.0), "all of the budget: further charges are refused");
        }
    }
}
