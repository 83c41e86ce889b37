//! A post office reads digits with a small convolutional network: images in a table, a budget, and
//! a machine that dies midway.

mod command;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use command::{Run, digits, ends, example, folder, sordino_in};
use serde_json::Value;
use sordino_optim::Checkpoint;

const TRAIN: &str = "train train.csv --schema digits.toml --target digit";

fn sordino(folder: &Path, line: &str) -> Run {
    sordino_in(folder, &line.split_whitespace().collect::<Vec<_>>())
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// ε = 8 and δ = 10^-6 for each of 1438 records: the network reads nine of ten unseen digits. The
/// noise comes from the system. The accuracy is about 0.95 with a deviation of 0.01, so fewer than
/// one run in a million fails.
#[test]
fn a_post_office_reads_digits_with_a_network() {
    let here = folder("digits");
    digits(&here);
    let run = sordino(
        &here,
        &format!(
            "{TRAIN} --epsilon 8 --delta 1e-6 --model cnn --image 1x8x8 --public-test public.csv --out reader"
        ),
    );
    let accuracy: f64 = run.line("accuracy").split(' ').next().unwrap().parse().unwrap();
    assert!(accuracy >= 0.9, "{run:?}");
    assert!(run.line("learned by").starts_with("cnn by sgd, cross entropy loss, 1438 records"), "{run:?}");
    let guarantee = json(&here.join("reader/guarantee.json"));
    assert!(
        ends(&guarantee["epsilon"]).1 <= 8.0 && guarantee["event"].to_string().contains("poisson_sampled")
    );

    // A copy of the directory predicts the same, with the stated accuracy.
    fs::create_dir(here.join("copy")).unwrap();
    for file in fs::read_dir(here.join("reader")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), here.join("copy").join(file.file_name())).unwrap();
    }
    let predictions = sordino(&here, "predict reader public.csv --proba");
    assert_eq!(predictions.stdout, sordino(&here, "predict copy public.csv --proba").stdout);
    let right = fs::read_to_string(here.join("public.csv")).unwrap();
    let right = right.lines().skip(1).map(|line| line.rsplit(',').next().unwrap());
    let said = predictions.stdout.lines().skip(1).map(|line| line.split(',').next().unwrap());
    let same = said.zip(right).filter(|(said, is)| said == is).count();
    assert!((same as f64 / 359.0 - accuracy).abs() < 1e-4, "{same}: {run:?}");
    let probabilities: Vec<f64> =
        predictions.stdout.lines().nth(1).unwrap().split(',').skip(1).map(|x| x.parse().unwrap()).collect();
    assert!(probabilities.len() == 10 && (probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-9);

    // Curve, settings and weights are in the report, and a change of the description is noticed.
    let facts = json(&here.join("reader/run.json")).to_string();
    for part in ["neural network", "cnn", "noise_multiplier", "momentum", "9258", "type = \\\"conv2d\\\""] {
        assert!(facts.contains(part), "{part}: {facts}");
    }
    let network = here.join("copy/network.toml");
    fs::write(&network, fs::read_to_string(&network).unwrap().replace("tanh", "relu")).unwrap();
    let refused = sordino(&here, "predict copy public.csv");
    assert!(refused.code == 1 && refused.stderr.contains("network.toml"), "{refused:?}");
}

/// After SIGKILL between two checkpoints, the steps that may have been done twice are paid for
/// twice, and no others.
#[test]
fn a_killed_network_is_resumed_and_pays_for_the_steps_it_repeats() {
    let here = folder("killed");
    digits(&here);
    let create = "ledger create b.ledger --data train.csv --epsilon 4 --delta 1e-6 --neighbours zero_out";
    assert_eq!(sordino(&here, create).code, 0);
    let line = format!(
        "{TRAIN} --epsilon 2 --model mlp --hidden 16 --sampling-rate 0.1 --steps 3000 --checkpoint-every 50 \
        --ledger b.ledger --out m"
    );
    let mut child = Command::new(env!("CARGO_BIN_EXE_sordino"))
        .args(line.split(' '))
        .current_dir(&here)
        .env("USER", "ada")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let checkpoint = here.join("m.part/checkpoint");
    let steps = || Some(Checkpoint::read(&checkpoint).ok()?.steps());
    while steps().is_none_or(|steps| steps == 0) {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before it could be killed");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!here.join("m").exists() && steps().unwrap() < 3000);
    let resumed = sordino(&here, &format!("{line} --resume"));
    assert_eq!(resumed.code, 0, "{resumed:?}");
    let guarantee = json(&here.join("m/guarantee.json"));
    let counts: Vec<u64> = guarantee["event"]["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["count"].as_u64().unwrap())
        .collect();
    assert_eq!(counts, [3000, 50], "{guarantee}");
    assert_eq!(sordino(&here, "predict m public.csv --ledger b.ledger").code, 0);
    // The budget does not pay for a second run.
    let refused = sordino(&here, &line.replace("--out m", "--out n").replace("--epsilon 2", "--epsilon 3"));
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""), "{refused:?}");
}

