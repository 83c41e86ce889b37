//! Predictions as CSV and as JSON.

use serde::Serialize;
use sordino_learn::LinearModel;

use super::{Prediction, Value};
use crate::error::Error;
use crate::json::{self, Writer};

/// One line a record: `prediction`, and `probability_CLASS` for each class if they are asked for. Empty for a record that has no place
/// in the schema.
pub(crate) fn csv(model: &LinearModel, predictions: &[Prediction], proba: bool) -> String {
    let classes = model.encoding().classes().unwrap_or_default();
    let mut header = vec!["prediction".to_owned()];
    if proba {
        header.extend(classes.iter().map(|class| field(&format!("probability_{class}"))));
    }
    let mut text = header.join(",") + "\n";
    for Prediction { value, probabilities } in predictions {
        let mut fields = vec![match value {
            None => String::new(),
            Some(Value::Class(class)) => field(&classes[*class]),
            Some(Value::Number(number)) => number.to_string(),
        }];
        match probabilities {
            Some(probabilities) => fields.extend(probabilities.iter().map(f64::to_string)),
            None if proba => fields.extend(classes.iter().map(|_| String::new())),
            None => {}
        }
        text.push_str(&fields.join(","));
        text.push('\n');
    }
    text
}

/// Quoted where RFC 4180 asks for it.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// `sordino predict --json`. A record that has no place in the schema is `null`.
#[derive(Serialize)]
struct PredictObject<'a> {
    #[serde(flatten)]
    writer: Writer,
    target: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    classes: Option<&'a [String]>,
    predictions: Vec<Option<Predicted<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probabilities: Option<Vec<Option<&'a [f64]>>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Predicted<'a> {
    Class(&'a str),
    Number(f64),
}

pub(crate) fn object(model: &LinearModel, predictions: &[Prediction], proba: bool) -> Result<String, Error> {
    let classes = model.encoding().classes();
    let predicted = |prediction: &Prediction| match prediction.value.as_ref()? {
        Value::Class(class) => Some(Predicted::Class(&classes?[*class])),
        Value::Number(number) => Some(Predicted::Number(*number)),
    };
    let probabilities = || predictions.iter().map(|prediction| prediction.probabilities.as_deref()).collect();
    json::text(&PredictObject {
        writer: Writer::this(),
        target: model.encoding().target().unwrap_or_default(),
        classes,
        predictions: predictions.iter().map(predicted).collect(),
        probabilities: proba.then(probabilities),
    })
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!(field("plain word"), "plain word");
        assert_eq!(field("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
