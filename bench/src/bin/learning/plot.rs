//! The two plots of the comparison of coordinate and gradient descent.

use std::error::Error;

use crate::coordinate::PASSES;
use crate::records::{Record, Way, folder};
use crate::svg::{Axis, Svg};

const PANEL: (f64, f64) = (230.0, 170.0);
const MARGIN: (f64, f64) = (48.0, 34.0);
const PANELS_PER_ROW: usize = 4;

/// Draws excess loss against passes, one panel for each problem, with the best step size and clip
/// norm of the grid at each number of passes.
pub(crate) fn passes(records: &[Record]) -> Result<(), Box<dyn Error>> {
    let rows = records.len().div_ceil(PANELS_PER_ROW);
    let size = (PANEL.0 * PANELS_PER_ROW as f64, PANEL.1 * rows as f64 + 26.0);
    let mut svg = Svg::new(size);
    for (i, record) in records.iter().enumerate() {
        let corner = (PANEL.0 * (i % PANELS_PER_ROW) as f64, PANEL.1 * (i / PANELS_PER_ROW) as f64);
        panel(&mut svg, corner, record);
    }
    for (k, way) in Way::ALL.into_iter().enumerate() {
        let (x, y) = (10.0 + 152.0 * k as f64, size.1 - 12.0);
        svg.line(&[(x, y), (x + 16.0, y)], colour(way), is_dashed(way));
        svg.text((x + 20.0, y + 3.5), "start", way.about());
    }
    svg.write(&folder(), "passes.svg")
}

/// Draws the measured ratio against the predicted one.
pub(crate) fn ratios(records: &[Record], levels: &[&str]) -> Result<(), Box<dyn Error>> {
    let points: Vec<(&Record, f64)> =
        records.iter().filter_map(|record| Some((record, record.ratio()?))).collect();
    let size = (460.0, 300.0);
    let mut svg = Svg::new(size);
    let x = Axis::over(points.iter().map(|(record, _)| record.predicted), (56.0, size.0 - 90.0));
    let y = Axis::over(points.iter().map(|(_, ratio)| *ratio), (size.1 - 40.0, 14.0));
    svg.axes(&x, &y);
    svg.text(((x.ends.0 + x.ends.1) / 2.0, size.1 - 6.0), "middle", "predicted ratio");
    svg.text((6.0, 10.0), "start", "measured ratio: coordinate / gradient");
    for (record, ratio) in points {
        let at = (x.place(record.predicted), y.place(ratio));
        let fill = if levels.contains(&record.name.as_str()) { "#1b6ca8" } else { "#c8553d" };
        svg.point(at, fill);
        svg.text((at.0 + 6.0, at.1 + 3.5), "start", &record.name);
    }
    svg.write(&folder(), "ratios.svg")
}

fn panel(svg: &mut Svg, corner: (f64, f64), record: &Record) {
    let curve = |way: Way| {
        let points = PASSES.into_iter().filter_map(move |passes| {
            Some((passes as f64, record.least(way, passes).filter(|excess| excess.is_finite())?))
        });
        points.collect::<Vec<_>>()
    };
    let all = || Way::ALL.into_iter().flat_map(curve);
    let x = Axis::over(PASSES.map(|passes| passes as f64), (corner.0 + MARGIN.0, corner.0 + PANEL.0 - 12.0));
    let y = Axis::over(all().map(|(_, excess)| excess), (corner.1 + PANEL.1 - MARGIN.1, corner.1 + 22.0));
    svg.axes(&x, &y);
    svg.text(((x.ends.0 + x.ends.1) / 2.0, corner.1 + 14.0), "middle", &record.name);
    svg.text(((x.ends.0 + x.ends.1) / 2.0, corner.1 + PANEL.1 - 6.0), "middle", "passes");
    for way in Way::ALL {
        let points: Vec<(f64, f64)> =
            curve(way).into_iter().map(|(passes, excess)| (x.place(passes), y.place(excess))).collect();
        svg.line(&points, colour(way), is_dashed(way));
        points.into_iter().for_each(|point| svg.point(point, colour(way)));
    }
}

fn colour(way: Way) -> &'static str {
    match way {
        Way::Full => "#c8553d",
        Way::Momentum => "#8c2f1b",
        Way::Poisson => "#e0a458",
        Way::Jointly => "#123f63",
        Way::BySmoothness => "#1b6ca8",
        Way::Equal => "#7fb3d5",
    }
}

/// Whether the curve is dashed, so that curves differ by more than colour.
fn is_dashed(way: Way) -> bool {
    matches!(way, Way::Poisson | Way::Momentum | Way::BySmoothness | Way::Equal)
}