/// A description in a file, a table of numbers and categories, and a number to predict; also its
/// plan.
#[test]
fn a_described_network_predicts_a_measure() {
    let here = folder("described");
    let network =
        "[[layers]]\ntype = 'linear'\noutputs = 8\n[[layers]]\ntype = 'tanh'\n[[layers]]\ntype = 'linear'\n";
    fs::write(here.join("small.toml"), network).unwrap();
    let (data, test) =
        (example("data/breast-cancer-train.csv.gz"), example("data/breast-cancer-test.csv.gz"));
    let schema = example("breast-cancer.toml");
    let line = format!(
        "train {data} --schema {schema} --target worst_radius --epsilon 8 --delta 1e-6 --model small.toml \
        --batch-size 100 --epochs 10"
    );
    let plan = sordino(&here, &format!("{line} --plan --json")).object();
    assert_eq!((plan["weights"].as_u64(), plan["model"].as_str()), (Some(32 * 8 + 9), Some("small.toml")));
    let run = sordino(&here, &format!("{line} --public-test {test} --out m"));
    assert_eq!(run.code, 0, "{run:?}");
    // The standard deviation of the column is 4.8.
    let error: f64 = run.line("root mean squared error").split(' ').next().unwrap().parse().unwrap();
    assert!(error < 4.5, "{run:?}");
    let configuration = fs::read_to_string(here.join("m/configuration.toml")).unwrap();
    assert!(configuration.contains("steps = 46\n") && !configuration.contains("epochs"), "{configuration}");
    sordino(&here, &format!("predict m {test} --proba")).refuses(&["squared loss has no probabilities"]);
}

/// `--memory` makes micro-batches smaller. The plan says how small, the configuration keeps the
/// setting, and the model is the same up to rounding.
#[test]
fn a_memory_limit_changes_micro_batches_and_nothing_else() {
    let here = folder("memory");
    digits(&here);
    let line = format!(
        "{TRAIN} --epsilon 8 --delta 1e-6 --model cnn --image 1x8x8 --epochs 2 --threads 2 --danger-seed 3"
    );
    let plan = |more: &str| sordino(&here, &format!("{line} --plan {more}"));
    let (free, tight) = (plan("--json").object(), plan("--json --memory 1").object());
    let of = |object: &Value, name: &str| object[name].as_u64().unwrap_or_else(|| panic!("{name}: {object}"));
    assert!(of(&free, "batch_bytes") > 1_000_000 && of(&tight, "batch_bytes") <= 1_000_000, "{free} {tight}");
    let (many, few) = (of(&free, "micro_batch"), of(&tight, "micro_batch"));
    assert!(few < many && few > 1, "{few} {many}");
    assert_eq!(of(&free, "bytes"), of(&tight, "bytes"));
    assert_eq!(free["event"], tight["event"]);
    let said = plan("--memory 1");
    let expected = format!("for the data, 1 MB for micro-batches of {few} records");
    assert!(said.line("memory").ends_with(&expected), "{said:?}");

    let predictions = |out: &str, more: &str| {
        let run = sordino(&here, &format!("{line} --out {out} {more}"));
        assert_eq!(run.code, 0, "{run:?}");
        let said = sordino(&here, &format!("predict {out} public.csv")).stdout;
        said.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (free, tight) = (predictions("free", ""), predictions("tight", "--memory 1"));
    let configuration = fs::read_to_string(here.join("tight/configuration.toml")).unwrap();
    assert!(configuration.contains("memory = 1\n"), "{configuration}");
    let other = free.iter().zip(&tight).filter(|(free, tight)| free != tight).count();
    assert!(free.len() == 360 && other <= 3, "{other} of 359 predictions differ");
}

#[test]
fn invalid_networks_are_refused_before_anything_is_charged() {
    let here = folder("refused");
    digits(&here);
    let refused = |more: &str| sordino(&here, &format!("{TRAIN} --epsilon 1 --steps 2 {more}"));
    refused("--model cn").refuses(&["--model cn", "preset", "cnn"]);
    refused("--model cnn").refuses(&["--model cnn", "layers[0] (conv2d)", "an image"]);
    refused("--model cnn --image 1x8x9").refuses(&["--image 1x8x9", "64 numbers"]);
    refused("--model tanh_cnn --image 1x8x8").refuses(&["tanh_cnn", "layers["]);
    refused("--model cnn --image 8x8").refuses(&["--image", "CHANNELSxHEIGHTxWIDTH"]);
    refused("--model mlp --method coordinate-descent").refuses(&["linear models", "sgd"]);
    refused("--model mlp --loss logistic").refuses(&["--loss has no meaning for mlp by sgd"]);
    refused("--hidden 8").refuses(&["--hidden has no meaning for gradient-descent on a linear model"]);
    refused("--model cnn --hidden 8").refuses(&["hidden", "mlp"]);
    refused("--model mlp --batch-size 5000").refuses(&["a batch of 5000", "1438 records"]);
    refused("--model mlp --batch-size 50 --sampling-rate 0.1").refuses(&["--sampling-rate and --batch-size"]);
    refused("--model mlp --epochs 2").refuses(&["--steps and --epochs"]);
    refused("--model mlp --momentum 1").refuses(&["momentum must be"]);
    refused("--model no.toml").refuses(&["cannot read `no.toml`"]);
    fs::write(here.join("bad.toml"), "[[layers]]\ntype = 'batch_norm'\n").unwrap();
    refused("--model bad.toml").refuses(&["bad.toml", "batch_norm", "group_norm"]);
    refused("--model cnn --image 1x8x8 --memory 1 --threads 64").refuses(&["memory", "64 threads"]);
    assert!(!here.join("train.model").exists() && !here.join("train.model.part").exists());
}
