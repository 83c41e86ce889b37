//! The facts in sentences, with one idea in each.
//!
//! People understand odds with and without taking part better than examples of noisy answers
//! (Nanayakkara, Smart, Cummings, Kaptchuk, Redmiles, *What Are the Chances? Explaining the
//! Epsilon Parameter in Differential Privacy*, 2023), and vague assurance raises wrong
//! expectations (Cummings, Kaptchuk, Redmiles, *"I need a better description": An Investigation
//! Into User Expectations For Differential Privacy*, 2021). So the sentences compare two numbers
//! out of 100, and say what is not promised.

use sordino_privacy::Neighbours;

use super::{Explanation, GroupPromise, Whose};
use crate::number::{given, of_100, percent_up, up};

/// The explanation as paragraphs: what is hidden, guesses, conclusions, low rates of false alarms,
/// groups, δ, and what is not promised.
pub fn words(facts: &Explanation, whose: &Whose) -> Vec<String> {
    let mut paragraphs = vec![
        hidden(facts.neighbours, whose),
        guesses(facts, whose),
        conclusions(facts, whose),
        alarms(facts),
    ];
    paragraphs.extend(facts.groups.iter().map(|facts| group(facts, whose)));
    paragraphs.push(delta(facts, whose));
    paragraphs.push(
        "What is not promised: that nothing is learned about people like you. A conclusion that would be \
        drawn without your data may still be drawn. And whoever holds the raw data still holds it: the \
        promise is about those who see the result."
            .to_owned(),
    );
    paragraphs
}

fn hidden(neighbours: Neighbours, whose: &Whose) -> String {
    let Whose { data, counted, .. } = whose;
    let was = whose.was();
    match neighbours {
        Neighbours::AddRemove => format!("The promise hides whether {data} {was} used at all."),
        Neighbours::ZeroOut => {
            format!(
                "The promise hides whether {data} {was} used or left blank; the number of {counted} is \
                public."
            )
        }
        Neighbours::Replace => {
            format!(
                "The promise hides whether {data} {was} used, or {} instead; the number of {counted} is \
                public.",
                whose.another()
            )
        }
        Neighbours::AddRemoveOrdered | Neighbours::ZeroOutUnordered | Neighbours::ReplaceOrdered => {
            "The promise hides which of two neighbouring data sets was used.".to_owned()
        }
        Neighbours::MetricBall(_) => {
            "The promise hides which of two vectors within the stated distance was released.".to_owned()
        }
    }
}

fn guesses(facts: &Explanation, whose: &Whose) -> String {
    format!(
        "Whoever sees the result, knows {} and guesses which of the two it was is right in at most {} of 100 \
        cases; by tossing a coin, in 50.",
        whose.others,
        of_100(facts.right_guesses)
    )
}

/// A guess is judged over all results, a belief after one of them, so the second number is usually
/// larger.
fn conclusions(facts: &Explanation, whose: &Whose) -> String {
    let lines: Vec<String> = facts
        .odds
        .iter()
        .map(|odds| format!("from {} to at most {} of 100", of_100(odds.before), of_100(odds.after)))
        .collect();
    let which = if facts.delta == 0.0 {
        "after the most telling of all".to_owned()
    } else {
        format!(
            "after one of the most telling (a kind that comes up at least once in 100 times without {})",
            whose.it
        )
    };
    format!(
        "That is the average over all results that could have come out, and some tell more than others: \
        {which}, somebody's belief can rise because {} {} used: {}.",
        whose.it,
        whose.was(),
        lines.join("; ")
    )
}

fn alarms(facts: &Explanation) -> String {
    let cases: Vec<String> = facts
        .attacks
        .iter()
        .map(|attack| {
            format!("{} at {}", percent_up(attack.true_positive_rate), percent_up(attack.false_positive_rate))
        })
        .collect();
    format!(
        "An attacker who rarely accuses wrongly finds at most this share of those that took part, at this \
        share of false alarms: {}.",
        cases.join(", ")
    )
}

fn group(group: &GroupPromise, whose: &Whose) -> String {
    format!(
        "{} {} together, {}, are promised epsilon = {} at delta = {}: a guess about all of them is right in \
         at most {} of 100 cases.",
        group.size,
        whose.many,
        whose.such_as,
        up(group.epsilon),
        up(group.delta),
        of_100(0.5 * (1.0 + group.advantage))
    )
}

