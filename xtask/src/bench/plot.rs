//! Curves on two logarithmic axes, as SVG, each with a line of slope 1, which is linear growth.

use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
const MARGIN: [f64; 4] = [60.0, 40.0, 20.0, 50.0]; // left, top, right, bottom
const COLOURS: [&str; 2] = ["#0b6e4f", "#b5541c"];

/// A curve of points (x, seconds), both above 0.
pub(crate) struct Curve {
    pub(crate) label: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// The plot of all curves.
pub(crate) fn svg(title: &str, curves: &[Curve]) -> String {
    let frame = Frame::around(curves);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
        font-family=\"sans-serif\" font-size=\"12\">\n<title>{title}</title>\n<rect width=\"{WIDTH}\" \
        height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <text x=\"{}\" y=\"22\" font-size=\"15\">{title}</text>\n",
        MARGIN[0]
    );
    frame.grid(&mut text);
    for ((curve, colour), place) in curves.iter().zip(COLOURS).zip(0..) {
        frame.curve(&mut text, curve, colour, 56.0 + 18.0 * f64::from(place));
    }
    text.push_str("</svg>\n");
    text
}

/// The axes: powers of ten around all points.
struct Frame {
    x: (i32, i32),
    y: (i32, i32),
}

impl Frame {
    fn around(curves: &[Curve]) -> Self {
        let ends = |values: Vec<f64>| {
            let least = values.iter().copied().fold(f64::INFINITY, f64::min).log10().floor();
            let most = values.iter().copied().fold(0.0, f64::max).log10().ceil();
            (least as i32, (most as i32).max(least as i32 + 1))
        };
        let points = || curves.iter().flat_map(|curve| curve.points.iter());
        Self { x: ends(points().map(|p| p.0).collect()), y: ends(points().map(|p| p.1).collect()) }
    }

    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let [left, top, right, bottom] = MARGIN;
        let part = |value: f64, (least, most): (i32, i32)| {
            (value.log10() - f64::from(least)) / f64::from(most - least)
        };
        (
            left + part(x, self.x) * (WIDTH - left - right),
            HEIGHT - bottom - part(y, self.y) * (HEIGHT - top - bottom),
        )
    }

    /// Draws lines and labels at powers of ten. Writing to a string cannot fail.
    fn grid(&self, text: &mut String) {
        let (left, bottom) = self.place((10f64.powi(self.x.0), 10f64.powi(self.y.0)));
        let (right, top) = self.place((10f64.powi(self.x.1), 10f64.powi(self.y.1)));
        for power in self.x.0..=self.x.1 {
            let (x, _) = self.place((10f64.powi(power), 1.0));
            let _ = writeln!(
                text,
                "<line x1=\"{x:.1}\" y1=\"{top:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\" stroke=\"#ddd\"/><text \
                x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">10<tspan dy=\"-4\" \
                font-size=\"9\">{power}</tspan></text>",
                bottom + 18.0
            );
        }
        for power in self.y.0..=self.y.1 {
            let (_, y) = self.place((1.0, 10f64.powi(power)));
            let _ = writeln!(
                text,
                "<line x1=\"{left:.1}\" y1=\"{y:.1}\" x2=\"{right:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{} s</text>",
                left - 6.0,
                y + 4.0,
                10f64.powi(power)
            );
        }
    }

    /// Draws the points, joined, and a dashed line of slope 1 through the last one.
    fn curve(&self, text: &mut String, curve: &Curve, colour: &str, label_y: f64) {
        let places: Vec<(f64, f64)> = curve.points.iter().map(|point| self.place(*point)).collect();
        let list: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            text,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            list.join(" ")
        );
        for (x, y) in &places {
            let _ = writeln!(text, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"/>");
        }
        if let (Some(first), Some(last)) = (curve.points.first(), curve.points.last()) {
            let least = 10f64.powi(self.y.0);
            let from = first.0.max(last.0 * least / last.1);
            let ((x1, y1), (x2, y2)) = (self.place((from, last.1 * from / last.0)), self.place(*last));
            let _ = writeln!(
                text,
                "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\" \
                stroke-dasharray=\"4 4\"/>"
            );
        }
        let x = MARGIN[0] + 12.0;
        let _ = writeln!(
            text,
            "<text x=\"{x}\" y=\"{label_y}\" fill=\"{colour}\">{} (dashed: linear)</text>",
            curve.label
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_placed_by_their_logarithms() {
        let curve = Curve { label: "rows".to_owned(), points: vec![(10.0, 0.01), (1000.0, 1.0)] };
        let frame = Frame::around(std::slice::from_ref(&curve));
        assert_eq!((frame.x, frame.y), ((1, 3), (-2, 0)));
        let middle = frame.place((100.0, 0.1));
        assert!((middle.0 - 340.0).abs() < 1e-9 && (middle.1 - 195.0).abs() < 1e-9, "{middle:?}");
        let text = svg("time", &[curve]);
        assert!(
            text.starts_with("<svg") && text.ends_with("</svg>\n") && text.matches("<circle").count() == 2
        );
    }
}
