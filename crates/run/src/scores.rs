//! How good predictions are: pure functions of predictions and true values.
//!
//! # Definition
//! | score | of n records | interval |
//! |---|---|---|
//! | accuracy | share of right predictions | Wilson 1927 |
//! | balanced accuracy | mean of the recalls of the classes | Zou, Donner 2008, from Wilson's |
//! | AUC | chance that a record of the class is ranked above another, ties half | DeLong et al. 1988 |
//! | log loss | mean of `-ln p` of the true class, p cut at 10^-15 | normal |
//! | calibration error | mean difference of stated and observed, over ten bins | none |
//! | root mean squared error | `√(Σ (y - ŷ)²/n)` | normal, of the mean square |
//! | mean absolute error | `Σ abs(y - ŷ)/n` | normal |
//! | R² | `1 - Σ (y - ŷ)²/Σ (y - ȳ)²` | normal, by the delta method |
//!
//! With more than two classes AUC is the mean over classes of one against the rest. Its standard
//! error is at most the mean of theirs, which is used in its place. Classes without a record are
//! left out of both means.
//!
//! # The constant
//! Each score comes with that of the best constant: the commonest class, the frequencies of
//! classes, the mean, or the median for absolute errors. The constant is chosen on the very records
//! on which it is scored. So it has seen no private record, and it is hard to beat: no constant
//! that was chosen before would score higher.
//!
//! # Pitfalls
//! A score on private records is a statistic of them: one more release. These functions do not know
//! whose records they get; the caller has to know. Intervals are about other records like these,
//! not about the noise of training: another run on the same data gives another model.

mod calibration;
mod classes;
mod groups;
mod interval;
mod numbers;
mod ranking;
mod verdict;

pub use self::calibration::{BINS, calibration};
pub use self::classes::Classified;
pub use self::groups::{FEW, groups};
pub use self::interval::{Z, combined, mean, wilson};
pub use self::numbers::Estimated;
pub use self::ranking::{Area, area_under_curve};
pub use self::verdict::verdict;

use sordino_report::{Calibration, Confusion, Score};

/// Predictions beside the true values.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcomes {
    /// Predicted classes.
    Classes(Classified),
    /// Predicted numbers.
    Numbers(Estimated),
}

impl Outcomes {
    /// The number of records.
    pub fn len(&self) -> usize {
        match self {
            Self::Classes(outcomes) => outcomes.is.len(),
            Self::Numbers(outcomes) => outcomes.is.len(),
        }
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All scores; the first is the headline.
    pub fn scores(&self) -> Vec<Score> {
        match self {
            Self::Classes(outcomes) => outcomes.scores(),
            Self::Numbers(outcomes) => outcomes.scores(),
        }
    }

    /// The first score alone.
    pub fn headline(&self) -> f64 {
        match self {
            Self::Classes(outcomes) => outcomes.accuracy(),
            Self::Numbers(outcomes) => outcomes.root_mean_squared_error(),
        }
    }

    /// The confusion matrix, for classes.
    pub fn confusion(&self) -> Option<Confusion> {
        match self {
            Self::Classes(outcomes) => Some(outcomes.confusion()),
            Self::Numbers(_) => None,
        }
    }

    /// Stated probabilities against observed frequencies.
    pub fn calibration(&self) -> Option<Calibration> {
        match self {
            Self::Classes(outcomes) => calibration(outcomes),
            Self::Numbers(_) => None,
        }
    }

    /// The outcomes of these records alone.
    pub fn of(&self, records: &[usize]) -> Self {
        match self {
            Self::Classes(outcomes) => Self::Classes(outcomes.of(records)),
            Self::Numbers(outcomes) => Self::Numbers(outcomes.of(records)),
        }
    }
}

/// The mean; 0 for an empty list.
fn average(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores are computed after a model was paid for, so they must end whatever it predicts.
    #[test]
    fn a_model_that_diverged_has_scores_without_numbers() {
        let nowhere = f64::NAN;
        let classes = Outcomes::Classes(Classified {
            classes: vec!["no".into(), "yes".into()],
            is: vec![0, 1, 1, 0],
            said: vec![0; 4],
            probabilities: Some(vec![vec![nowhere, nowhere]; 4]),
            evidence: None,
        });
        let numbers = Outcomes::Numbers(Estimated { is: vec![1.0, 2.0], said: vec![nowhere, f64::INFINITY] });
        for outcomes in [&classes, &numbers] {
            let all: Vec<Score> = outcomes.scores();
            assert!(all.iter().any(|score| score.value.is_none()), "{all:?}");
            let _ = (verdict(&all), outcomes.confusion(), outcomes.calibration());
        }
        let nothing = classes.of(&[]);
        assert!(nothing.is_empty());
        let _ = (nothing.scores(), nothing.calibration(), numbers.of(&[]).scores());
    }
}
