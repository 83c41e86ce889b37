//! Line plots as SVG text: two axes, a few curves, light and dark.
//!
//! Written by hand because it is a page of code, needs no fonts, and lets the reader's own
//! colours decide. A plot is written either as a file of its own, with its title, legend and
//! colours, or for a page that brings its own style and writes the words around it, where
//! they can wrap on a narrow screen.

mod axis;

use std::fmt::Write;

pub(crate) use self::axis::Axis;
use crate::escape::html as escaped;

/// Curves against two axes.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    pub(crate) title: String,
    /// What a person who cannot see the picture is told.
    pub(crate) description: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) shape: Shape,
    pub(crate) curves: Vec<Curve>,
}

/// Points from left to right.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    pub(crate) label: String,
    pub(crate) line: Line,
    pub(crate) points: Vec<(f64, f64)>,
}

/// How a curve is drawn; told apart without colours too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Main,
    Second,
    Reference,
    /// Points that are not joined.
    Mark,
}

/// Height against width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Square,
    Wide,
}

/// Width of the area between the axes.
const SIZE: f64 = 344.0;
/// Label and numbers of the vertical axis, also where a page makes them larger.
const LEFT: f64 = 80.0;
const RIGHT: f64 = 36.0;
const WIDTH: f64 = LEFT + SIZE + RIGHT;
const LEGEND_LINE: f64 = 20.0;
/// Where the lines of a legend begin.
const SIGN: f64 = 20.0;
/// Room for the title of a file, and for half a line of numbers on a page.
const TITLE: f64 = 40.0;
const MARGIN: f64 = 12.0;
/// Numbers and label of the horizontal axis.
const BELOW: f64 = 52.0;

const STYLE: &str = "\
text{font:13px system-ui,sans-serif;fill:#1a1a1a}.title{font-size:15px;font-weight:600}\
.frame{fill:none;stroke:#1a1a1a}.grid{stroke:#1a1a1a;stroke-opacity:.15}\
.line{fill:none;stroke-width:2.2}.main{stroke:#0b5cad}.second{stroke:#b3541e;stroke-dasharray:7 4}\
.reference{stroke:#6b6b6b;stroke-dasharray:2 4}.mark{fill:#1a1a1a}.paper{fill:#fff}\
@media(prefers-color-scheme:dark){text{fill:#eee}.frame{stroke:#eee}.grid{stroke:#eee}.paper{fill:#16181c}\
.main{stroke:#6db3f2}.second{stroke:#f0a06a}.reference{stroke:#a0a0a0}.mark{fill:#eee}}";

impl Plot {
    /// A file of its own.
    pub(crate) fn file(&self) -> String {
        let area = self.area(TITLE);
        let height = area.bottom() + 60.0 + LEGEND_LINE * self.curves.len() as f64;
        let width = self.curves.iter().map(|curve| legend_width(&curve.label)).fold(WIDTH, f64::max);
        let mut svg = self.begin("plot", (width, height), "");
        let _ = write!(
            svg,
            "<style>{STYLE}</style>\n<rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n\
             <text class=\"title\" x=\"{LEFT}\" y=\"24\">{}</text>\n",
            escaped(&self.title)
        );
        self.draw(area, &mut svg);
        self.legend(area, &mut svg);
        svg.push_str("</svg>\n");
        svg
    }

    /// A part of a page, whose style gives the colours; `id` is its own there.
    pub(crate) fn inline(&self, id: &str) -> String {
        let area = self.area(MARGIN);
        let mut svg = self.begin(id, (WIDTH, area.bottom() + BELOW), " class=\"plot\"");
        self.draw(area, &mut svg);
        svg.push_str("</svg>\n");
        svg
    }

    fn area(&self, top: f64) -> Area {
        let height = match self.shape {
            Shape::Square => SIZE,
            Shape::Wide => 0.6 * SIZE,
        };
        Area { top, height }
    }

