//! A message says what went wrong in the user's words, and names a remedy that the verb has.

mod command;

use std::fs;
use std::path::{Path, PathBuf};

use command::{Run, folder, sordino_in};

fn scene(name: &str) -> PathBuf {
    let here = folder(name);
    let rows: String =
        (0..60).map(|row| format!("{};{},5;{}\n", row, row * 100, ["ja", "nein"][row % 2])).collect();
    fs::write(here.join("klinik.csv"), format!("id;Kosten;Raucher\n{rows}")).unwrap();
    here
}

fn run(here: &Path, line: &str) -> Run {
    sordino_in(here, &line.split_whitespace().collect::<Vec<_>>())
}

fn schema(here: &Path, columns: &str) {
    let text = format!(
        "format_version = 1\nunit = \"record\"\ncsv.delimiter = \";\"\ncsv.decimal \
        = \",\"\n[columns]\n{columns}"
    );
    fs::write(here.join("s.toml"), text).unwrap();
}

const IGNORED: &str = "id = { kind = \"ignore\" }\nRaucher = { kind = \"ignore\" }\n";

/// The message once spoke of a variance that the user had not asked for, and of changing a relation
/// that a ledger fixes.
#[test]
fn a_column_that_drops_records_says_what_to_write_instead() {
    let here = scene("drops");
    schema(
        &here,
        &format!("{IGNORED}Kosten = {{ kind = \"number\", bounds = [0, 8000], missing = \"drop\" }}\n"),
    );
    let made = run(
        &here,
        "ledger create b.ledger --epsilon 3 --neighbours zero_out --schema s.toml --data klinik.csv",
    );
    assert_eq!(made.code, 0, "{made:?}");
    for statistic in ["mean", "sum"] {
        let ask = format!("query klinik.csv {statistic} Kosten --epsilon 0.1 --ledger b.ledger");
        let refused = run(&here, &format!("{ask} --schema s.toml"));
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.stderr.contains("`missing = 4000`"), "{refused:?}");
        assert!(
            !refused.stderr.contains("variance") && !refused.stderr.contains("add_remove"),
            "{refused:?}"
        );
        // Both remedies work.
        assert!(refused.stderr.contains("`--bounds 0,8000 --permissive`"), "{refused:?}");
        assert_eq!(run(&here, &format!("{ask} --bounds 0,8000 --permissive")).code, 0);
        schema(
            &here,
            &format!("{IGNORED}Kosten = {{ kind = \"number\", bounds = [0, 8000], missing = 4000 }}\n"),
        );
        let asked = run(&here, &format!("{ask} --schema s.toml"));
        assert_eq!(asked.code, 0, "{asked:?}");
        schema(
            &here,
            &format!("{IGNORED}Kosten = {{ kind = \"number\", bounds = [0, 8000], missing = \"drop\" }}\n"),
        );
    }
}

#[test]
fn a_question_without_a_schema_is_not_told_to_change_one() {
    let here = scene("no-schema");
    let refused = run(&here, "query klinik.csv mean Kosten --bounds 0,8000 --epsilon 1");
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(
        refused.stderr.contains("--decimal ,") && refused.stderr.contains("without the header"),
        "{refused:?}"
    );
    assert!(!refused.stderr.contains("schema"), "{refused:?}");
    assert_eq!(run(&here, "query klinik.csv mean Kosten --bounds 0,8000 --epsilon 1 --decimal ,").code, 0);
}

#[test]
fn a_copy_under_another_name_gets_the_first_name() {
    let here = scene("copy");
    schema(&here, &format!("{IGNORED}Kosten = {{ kind = \"number\", bounds = [0, 8000] }}\n"));
    let made = run(
        &here,
        "ledger create b.ledger --epsilon 3 --neighbours zero_out --schema s.toml --data klinik.csv",
    );
    assert_eq!(made.code, 0, "{made:?}");
    fs::copy(here.join("klinik.csv"), here.join("copy.csv")).unwrap();
    let ask = "query copy.csv mean Kosten --epsilon 0.1 --schema s.toml --ledger b.ledger";
    let refused = run(&here, ask);
    assert!(refused.code == 2 && refused.stderr.contains("`--name klinik.csv`"), "{refused:?}");
    assert_eq!(run(&here, &format!("{ask} --name klinik.csv")).code, 0);
}

#[test]
fn a_boolean_says_what_it_understands() {
    let here = scene("boolean");
    schema(
        &here,
        "id = { kind = \"ignore\" }\nKosten = { kind = \"ignore\" }\nRaucher = { kind = \"boolean\" }\n",
    );
    let refused = run(&here, "query klinik.csv mode Raucher --epsilon 1 --schema s.toml");
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(
        refused.stderr.contains("true/false, yes/no") && refused.stderr.contains("kind = \"category\""),
        "{refused:?}"
    );
}

#[test]
fn a_median_is_called_a_median() {
    let here = scene("median");
    let made = run(&here, "ledger create b.ledger --epsilon 3 --neighbours zero_out --data klinik.csv");
    assert!(made.code == 2 && made.stderr.contains("--schema FILE"), "{made:?}");
    schema(&here, &format!("{IGNORED}Kosten = {{ kind = \"number\", bounds = [0, 8000] }}\n"));
    run(&here, "ledger create b.ledger --epsilon 3 --neighbours zero_out --schema s.toml --data klinik.csv");
    let ask = "query klinik.csv median Kosten --epsilon 1 --schema s.toml --ledger b.ledger";
    let answer = run(&here, ask);
    assert!(answer.code == 0 && answer.stdout.starts_with("median Kosten"), "{answer:?}");
    assert!(run(&here, "ledger history b.ledger").stdout.contains("query median Kosten"));
    assert_eq!(run(&here, &format!("{ask} --plan --json")).object()["statistic"], "quantile");
    assert!(run(&here, "query --help").stdout.contains("- median:"));
    let refused = run(&here, &format!("{ask} --at 0.9"));
    assert!(refused.code == 2 && refused.stderr.contains("--at"), "{refused:?}");
}

/// The plan once said 0.352063 and the refusal 0.352064, and neither said what would fit.
#[test]
fn a_refusal_says_what_would_fit_and_the_owner_how_to_get_a_share() {
    let here = scene("fits");
    schema(&here, &format!("{IGNORED}Kosten = {{ kind = \"number\", bounds = [0, 8000] }}\n"));
    let made = run(
        &here,
        "ledger create b.ledger --epsilon 1 --delta 1e-6 --neighbours zero_out --owner ada --schema s.toml \
        --data klinik.csv",
    );
    assert_eq!(made.code, 0, "{made:?}");
    let ask = |epsilon: &str| {
        run(
            &here,
            &format!(
                "query klinik.csv mean Kosten --epsilon {epsilon} --schema s.toml --ledger b.ledger --who ada"
            ),
        )
    };
    assert_eq!(ask("0.55").code, 0);
    let refused = ask("0.9");
    assert!(refused.code == 1 && refused.stderr.contains("has 0.45 left of 1"), "{refused:?}");
    let (_, fits) = refused.stderr.split_once("ask again with `--epsilon ").unwrap();
    let fits = fits.split('`').next().unwrap();
    assert_eq!(fits, "0.45", "{refused:?}");
    assert_eq!(ask(fits).code, 0);
    assert_eq!(run(&here, "ledger grant b.ledger klinik.csv --to bob --epsilon 0.5").code, 0);
    let owner = ask("0.1");
    assert!(
        owner.code == 1 && owner.stderr.contains("you are the owner; give yourself a share"),
        "{owner:?}"
    );
}
