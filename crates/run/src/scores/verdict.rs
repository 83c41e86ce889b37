//! Says in plain words whether the model is better than a constant, and what to do next.

use sordino_report::Score;

const NEXT: &str = "Try a larger --epsilon, more records, fewer columns or narrower bounds in the \
    schema; sordino train --plan estimates, free of charge, what the noise is likely to cost";

/// The remark on scores that do not beat the best constant; `None` if they do.
pub fn verdict(scores: &[Score]) -> Option<String> {
    let named = |name: &str| scores.iter().find(|score| score.name == name);
    let headline = scores.first()?;
    let beats = headline.beats_constant()?;
    let loss = named("log loss");
    // Frequencies have the least log loss of all constants, so a larger log loss means that the
    // model knows less than they do.
    let worse = loss.filter(|loss| loss.beats_constant() == Some(false)).and_then(|loss| {
        Some(format!(
            "its probabilities are worse than the classes' frequencies (log loss {:.4} against {:.4}): do \
            not use them as probabilities",
            loss.value?, loss.constant?
        ))
    });
    if beats && !headline.may_be_chance() {
        return worse.filter(|_| loss.is_some_and(|loss| !loss.may_be_chance()));
    }
    let what = match headline.name.as_str() {
        "accuracy" => "always naming the commonest class of the public test data",
        _ => "always naming the mean of the public test data",
    };
    let compared = format!("{} {:.4} against {:.4}", headline.name, headline.value?, headline.constant?);
    let surely = |score: &&Score| score.beats_constant() == Some(true) && !score.may_be_chance();
    let area = named("AUC").filter(surely).and_then(|area| area.value);
    if loss.filter(surely).is_some() {
        let area = area.map(|area| format!(" (AUC {area:.3})")).unwrap_or_default();
        let better = if beats { "hardly better" } else { "no better" };
        return Some(format!(
            "its classes are {better} than {what}: {compared}. Its probabilities tell more than that{area}: \
            use them (sordino predict --proba), or declare a --threshold before the next run"
        ));
    }
    let said = match area {
        Some(area) => format!(
            "its classes are right about as often as {what}: {compared}. Its ranking tells more (AUC \
            {area:.3}): to make use of it, declare a --threshold or --class-weights before the next run"
        ),
        None if beats => format!(
            "the model may be no better than {what}: {compared}, and with so few public test records the \
            difference may be chance. {NEXT}"
        ),
        None => format!("the model is no better than {what}: {compared}. {NEXT}"),
    };
    Some(match worse.filter(|_| area.is_some()) {
        Some(worse) => format!("{said}; {worse}"),
        None => said,
    })
}

#[cfg(test)]
mod tests {
    use sordino_report::{Better, Interval};

    use super::*;

    fn score(name: &str, value: f64, constant: f64, half: f64, better: Better) -> Score {
        let interval = Interval { lower: value - half, upper: value + half, method: String::new() };
        Score::new(name, value, better).against(constant).within(Some(interval))
    }

    #[test]
    fn only_what_beats_a_constant_is_passed_over() {
        let accuracy = |value, half| score("accuracy", value, 0.6, half, Better::Higher);
        let loss = |value| score("log loss", value, 0.67, 0.01, Better::Lower);
        assert_eq!(verdict(&[accuracy(0.8, 0.1)]), None);
        assert!(verdict(&[accuracy(0.65, 0.1)]).unwrap().contains("may be no better"));
        let worse = verdict(&[accuracy(0.6, 0.1), loss(0.9)]).unwrap();
        assert!(
            worse.contains("is no better than always naming the commonest class")
                && worse.contains("--epsilon")
        );
        let ranked = verdict(&[accuracy(0.6, 0.1), loss(0.4)]).unwrap();
        assert!(ranked.contains("Its probabilities tell more") && ranked.contains("--threshold"), "{ranked}");
        let area = |value| score("AUC", value, 0.5, 0.1, Better::Higher);
        let skewed = verdict(&[accuracy(0.6, 0.1), area(0.77), loss(0.9)]).unwrap();
        assert!(!skewed.contains("no better") && skewed.contains("--threshold"), "{skewed}");
        assert!(skewed.contains("AUC 0.770") && skewed.contains("probabilities are worse"), "{skewed}");
        let chance = verdict(&[accuracy(0.6, 0.1), area(0.55), loss(0.9)]).unwrap();
        assert!(chance.contains("is no better"), "{chance}");
        // The classes are right and the probabilities are not.
        let sure = verdict(&[accuracy(0.8, 0.1), area(0.9), loss(0.9)]).unwrap();
        assert!(sure.starts_with("its probabilities are worse"), "{sure}");
        assert_eq!(verdict(&[accuracy(0.8, 0.1), area(0.9), loss(0.675)]), None);
        let error = score("root mean squared error", 2.0, 1.5, 0.1, Better::Lower);
        assert!(verdict(&[error]).unwrap().contains("naming the mean"));
        assert_eq!(verdict(&[]), None);
    }
}
