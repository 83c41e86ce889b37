//! One plot: axes, curves, notes, legend.

use std::fmt::Write;

use crate::axis::Axis;
use crate::text::escaped;

/// Curves against two axes.
#[derive(Clone, Debug)]
pub struct Plot {
    /// The title of a file, and its name for those who cannot see it.
    pub title: String,
    /// What a person who cannot see the picture is told.
    pub description: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Height against width.
    pub shape: Shape,
    /// The curves, in the order of the legend.
    pub curves: Vec<Curve>,
    /// Words beside points.
    pub notes: Vec<Note>,
}

/// A curve.
#[derive(Clone, Debug)]
pub struct Curve {
    /// The words of the legend; a curve without any is left out of it.
    pub label: String,
    /// How it is drawn.
    pub line: Line,
    /// Points from left to right.
    pub points: Vec<(f64, f64)>,
}

/// Words to the right of a point.
#[derive(Clone, Debug)]
pub struct Note {
    /// The point, in units of the axes.
    pub at: (f64, f64),
    /// The words.
    pub words: String,
}

/// How a curve is drawn; told apart without colours too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// What the plot is about.
    Main,
    /// What it is compared with.
    Second,
    /// A limit, a law, or guessing.
    Reference,
    /// Points that are not joined.
    Mark,
    /// One of several equals, by number from 0: a line through marked points. There are [`SERIES`]
    /// styles, and more series than that repeat them.
    Series(usize),
}

/// Styles of [`Line::Series`].
pub const SERIES: usize = 6;

/// Height against width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// As high as wide.
    Square,
    /// Three fifths as high as wide.
    Wide,
}

/// Width of the area between the axes.
pub(crate) const SIZE: f64 = 344.0;
/// Label and numbers of the vertical axis, also where a page makes them larger.
pub(crate) const LEFT: f64 = 80.0;
const RIGHT: f64 = 36.0;
pub(crate) const WIDTH: f64 = LEFT + SIZE + RIGHT;
pub(crate) const LEGEND_LINE: f64 = 20.0;
/// Where the lines of a legend begin.
const SIGN: f64 = 20.0;
/// Room for the title of a file, and for half a line of numbers on a page.
pub(crate) const TITLE: f64 = 40.0;
const MARGIN: f64 = 12.0;
/// Numbers and label of the horizontal axis.
pub(crate) const BELOW: f64 = 52.0;

pub(crate) const STYLE: &str = "\
text{font:13px system-ui,sans-serif;fill:#1a1a1a}.title{font-size:15px;font-weight:600}\
.frame{fill:none;stroke:#1a1a1a}.grid{stroke:#1a1a1a;stroke-opacity:.15}\
.line{fill:none;stroke-width:2.2}.main{stroke:#0b5cad}.second{stroke:#b3541e;stroke-dasharray:7 4}\
.reference{stroke:#6b6b6b;stroke-dasharray:2 4}.mark{fill:#1a1a1a}.paper{fill:#fff}\
.series0{stroke:#0b5cad}.series1{stroke:#b3541e}.series2{stroke:#2e7d32;stroke-dasharray:7 4}\
.series3{stroke:#7b3fa0;stroke-dasharray:7 4}.series4{stroke:#a07d00;stroke-dasharray:2 3}\
.series5{stroke:#5f6b76;stroke-dasharray:2 3}circle.line{fill:#fff;stroke-width:1.6;stroke-dasharray:none}\
@media(prefers-color-scheme:dark){text{fill:#eee}.frame{stroke:#eee}.grid{stroke:#eee}.paper{fill:#16181c}\
.main{stroke:#6db3f2}.second{stroke:#f0a06a}.reference{stroke:#a0a0a0}.mark{fill:#eee}\
.series0{stroke:#6db3f2}.series1{stroke:#f0a06a}.series2{stroke:#7cc47f}.series3{stroke:#c79be0}\
.series4{stroke:#d9bd5a}.series5{stroke:#a9b4bf}circle.line{fill:#16181c}}";

