//! Scores of predicted classes.

use sordino_report::{Better, Confusion, Score};

use super::calibration::calibration;
use super::interval::{combined, mean, wilson};
use super::ranking::{self, Area, area_under_curve};

/// The least probability in a log loss, which would otherwise be infinite.
const MIN_PROBABILITY: f64 = 1e-15;

/// Predicted classes beside the true ones, one of each per record.
#[derive(Clone, Debug, PartialEq)]
pub struct Classified {
    /// The names of the classes.
    pub classes: Vec<String>,
    /// The index of each record's true class.
    pub is: Vec<usize>,
    /// The index of each record's predicted class.
    pub said: Vec<usize>,
    /// The stated probability of each class, if the model states one.
    pub probabilities: Option<Vec<Vec<f64>>>,
    /// The evidence for each class, which ranks records if there are no probabilities.
    pub evidence: Option<Vec<Vec<f64>>>,
}

impl Classified {
    /// The share of right predictions.
    pub fn accuracy(&self) -> f64 {
        self.hits() as f64 / self.is.len().max(1) as f64
    }

    /// The confusion matrix.
    pub fn confusion(&self) -> Confusion {
        let mut counts = vec![vec![0; self.classes.len()]; self.classes.len()];
        self.is.iter().zip(&self.said).for_each(|(is, said)| counts[*is][*said] += 1);
        Confusion { classes: self.classes.clone(), counts }
    }

    /// Accuracy, balanced accuracy and, if the model ranks records or states probabilities, AUC,
    /// log loss and calibration error.
    pub fn scores(&self) -> Vec<Score> {
        let counts = self.counts();
        let records = self.is.len() as u64;
        let most = counts.iter().max().copied().unwrap_or(0);
        let accuracy = Score::share("accuracy", self.accuracy())
            .against(most as f64 / records.max(1) as f64)
            .within(wilson(self.hits(), records));
        let mut scores = vec![accuracy, self.balanced(&counts)];
        scores.extend(self.area());
        scores.extend(self.log_loss(&counts));
        let error = calibration(self).map(|calibration| calibration.error);
        // The constant's calibration error is 0: it states the frequencies of these very records.
        scores.extend(error.map(|error| Score::new("calibration error", error, Better::Lower).against(0.0)));
        scores
    }

    /// The outcomes of these records alone.
    pub fn of(&self, records: &[usize]) -> Self {
        let rows = |all: &Option<Vec<Vec<f64>>>| {
            all.as_ref().map(|all| records.iter().map(|record| all[*record].clone()).collect())
        };
        Self {
            classes: self.classes.clone(),
            is: records.iter().map(|record| self.is[*record]).collect(),
            said: records.iter().map(|record| self.said[*record]).collect(),
            probabilities: rows(&self.probabilities),
            evidence: rows(&self.evidence),
        }
    }

    fn hits(&self) -> u64 {
        self.is.iter().zip(&self.said).filter(|(is, said)| is == said).count() as u64
    }

