//! Plots as SVG: lines and points on logarithmic axes.

use std::error::Error;
use std::fmt::Write;
use std::path::Path;

/// A logarithmic axis between two whole powers of ten.
pub(crate) struct Axis {
    powers: (i32, i32),
    pub(crate) ends: (f64, f64),
}

impl Axis {
    /// An axis with room for `values`. `ends` are its ends on the page.
    pub(crate) fn over(values: impl IntoIterator<Item = f64>, ends: (f64, f64)) -> Self {
        let (least, most) = values
            .into_iter()
            .fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), x| (least.min(x), most.max(x)));
        let (low, high) = if most > 0.0 { (least.log10(), most.log10()) } else { (0.0, 1.0) };
        let low = low.floor() as i32;
        Self { powers: (low, (high.ceil() as i32).max(low + 1)), ends }
    }

    pub(crate) fn place(&self, value: f64) -> f64 {
        let (low, high) = (f64::from(self.powers.0), f64::from(self.powers.1));
        self.ends.0 + (value.log10() - low) / (high - low) * (self.ends.1 - self.ends.0)
    }
}

pub(crate) struct Svg {
    text: String,
}

impl Svg {
    pub(crate) fn new((width, height): (f64, f64)) -> Self {
        let head = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
            font-family=\"sans-serif\" font-size=\"10\">\n<rect width=\"{width}\" height=\"{height}\" \
            fill=\"white\"/>\n"
        );
        Self { text: head }
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{element}");
    }

    pub(crate) fn text(&mut self, (x, y): (f64, f64), anchor: &str, words: &str) {
        self.add(format_args!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>"));
    }

    pub(crate) fn point(&mut self, (x, y): (f64, f64), fill: &str) {
        self.add(format_args!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\" fill=\"{fill}\"/>"));
    }

    /// Draws a line through `points`.
    pub(crate) fn line(&mut self, points: &[(f64, f64)], stroke: &str, is_dashed: bool) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let dashes = if is_dashed { " stroke-dasharray=\"4 3\"" } else { "" };
        let points = points.join(" ");
        self.add(format_args!(
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"1.5\"{dashes}/>"
        ));
    }

    /// Draws the grid and its labels at powers of ten.
    pub(crate) fn axes(&mut self, x: &Axis, y: &Axis) {
        let grey = "stroke=\"#ddd\"";
        for power in x.powers.0..=x.powers.1 {
            let at = x.place(10f64.powi(power));
            let (top, bottom) = (y.ends.1, y.ends.0);
            self.add(format_args!("<path d=\"M{at:.1} {top:.1}V{bottom:.1}\" {grey}/>"));
            self.text((at, bottom + 12.0), "middle", &format!("1e{power}"));
        }
        for power in y.powers.0..=y.powers.1 {
            let at = y.place(10f64.powi(power));
            let (left, right) = x.ends;
            self.add(format_args!("<path d=\"M{left:.1} {at:.1}H{right:.1}\" {grey}/>"));
            self.text((left - 4.0, at + 3.5), "end", &format!("1e{power}"));
        }
    }

    pub(crate) fn write(mut self, folder: &Path, name: &str) -> Result<(), Box<dyn Error>> {
        self.text.push_str("</svg>\n");
        std::fs::create_dir_all(folder)?;
        Ok(std::fs::write(folder.join(name), self.text)?)
    }
}