impl Plot {
    /// A file of its own.
    pub fn file(&self) -> String {
        let area = self.area(TITLE);
        let legend = named(&self.curves);
        let height = area.bottom() + 60.0 + LEGEND_LINE * legend.len() as f64;
        let width = legend.iter().map(|curve| legend_width(&curve.label)).fold(WIDTH, f64::max);
        let mut svg = self.begin("plot", (width, height), "");
        let _ = write!(
            svg,
            "<style>{STYLE}</style>\n<rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n\
             <text class=\"title\" x=\"{LEFT}\" y=\"24\">{}</text>\n",
            escaped(&self.title)
        );
        self.draw(area, &mut svg);
        draw_legend(&legend, area.bottom() + 66.0, &mut svg);
        svg.push_str("</svg>\n");
        svg
    }

    /// A part of a page, whose style gives the colours; `id` is its own there.
    pub fn inline(&self, id: &str) -> String {
        let area = self.area(MARGIN);
        let mut svg = self.begin(id, (WIDTH, area.bottom() + BELOW), " class=\"plot\"");
        self.draw(area, &mut svg);
        svg.push_str("</svg>\n");
        svg
    }

    /// A panel of [`panels`](crate::panels) at the origin, with its title, but no legend.
    pub(crate) fn panel(&self) -> (String, f64) {
        let area = self.area(TITLE);
        let mut svg =
            format!("<text class=\"title\" x=\"{LEFT}\" y=\"24\">{}</text>\n", escaped(&self.title));
        self.draw(area, &mut svg);
        (svg, area.bottom() + BELOW)
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
        for Note { at, words } in &self.notes {
            let (x, y) = area.place(self.x.place(at.0), self.y.place(at.1));
            text(svg, (x + 8.0, y + 4.0), "start", words);
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
        if matches!(self.line, Line::Series(_)) {
            for &point in &self.points {
                let (x, y) = place(point);
                let _ = writeln!(svg, "<circle class=\"line {class}\" cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"3\"/>");
            }
        }
    }
}

impl Line {
    /// The class that a page's style names.
    pub fn class(self) -> &'static str {
        const NAMES: [&str; SERIES] = ["series0", "series1", "series2", "series3", "series4", "series5"];
        match self {
            Self::Main => "main",
            Self::Second => "second",
            Self::Reference => "reference",
            Self::Mark => "mark",
            Self::Series(number) => NAMES[number % SERIES],
        }
    }
}

/// The curves that a legend names.
pub(crate) fn named(curves: &[Curve]) -> Vec<&Curve> {
    curves.iter().filter(|curve| !curve.label.is_empty()).collect()
}

pub(crate) fn draw_legend(curves: &[&Curve], top: f64, svg: &mut String) {
    for (index, curve) in curves.iter().enumerate() {
        let y = top + LEGEND_LINE * index as f64;
        let (class, end, middle) = (curve.line.class(), SIGN + 34.0, y - 4.0);
        let _ = match curve.line {
            Line::Mark => {
                writeln!(svg, "<circle class=\"{class}\" cx=\"{}\" cy=\"{middle}\" r=\"4.5\"/>", SIGN + 17.0)
            }
            Line::Main | Line::Second | Line::Reference | Line::Series(_) => {
                writeln!(svg, "<path class=\"line {class}\" d=\"M{SIGN} {middle} H{end}\"/>")
            }
        };
        text(svg, (SIGN + 42.0, y), "start", &curve.label);
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
            notes: Vec::new(),
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
    fn series_mark_their_points_and_notes_stand_beside_theirs() {
        let mut plot = plot(Vec::new());
        let points = vec![(0.0, 0.0), (1.0, 1.0)];
        plot.curves = vec![Curve { label: String::new(), line: Line::Series(7), points }];
        plot.notes = vec![Note { at: (1.0, 1.0), words: "here".into() }];
        let svg = plot.file();
        assert_eq!(svg.matches("<circle class=\"line series1\"").count(), 2);
        assert!(svg.contains("<text x=\"432.00\" y=\"44.00\" text-anchor=\"start\">here</text>"), "{svg}");
        assert!(!svg.contains("<path class=\"line"), "a curve without a label is not in the legend");
    }

    #[test]
    fn a_plot_of_a_page_leaves_colours_and_legend_to_it() {
        let svg = plot(vec![(0.0, 0.0), (1.0, 1.0)]).inline("a\"b");
        assert!(
            !svg.contains("<style") && !svg.contains("a &lt; b") && svg.contains("id=\"a&quot;b-title\"")
        );
    }
}
