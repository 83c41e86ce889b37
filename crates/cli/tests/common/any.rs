//! Properties that must hold for any input: data files, schemas, configurations, networks, weights,
//! checkpoints. The test `any_bytes` and the targets in `fuzz/` share them.

use sha2::{Digest, Sha256};
use sordino_data::{
    ContributionLimit, CsvOptions, DataError, Door, Encoding, EncodingOptions, Loader, Sampling, Schema,
    Source, UnitRule,
};
use sordino_nn::{Description, Layer, Network, NetworkLoss, Shape};
use sordino_noise::danger::seeded;
use sordino_optim::{Checkpoint, Clipping, PlanOptions, TrainingPlan};
use sordino_privacy::{Count, Neighbours, NoiseMultiplier};
use sordino_testing::ScratchFile;

/// The most columns of a file that is read: wider files only take longer.
const MAX_COLUMNS: usize = 64;

/// A scratch file of this process and thread.
fn place(name: &str) -> ScratchFile {
    ScratchFile::new(&format!("any-{:?}", std::thread::current().id()), name)
}

/// Reads any bytes as a data file whose name states the format: every row lies within the schema's
/// bounds, or the file is refused with a message.
pub(crate) fn data(name: &str, bytes: &[u8]) {
    let path = place(name);
    std::fs::write(&path, bytes).expect("a file can be written");
    let kinds = [
        "columns.'*' = { kind = 'number', bounds = [-1, 3], missing = 0 }",
        "columns.'*' = { kind = 'category', values = ['no', 'yes', '1'] }",
    ];
    for (kind, door) in kinds.into_iter().flat_map(|kind| [(kind, Door::Strict), (kind, Door::Permissive)]) {
        if let Err(error) = read(&path, &Schema::from_toml(kind).expect("a schema"), door) {
            assert!(!error.to_string().is_empty());
        }
    }
}

fn read(path: &std::path::Path, schema: &Schema, door: Door) -> Result<(), DataError> {
    let source = Source::open(path, &CsvOptions::default())?;
    let names = source.names();
    if names.len() > MAX_COLUMNS && path.extension().is_none_or(|extension| extension != "bin") {
        return Ok(());
    }
    let encoding = Encoding::new(schema, &names, EncodingOptions::default())?;
    let encoded = Loader::new(&source, schema, door).read(&encoding, &mut seeded(1))?;
    for row in (0..encoded.slots()).filter_map(|slot| encoded.row(slot)) {
        assert!(row.len() == encoding.width() && row.iter().all(|x| (-1.0..=1.0).contains(x)), "{row:?}");
    }
    Ok(())
}

/// Reads any text as a schema: a schema that is read is written and read back the same.
pub(crate) fn schema(text: &str) {
    if let Ok(schema) = Schema::from_toml(text) {
        assert_eq!(Schema::from_toml(&schema.to_toml()).expect("what is written is read"), schema);
    }
}

/// Reads any text as `run.toml`: it is refused with a message, or its settings are written and read
/// back the same.
pub(crate) fn configuration(text: &str) {
    match sordino_cli::effective_configuration(text) {
        Ok(written) => assert_eq!(sordino_cli::effective_configuration(&written).as_ref(), Ok(&written)),
        Err(reason) => assert!(!reason.is_empty()),
    }
}

/// Reads any text as a description of a network.
pub(crate) fn description(text: &str) {
    if let Ok(description) = Description::from_toml(text) {
        let written = description.to_toml().expect("what was read can be written");
        assert_eq!(Description::from_toml(&written).expect("and read again"), description);
        // Networks that are too large for any computer are refused before memory is allocated.
        let _ = description.network_for(Shape::Features(16), 2);
        let _ = description.network();
    }
}

/// Reads any bytes as weights: one finite number for each parameter, or a refusal.
pub(crate) fn weights(bytes: &[u8]) {
    let layers = [Layer::linear(2), Layer::tanh(), Layer::linear(2)];
    let network = Network::new(Shape::Features(3), &layers, NetworkLoss::CrossEntropy).expect("a network");
    if let Ok(parameters) = network.read_safetensors(bytes) {
        assert!(parameters.len() == network.parameters() && parameters.iter().all(|x| x.is_finite()));
        let written = network.to_safetensors(&parameters).expect("what was read can be written");
        assert_eq!(network.read_safetensors(&written).expect("and read again"), parameters);
    }
}

/// Reads any bytes as a checkpoint. A checkpoint that is resumed elsewhere never costs less than
/// the steps that are left.
pub(crate) fn checkpoint(bytes: &[u8]) {
    let path = place("checkpoint");
    // With a matching digest: an attacker who can write the file can write that too.
    let content = &bytes[..bytes.len().saturating_sub(32)];
    let stamped: Vec<u8> = content.iter().copied().chain(Sha256::digest(content)).collect();
    std::fs::write(&path, stamped).expect("a file can be written");
    let Ok(checkpoint) = Checkpoint::read(&path) else { return };
    let plan = plan(100);
    let replays = plan.replay_claim(&checkpoint).expect("a price");
    let left = 100u64.saturating_sub(checkpoint.steps());
    assert_eq!(replays, plan.claim_of(left).expect("a price"), "{checkpoint:?}");
}

fn plan(steps: u64) -> TrainingPlan {
    let options = PlanOptions {
        sampling: Sampling::FullBatch,
        slots: Count::new(4).expect("a count"),
        rounds: Count::new(steps).expect("a count"),
        neighbours: Neighbours::ZeroOut,
        clipping: Clipping::Flat { norm: 1.0 },
        scales: None,
        divisor: None,
        limit: ContributionLimit::of(&UnitRule::Record),
    };
    TrainingPlan::with_noise(options, NoiseMultiplier::new(10.0).expect("a multiplier")).expect("a plan")
}