    // Writing to a string cannot fail, here and below.
    fn begin(&self, id: &str, (width, height): (f64, f64), attributes: &str) -> String {
        let id = escaped(id);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\"{attributes} viewBox=\"0 0 {width} {height}\" \
            role=\"img\" aria-labelledby=\"{id}-title {id}-description\">\n<title \
            id=\"{id}-title\">{}</title>\n\
             <desc id=\"{id}-description\">{}</desc>\n",
            escaped(&self.title),
            escaped(&self.description)
        )
    }

    fn draw(&self, area: Area, svg: &mut String) {
        self.axes(area, svg);
        for curve in &self.curves {
            curve.draw(|(x, y)| area.place(self.x.place(x), self.y.place(y)), svg);
        }
    }

    fn axes(&self, area: Area, svg: &mut String) {
        let bottom = area.bottom();
        for (value, words) in self.x.ticks() {
            let (x, _) = area.place(self.x.place(*value), 0.0);
            line(svg, (x, area.top), (x, bottom));
            text(svg, (x, bottom + 22.0), "middle", words);
        }
        for (value, words) in self.y.ticks() {
            let (_, y) = area.place(0.0, self.y.place(*value));
            line(svg, (LEFT, y), (LEFT + SIZE, y));
            text(svg, (LEFT - 8.0, y + 4.0), "end", words);
        }
        let (top, height) = (area.top, area.height);
        let _ = writeln!(
            svg,
            "<rect class=\"frame\" x=\"{LEFT}\" y=\"{top}\" width=\"{SIZE}\" height=\"{height}\"/>"
        );
        text(svg, (LEFT + 0.5 * SIZE, bottom + 43.0), "middle", self.x.label());
        let (x, y) = (17.0, top + 0.5 * height);
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" transform=\"rotate(-90 {x} {y})\">{}</text>",
            escaped(self.y.label())
        );
    }

    fn legend(&self, area: Area, svg: &mut String) {
        for (index, curve) in self.curves.iter().enumerate() {
            let y = area.bottom() + 66.0 + LEGEND_LINE * index as f64;
            let _ = writeln!(
                svg,
                "<path class=\"line {}\" d=\"M{SIGN} {} H{}\"/>",
                curve.line.class(),
                y - 4.0,
                SIGN + 34.0
            );
            text(svg, (SIGN + 42.0, y), "start", &curve.label);
        }
    }
}

impl Curve {
    fn draw(&self, place: impl Fn((f64, f64)) -> (f64, f64), svg: &mut String) {
        let class = self.line.class();
        if self.line == Line::Mark {
            for &point in &self.points {
                let (x, y) = place(point);
                let _ = writeln!(svg, "<circle class=\"{class}\" cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"4.5\"/>");
            }
            return;
        }
        let _ = write!(svg, "<polyline class=\"line {class}\" points=\"");
        for &point in &self.points {
            let (x, y) = place(point);
            let _ = write!(svg, "{x:.2},{y:.2} ");
        }
        svg.push_str("\"/>\n");
    }
}

impl Line {
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Second => "second",
            Self::Reference => "reference",
            Self::Mark => "mark",
        }
    }
}

/// The area between the axes.
#[derive(Clone, Copy)]
struct Area {
    top: f64,
    height: f64,
}

impl Area {
    fn bottom(self) -> f64 {
        self.top + self.height
    }

    /// Shares of both axes.
    fn place(self, x: f64, y: f64) -> (f64, f64) {
        (LEFT + SIZE * x, self.top + self.height * (1.0 - y))
    }
}

/// Enough for letters of 13 pixels, whatever the font.
fn legend_width(label: &str) -> f64 {
    SIGN + 42.0 + 7.2 * label.chars().count() as f64
}

fn line(svg: &mut String, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
    let _ = writeln!(svg, "<path class=\"grid\" d=\"M{x1:.2} {y1:.2} L{x2:.2} {y2:.2}\"/>");
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, words: &str) {
    let _ =
        writeln!(svg, "<text x=\"{x:.2}\" y=\"{y:.2}\" text-anchor=\"{anchor}\">{}</text>", escaped(words));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(points: Vec<(f64, f64)>) -> Plot {
        Plot {
            title: "t & u".into(),
            description: "d".into(),
            x: Axis::shares("x"),
            y: Axis::shares("y"),
            shape: Shape::Square,
            curves: vec![Curve { label: "a < b".into(), line: Line::Main, points }],
        }
    }

    #[test]
    fn points_land_where_the_axes_say_and_words_are_escaped() {
        let svg = plot(vec![(0.0, 0.0), (1.0, 1.0), (0.5, 2.0)]).file();
        assert!(svg.contains("points=\"80.00,384.00 424.00,40.00 252.00,40.00 \""), "{svg}");
        assert!(svg.contains("t &amp; u") && svg.contains("a &lt; b") && !svg.contains("t & u"));
        assert_eq!(svg.matches("<text").count(), 1 + 12 + 2 + 1);
    }

    #[test]
    fn a_plot_of_a_page_leaves_colours_and_legend_to_it() {
        let svg = plot(vec![(0.0, 0.0), (1.0, 1.0)]).inline("a\"b");
        assert!(
            !svg.contains("<style") && !svg.contains("a &lt; b") && svg.contains("id=\"a&quot;b-title\"")
        );
    }
}
