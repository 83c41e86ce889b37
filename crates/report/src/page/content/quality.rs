//! How good the model is, on public data.

use super::{paragraph, section};
use crate::number::{count, rounded};
use crate::page::{Block, Figure, Section, Table, Text};
use crate::plot::{Axis, Curve as Drawn, Line, Plot, Shape};
use crate::report::Report;
use crate::run::{Better, Curve, Evaluation, Scale};

pub(super) fn quality(report: &Report<'_>) -> Section {
    let blocks = match &report.run().evaluation {
        None => vec![paragraph(
            "Nothing was measured: no data were declared public. Scores on the private data would be releases of their own.",
        )],
        Some(evaluation) => measured(evaluation),
    };
    section("quality", "How good it is", blocks)
}

fn measured(evaluation: &Evaluation) -> Vec<Block> {
    let on = Text::words("Measured on ").and_name(evaluation.data.name());
    let on = match evaluation.data.rows() {
        Some(rows) => on.and(", ").and_number(count(rows), rows as f64).and(" records"),
        None => on,
    };
    let mut blocks = vec![paragraph(on.and(", declared public. Rounded against the model."))];
    let fact =
        |score: &crate::Score| (Text::name(&score.name), value(score.value, score.scale, score.better));
    if !evaluation.scores.is_empty() {
        blocks.push(Block::Facts(evaluation.scores.iter().map(fact).collect()));
    }
    for (index, curve) in evaluation.curves.iter().enumerate() {
        if let Some(plot) = plot(curve) {
            blocks.push(Block::Figure(Figure { id: format!("plot-curve-{}", index + 1), plot }));
        }
    }
    let tables: Vec<Block> = evaluation.curves.iter().map(table).collect();
    if !tables.is_empty() {
        blocks.push(Block::Folded { title: "The curves as tables", blocks: tables });
    }
    blocks
}

fn value(value: Option<f64>, scale: Scale, better: Better) -> Text {
    match value.filter(|value| value.is_finite()) {
        Some(value) => Text::number(rounded(value, scale, better), value),
        None => Text::words("not a number"),
    }
}

/// None if there is nothing to draw.
fn plot(curve: &Curve) -> Option<Plot> {
    let points: Vec<(f64, f64)> = curve
        .points
        .iter()
        .filter_map(|point| Some((point.step as f64, point.value.filter(|value| value.is_finite())?)))
        .collect();
    let ((first, start), (last, end)) = (*points.first()?, *points.last()?);
    let values = || points.iter().map(|(_, value)| *value);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let name = crate::escape::visible(&curve.name).into_owned();
    let shown = |value: f64| rounded(value, curve.scale, curve.better);
    let (y, better) = (
        shortened(&name),
        match curve.better {
            Better::Higher => "higher is better",
            Better::Lower => "lower is better",
        },
    );
    Some(Plot {
        description: format!(
            "From {} at step {} to {} at step {}; {better}.",
            shown(start),
            count(first as u64),
            shown(end),
            count(last as u64)
        ),
        x: Axis::steps("step", first.min(0.0), last),
        y: match curve.scale {
            Scale::Share => Axis::share_of(y, low, high),
            Scale::Number => Axis::linear(y, low, high),
        },
        shape: Shape::Wide,
        curves: vec![Drawn { label: format!("{name}; {better}"), line: Line::Main, points }],
        title: name,
    })
}

/// A name that fits beside an axis.
fn shortened(name: &str) -> String {
    const MOST: usize = 20;
    // From the Hangul letters on, most letters are as wide as high.
    let width = |letter: char| if letter < '\u{1100}' { 1 } else { 2 };
    if name.chars().map(width).sum::<usize>() <= MOST {
        return name.to_owned();
    }
    let fits = name.chars().scan(1, |used, letter| {
        *used += width(letter);
        (*used <= MOST).then_some(letter)
    });
    fits.chain(['…']).collect()
}

fn table(curve: &Curve) -> Block {
    let row = |point: &crate::Point| {
        let step = Text::number(count(point.step), point.step as f64);
        vec![step, value(point.value, curve.scale, curve.better)]
    };
    Block::Table(Table {
        caption: Text::name(&curve.name),
        head: vec!["step", "value"],
        rows: curve.points.iter().map(row).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_and_short_ones_are_not() {
        assert_eq!(shortened("accuracy"), "accuracy");
        assert_eq!(shortened("an_accuracy_of_twenty_one_letters"), "an_accuracy_of_twen…");
        assert_eq!(shortened("検証用データセットの正解率"), "検証用データセット…");
    }

    #[test]
    fn a_curve_without_numbers_is_not_drawn() {
        let mut curve = Curve::new("loss", Scale::Number, Better::Lower);
        assert!(plot(&curve).is_none());
        curve.push(0, f64::NAN);
        assert!(plot(&curve).is_none());
        curve.push(1, 0.5);
        assert_eq!(plot(&curve).unwrap().curves[0].points, [(1.0, 0.5)]);
    }
}
