//! Line plots as SVG text: axes from 0 to 1, a few curves, light and dark.
//!
//! Written by hand because it is a page of code, needs no fonts, and lets the reader's own colours decide.

use std::fmt::Write;

/// A square plot of shares against shares.
pub(crate) struct Plot<'a> {
    pub(crate) title: &'a str,
    /// What a person who cannot see the picture is told.
    pub(crate) description: &'a str,
    pub(crate) x: &'a str,
    pub(crate) y: &'a str,
    pub(crate) curves: Vec<Curve<'a>>,
}

/// Points from left to right, both coordinates between 0 and 1.
pub(crate) struct Curve<'a> {
    pub(crate) label: &'a str,
    pub(crate) line: Line,
    pub(crate) points: Vec<(f64, f64)>,
}

/// How a curve is drawn; told apart without colours too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Main,
    Second,
    Reference,
}

const SIZE: f64 = 360.0;
const LEFT: f64 = 64.0;
const TOP: f64 = 40.0;
const WIDTH: f64 = 460.0;
const LEGEND_LINE: f64 = 20.0;

const STYLE: &str = "\
text{font:13px system-ui,sans-serif;fill:#1a1a1a}.title{font-size:15px;font-weight:600}\
.frame{fill:none;stroke:#1a1a1a}.grid{stroke:#1a1a1a;stroke-opacity:.15}\
.line{fill:none;stroke-width:2.2}.main{stroke:#0b5cad}.second{stroke:#b3541e;stroke-dasharray:7 4}\
.reference{stroke:#6b6b6b;stroke-dasharray:2 4}.paper{fill:#fff}\
@media(prefers-color-scheme:dark){text{fill:#eee}.frame{stroke:#eee}.grid{stroke:#eee}.paper{fill:#16181c}\
.main{stroke:#6db3f2}.second{stroke:#f0a06a}.reference{stroke:#a0a0a0}}";

impl Plot<'_> {
    pub(crate) fn svg(&self) -> String {
        let height = TOP + SIZE + 56.0 + LEGEND_LINE * self.curves.len() as f64;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
             aria-labelledby=\"title description\">\n<title id=\"title\">{}</title>\n<desc id=\"description\">{}</desc>\n\
             <style>{STYLE}</style>\n<rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\"/>\n\
             <text class=\"title\" x=\"{LEFT}\" y=\"24\">{}</text>\n",
            escaped(self.title),
            escaped(self.description),
            escaped(self.title)
        );
        self.axes(&mut svg);
        for curve in &self.curves {
            curve.draw(&mut svg);
        }
        self.legend(&mut svg);
        svg.push_str("</svg>\n");
        svg
    }

    fn axes(&self, svg: &mut String) {
        for tick in 0..=5 {
            let share = f64::from(tick) / 5.0;
            let (x, y) = place((share, share));
            line(svg, (x, TOP), (x, TOP + SIZE));
            line(svg, (LEFT, y), (LEFT + SIZE, y));
            let percent = tick * 20;
            text(svg, (x, TOP + SIZE + 18.0), "middle", &format!("{percent} %"));
            text(svg, (LEFT - 8.0, y + 4.0), "end", &format!("{percent} %"));
        }
        // Writing to a string cannot fail.
        let _ = writeln!(
            svg,
            "<rect class=\"frame\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{SIZE}\" height=\"{SIZE}\"/>"
        );
        text(svg, (LEFT + SIZE / 2.0, TOP + SIZE + 38.0), "middle", self.x);
        let (x, y) = (16.0, TOP + SIZE / 2.0);
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" transform=\"rotate(-90 {x} {y})\">{}</text>",
            escaped(self.y)
        );
    }

    fn legend(&self, svg: &mut String) {
        for (index, curve) in self.curves.iter().enumerate() {
            let y = TOP + SIZE + 58.0 + LEGEND_LINE * index as f64;
            let _ = writeln!(
                svg,
                "<path class=\"line {}\" d=\"M{LEFT} {} H{}\"/>",
                curve.line.class(),
                y - 4.0,
                LEFT + 34.0
            );
            text(svg, (LEFT + 42.0, y), "start", curve.label);
        }
    }
}

impl Curve<'_> {
    fn draw(&self, svg: &mut String) {
        let _ = write!(svg, "<polyline class=\"line {}\" points=\"", self.line.class());
        for &point in &self.points {
            let (x, y) = place(point);
            let _ = write!(svg, "{x:.2},{y:.2} ");
        }
        svg.push_str("\"/>\n");
    }
}

impl Line {
    fn class(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Second => "second",
            Self::Reference => "reference",
        }
    }
}

fn place((x, y): (f64, f64)) -> (f64, f64) {
    (LEFT + SIZE * x.clamp(0.0, 1.0), TOP + SIZE * (1.0 - y.clamp(0.0, 1.0)))
}

fn line(svg: &mut String, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
    let _ = writeln!(svg, "<path class=\"grid\" d=\"M{x1} {y1} L{x2} {y2}\"/>");
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, words: &str) {
    let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{}</text>", escaped(words));
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_land_where_the_axes_say_and_words_are_escaped() {
        let points = vec![(0.0, 0.0), (1.0, 1.0), (0.5, 2.0)];
        let curves = vec![Curve { label: "a < b", line: Line::Main, points }];
        let svg = Plot { title: "t & u", description: "d", x: "x", y: "y", curves }.svg();
        assert!(svg.contains("points=\"64.00,400.00 424.00,40.00 244.00,40.00 \""), "{svg}");
        assert!(svg.contains("t &amp; u") && svg.contains("a &lt; b") && !svg.contains("t & u"));
        assert_eq!(svg.matches("<text").count(), 1 + 12 + 2 + 1);
    }
}
