//! Mistakes that others made and this run avoided, each with the fact of the run that shows it.
//!
//! The numbers are those of the book's chapter on pitfalls. A mistake is mentioned only if the run
//! could have made it and a fact of the run rules it out.

use serde::Serialize;
use sordino_privacy::{Bound, Contribution};

use crate::lint::kinds;
use crate::number::{given, up};
use crate::run::{BoundsOrigin, RunFacts, SettingValue, Tuning};

/// A mistake that the run avoided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Avoided {
    /// Its number in the book.
    pub number: u8,
    /// The mistake.
    pub pitfall: &'static str,
    /// Why it did not happen here.
    pub why: String,
}

/// The mistakes that the run avoided, by number.
pub(crate) fn avoided(run: &RunFacts, recomputed: Option<Bound>) -> Vec<Avoided> {
    let mut all: Vec<Avoided> = Vec::new();
    let mut add = |number: u8, pitfall: &'static str, why: Option<String>| {
        all.extend(why.map(|why| Avoided { number, pitfall, why }));
    };
    add(1, "Batches drawn in one way and accounted in another", sampler(run));
    add(2, "A divisor that comes from the data", divisor(run));
    add(3, "Sum and mean mixed up", sum(run));
    add(4, "A relation off by two", relation(run));
    add(6, "Bounds read off the data", Some(bounds(run.source.bounds).to_owned()));
    add(7, "One slice of budget spent twice", permit(run));
    add(9, "Noise that was not booked", confirmed(run, recomputed));
    add(10, "Calibration above its target", calibrated(run));
    add(11, "Noise in floating point", Some(arithmetic(run)));
    add(12, "Predictable noise", entropy(run));
    add(15, "Empty batches that are skipped", empty(run));
    add(16, "A search for free", search(run));
    all
}

fn sampler(run: &RunFacts) -> Option<String> {
    let kinds = kinds(&run.guarantee.event);
    let has = |kind: &str| kinds.iter().any(|found| found == kind);
    let law = if has("poisson_sampled") {
        "Every record joined every batch by a coin of its own, which is what the event says"
    } else if has("sampled_without_replacement") || has("sampled_with_replacement") {
        "Batches have a fixed size, and are accounted as such"
    } else if has("shuffled_epochs") {
        "The data were shuffled into batches, and no gain from sampling is claimed"
    } else if has("balls_in_bins") {
        "Every record joined one batch an epoch, chosen by itself, which is what the event says"
    } else {
        return None;
    };
    Some(format!("{law}; batches and event come from one plan."))
}

fn divisor(run: &RunFacts) -> Option<String> {
    let divisor = match run.setting("divisor")? {
        SettingValue::Whole(whole) => whole.to_string(),
        SettingValue::Number(number) => given(*number),
        SettingValue::Flag(_) | SettingValue::Text(_) => return None,
    };
    Some(format!(
        "Noisy sums were divided by {divisor}, a public constant, and not by the size of the batch at hand."
    ))
}

fn sum(run: &RunFacts) -> Option<String> {
    run.setting("clip_norm")?;
    run.setting("divisor")?;
    Some(
        "Noise was added to the sum of clipped contributions, and the sum was divided afterwards.".to_owned(),
    )
}

fn relation(run: &RunFacts) -> Option<String> {
    let moves = match run.guarantee.neighbours.contribution()? {
        Contribution::Absent => "a unit appears or disappears, and moves a sum by one clip norm",
        Contribution::Changed => "a unit becomes another, and moves a sum by two clip norms",
    };
    let accounted = match run.setting("clip_norm") {
        Some(_) => format!("{moves}, which is what was accounted"),
        None => "a charge for another one would have been refused".to_owned(),
    };
    Some(format!("The relation is part of the guarantee: {accounted}."))
}

fn bounds(bounds: BoundsOrigin) -> &'static str {
    match bounds {
        BoundsOrigin::Declared => {
            "Bounds and categories were declared in a schema, and values outside were clamped before use."
        }
        BoundsOrigin::Estimated => {
            "Bounds and categories were estimated privately, and the event pays for it."
        }
    }
}

