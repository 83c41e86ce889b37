//! Several plots in one file, with one legend.

use std::fmt::Write;

use crate::plot::{self, Curve, Plot};
use crate::text::escaped;

/// Draws `plots` in rows of `columns`, with one legend: that of all curves, each label once.
pub fn panels(title: &str, description: &str, plots: &[Plot], columns: usize) -> String {
    let columns = columns.clamp(1, plots.len().max(1));
    let drawn: Vec<(String, f64)> = plots.iter().map(Plot::panel).collect();
    let height = drawn.iter().map(|(_, height)| *height).fold(0.0, f64::max);
    let legend = legend(plots);
    let rows = plots.len().div_ceil(columns) as f64;
    let width = plot::WIDTH * columns as f64;
    let total = rows * height + 20.0 + plot::LEGEND_LINE * legend.len() as f64;
    let (title, description) = (escaped(title), escaped(description));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {total}\" role=\"img\" \
         aria-labelledby=\"plots-title plots-description\">\n<title id=\"plots-title\">{title}</title>\n\
         <desc id=\"plots-description\">{description}</desc>\n<style>{}</style>\n\
         <rect class=\"paper\" width=\"{width}\" height=\"{total}\"/>\n",
        plot::STYLE
    );
    for (number, (panel, _)) in drawn.iter().enumerate() {
        let (x, y) = (plot::WIDTH * (number % columns) as f64, height * (number / columns) as f64);
        // Writing to a string cannot fail.
        let _ = write!(svg, "<g transform=\"translate({x} {y})\">\n{panel}</g>\n");
    }
    plot::draw_legend(&legend, rows * height + 14.0, &mut svg);
    svg.push_str("</svg>\n");
    svg
}

fn legend(plots: &[Plot]) -> Vec<&Curve> {
    let mut found: Vec<&Curve> = Vec::new();
    for curve in plots.iter().flat_map(|plot| plot::named(&plot.curves)) {
        if found.iter().all(|known| known.label != curve.label) {
            found.push(curve);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Line, Shape};

    #[test]
    fn panels_share_a_legend() {
        let plot = |title: &str| Plot {
            title: title.into(),
            description: String::new(),
            x: Axis::shares("x"),
            y: Axis::shares("y"),
            shape: Shape::Wide,
            curves: vec![Curve { label: "one".into(), line: Line::Series(0), points: vec![(0.0, 1.0)] }],
            notes: Vec::new(),
        };
        let svg = panels("all", "three panels", &[plot("a"), plot("b"), plot("c")], 2);
        assert_eq!(svg.matches("<g transform").count(), 3);
        assert_eq!(svg.matches(">one</text>").count(), 1);
        assert!(svg.contains("translate(0 ") && svg.contains("translate(460 0)"), "{svg}");
    }
}
