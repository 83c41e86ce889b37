//! The two plots of the comparison of coordinate and gradient descent.

use std::error::Error;

use sordino_plot::{Axis, Curve, Line, Note, Plot, Shape, panels};

use crate::coordinate::PASSES;
use crate::records::{Record, Way, folder};

const PANELS_A_ROW: usize = 4;

/// Excess loss against passes, one panel for each problem: the best step size and clip norm of
/// the grid at each number of passes.
pub(crate) fn passes(records: &[Record]) -> Result<(), Box<dyn Error>> {
    let plots: Vec<Plot> = records.iter().map(panel).collect();
    let description = "One panel for each problem, one curve for each way to descend.";
    let svg = panels("Excess loss against passes over the data", description, &plots, PANELS_A_ROW);
    write("passes.svg", &svg)
}

/// The ratio that was measured against the one that was predicted.
pub(crate) fn ratios(records: &[Record], levels: &[&str]) -> Result<(), Box<dyn Error>> {
    let points: Vec<(&Record, (f64, f64))> =
        records.iter().filter_map(|record| Some((record, (record.predicted, record.ratio()?)))).collect();
    let of = |is_level: bool| {
        let of = points.iter().filter(|(record, _)| levels.contains(&record.name.as_str()) == is_level);
        of.map(|(_, point)| *point).collect::<Vec<_>>()
    };
    let plot = Plot {
        title: "Coordinate against gradient descent".into(),
        description: "The measured ratio of excess losses follows the predicted one.".into(),
        x: Axis::decades_around("predicted ratio", points.iter().map(|(_, point)| point.0)),
        y: Axis::decades_around("measured ratio", points.iter().map(|(_, point)| point.1)),
        shape: Shape::Wide,
        curves: vec![Curve {
            label: String::new(),
            line: Line::Mark,
            points: [of(true), of(false)].concat(),
        }],
        notes: points.iter().map(|(record, at)| Note { at: *at, words: record.name.clone() }).collect(),
    };
    write("ratios.svg", &plot.file())
}

fn panel(record: &Record) -> Plot {
    let curve = |(number, way): (usize, Way)| {
        let least = |passes: u64| record.least(way, passes).filter(|excess| excess.is_finite());
        let points = PASSES.into_iter().filter_map(|passes| Some((passes as f64, least(passes)?)));
        Curve { label: way.about().to_owned(), line: Line::Series(number), points: points.collect() }
    };
    let curves: Vec<Curve> = Way::ALL.into_iter().enumerate().map(curve).collect();
    let excess = curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.1));
    Plot {
        title: record.name.clone(),
        description: String::new(),
        x: Axis::decades_around("passes", PASSES.map(|passes| passes as f64)),
        y: Axis::decades_around("excess loss", excess),
        shape: Shape::Wide,
        curves,
        notes: Vec::new(),
    }
}

fn write(name: &str, svg: &str) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(folder())?;
    Ok(std::fs::write(folder().join(name), svg)?)
}
