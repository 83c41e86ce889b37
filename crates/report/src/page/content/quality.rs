//! How good the model is, on public data.

use super::scores::{self, value};
use super::{heads, paragraph, section};
use crate::number::{count, rounded};
use crate::page::{Block, Figure, Section, Table, Text};
use crate::report::Report;
use crate::run::{Better, Curve, Evaluation, Scale, Score};
use sordino_plot::{Axis, Curve as Drawn, Line, Plot, Shape};

/// The least span of an axis, so that small differences look small: ten points of a share, or a
/// tenth of the largest number.
const MIN_SPAN: f64 = 0.1;

pub(super) fn quality(report: &Report<'_>) -> Section {
    let blocks = match &report.run().evaluation {
        None => vec![paragraph(
            "Nothing was measured: no data were declared public. Scores on the private data would be \
            releases of their own.",
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
    if let Some(remark) = &evaluation.remark {
        blocks.push(paragraph(Text::strong("Read this first: ").and_name(remark).and(".")));
    }
    blocks.extend(scores::blocks(evaluation));
    blocks.extend(evaluation.curves_of.as_ref().map(|words| paragraph(Text::name(words))));
    // Otherwise the released model is the end of the curve.
    let mark = |curve: &Curve| {
        let score = evaluation.scores.iter().find(|score| score.name == curve.name);
        score.filter(|_| evaluation.curves_of.is_some())
    };
    for (index, curve) in evaluation.curves.iter().enumerate() {
        if let Some(plot) = plot(curve, mark(curve)) {
            blocks.push(Block::Figure(Figure { id: format!("plot-curve-{}", index + 1), plot }));
        }
    }
    let tables: Vec<Block> = evaluation.curves.iter().map(table).collect();
    if !tables.is_empty() {
        blocks.push(Block::Folded { title: "The curves as tables", blocks: tables });
    }
    blocks
}

/// The plot of a curve; `None` if no value is finite. The mark is the released model, if that is
/// not the last point of the curve.
fn plot(curve: &Curve, mark: Option<&Score>) -> Option<Plot> {
    let points: Vec<(f64, f64)> = curve
        .points
        .iter()
        .filter_map(|point| Some((point.step as f64, point.value.filter(|value| value.is_finite())?)))
        .collect();
    let ((first, start), (last, end)) = (*points.first()?, *points.last()?);
    let mark = mark.and_then(|score| score.value);
    let values = || points.iter().map(|(_, value)| *value).chain(mark);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let (low, high) = widened(curve.scale, low, high);
    let name = crate::escape::visible(&curve.name).into_owned();
    let shown = |value: f64| rounded(value, curve.scale, curve.better);
    let better = match curve.better {
        Better::Higher => "higher is better",
        Better::Lower => "lower is better",
    };
    let of_model = mark.map(|mark| format!(" The released model: {}.", shown(mark)));
    let line = Drawn { label: format!("{name} of iterates; {better}"), line: Line::Main, points };
    let label = "the released model".to_owned();
    let marked = mark.map(|mark| Drawn { label, line: Line::Mark, points: vec![(last, mark)] });
    Some(Plot {
        description: format!(
            "{}From {} at step {} to {} at step {}; {better}.{}",
            // A name that is too long for the axis is stated here instead.
            if axis_label(&name) == name { String::new() } else { format!("{name}. ") },
            shown(start),
            count(first as u64),
            shown(end),
            count(last as u64),
            of_model.unwrap_or_default()
        ),
        x: Axis::steps("step", first.min(0.0), last),
        y: match curve.scale {
            Scale::Share => Axis::share_of(axis_label(&name), low, high),
            Scale::Number => Axis::linear(axis_label(&name), low, high),
        },
        shape: Shape::Wide,
        curves: std::iter::once(line).chain(marked).collect(),
        notes: Vec::new(),
        title: name,
    })
}

/// The range, widened around its middle to at least [`MIN_SPAN`].
fn widened(scale: Scale, low: f64, high: f64) -> (f64, f64) {
    let (span, most) = match scale {
        Scale::Share => (MIN_SPAN, 1.0),
        Scale::Number => (MIN_SPAN * low.abs().max(high.abs()), f64::INFINITY),
    };
    if high - low >= span {
        return (low, high);
    }
    // The range of shares stays within 0 and 1, that of numbers which are not negative above 0.
    let least = if low >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
    let from = (0.5 * (low + high - span)).max(least).min(most - span);
    (from, from + span)
}

/// The label of a curve's axis: the name of the curve, or `value` if the name is too long.
fn axis_label(name: &str) -> &str {
    const MAX_WIDTH: usize = 24;
    // Most letters from the Hangul block on are twice as wide as Latin ones.
    let width = |letter: char| if letter < '\u{1100}' { 1 } else { 2 };
    if name.chars().map(width).sum::<usize>() <= MAX_WIDTH { name } else { "value" }
}

fn table(curve: &Curve) -> Block {
    let row = |point: &crate::Point| {
        let step = Text::number(count(point.step), point.step as f64);
        vec![step, value(point.value, curve.scale, curve.better)]
    };
    Block::Table(Table {
        caption: Text::name(&curve.name),
        head: heads(["step", "value"]),
        rows: curve.points.iter().map(row).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An axis was once labelled "root mean squared e…".
    #[test]
    fn a_name_is_shown_whole_beside_its_axis_or_below_the_plot() {
        assert_eq!(axis_label("root mean squared error"), "root mean squared error");
        let name = "an_accuracy_of_more_than_twenty_four_letters";
        assert_eq!((axis_label(name), axis_label("検証用データセットの正解率")), ("value", "value"));
        let mut curve = Curve::new(name, Scale::Number, Better::Lower);
        curve.push(1, 0.5);
        assert!(plot(&curve, None).unwrap().description.starts_with(name));
    }

    /// A difference of 0.002 once filled the whole height.
    #[test]
    fn small_differences_look_small() {
        let span = |scale, low, high| {
            let (low, high) = widened(scale, low, high);
            ((low * 1e6).round() / 1e6, (high * 1e6).round() / 1e6)
        };
        assert_eq!(span(Scale::Share, 0.929, 0.931), (0.88, 0.98));
        assert_eq!(span(Scale::Share, 0.999, 1.0), (0.9, 1.0));
        assert_eq!(span(Scale::Share, 0.0, 0.001), (0.0, 0.1));
        assert_eq!(span(Scale::Share, 0.5, 0.9), (0.5, 0.9));
        assert_eq!(span(Scale::Number, 4.0, 4.002), (3.8009, 4.2011));
        assert_eq!(span(Scale::Number, 0.0, 0.0), (0.0, 0.0));
    }

    #[test]
    fn the_released_model_is_a_mark() {
        let mut curve = Curve::new("accuracy", Scale::Share, Better::Higher);
        curve.push(10, 0.796);
        let plot = plot(&curve, Some(&Score::share("accuracy", 0.938))).unwrap();
        assert_eq!((plot.curves.len(), plot.curves[1].line), (2, Line::Mark));
        assert!(plot.description.ends_with("The released model: 93.8 %."), "{}", plot.description);
        assert!(plot.curves[1].points == [(10.0, 0.938)]);
    }

    #[test]
    fn a_curve_without_numbers_is_not_drawn() {
        let mut curve = Curve::new("loss", Scale::Number, Better::Lower);
        assert!(plot(&curve, None).is_none());
        curve.push(0, f64::NAN);
        assert!(plot(&curve, None).is_none());
        curve.push(1, 0.5);
        assert_eq!(plot(&curve, None).unwrap().curves[0].points, [(1.0, 0.5)]);
    }
}