fn delta(facts: &Explanation, whose: &Whose) -> String {
    if facts.delta == 0.0 {
        return "Delta is 0: the promise has no exception.".to_owned();
    }
    let delta = given(facts.delta);
    let meaning = format!(
        "Delta = {delta} is the room that the promise leaves for rare outcomes. It is not the chance that \
        something goes wrong; but a program that publishes one whole record with chance {delta} for {} would \
        keep a promise with this delta.",
        whose.each
    );
    let Some(crowd) = facts.crowd else {
        return format!("{meaning} So it should be far below one over the number of {}.", whose.many);
    };
    let verdict = if crowd.exposed >= 0.1 {
        "That is too much: take a smaller delta"
    } else {
        "The smaller the better"
    };
    format!(
        "{meaning} Among {} {} that would be {} records on average. {verdict}.",
        crowd.people,
        whose.many,
        up(crowd.exposed)
    )
}

#[cfg(test)]
mod tests {
    use sordino_privacy::{Count, Delta, Epsilon, Unit};

    use super::*;
    use crate::Promise;

    fn text(epsilon: f64, delta: f64, people: Option<u64>) -> String {
        let promise =
            Promise::pair(Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap(), Neighbours::AddRemove);
        let people = people.map(|people| Count::new(people).unwrap());
        words(&Explanation::of(&promise, people, None), &Whose::person()).join("\n")
    }

    /// Reports on runs whose unit was a record once spoke of persons.
    #[test]
    fn sentences_name_the_declared_unit() {
        let delta = Delta::new(1e-6).unwrap();
        let people = Some(Count::new(3000).unwrap());
        for neighbours in [Neighbours::ZeroOut, Neighbours::AddRemove, Neighbours::Replace] {
            let promise = Promise::pair(Epsilon::new(1.0).unwrap(), delta, neighbours);
            let facts = Explanation::of(&promise, people, None);
            let text = |unit: &Unit| words(&facts, &Whose::unit(unit)).join("\n");
            let record = text(&Unit::Record);
            assert!(record.contains("The promise hides whether one record was used"), "{record}");
            assert!(record.contains("Among 3000 records") && record.contains("for each record"), "{record}");
            let column = text(&Unit::Column("ward\u{202e}".into()));
            assert!(column.contains("the records of one wardU+202E were used"), "{column}");
            for text in [&record, &column, &text(&Unit::Client)] {
                let (about, _) = text.split_once("What is not promised").unwrap();
                assert!(!about.contains("people") && !about.contains("one person's data"), "{about}");
            }
        }
    }

    /// Over all results (1 + 0.1974)/2 of the guesses are right; after results that come up once in
    /// 100 times, odds grow 3.39 times.
    #[test]
    fn guesses_and_beliefs_are_distinguished() {
        let claim = sordino_privacy::Claim::from_json(r#"{"type":"gdp","mu":0.5}"#).unwrap();
        let facts = Explanation::of(&Promise::of(claim, Delta::new(1e-6).unwrap()).unwrap(), None, None);
        let text = words(&facts, &Whose::person()).join("\n");
        assert!(text.contains("is right in at most 60 of 100 cases"), "{text}");
        assert!(
            text.contains("average over all results") && text.contains("from 50 to at most 78 of 100"),
            "{text}"
        );
    }

    #[test]
    fn sentences_carry_the_numbers_rounded_against_us() {
        let text = text(1.0, 0.0, None);
        assert!(text.contains("right in at most 74 of 100 cases"), "{text}");
        assert!(
            text.contains(
                "used: from 1 to at most 3 of 100; from 10 to at most 24 of 100; from 50 to at most 74"
            ),
            "{text}"
        );
        assert!(text.contains("2.8 % at 1 %"), "{text}");
        assert!(
            text.contains("2 people together, such as a family, are promised epsilon = 2 at delta = 0"),
            "{text}"
        );
        assert!(text.contains("no exception"), "{text}");
    }

    #[test]
    fn a_large_delta_is_called_large() {
        assert!(text(1.0, 1e-6, Some(1_000_000)).contains("1 records on average. That is too much"));
        assert!(text(1.0, 1e-9, Some(1_000)).contains("The smaller the better"));
        assert!(text(1.0, 1e-9, None).contains("far below one over the number of people"));
    }

    #[test]
    fn words_that_mislead_are_absent() {
        for text in [text(0.1, 0.0, None), text(8.0, 1e-5, Some(100))] {
            assert!(
                !text.contains("anonym")
                    && !text.contains("safe")
                    && !text.contains("guarantees that nobody")
            );
        }
    }
}
