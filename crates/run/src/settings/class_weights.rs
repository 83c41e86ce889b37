//! Class weights as flags and files spell them: `no=1,yes=3`.
//!
//! # Pitfalls
//! Weights that balance classes are counts of the private data. Nobody pays for them here, so
//! `balanced` is refused by name.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use sordino_data::Encoding;
use sordino_optim::{ClassWeights, OptimError};

use crate::error::RunError;

/// Why `balanced` is refused.
const BALANCED: &str = "balanced weights would be counts of the private data, which is one more release that \
     nobody pays for; state weights from public knowledge, one for each class, as in no=1,yes=3";

/// One weight for each class, by its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "String")]
pub struct DeclaredWeights(Vec<(String, f64)>);

/// As files spell it: a text or a table.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Table(BTreeMap<String, f64>),
}

impl DeclaredWeights {
    /// The weights for the target of this encoding.
    pub(crate) fn among(&self, encoding: &Encoding) -> Result<ClassWeights, RunError> {
        if encoding.classes().is_none() {
            let (setting, by) = ("--class-weights".to_owned(), "a target that is a number".to_owned());
            return Err(RunError::Unused { setting, by });
        }
        Ok(ClassWeights::new(encoding, &self.0).map_err(OptimError::from)?)
    }

    /// The weights that a learner uses, with their names.
    pub(crate) fn of(encoding: &Encoding, weights: &ClassWeights) -> Self {
        let classes = encoding.classes().unwrap_or_default().iter().cloned();
        Self(classes.zip(weights.as_slice().iter().copied()).collect())
    }
}

impl FromStr for DeclaredWeights {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim().eq_ignore_ascii_case("balanced") {
            return Err(BALANCED.to_owned());
        }
        let wrong =
            || format!("class weights are CLASS=WEIGHT for each class, as in no=1,yes=3; got `{text}`");
        let (mut weights, mut class) = (Vec::new(), String::new());
        for part in text.split(',') {
            // A name may contain commas and equals signs: a weight follows the last equals sign.
            match part.rsplit_once('=').map(|(name, weight)| (name, weight.trim().parse::<f64>())) {
                Some((name, Ok(weight))) => weights.push((std::mem::take(&mut class) + name, weight)),
                Some((_, Err(_))) | None => class = class + part + ",",
            }
        }
        if weights.is_empty() || !class.is_empty() { Err(wrong()) } else { Ok(Self(weights)) }
    }
}

impl TryFrom<Written> for DeclaredWeights {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        match written {
            Written::Text(text) => text.parse(),
            Written::Table(weights) => Ok(Self(weights.into_iter().collect())),
        }
    }
}

impl From<DeclaredWeights> for String {
    fn from(weights: DeclaredWeights) -> Self {
        weights.to_string()
    }
}

impl fmt::Display for DeclaredWeights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (class, weight)) in self.0.iter().enumerate() {
            write!(f, "{}{class}={weight}", if number == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<(String, f64)> {
        text.parse::<DeclaredWeights>().unwrap().0
    }

    #[test]
    fn names_may_have_commas_and_equals_signs() {
        let pairs = |pairs: &[(&str, f64)]| -> Vec<(String, f64)> {
            pairs.iter().map(|(class, weight)| ((*class).to_owned(), *weight)).collect()
        };
        assert_eq!(parsed("no=1,yes=3"), pairs(&[("no", 1.0), ("yes", 3.0)]));
        assert_eq!(parsed("a,b=1,c=d=0.5,-1= 2"), pairs(&[("a,b", 1.0), ("c=d", 0.5), ("-1", 2.0)]));
        for text in ["no=1,yes=3", "a,b=1,c=d=0.3333333333333333"] {
            assert_eq!(text.parse::<DeclaredWeights>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn invalid_weights_are_refused() {
        for text in ["", "no", "no=", "no=1,yes", "no=many", "3"] {
            let error = text.parse::<DeclaredWeights>().unwrap_err();
            assert!(error.contains("as in no=1,yes=3"), "{error}");
        }
        for text in ["balanced", " Balanced"] {
            let error = text.parse::<DeclaredWeights>().unwrap_err();
            assert!(
                error.contains("counts of the private data") && error.contains("public knowledge"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_file_says_it_as_a_text_or_a_table() {
        let read = |text: &str| toml::from_str::<BTreeMap<String, DeclaredWeights>>(text).unwrap();
        assert_eq!(read("w = 'no=1,yes=3'")["w"], read("w = { yes = 3.0, no = 1 }")["w"]);
    }
}