fn permit(run: &RunFacts) -> Option<String> {
    let metered = run.guarantee.metered;
    metered.then(|| {
        "The whole run was charged before a record was read, and a charge pays for one release.".to_owned()
    })
}

fn confirmed(run: &RunFacts, recomputed: Option<Bound>) -> Option<String> {
    let bound = recomputed.filter(|bound| bound.upper.is_finite())?;
    let stated = run.guarantee.epsilon.upper;
    let agrees = bound.upper <= stated * (1.0 + 1e-9);
    agrees.then(|| {
        format!(
            "The event was accounted once more for this report, from nothing but what is printed here: \
            epsilon is at most {}.",
            up(bound.upper)
        )
    })
}

fn calibrated(run: &RunFacts) -> Option<String> {
    let asked = run.requested?.epsilon.get();
    let upper = run.guarantee.epsilon.upper;
    (upper <= asked)
        .then(|| format!("Epsilon {} was asked for; the certified upper end is {}.", given(asked), up(upper)))
}

fn arithmetic(run: &RunFacts) -> String {
    let inflation = run.guarantee.arithmetic.get();
    let paid = if inflation > 0.0 {
        format!("rounding of sums was paid for by {} of sensitivity", crate::number::percent_up(inflation))
    } else {
        "sums of whole numbers need no allowance for rounding".to_owned()
    };
    format!("Noise was drawn as whole numbers on a grid, from exact samplers; {paid}.")
}

fn entropy(run: &RunFacts) -> Option<String> {
    let secret = !run.guarantee.seeded;
    secret.then(|| {
        "Randomness came from the operating system through a cryptographic generator; there is no seed."
            .to_owned()
    })
}

fn empty(run: &RunFacts) -> Option<String> {
    let may_be_empty =
        kinds(&run.guarantee.event).iter().any(|kind| kind == "poisson_sampled" || kind == "balls_in_bins");
    may_be_empty
        .then(|| "A batch without records is a batch: it got its noise and counted as a step.".to_owned())
}

fn search(run: &RunFacts) -> Option<String> {
    match run.tuning {
        Tuning::WithoutData => Some("Settings were chosen without looking at the private data.".to_owned()),
        Tuning::Booked => Some("The search for settings was charged like any other release.".to_owned()),
        Tuning::NotStated | Tuning::NotBooked => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::recomputed;
    use crate::sample;

    fn numbers(run: &RunFacts) -> Vec<u8> {
        avoided(run, recomputed(run)).iter().map(|avoided| avoided.number).collect()
    }

    #[test]
    fn a_complete_run_lists_every_mistake_it_avoided() {
        assert_eq!(numbers(&sample::logistic()), [1, 2, 3, 4, 6, 7, 9, 10, 11, 12, 15, 16]);
    }

    /// Without the fact, the sentence is absent.
    #[test]
    fn nothing_is_claimed_that_the_run_does_not_show() {
        type Change = fn(&mut RunFacts);
        let changes: [(&[u8], Change); 6] = [
            (&[2, 3], |run| run.method.settings.retain(|setting| setting.name != "divisor")),
            (&[7], |run| run.guarantee.metered = false),
            (&[9], |run| run.guarantee.epsilon = Bound::exactly(0.9 * run.guarantee.epsilon.upper)),
            (&[10], |run| run.requested = None),
            (&[12], |run| run.guarantee.seeded = true),
            (&[16], |run| run.tuning = Tuning::NotStated),
        ];
        let all = numbers(&sample::logistic());
        for (gone, change) in changes {
            let mut run = sample::logistic();
            change(&mut run);
            let expected: Vec<u8> = all.iter().copied().filter(|number| !gone.contains(number)).collect();
            assert_eq!(numbers(&run), expected);
        }
        // A run without sampling, batches or a request.
        assert_eq!(numbers(&sample::bare()), [4, 6, 9, 11, 12]);
    }
}
