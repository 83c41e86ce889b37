//! Predictions as CSV and as JSON.

use serde::Serialize;
use sordino_run::model::{Model, Prediction};

use crate::error::Error;
use crate::json::{self, Writer};

/// One line for each record: `prediction` and, with `proba`, `probability_CLASS` for each class.
/// The fields are empty for a record that does not fit the schema.
pub(crate) fn csv(model: &Model, predictions: &[Option<Prediction>], proba: bool) -> String {
    let classes = model.encoding().classes().unwrap_or_default();
    let mut header = vec!["prediction".to_owned()];
    if proba {
        header.extend(classes.iter().map(|class| field(&format!("probability_{class}"))));
    }
    let mut text = header.join(",") + "\n";
    for prediction in predictions {
        let said = prediction.as_ref().map(|prediction| match predicted(model, prediction.value) {
            Predicted::Class(class) => field(class),
            Predicted::Number(number) => number.to_string(),
        });
        let mut fields = vec![said.unwrap_or_default()];
        match prediction.as_ref().and_then(|prediction| prediction.probabilities.as_ref()) {
            Some(probabilities) => fields.extend(probabilities.iter().map(f64::to_string)),
            None if proba => fields.extend(classes.iter().map(|_| String::new())),
            None => {}
        }
        text.push_str(&fields.join(","));
        text.push('\n');
    }
    text
}

/// The text as a CSV field, quoted if RFC 4180 asks for it.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// `sordino predict --json`. The prediction is `null` for a record that does not fit the schema.
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

/// The name of the predicted class, or a number within the declared bounds.
fn predicted(model: &Model, value: f64) -> Predicted<'_> {
    match model.encoding().classes() {
        // No truncation: the value is the index of a class.
        Some(classes) => Predicted::Class(&classes[value as usize]),
        None => Predicted::Number(model.number(value)),
    }
}

pub(crate) fn object(
    model: &Model,
    predictions: &[Option<Prediction>],
    proba: bool,
) -> Result<String, Error> {
    let said = |prediction: &Option<Prediction>| Some(predicted(model, prediction.as_ref()?.value));
    let probabilities =
        || predictions.iter().map(|prediction| prediction.as_ref()?.probabilities.as_deref()).collect();
    json::text(&PredictObject {
        writer: Writer::this(),
        target: model.encoding().target().unwrap_or_default(),
        classes: model.encoding().classes(),
        predictions: predictions.iter().map(said).collect(),
        probabilities: proba.then(probabilities),
    })
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn fields_are_quoted_if_they_must_be() {
        assert_eq!(field("plain word"), "plain word");
        assert_eq!(field("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
