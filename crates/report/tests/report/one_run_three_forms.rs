//! HTML, Markdown and JSON say the same.

use std::collections::BTreeSet;

use super::pages::{HOSTILE, embedded, html_rows, logistic, markdown_rows, named};
use sordino_privacy::Unit;
use sordino_report::{Report, RunFacts, SettingValue};

#[test]
fn the_copy_in_the_page_is_the_json() {
    for run in [logistic(), named(HOSTILE[0]), named(HOSTILE[6])] {
        let report = Report::of(&run);
        let html = report.html();
        let copy: serde_json::Value = serde_json::from_str(embedded(&html)).unwrap();
        assert_eq!(copy, serde_json::to_value(&report).unwrap());
        assert_eq!(serde_json::from_str::<RunFacts>(embedded(&html)).unwrap(), run);
    }
}

#[test]
fn markdown_has_the_tables_of_the_page() {
    for run in [logistic(), named(HOSTILE[5]), named(HOSTILE[1])] {
        let report = Report::of(&run);
        let (html, markdown) = (html_rows(&report.html()), markdown_rows(&report.markdown()));
        assert!(html.len() > 60, "{} rows", html.len());
        assert_eq!(html, markdown);
    }
}

/// All three forms have the conclusions too: the findings word for word, and the numbers of the
/// attacker.
#[test]
fn conclusions_are_the_same_in_all_forms() {
    let run = logistic();
    let report = Report::of(&run);
    let json = serde_json::to_value(&report).unwrap();
    let (html, markdown) = (report.html(), report.markdown().replace('\\', ""));
    let findings = json["findings"].as_array().unwrap();
    assert_eq!(findings.len(), report.findings().len());
    for finding in findings {
        let code = format!("`{}`", finding["code"].as_str().unwrap());
        let start: String = finding["text"].as_str().unwrap().chars().take(24).collect();
        assert!(html.contains(&start) && markdown.contains(&start) && markdown.contains(&code), "{finding}");
    }
    let attacks =
        json["explanation"]["attacks"].as_array().unwrap().iter().map(|attack| &attack["true_positive_rate"]);
    let odds = json["explanation"]["odds"].as_array().unwrap().iter().map(|odds| &odds["after"]);
    let profile = json["profile"].as_array().unwrap().iter().map(|entry| &entry["epsilon"]["upper"]);
    let mut count = 0;
    for number in attacks.chain(odds).chain(profile) {
        let number = number.as_f64().unwrap();
        assert!(html.contains(&format!("<data value=\"{number:?}\">")), "{number}");
        count += 1;
    }
    assert!(count > 25);
}

/// The page has every number of the run with all its digits, in the element that shows it.
#[test]
fn every_number_of_the_run_is_shown() {
    let run = logistic();
    let html = Report::of(&run).html();
    let shown: BTreeSet<u64> = html
        .split("<data value=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().parse::<f64>().unwrap().to_bits())
        .collect();
    let numbers = numbers(&run);
    assert!(numbers.len() > 60);
    for (what, number) in numbers {
        assert!(shown.contains(&number.to_bits()), "{what}: {number} is not shown");
    }
}

fn numbers(run: &RunFacts) -> Vec<(String, f64)> {
    let guarantee = &run.guarantee;
    let (budget, evaluation) = (run.budget.as_ref().unwrap(), run.evaluation.as_ref().unwrap());
    let mut all: Vec<(String, f64)> = [
        ("epsilon, upper", guarantee.epsilon.upper),
        ("epsilon, lower", guarantee.epsilon.lower),
        ("delta", guarantee.delta.get()),
        ("arithmetic", guarantee.arithmetic.get()),
        ("requested", run.requested.unwrap().epsilon.get()),
        ("weights", run.released.weights as f64),
        ("rows", run.source.rows.unwrap().get().get() as f64),
        ("features", run.source.features.unwrap() as f64),
        ("budget", budget.epsilon.get()),
        ("before", budget.spent_before.get()),
        ("after", budget.spent_after.get()),
        ("left", budget.left()),
    ]
    .map(|(what, number)| (what.to_owned(), number))
    .into();
    for setting in &run.method.settings {
        match setting.value {
            SettingValue::Whole(whole) => all.push((setting.name.clone(), whole as f64)),
            SettingValue::Number(number) => all.push((setting.name.clone(), number)),
            SettingValue::Flag(_) | SettingValue::Text(_) => {}
        }
    }
    all.extend(evaluation.scores.iter().map(|score| (score.name.clone(), score.value.unwrap())));
    for curve in &evaluation.curves {
        for point in &curve.points {
            all.push((format!("{} at step", curve.name), point.step as f64));
            all.push((curve.name.clone(), point.value.unwrap()));
        }
    }
    all
}

/// The first sentence compares the best guess with a coin, with the number of the explanation.
#[test]
fn a_page_opens_with_what_its_promise_means() {
    let mut run = logistic();
    let report = Report::of(&run);
    let right = (100.0 * report.explanation().right_guesses).ceil();
    let opens = format!(
        "Whoever sees this model and guesses whether one record was used is right at most {right} times in \
        100; a coin is right 50 times."
    );
    let (html, markdown) = (report.html(), report.markdown());
    assert!(markdown.lines().nth(2) == Some(opens.as_str()), "{markdown}");
    assert!(html.find(&opens).unwrap() < html.find("ε ≤").unwrap());
    assert!(html.contains("The promise hides whether one record was used or left blank"));
    // The number of records is not the number of a column's values.
    run.guarantee.unit = Unit::Column("patient_id".into());
    let report = Report::of(&run);
    let html = report.html();
    assert!(html.contains("guesses whether the records of one patient_id were used is right at most"));
    assert!(
        report.explanation().crowd.is_none() && html.contains("one over the number of values of patient_id")
    );
    // A page without a valid promise has no such sentence.
    run.guarantee.seeded = true;
    assert!(!Report::of(&run).html().contains("Whoever sees this model"));
}

/// The command that the page shows for its event works.
#[test]
fn the_event_in_the_page_gives_the_epsilon_of_the_page() {
    use sordino_privacy::{Accountant, Claim, accounting};
    let run = logistic();
    let markdown = Report::of(&run).markdown();
    let code = markdown.split("```\n").find(|part| part.starts_with("{\n")).unwrap();
    let claim = Claim::from_json(code).unwrap();
    assert_eq!(claim, Claim::new(run.guarantee.neighbours, run.guarantee.event.clone()));
    let bound = accounting::epsilon(&claim, run.guarantee.delta, Accountant::Auto).unwrap().bound;
    assert_eq!(bound, run.guarantee.epsilon);
    assert!(markdown.contains("sordino account event.json --delta 1e-5\n"));
}
