//! Seconds against size on two logarithmic axes, with the line of slope 1 for comparison.

use sordino_plot::{Axis, Curve, Line, Plot, Shape};

/// A picture of curves of points (size, seconds), each beside what is
/// linear through its last point.
pub(crate) fn seconds_by_size(title: &str, curves: Vec<(&str, Vec<(f64, f64)>)>) -> String {
    let points = || curves.iter().flat_map(|(_, points)| points);
    let x = Axis::decades_around("size", points().map(|point| point.0));
    let y = Axis::decades_around("seconds", points().map(|point| point.1));
    let mut drawn = Vec::new();
    for (number, (label, points)) in curves.into_iter().enumerate() {
        drawn.push(Curve { label: String::new(), line: Line::Reference, points: linear(&points) });
        drawn.push(Curve { label: label.to_owned(), line: Line::Series(number), points });
    }
    // The law stands in the legend once.
    if let Some(first) = drawn.first_mut() {
        first.label = "linear".to_owned();
    }
    let description = "Time grows no faster than in proportion to size where curves are no steeper \
                       than the dotted lines.";
    let (title, description) = (title.to_owned(), description.to_owned());
    Plot { title, description, x, y, shape: Shape::Wide, curves: drawn, notes: Vec::new() }.file()
}

/// The line of slope 1 through the last point.
fn linear(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let Some(&(x, y)) = points.last() else { return Vec::new() };
    points.iter().map(|point| (point.0, y * point.0 / x)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_curve_has_its_line_of_slope_one() {
        assert_eq!(linear(&[(10.0, 0.5), (1000.0, 1.0)]), [(10.0, 0.01), (1000.0, 1.0)]);
        let svg = seconds_by_size("time", vec![("rows", vec![(10.0, 0.01), (1000.0, 1.0)])]);
        assert_eq!(svg.matches("<polyline class=\"line reference\"").count(), 1);
        assert_eq!(svg.matches("<circle").count(), 2);
    }
}
