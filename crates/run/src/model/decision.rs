//! From a probability to a class, by a threshold that was declared before training.
//!
//! # Pitfalls
//! A threshold that is chosen by looking at scores of private records is one more release.
//! This one is declared with the other settings, is part of the model, and is the same for
//! the scores and for every prediction.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use sordino_report::DecisionRule;
use sordino_spelling::hint;

use super::Prediction;
use crate::error::RunError;

/// `CLASS=P`: CLASS is predicted if its probability is at least P. `P` alone means the second
/// class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "String")]
pub struct Threshold {
    class: Option<String>,
    probability: f64,
}

/// The form in files: a number or a text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Number(f64),
    Text(String),
}

/// A threshold with its class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// The name of the class.
    pub class: String,
    /// The index of the class, 0 or 1.
    pub number: usize,
    /// The least probability with which it is predicted.
    pub probability: f64,
}

impl Threshold {
    /// The class of the threshold among `classes`. There must be two, and a
    /// model that states probabilities.
    pub fn among(&self, classes: Option<&[String]>, has_probabilities: bool) -> Result<Decision, RunError> {
        let by = match classes {
            None => Some("a target that is a number".to_owned()),
            Some(classes) if classes.len() != 2 => Some(format!("a target of {} classes", classes.len())),
            Some(_) if !has_probabilities => Some("a loss without probabilities".to_owned()),
            Some(_) => None,
        };
        let (Some(classes), None) = (classes, &by) else {
            let (setting, by) = ("--threshold".to_owned(), by.unwrap_or_default());
            return Err(RunError::Unused { setting, by });
        };
        let number = match &self.class {
            None => 1,
            Some(class) => classes.iter().position(|known| known == class).ok_or_else(|| {
                let hint = hint(class, classes.iter().map(String::as_str));
                RunError::NoSuchClass { class: class.clone(), hint }
            })?,
        };
        Ok(Decision { class: classes[number].clone(), number, probability: self.probability })
    }
}

impl Decision {
    /// The rule for a report.
    pub fn rule(&self) -> DecisionRule {
        DecisionRule { class: self.class.clone(), probability: self.probability }
    }

    /// The prediction by this threshold. Without probabilities it is not changed.
    pub(crate) fn decide(&self, prediction: &mut Prediction) {
        let Some(probability) = prediction.probabilities.as_ref().and_then(|all| all.get(self.number)) else {
            return;
        };
        let number = if *probability >= self.probability { self.number } else { 1 - self.number };
        prediction.value = number as f64;
    }
}

impl FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (class, number) = match text.rsplit_once('=') {
            Some((class, number)) => (Some(class.to_owned()), number),
            None => (None, text),
        };
        match number.trim().parse::<f64>() {
            Ok(probability) if probability > 0.0 && probability < 1.0 => Ok(Self { class, probability }),
            Ok(_) | Err(_) => Err(format!(
                "a threshold is a probability above 0 and below 1, such as 0.3, or CLASS=0.3; got `{text}`"
            )),
        }
    }
}

impl TryFrom<Written> for Threshold {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        match written {
            Written::Number(number) => number.to_string().parse(),
            Written::Text(text) => text.parse(),
        }
    }
}

impl From<Threshold> for String {
    fn from(threshold: Threshold) -> Self {
        threshold.to_string()
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.class {
            Some(class) => write!(f, "{class}={}", self.probability),
            None => write!(f, "{}", self.probability),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_of_one_class() {
        let classes = ["ill".to_owned(), "well".to_owned()];
        let decided = |text: &str, ill: f64| {
            let decision = text.parse::<Threshold>().unwrap().among(Some(&classes), true).unwrap();
            let mut prediction = Prediction { value: 7.0, probabilities: Some(vec![ill, 1.0 - ill]) };
            decision.decide(&mut prediction);
            prediction.value
        };
        assert_eq!((decided("ill=0.2", 0.2), decided("ill=0.2", 0.19)), (0.0, 1.0));
        assert_eq!((decided("0.75", 0.25), decided("0.75", 0.26)), (1.0, 0.0));
    }

    #[test]
    fn invalid_thresholds_are_refused() {
        for text in ["1", "0", "-0.1", "ill", "ill=", "NaN"] {
            assert!(text.parse::<Threshold>().is_err(), "{text}");
        }
        let classes = ["ill".to_owned(), "well".to_owned()];
        let threshold: Threshold = "il=0.5".parse().unwrap();
        let error = threshold.among(Some(&classes), true).unwrap_err().to_string();
        assert!(error.contains("did you mean `ill`?"), "{error}");
        for (classes, says) in [(None, "is a number"), (Some(&classes[..1]), "1 classes")] {
            let error = threshold.among(classes, true).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn a_file_says_it_as_a_number_or_a_text() {
        let read =
            |text: &str| toml::from_str::<std::collections::BTreeMap<String, Threshold>>(text).unwrap();
        assert_eq!(read("t = 0.25")["t"], "0.25".parse().unwrap());
        assert_eq!(read("t = 'a=b=0.25'")["t"].to_string(), "a=b=0.25");
    }
}
