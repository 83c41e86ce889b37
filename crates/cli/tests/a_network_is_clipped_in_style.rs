//! Clipping and averaging of a network: set by flags or a file, and the same in plan, price, stored
//! settings and report.

mod command;

use std::fs;
use std::path::{Path, PathBuf};

use command::{Run, digits, ends, folder, sordino_in};
use serde_json::Value;

const TRAIN: &str = "train train.csv --schema digits.toml --target digit --epsilon 8 --model mlp --hidden 16";
const STYLES: [&str; 4] = ["flat", "automatic", "adaptive", "per-layer"];

fn sordino(folder: &Path, line: &str) -> Run {
    sordino_in(folder, &line.split_whitespace().collect::<Vec<_>>())
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn pictures(name: &str) -> PathBuf {
    let here = folder(name);
    digits(&here);
    here
}

/// The setting of this name in `run.json`.
fn setting<'a>(run: &'a Value, name: &str) -> Option<&'a Value> {
    let settings = run["method"]["settings"].as_array().unwrap();
    settings.iter().find(|setting| setting["name"] == name).map(|setting| &setting["value"])
}

/// 1438 digits, ε = 8, twelve passes, seeded. Guessing would be right one time in ten; each kind of
/// clipping is right more than seven times in ten.
#[test]
fn digits_are_learned_with_every_clipping_at_the_same_price() {
    let here = pictures("styles");
    let line = format!("{TRAIN} --delta 1e-6 --epochs 12 --danger-seed 5 --public-test public.csv");
    let mut events = Vec::new();
    let mut models = Vec::new();
    for style in STYLES {
        let run = sordino(&here, &format!("{line} --clipping {style} --out {style} --json"));
        let record = run.object();
        assert_eq!(setting(&record, "clipping").unwrap(), style, "{record}");
        assert_eq!(setting(&record, "averaging").unwrap(), "tail");
        let accuracy = record["evaluation"]["scores"][0]["value"].as_f64().unwrap();
        assert!(accuracy > 0.7, "{style}: {accuracy}");
        let configuration = fs::read_to_string(here.join(style).join("configuration.toml")).unwrap();
        assert!(configuration.contains(&format!("clipping = \"{style}\"\n")), "{configuration}");
        let report = fs::read_to_string(here.join(style).join("report.html")).unwrap();
        assert!(report.contains("clipping") && report.contains(style));
        events.push(json(&here.join(style).join("guarantee.json"))["event"].clone());
        models.push(fs::read(here.join(style).join("model.safetensors")).unwrap());
    }
    assert!(events.iter().all(|event| *event == events[0]), "{events:?}");
    for first in 0..models.len() {
        assert!(models[first + 1..].iter().all(|model| *model != models[first]), "{}", STYLES[first]);
    }
    // The settings of the chosen clipping are stored; those of other kinds are not.
    let automatic = json(&here.join("automatic/run.json"));
    assert_eq!(setting(&automatic, "clip_gamma").unwrap(), 0.01);
    assert!(setting(&automatic, "clip_quantile").is_none());
    // Without flags the default is unchanged, and the stored configuration repeats the same run.
    for (out, more) in [("usual", ""), ("named", "--clipping flat --averaging tail --averaging-tail 0.1")] {
        assert_eq!(sordino(&here, &format!("{line} {more} --out {out}")).code, 0);
        assert_eq!(fs::read(here.join(out).join("model.safetensors")).unwrap(), models[0], "{out}");
    }
    for (style, model) in [("adaptive", &models[2]), ("per-layer", &models[3])] {
        let again = sordino(&here, &format!("train --config {style}/configuration.toml --out again-{style}"));
        assert_eq!(again.code, 0, "{again:?}");
        let copy = fs::read(here.join(format!("again-{style}/model.safetensors"))).unwrap();
        assert!(copy == *model, "{style}");
    }
}

/// The count of unclipped records is one more release of each step. The noise multiplier z is that
/// of both together: `1/z² = 1/z_g² + 1/z_b²`.
#[test]
fn adaptive_clipping_pays_for_its_count() {
    let here = pictures("count");
    let create = "ledger create b.ledger --data train.csv --epsilon 10 --delta 1e-6 --neighbours zero_out";
    assert_eq!(sordino(&here, create).code, 0);
    let line = format!("{TRAIN} --ledger b.ledger --clipping adaptive --clip-quantile 0.7 --epochs 3");
    let plan = sordino(&here, &format!("{line} --plan --json")).object();
    assert_eq!((&plan["clipping"], &plan["averaging"]), (&"adaptive".into(), &"tail".into()));
    let of = |name: &str| plan[name].as_f64().unwrap_or_else(|| panic!("{name}: {plan}"));
    let (z, gradients, count) =
        (of("noise_multiplier"), of("gradient_noise_multiplier"), of("count_noise_multiplier"));
    assert!(z < gradients && gradients < 1.0051 * z && count >= 10.0 * z, "{z} {gradients} {count}");
    let together = (gradients.powi(-2) + count.powi(-2)).powf(-0.5);
    assert!((1.0..1.0 + 1e-9).contains(&(together / z)), "{together} {z}");
    let said = sordino(&here, &format!("{line} --plan"));
    let clipping = said.line("clipping");
    assert!(
        clipping.starts_with("adaptive, from norm 4.1 to quantile 0.7; noise multipliers "),
        "{clipping}"
    );
    assert!(clipping.contains(" of gradients and ") && clipping.ends_with(" of a count"), "{clipping}");

    // The planned event is charged, guaranteed and reported.
    let run = sordino(&here, &format!("{line} --out m --json")).object();
    let charge = sordino(&here, "ledger export b.ledger").object()["charges"][0]["event"].clone();
    let guarantee = json(&here.join("m/guarantee.json"));
    for (what, event) in
        [("charge", &charge), ("guarantee", &guarantee["event"]), ("run", &run["guarantee"]["event"])]
    {
        assert_eq!(*event, plan["event"], "{what}");
    }
    assert!(ends(&guarantee["epsilon"]).1 <= 8.0);
    for (name, value) in [("gradient_noise_multiplier", gradients), ("count_noise_multiplier", count)] {
        assert_eq!(setting(&run, name).unwrap().as_f64(), Some(value), "{run}");
    }
    let html = fs::read_to_string(here.join("m/report.html")).unwrap();
    assert!(html.contains("count_noise_multiplier") && html.contains("clip_quantile"));
}

