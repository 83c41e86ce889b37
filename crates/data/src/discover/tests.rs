//! What a search finds, what it costs, and that an audit catches half of the noise.

#[path = "../../../privacy/tests/durable/mod.rs"]
mod durable;

use durable::Durable;
use sordino_audit::{Audit, MechanismTester, Verdict};
use sordino_noise::danger::seeded;
use sordino_privacy::{Accountant, ReleaseError, accounting, danger};
use sordino_testing::ScratchFile;

use super::*;
use crate::error::DataError;
use crate::schema::{CsvOptions, UnitRule};
use crate::source::Door;
use crate::{Loader, Unknown};

const RELATIONS: [Neighbours; 3] = [Neighbours::ZeroOut, Neighbours::AddRemove, Neighbours::Replace];

/// A file that is removed with the test.
struct Data(ScratchFile);

impl Data {
    fn new(name: &str, text: &str) -> Self {
        let path = ScratchFile::new(&format!("discover-{name}"), "t.csv");
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn source(&self) -> Source {
        Source::open(&self.0, &CsvOptions::default()).unwrap()
    }
}

fn table(rows: usize) -> String {
    let mut text = "id,income,city,note\n".to_owned();
    for i in 0..rows {
        let income = if i == 0 { "1e30".to_owned() } else { format!("{}", 100 + i % 900) };
        let city = if i == 1 { "Secretville" } else { ["Lille", "Lyon"][i % 2] };
        text += &format!("u{},{income},{city},x\n", i / 3);
    }
    text
}

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

fn delta(value: f64) -> Delta {
    Delta::new(value).unwrap()
}

fn by_record() -> Schema {
    Schema::from_toml("columns.'*' = { kind = 'ignore' }").unwrap()
}

fn permit(plan: &DiscoveryPlan, at: f64) -> Permit {
    danger::unmetered(plan.claim(), plan.wanted.schema.unit().unit(), delta(at)).unwrap()
}

fn released(
    plan: &DiscoveryPlan,
    source: &Source,
    permit: Permit,
    seed: u64,
) -> Result<Release<Discovered>, DiscoverError> {
    plan.release_with(source, source.content().unwrap(), permit, &mut seeded(seed))
}

#[test]
fn bounds_means_and_values_are_found_and_rarities_are_not() {
    // Every income three times.
    let file = Data::new("found", &table(2700));
    for neighbours in RELATIONS {
        let wanted = Discovery::new(by_record(), neighbours).number("income").category("city").moments();
        let plan = wanted.plan(epsilon(4.0), delta(1e-6)).unwrap();
        let release = released(&plan, &file.source(), permit(&plan, 1e-6), 1).unwrap();
        let Discovered { schema, columns } = release.value();
        let Found::Number { bounds, mean, scale } = &columns[0].1 else { panic!("{columns:?}") };
        assert_eq!((bounds.lower(), bounds.upper()), (64.0, 1024.0));
        // Incomes are 100, 101, ..., 999: mean 549.5, deviation 259.8.
        assert!((mean.unwrap() - 549.5).abs() < 10.0 && (scale.unwrap() - 259.8).abs() < 15.0);
        assert_eq!(columns[1].1, Found::Category { values: vec!["Lille".to_owned(), "Lyon".to_owned()] });
        assert_eq!(schema.column("note"), Some(&Column::Ignore));
        assert!(release.guarantee().seeded);
        // No record is dropped, not even one out of bounds or alone in its city.
        let source = file.source();
        let table = Loader::new(&source, schema, Door::Strict)
            .read_columns(&["income", "city"], &mut seeded(2))
            .unwrap();
        assert_eq!(table.records(), 2700);
        let (values, codes) = table.codes("city").unwrap();
        assert_eq!(values[codes.collect::<Vec<_>>()[1] as usize], "other");
    }
}

#[test]
fn a_completed_schema_is_written_and_read_again() {
    let file = Data::new("written", &table(3000));
    let wanted = Discovery::new(by_record(), Neighbours::ZeroOut).number("income").category("city");
    let plan = wanted.plan(epsilon(4.0), delta(1e-6)).unwrap();
    let found = released(&plan, &file.source(), permit(&plan, 1e-6), 1).unwrap();
    let schema = &found.value().schema;
    let again = Schema::from_toml(&schema.to_toml()).unwrap();
    assert!(["id", "income", "city", "note"].iter().all(|name| again.column(name) == schema.column(name)));
}

#[test]
fn units_of_several_records_are_protected_as_units() {
    let file = Data::new("units", &table(9000));
    let unit = UnitRule::Column { column: "id".to_owned(), max_records: Count::new(2).unwrap() };
    let schema = Schema::new(unit, vec![("*".to_owned(), Column::Ignore)]).unwrap();
    let wanted = Discovery::new(schema, Neighbours::AddRemove).number("income").category("city").moments();
    let plan = wanted.plan(epsilon(4.0), delta(1e-6)).unwrap();
    let found = released(&plan, &file.source(), permit(&plan, 1e-6), 3).unwrap().into_parts().0;
    let Found::Number { bounds, mean, .. } = &found.columns[0].1 else { panic!("{found:?}") };
    assert_eq!((bounds.lower(), bounds.upper()), (64.0, 1024.0));
    assert!((mean.unwrap() - 549.5).abs() < 20.0);
    // A permit that protects records does not pay for units.
    let records = danger::unmetered(plan.claim(), sordino_privacy::Unit::Record, delta(1e-6)).unwrap();
    let refused = released(&plan, &file.source(), records, 3);
    assert!(matches!(refused, Err(DiscoverError::Release(ReleaseError::OtherUnit { .. }))));
}

#[test]
fn it_costs_what_was_asked_for_and_a_budget_of_that_pays() {
    for neighbours in RELATIONS {
        let wanted = Discovery::new(by_record(), neighbours).number("a").number("b").category("c").moments();
        let (e, d) = (epsilon(0.7), delta(1e-7));
        let plan = wanted.plan(e, d).unwrap();
        let cost = accounting::epsilon(&plan.claim(), d, Accountant::Auto).unwrap().bound;
        assert!(cost.upper <= 0.7, "{neighbours}: {cost:?}");
        let terms = Terms::new(e, neighbours).with_delta(d).setting_aside(d);
        assert!(Budget::new(terms).charge_claim(plan.claim()).is_ok(), "{neighbours}");
        // Without categories the guarantee is pure.
        let plan = Discovery::new(by_record(), neighbours).number("a").plan(e, delta(0.0)).unwrap();
        assert!(Budget::new(Terms::new(e, neighbours)).charge_claim(plan.claim()).is_ok(), "{neighbours}");
    }
}

#[test]
fn the_permit_is_checked_before_the_file_is_read() {
    let file = Data::new("permit", &table(10));
    let source = file.source();
    let wanted = Discovery::new(by_record(), Neighbours::ZeroOut).number("income");
    let plan = wanted.plan(epsilon(1.0), delta(0.0)).unwrap();
    let other = wanted.plan(epsilon(2.0), delta(0.0)).unwrap();
    let (content, before) = (source.content().unwrap(), source.bytes_read());
    let refused = plan.release(&source, content, permit(&other, 0.0)).unwrap_err();
    assert!(matches!(refused, DiscoverError::Release(ReleaseError::OtherEvent { .. })), "{refused}");
    assert_eq!(source.bytes_read(), before);
    plan.release(&source, content, permit(&plan, 0.0)).unwrap();
    assert!(source.bytes_read() > before);
}

/// If a link was moved or the file rewritten, the charge for the old table pays for nothing of the
/// new one.
#[test]
fn a_file_with_another_content_is_refused() {
    let schema = || {
        let unit = UnitRule::Column { column: "id".to_owned(), max_records: Count::ONE };
        [by_record(), Schema::new(unit, vec![("*".to_owned(), Column::Ignore)]).unwrap()]
    };
    for (kind, schema) in schema().into_iter().enumerate() {
        let file = Data::new(&format!("other-{kind}"), &table(300));
        let source = file.source();
        let plan = Discovery::new(schema, Neighbours::ZeroOut).number("income");
        let plan = plan.plan(epsilon(1.0), delta(0.0)).unwrap();
        let content = source.content().unwrap();
        plan.release(&source, content, permit(&plan, 0.0)).unwrap();
        let text = std::fs::read_to_string(&file.0).unwrap().replace("Lyon", "Lion");
        std::fs::write(&file.0, text).unwrap();
        let refused = plan.release(&source, content, permit(&plan, 0.0)).unwrap_err();
        assert!(matches!(refused, DiscoverError::Data(DataError::Changed { .. })), "{refused}");
    }
}

/// Seeded noise can be drawn again, so a ledger's ordinary charge does not pay for it.
#[test]
fn a_ledger_does_not_pay_for_a_seeded_search() {
    let file = Data::new("seeds", &table(100));
    let plan =
        Discovery::new(by_record(), Neighbours::ZeroOut).number("income").plan(epsilon(1.0), delta(0.0));
    let (plan, terms) = (plan.unwrap(), Terms::new(epsilon(3.0), Neighbours::ZeroOut));
    let mut ledger = Durable::budget(terms);
    let mut bits = seeded(5);
    let source = file.source();
    let content = source.content().unwrap();
    let refused = plan.release_with(&source, content, ledger.charge(plan.event()).unwrap(), &mut bits);
    assert!(matches!(refused, Err(DiscoverError::Release(ReleaseError::Seeded))));
    assert_eq!(bits.next_u64(), seeded(5).next_u64(), "drew a bit before it refused");
    let charged = ledger.charge_seeded(plan.event()).unwrap();
    assert!(plan.release_with(&source, content, charged, &mut bits).unwrap().guarantee().seeded);
    let unseeded = plan.release(&source, content, ledger.charge(plan.event()).unwrap());
    assert!(unseeded.unwrap().guarantee().holds());
}

#[test]
fn plans_that_make_no_sense_are_refused() {
    let of = |unknown: &[(&str, Unknown)], d| {
        let schema = Schema::from_toml("columns.age = { kind = 'number', bounds = [0, 120] }").unwrap();
        let start = Discovery::new(schema, Neighbours::ZeroOut);
        unknown
            .iter()
            .fold(start, |wanted, (name, what)| wanted.with(name, *what))
            .plan(epsilon(1.0), delta(d))
    };
    assert!(matches!(of(&[], 0.0), Err(DiscoverError::NoColumns)));
    assert!(matches!(of(&[("age", Unknown::Number)], 0.0), Err(DiscoverError::Known { .. })));
    let twice = [("a", Unknown::Number), ("a", Unknown::Category)];
    assert!(matches!(of(&twice, 1e-6), Err(DiscoverError::Known { .. })));
    assert!(matches!(of(&[("city", Unknown::Category)], 0.0), Err(DiscoverError::Mechanism(_))));
}

/// Audits the bounds found in a column of threes against those of a column with one record fewer;
/// the noise is that of ε = `noise`.
fn audited(noise: f64, seed: u64) -> Audit {
    let plan =
        Discovery::new(by_record(), Neighbours::AddRemove).number("x").plan(epsilon(noise), delta(0.0));
    let plan = plan.unwrap();
    let search = &plan.parts[0].1;
    let Search::Number { histogram, .. } = search else { panic!("a number was asked for") };
    // A few records below the threshold: passing is rare enough to be in the tail, and frequent
    // enough to be seen.
    let threes = histogram.error_at(magnitudes::CONFIDENCE) as usize - 1;
    let rows = |count: usize| ColumnRows { values: vec![3.0; count], owners: None };
    let mechanism = |rows: &ColumnRows<f64>, mut bits: &mut dyn Bits| {
        u8::from(plan.number(search, rows, &mut bits).unwrap() != Found::Nothing)
    };
    let tester = MechanismTester::new(epsilon(0.5)).with_samples(10_000, 20_000).at_confidence(1.0 - 1e-6);
    tester.seeded(seed).test(mechanism, &rows(threes), &rows(threes - 1)).unwrap()
}

/// False alarms: 1e-6 each.
#[test]
fn half_of_the_noise_is_caught() {
    let honest = audited(0.5, 1);
    assert_eq!(honest.verdict, Verdict::NoViolationFound, "{honest}");
    let half = audited(1.0, 2);
    assert_eq!(half.verdict, Verdict::Violation, "{half}");
}
