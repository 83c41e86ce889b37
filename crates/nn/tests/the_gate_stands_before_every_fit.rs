//! Networks pass the same gate as linear models: first the permit, then shapes, and only then
//! records. (A Rust user could once train a network on several records per user under the unit
//! `record`.)

use std::sync::Arc;

use sordino_data::{Column, Door, Encoded, Encoding, EncodingOptions, RawTable, Schema, Table, UnitRule};
use sordino_nn::{FitError, NetworkLearner, NetworkPlan, Shape, preset};
use sordino_noise::Bits;
use sordino_noise::danger::seeded;
use sordino_optim::{LearningPlan, OptimError, Training, TrainingOptions};
use sordino_privacy::{
    Claim, Count, Delta, Epsilon, Event, Neighbours, Permit, ReleaseError, SamplingRate, Unit, danger,
};

const N: usize = 60;

fn schema(unit: UnitRule) -> Schema {
    let text = "columns.a = { kind = 'number', bounds = [0, 1] }\n\
                columns.b = { kind = 'number', bounds = [0, 1] }\n\
                columns.y = { kind = 'category', values = ['no', 'yes'] }";
    Schema::from_toml(text).unwrap().with_column("user", Column::Ignore).with_unit(unit)
}

fn users(most: u64) -> UnitRule {
    UnitRule::Column { column: "user".to_owned(), max_records: Count::new(most).unwrap() }
}

fn encoding(unit: UnitRule) -> Encoding {
    let options = EncodingOptions { target: Some("y".to_owned()), ..EncodingOptions::default() };
    Encoding::new(&schema(unit), &["a", "b", "y", "user"].map(str::to_owned), options).unwrap()
}

fn data(unit: UnitRule, rows: usize) -> Encoded {
    let numbers = |step: usize| (0..rows).map(|row| (row * step % 11) as f64 / 11.0).collect();
    let raw = RawTable::new().numbers("a", numbers(3)).unwrap().numbers("b", numbers(7)).unwrap();
    let raw = raw.texts("y", (0..rows).map(|row| Some(if row % 2 == 0 { "no" } else { "yes" }))).unwrap();
    let names: Vec<String> = (0..rows).map(|row| (row / 3).to_string()).collect();
    let raw = raw.texts("user", names.iter().map(|name| Some(name.as_str()))).unwrap();
    let table = Table::new(raw, &schema(unit.clone()), Door::Permissive, &mut seeded(1)).unwrap();
    Encoded::new(&encoding(unit), &table).unwrap()
}

fn plan(unit: UnitRule) -> NetworkPlan {
    let network = preset::named("mlp", Some(&[4])).unwrap().network_for(Shape::Features(2), 2).unwrap();
    let sampling = sordino_data::Sampling::Poisson { rate: SamplingRate::new(0.5).unwrap() };
    let learner = NetworkLearner::new(Arc::new(network)).sampling(sampling).steps(Count::new(5).unwrap());
    let (epsilon, delta) = (Epsilon::new(2.0).unwrap(), Delta::new(1e-5).unwrap());
    learner.plan(&encoding(unit), Count::new(N as u64).unwrap(), epsilon, delta).unwrap()
}

fn permit(claim: Claim, unit: Unit) -> Permit {
    danger::unmetered(claim, unit, Delta::new(1e-5).unwrap()).unwrap()
}

#[test]
fn the_permit_comes_first() {
    let (plan, data, other) = (plan(UnitRule::Record), data(UnitRule::Record, N), data(users(3), N - 1));
    let claim = plan.claim();
    let dearer = Event::composed([claim.event.clone(), Event::Pure { epsilon: Epsilon::new(0.1).unwrap() }]);
    let user = Unit::Column("user".to_owned());
    for (claim, unit) in [
        (Claim::new(claim.neighbours, dearer), Unit::Record),
        (Claim::new(Neighbours::Replace, claim.event.clone()), Unit::Record),
        (claim.clone(), user),
    ] {
        for data in [&data, &other] {
            let mut bits = seeded(1);
            let refused = plan.fit_with(data, permit(claim.clone(), unit.clone()), &mut bits);
            assert!(matches!(refused, Err(FitError::Optim(OptimError::Release(_)))), "{refused:?}");
            assert_eq!(bits.next_u64(), seeded(1).next_u64(), "a bit was drawn");
        }
    }
    plan.fit(&data, permit(claim, Unit::Record)).unwrap();
}

#[test]
fn data_that_the_plan_was_not_made_for_is_refused() {
    let of_users = plan(users(3));
    let user = || permit(of_users.claim(), Unit::Column("user".to_owned()));
    let refused = |data: &Encoded| of_users.fit(data, user()).map(drop).unwrap_err();
    // A unit of records, other numbers of records per user, and another n.
    for unit in [UnitRule::Record, users(2)] {
        assert!(matches!(refused(&data(unit, N)), FitError::Optim(OptimError::OtherEncoding)));
    }
    assert!(matches!(refused(&data(users(3), N - 1)), FitError::Optim(OptimError::OtherData { .. })));
    of_users.fit(&data(users(3), N), user()).unwrap();
    // A unit of three records costs more than a record.
    assert!(matches!(of_users.claim().event, Event::Group { .. }));
    let records = permit(of_users.claim(), Unit::Record);
    let refused = of_users.fit(&data(users(3), N), records).map(drop);
    let is_other_unit =
        matches!(refused, Err(FitError::Optim(OptimError::Release(ReleaseError::OtherUnit { .. }))));
    assert!(is_other_unit, "{refused:?}");
}

/// The same check without a learner, in the loop itself.
#[test]
fn the_training_loop_checks_the_unit_of_records() {
    let (of_records, data) = (plan(UnitRule::Record), data(users(3), N));
    let records = sordino_nn::Records::new(&data);
    let objective = sordino_nn::NetworkObjective::new(of_records.network(), &records, 30.0).unwrap();
    let refused = Training::new(of_records.plan(), &objective, TrainingOptions::default());
    assert!(matches!(refused, Err(OptimError::OtherLimit)));
}