    /// The number of records of each class.
    fn counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.classes.len()];
        self.is.iter().for_each(|is| counts[*is] += 1);
        counts
    }

    fn balanced(&self, counts: &[u64]) -> Score {
        let confusion = self.confusion();
        let found = |(class, records): (usize, &u64)| {
            let hits = confusion.counts[class][class];
            Some((hits as f64 / *records as f64, wilson(hits, *records)?))
        };
        let shares: Vec<_> = counts.iter().enumerate().filter_map(found).collect();
        let value = super::average(shares.iter().map(|(share, _)| *share));
        let constant = 1.0 / shares.len().max(1) as f64;
        Score::share("balanced accuracy", value).against(constant).within(combined(&shares))
    }

    /// AUC: with two classes that of the second, with more the mean over all of one against the
    /// rest.
    fn area(&self) -> Option<Score> {
        let evidence = self.probabilities.as_ref().or(self.evidence.as_ref())?;
        let area = |class: usize| -> Option<Area> {
            let own: Vec<f64> = evidence.iter().map(|row| row[class]).collect();
            let is_member: Vec<bool> = self.is.iter().map(|is| *is == class).collect();
            area_under_curve(&own, &is_member)
        };
        let first = if self.classes.len() == 2 { 1 } else { 0 };
        let areas: Vec<Area> = (first..self.classes.len()).filter_map(area).collect();
        let (value, interval) = match areas.as_slice() {
            [] => return None,
            [one] => (one.area, one.interval()),
            many => (super::average(many.iter().map(|area| area.area)), ranking::of_mean(many)),
        };
        Some(Score::new("AUC", value, Better::Higher).against(0.5).within(interval))
    }

    fn log_loss(&self, counts: &[u64]) -> Option<Score> {
        let probabilities = self.probabilities.as_ref()?;
        let losses: Vec<f64> = self
            .is
            .iter()
            .zip(probabilities)
            .map(|(is, row)| -row[*is].clamp(MIN_PROBABILITY, 1.0).ln())
            .collect();
        let records = self.is.len() as f64;
        let entropy = |count: &u64| match *count as f64 / records {
            share if share > 0.0 => -share * share.ln(),
            _ => 0.0,
        };
        let value = super::average(losses.iter().copied());
        let constant = counts.iter().map(entropy).sum();
        Some(Score::new("log loss", value, Better::Lower).against(constant).within(mean(&losses)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(classes: usize, is: &[usize], probabilities: &[&[f64]]) -> Classified {
        let best = |row: &&[f64]| (0..row.len()).fold(0, |best, k| if row[k] > row[best] { k } else { best });
        Classified {
            classes: (0..classes).map(|class| class.to_string()).collect(),
            is: is.to_vec(),
            said: probabilities.iter().map(best).collect(),
            probabilities: Some(probabilities.iter().map(|row| row.to_vec()).collect()),
            evidence: None,
        }
    }

    #[track_caller]
    fn has(scores: &[Score], name: &str, value: f64, constant: f64) {
        let score = scores.iter().find(|score| score.name == name).unwrap();
        assert!((score.value.unwrap() - value).abs() < 1e-12, "{score:?} instead of {value}");
        assert!((score.constant.unwrap() - constant).abs() < 1e-12, "{score:?} instead of {constant}");
    }

    /// By scikit-learn 1.9: `accuracy_score`, `balanced_accuracy_score`, `roc_auc_score`,
    /// `log_loss`, and the same for `DummyClassifier(strategy="prior")` fitted on these records.
    #[test]
    fn two_classes_have_the_scores_of_scikit_learn() {
        let is = [0, 1, 1, 0, 1, 0, 0, 1, 0, 0];
        let second = [0.2, 0.7, 0.4, 0.4, 0.9, 0.6, 0.1, 0.55, 0.3, 0.2];
        let rows: Vec<[f64; 2]> = second.iter().map(|p| [1.0 - p, *p]).collect();
        let rows: Vec<&[f64]> = rows.iter().map(|row| row.as_slice()).collect();
        let outcome = outcome(2, &is, &rows);
        let scores = outcome.scores();
        for (name, value, constant) in TWO {
            has(&scores, name, value, constant);
        }
        assert_eq!(outcome.confusion().counts, [[5, 1], [1, 3]]);
        assert_eq!(scores[0].name, "accuracy");
    }

    /// The same, with `roc_auc_score(multi_class="ovr", average="macro")`.
    #[test]
    fn three_classes_have_the_scores_of_scikit_learn() {
        let rows: [&[f64]; 7] = [
            &[0.7, 0.2, 0.1],
            &[0.3, 0.4, 0.3],
            &[0.2, 0.2, 0.6],
            &[0.5, 0.3, 0.2],
            &[0.1, 0.6, 0.3],
            &[0.3, 0.3, 0.4],
            &[0.4, 0.5, 0.1],
        ];
        let scores = outcome(3, &[0, 1, 2, 1, 1, 0, 0], &rows).scores();
        for (name, value, constant) in THREE {
            has(&scores, name, value, constant);
        }
    }

    #[test]
    fn a_class_without_records_has_no_part_in_means() {
        let scores = outcome(3, &[0, 0, 1], &[&[0.8, 0.1, 0.1], &[0.2, 0.7, 0.1], &[0.1, 0.8, 0.1]]).scores();
        has(&scores, "balanced accuracy", 0.75, 0.5);
        // 0 against the rest: 0.8 and 0.2 against 0.1. 1 against the rest: 0.8 against 0.1 and 0.7.
        has(&scores, "AUC", 1.0, 0.5);
    }

    #[test]
    fn certainty_that_is_wrong_has_a_finite_loss() {
        let scores = outcome(2, &[0, 1], &[&[0.0, 1.0], &[0.0, 1.0]]).scores();
        has(&scores, "log loss", -(1e-15_f64.ln()) / 2.0, 2_f64.ln());
    }

    const TWO: [(&str, f64, f64); 4] = [
        ("accuracy", 0.8, 0.6),
        ("balanced accuracy", 0.7916666666666667, 0.5),
        ("AUC", 0.8958333333333334, 0.5),
        ("log loss", 0.43116021100914576, 0.6730116670092563),
    ];
    const THREE: [(&str, f64, f64); 4] = [
        ("accuracy", 0.5714285714285714, 0.42857142857142855),
        ("balanced accuracy", 0.6666666666666666, 0.3333333333333333),
        ("AUC", 0.861111111111111, 0.5),
        ("log loss", 0.802693323410128, 1.0042424730540764),
    ];
}
