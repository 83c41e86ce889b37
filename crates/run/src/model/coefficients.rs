//! The weights of a linear model in the units of the columns.
//!
//! # Definition
//! A number v of a column with bounds [l, u] is encoded as `a v + b`, with (a, b) as follows; a
//! category has a coordinate for each value, with (1, 0).
//!
//! | scaling | a | b |
//! |---|---|---|
//! | symmetric | 2/(u - l) | -(u + l)/(u - l) |
//! | unit | 1/(u - l) | -l/(u - l) |
//! | none | 1 | 0 |
//!
//! So the score `Σ w_i (a_i v_i + b_i) + w_0` has the coefficients `w_i a_i` and the intercept
//! `w_0 + Σ w_i b_i`. A predicted number is decoded by `(s - b_y)/a_y`, which divides all of them.
//!
//! # Pitfalls
//! The formula holds for records within the declared bounds, which others are clamped to, and
//! within `--row-norm`, which longer records are scaled down to.

use sordino_data::{Bounds, Column, Encoding, Scaling};

use super::Model;

/// The weights of a linear model in the units of the columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Coefficients {
    /// The coordinates: a column, or `column=value` for each value of a category.
    pub names: Vec<String>,
    /// One row for each score, with one number for each coordinate.
    pub weights: Vec<Vec<f64>>,
    /// One number for each score.
    pub intercepts: Vec<f64>,
}

impl Model {
    /// The coefficients of a linear model; a network has none.
    pub fn coefficients(&self) -> Option<Coefficients> {
        let Self::Linear(model) = self else { return None };
        let encoding = model.encoding();
        let scales = scales(encoding);
        let target = encoding.target_bounds().map_or((1.0, 0.0), |bounds| scale(bounds, encoding.scaling()));
        let (mut weights, mut intercepts) = (Vec::new(), Vec::new());
        for row in model.weights() {
            // The intercept is the last coordinate, if there is one.
            let own = row.get(scales.len()).copied().unwrap_or(0.0);
            let shifts: f64 = row.iter().zip(&scales).map(|(w, (_, b))| w * b).sum();
            weights.push(row.iter().zip(&scales).map(|(w, (a, _))| w * a / target.0).collect());
            intercepts.push((own + shifts - target.1) / target.0);
        }
        let mut names = encoding.coordinates();
        names.truncate(scales.len());
        Some(Coefficients { names, weights, intercepts })
    }
}

/// (a, b) of each coordinate, without the intercept.
fn scales(encoding: &Encoding) -> Vec<(f64, f64)> {
    let of = |name: &str| match encoding.schema().column(name) {
        Some(Column::Number(column)) => vec![scale(column.bounds(), encoding.scaling())],
        Some(Column::Category(column)) => vec![(1.0, 0.0); column.values().len()],
        Some(Column::Ignore) | None => Vec::new(),
    };
    encoding.features().flat_map(of).collect()
}

fn scale(bounds: Bounds, scaling: Scaling) -> (f64, f64) {
    let (lower, upper) = (bounds.lower(), bounds.upper());
    let width = upper - lower;
    match scaling {
        Scaling::Symmetric => (2.0 / width, -(upper + lower) / width),
        Scaling::Unit => (1.0 / width, -lower / width),
        Scaling::None => (1.0, 0.0),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sordino_data::{Door, EncodingOptions, Loader, RawTable, Schema, Source};
    use sordino_learn::{LinearModel, Loss};
    use sordino_noise::danger::seeded;

    use super::*;

    /// The formula on raw values gives what the model predicts from encoded ones.
    #[test]
    fn coefficients_predict_what_the_model_predicts() {
        let schema = "columns.a = { kind = 'number', bounds = [10, 50] }
                      columns.c = { kind = 'category', values = ['u', 'v'] }
                      columns.y = { kind = 'number', bounds = [-3, 5] }";
        let schema = Schema::from_toml(schema).unwrap();
        for scaling in [Scaling::Symmetric, Scaling::Unit] {
            for intercept in [false, true] {
                let target = Some("y".to_owned());
                let options = EncodingOptions { target, scaling, intercept, row_norm: None };
                let names = ["a", "c", "y"].map(str::to_owned);
                let encoding = Encoding::new(&schema, &names, options).unwrap();
                let weights = [0.3, -0.2, 0.15, 0.05];
                let weights = weights[..encoding.width()].to_vec();
                let model = LinearModel::from_parts(Loss::Squared, encoding.clone(), weights).unwrap();
                let model = Model::Linear(model);
                let found = model.coefficients().unwrap();
                assert_eq!(found.names, ["a", "c=u", "c=v"]);
                let table = RawTable::new().numbers("a", vec![20.0, 47.0]).unwrap();
                let table = table.texts("c", [Some("v"), Some("u")]).unwrap();
                let source = Source::memory("t", vec![Arc::new(table)]).unwrap();
                let encoding = encoding.for_prediction();
                let loader = Loader::new(&source, encoding.schema(), Door::Strict);
                let rows = loader.read(&encoding, &mut seeded(1)).unwrap();
                let said = model.predictions(&rows, false).unwrap();
                for (said, values) in said.iter().zip([[20.0, 0.0, 1.0], [47.0, 1.0, 0.0]]) {
                    let terms = values.iter().zip(&found.weights[0]).map(|(v, w)| v * w);
                    let by_hand = terms.sum::<f64>() + found.intercepts[0];
                    let said = model.encoding().decode_target(said.as_ref().unwrap().value);
                    // Encoded numbers have 24 bits.
                    assert!((by_hand - said).abs() < 1e-5, "{by_hand} {said} {scaling:?} {intercept}");
                }
            }
        }
    }
}
