//! Scores of predicted numbers.

use sordino_report::{Better, Interval, Score};

use super::interval::{mean, normal, standard_error};

/// Predicted numbers beside the true ones, in the target's own unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimated {
    /// The true numbers.
    pub is: Vec<f64>,
    /// The predicted numbers.
    pub said: Vec<f64>,
}

impl Estimated {
    /// `√(Σ (y - ŷ)²/n)`.
    pub fn root_mean_squared_error(&self) -> f64 {
        super::average(self.squares().into_iter()).sqrt()
    }

    /// Root mean squared error first; then mean absolute error and R².
    pub fn scores(&self) -> Vec<Score> {
        let squares = self.squares();
        let centre = super::average(self.is.iter().copied());
        let around: Vec<f64> = self.is.iter().map(|is| (is - centre).powi(2)).collect();
        let spread = super::average(around.iter().copied());
        let root = Score::new("root mean squared error", self.root_mean_squared_error(), Better::Lower)
            .against(spread.sqrt())
            .within(mean(&squares).map(rooted));
        let absolute: Vec<f64> = self.is.iter().zip(&self.said).map(|(is, said)| (is - said).abs()).collect();
        let middle = median(&self.is);
        let constant = super::average(self.is.iter().map(|is| (is - middle).abs()));
        let mean_absolute =
            Score::new("mean absolute error", super::average(absolute.iter().copied()), Better::Lower)
                .against(constant)
                .within(mean(&absolute));
        let mut scores = vec![root, mean_absolute];
        // If all true values are equal, R² has no meaning.
        if spread > 0.0 {
            scores.push(explained(&squares, &around, spread));
        }
        scores
    }

    /// The outcomes of these records alone.
    pub fn of(&self, records: &[usize]) -> Self {
        let pick = |all: &[f64]| records.iter().map(|record| all[*record]).collect();
        Self { is: pick(&self.is), said: pick(&self.said) }
    }

    fn squares(&self) -> Vec<f64> {
        self.is.iter().zip(&self.said).map(|(is, said)| (is - said).powi(2)).collect()
    }
}

/// R² = 1 - A/B for the means A of squared errors and B of squared differences
/// from the mean. To first order it moves with one record by `-(a - (A/B) b)/B`,
/// whose spread gives the standard error.
fn explained(squares: &[f64], around: &[f64], spread: f64) -> Score {
    let ratio = super::average(squares.iter().copied()) / spread;
    let moves: Vec<f64> = squares.iter().zip(around).map(|(a, b)| -(a - ratio * b) / spread).collect();
    let interval = standard_error(&moves).map(|error| normal(1.0 - ratio, error, "normal, delta method"));
    Score::new("R²", 1.0 - ratio, Better::Higher).against(0.0).within(interval)
}

fn rooted(interval: Interval) -> Interval {
    let root = |end: f64| end.max(0.0).sqrt();
    Interval { lower: root(interval.lower), upper: root(interval.upper), ..interval }
}

/// The median: the middle of the sorted values, or the mean of the two middle ones; 0 for an empty
/// list.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => sorted[half],
        _ => 0.5 * (sorted[half - 1] + sorted[half]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IS: [f64; 8] = [3.0, -0.5, 2.0, 7.0, 4.0, 1.5, 0.0, 9.0];
    const SAID: [f64; 8] = [2.5, 0.0, 2.0, 8.0, 3.0, 2.5, 1.0, 7.0];

    /// By scikit-learn 1.9: `root_mean_squared_error`, `mean_absolute_error`, `r2_score`, and the
    /// same for `DummyRegressor` with the mean, and with the median for absolute errors.
    #[test]
    fn numbers_have_the_scores_of_scikit_learn() {
        let scores = Estimated { is: IS.to_vec(), said: SAID.to_vec() }.scores();
        for (score, (name, value, constant)) in scores.iter().zip(NUMBERS) {
            assert_eq!(score.name, name);
            assert!((score.value.unwrap() - value).abs() < 1e-12, "{score:?} instead of {value}");
            assert!((score.constant.unwrap() - constant).abs() < 1e-12, "{score:?} instead of {constant}");
        }
    }

    /// The delta method against finite differences: each record's weight is raised a little.
    #[test]
    fn the_interval_of_the_explained_part_follows_its_slopes() {
        let weighted = |weights: &[f64]| {
            let all: f64 = weights.iter().sum();
            let mean = |value: &dyn Fn(usize) -> f64| {
                weights.iter().enumerate().map(|(i, weight)| weight * value(i)).sum::<f64>() / all
            };
            let centre = mean(&|i| IS[i]);
            1.0 - mean(&|i| (IS[i] - SAID[i]).powi(2)) / mean(&|i| (IS[i] - centre).powi(2))
        };
        let slope = |i: usize| {
            let at = |by: f64| {
                weighted(&std::array::from_fn::<f64, 8, _>(|j| if i == j { 1.0 + by } else { 1.0 }))
            };
            8.0 * (at(1e-5) - at(-1e-5)) / 2e-5
        };
        let slopes: Vec<f64> = (0..8).map(slope).collect();
        let middle = slopes.iter().sum::<f64>() / 8.0;
        let error = (slopes.iter().map(|s| (s - middle).powi(2)).sum::<f64>() / 7.0 / 8.0).sqrt();
        let scores = Estimated { is: IS.to_vec(), said: SAID.to_vec() }.scores();
        let interval = scores[2].interval.as_ref().unwrap();
        let half = 0.5 * (interval.upper - interval.lower);
        assert!((half / (1.959_963_984_540_054 * error) - 1.0).abs() < 1e-6, "{half} and {error}");
    }

    #[test]
    fn constant_true_values_have_no_r_squared() {
        let scores = Estimated { is: vec![2.0, 2.0], said: vec![1.0, 2.0] }.scores();
        assert!(scores.iter().all(|score| score.name != "R²"));
        assert_eq!((median(&[3.0, 1.0, 2.0, 10.0]), median(&[])), (2.5, 0.0));
    }

    const NUMBERS: [(&str, f64, f64); 3] = [
        ("root mean squared error", 1.0307764064044151, 3.1024184114977142),
        ("mean absolute error", 0.875, 2.5),
        ("R²", 0.8896103896103896, 0.0),
    ];
}