#[test]
fn each_average_is_stored_and_gives_another_model() {
    let here = pictures("averages");
    let line = format!("{TRAIN} --delta 1e-6 --epochs 10 --danger-seed 5");
    let mut models = Vec::new();
    let asked = ["tail", "tail --averaging-tail 0.5", "ema", "ema --averaging-decay 0.5", "none"];
    for (at, style) in asked.into_iter().enumerate() {
        let run = sordino(&here, &format!("{line} --averaging {style} --out m{at} --json")).object();
        let name = style.split(' ').next().unwrap();
        assert_eq!(setting(&run, "averaging").unwrap(), name, "{run}");
        let has = |parameter: &str| setting(&run, parameter).is_some();
        assert_eq!((has("averaging_tail"), has("averaging_decay")), (name == "tail", name == "ema"), "{run}");
        models.push(fs::read(here.join(format!("m{at}/model.safetensors"))).unwrap());
    }
    for first in 0..models.len() {
        assert!(models[first + 1..].iter().all(|model| *model != models[first]), "{}", asked[first]);
    }
}

/// A run whose model cannot be written is paid for and waits. With another clipping it would be
/// another run, which nobody has paid for.
#[test]
fn a_run_resumes_with_its_clipping_only() {
    let here = pictures("other-style");
    let line = format!("{TRAIN} --delta 1e-6 --steps 6 --out m");
    for style in STYLES {
        fs::create_dir_all(here.join("m.part")).unwrap();
        fs::write(here.join("m.part/model"), "in the way").unwrap();
        sordino(&here, &format!("{line} --clipping {style}")).refuses(&["--resume"]);
        fs::remove_file(here.join("m.part/model")).unwrap();
        let other = STYLES.into_iter().filter(|other| *other != style);
        let other = other.map(|other| format!("--clipping {other}"));
        let averages = ["--averaging ema", "--averaging none", "--averaging-tail 0.5"];
        let averages = averages.map(|average| format!("--clipping {style} {average}"));
        for more in other.chain(averages) {
            let refused = sordino(&here, &format!("{line} {more} --resume"));
            let flag =
                if more.contains("--averaging") { "begun with --averaging" } else { "begun with --clipping" };
            refused.refuses(&[flag, "and now it is"]);
        }
        if style == "adaptive" {
            sordino(&here, &format!("{line} --clipping adaptive --clip-quantile 0.9 --resume"))
                .refuses(&["begun with --clip-quantile not given, and now it is 0.9"]);
        }
        let own = sordino(&here, &format!("{line} --clipping {style} --resume"));
        assert_eq!(own.code, 0, "{own:?}");
        fs::remove_dir_all(here.join("m")).unwrap();
    }
}

#[test]
fn invalid_clipping_is_refused_before_anything_is_charged() {
    let here = pictures("refused-styles");
    let create = "ledger create b.ledger --data train.csv --epsilon 10 --delta 1e-6 --neighbours zero_out";
    assert_eq!(sordino(&here, create).code, 0);
    let refused = |more: &str| sordino(&here, &format!("{TRAIN} --ledger b.ledger --steps 2 {more}"));
    refused("--clipping flatt").refuses(&["--clipping", "flat", "per-layer"]);
    refused("--clip-quantile 0.5").refuses(&["--clip-quantile has no meaning", "with flat clipping"]);
    refused("--averaging-decay 0.5").refuses(&["--averaging-decay has no meaning", "tail averaging"]);
    refused("--averaging none --averaging-tail 0.5")
        .refuses(&["--averaging-tail has no meaning", "none averaging"]);
    refused("--clipping adaptive --clip-quantile 1").refuses(&["quantile must be", "got 1"]);
    refused("--averaging ema --averaging-decay 1").refuses(&["must be", "got 1"]);
    refused("--averaging-tail 0").refuses(&["must be", "got 0"]);
    refused("--momentum 1").refuses(&["momentum must be"]);
    refused("--learning-rate 0").refuses(&["learning rate must be"]);
    for flag in ["--clipping automatic", "--averaging ema", "--clip-quantile 0.5", "--averaging-tail 0.5"] {
        let linear = "train train.csv --schema digits.toml --target digit --epsilon 8 --ledger b.ledger";
        for method in ["gradient-descent", "sgd", "output-perturbation"] {
            let name = flag.split(' ').next().unwrap();
            sordino(&here, &format!("{linear} --method {method} {flag}"))
                .refuses(&[&format!("{name} has no meaning for {method} on a linear model")]);
        }
    }
    let shown = sordino(&here, "ledger show b.ledger --json").object();
    assert_eq!(shown["data_sets"][0]["charges"].as_u64(), Some(0), "{shown}");
}
