//! The facts in sentences, one idea each.
//!
//! People understand odds with and without taking part better than examples of noisy answers (Nanayakkara, Smart,
//! Cummings, Kaptchuk, Redmiles, *What Are the Chances? Explaining the Epsilon Parameter in Differential Privacy*,
//! 2023), and vague assurance raises wrong expectations (Cummings, Kaptchuk, Redmiles, *"I need a better
//! description": An Investigation Into User Expectations For Differential Privacy*, 2021). So the sentences
//! compare two numbers out of 100, and say what is not promised.

use sordino_privacy::Neighbours;

use super::{Explanation, Group};
use crate::number::{given, of_100, percent_up, up};

/// The explanation, a paragraph each: what is hidden, guesses, conclusions, low false alarms, groups, δ, and what is not promised.
pub fn words(facts: &Explanation) -> Vec<String> {
    let mut paragraphs = vec![hidden(facts.neighbours), guesses(facts), conclusions(facts), alarms(facts)];
    paragraphs.extend(facts.groups.iter().map(group));
    paragraphs.push(delta(facts));
    paragraphs.push(
        "What is not promised: that nothing is learned about people like you. A conclusion that would be drawn \
         without your data may still be drawn. And whoever holds the raw data still holds it: the promise is about \
         those who see the result."
            .to_owned(),
    );
    paragraphs
}

fn hidden(neighbours: Neighbours) -> String {
    let what = match neighbours {
        Neighbours::AddRemove => "whether one person's data were used at all",
        Neighbours::ZeroOut => {
            "whether one person's data were used or left blank; how many people there are is public"
        }
        Neighbours::Replace => {
            "whether the data of one person or those of another were used; how many people there are is public"
        }
        Neighbours::AddRemoveOrdered | Neighbours::ZeroOutUnordered | Neighbours::ReplaceOrdered => {
            "which of two neighbouring data sets was used"
        }
        Neighbours::MetricBall(_) => "which of two vectors within the stated distance was released",
    };
    format!("Hidden is {what}.")
}

fn guesses(facts: &Explanation) -> String {
    format!(
        "Whoever sees the result, knows everybody else's data and guesses is right in at most {} of 100 cases; by \
         tossing a coin, in 50.",
        of_100(facts.right_guesses)
    )
}

fn conclusions(facts: &Explanation) -> String {
    let lines: Vec<String> = facts
        .odds
        .iter()
        .map(|odds| format!("from {} to at most {} of 100", of_100(odds.before), of_100(odds.after)))
        .collect();
    let which = if facts.delta == 0.0 { "" } else { " (one that is drawn in at least 1 of 100 outcomes)" };
    format!(
        "What somebody believes about you{which} can become more certain because you took part: {}.",
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
        "An attacker who rarely accuses wrongly finds at most this share of those who took part, at this share of \
         false alarms: {}.",
        cases.join(", ")
    )
}

fn group(group: &Group) -> String {
    format!(
        "{} people together, such as a family, are promised epsilon = {} at delta = {}: a guess about all of them is right in \
         at most {} of 100 cases.",
        group.size,
        up(group.epsilon),
        up(group.delta),
        of_100(0.5 * (1.0 + group.advantage))
    )
}

fn delta(facts: &Explanation) -> String {
    if facts.delta == 0.0 {
        return "Delta is 0: the promise has no exception.".to_owned();
    }
    let delta = given(facts.delta);
    let meaning = format!(
        "Delta = {delta} is the room that the promise leaves for rare outcomes. It is not the chance that something \
         goes wrong; but a program that publishes one whole record with chance {delta} for each person would keep a promise with \
         this delta."
    );
    let Some(crowd) = facts.crowd else {
        return format!("{meaning} So it should be far below one over the number of people.");
    };
    let verdict = if crowd.exposed >= 0.1 {
        "That is too much: take a smaller delta"
    } else {
        "The smaller the better"
    };
    format!(
        "{meaning} Among {} people that would be {} records on average. {verdict}.",
        crowd.people,
        up(crowd.exposed)
    )
}

#[cfg(test)]
mod tests {
    use sordino_privacy::{Count, Delta, Epsilon};

    use super::*;
    use crate::Promise;

    fn text(epsilon: f64, delta: f64, people: Option<u64>) -> String {
        let promise =
            Promise::pair(Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap(), Neighbours::AddRemove);
        let people = people.map(|people| Count::new(people).unwrap());
        words(&Explanation::of(&promise, people, None)).join("\n")
    }

    #[test]
    fn sentences_carry_the_numbers_rounded_against_us() {
        let text = text(1.0, 0.0, None);
        assert!(text.contains("right in at most 74 of 100 cases"), "{text}");
        assert!(
            text.contains("from 1 to at most 3 of 100; from 10 to at most 24 of 100; from 50 to at most 74"),
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
