//! Two plots as SVG, by hand: lines and points on logarithmic axes.

use std::error::Error;
use std::fmt::Write;

use crate::coordinate::PASSES;
use crate::records::{Record, Way, folder};

const PANEL: (f64, f64) = (230.0, 170.0);
const MARGIN: (f64, f64) = (48.0, 34.0);
const PANELS_A_ROW: usize = 4;

/// Excess loss against passes, one panel for each problem: the best step size and clip norm of the grid at each number of passes.
pub(crate) fn passes(records: &[Record]) -> Result<(), Box<dyn Error>> {
    let rows = records.len().div_ceil(PANELS_A_ROW);
    let size = (PANEL.0 * PANELS_A_ROW as f64, PANEL.1 * rows as f64 + 26.0);
    let mut svg = Svg::new(size);
    for (i, record) in records.iter().enumerate() {
        let corner = (PANEL.0 * (i % PANELS_A_ROW) as f64, PANEL.1 * (i / PANELS_A_ROW) as f64);
        panel(&mut svg, corner, record);
    }
    for (k, way) in Way::ALL.into_iter().enumerate() {
        let (x, y) = (10.0 + 152.0 * k as f64, size.1 - 12.0);
        svg.line(&[(x, y), (x + 16.0, y)], colour(way), way);
        svg.text((x + 20.0, y + 3.5), "start", way.about());
    }
    svg.write("passes.svg")
}

/// The ratio that was measured against the one that was predicted.
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
    svg.write("ratios.svg")
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
        svg.line(&points, colour(way), way);
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

/// A logarithmic axis from whole powers of ten to whole powers of ten.
struct Axis {
    powers: (i32, i32),
    ends: (f64, f64),
}

impl Axis {
    fn over(values: impl IntoIterator<Item = f64>, ends: (f64, f64)) -> Self {
        let (least, most) = values
            .into_iter()
            .fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), x| (least.min(x), most.max(x)));
        let (low, high) = if most > 0.0 { (least.log10(), most.log10()) } else { (0.0, 1.0) };
        let low = low.floor() as i32;
        Self { powers: (low, (high.ceil() as i32).max(low + 1)), ends }
    }

    fn place(&self, value: f64) -> f64 {
        let (low, high) = (f64::from(self.powers.0), f64::from(self.powers.1));
        self.ends.0 + (value.log10() - low) / (high - low) * (self.ends.1 - self.ends.0)
    }
}

struct Svg {
    text: String,
}

impl Svg {
    fn new((width, height): (f64, f64)) -> Self {
        let head = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
             font-size=\"10\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
        );
        Self { text: head }
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{element}");
    }

    fn text(&mut self, (x, y): (f64, f64), anchor: &str, words: &str) {
        self.add(format_args!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>"));
    }

    fn point(&mut self, (x, y): (f64, f64), fill: &str) {
        self.add(format_args!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\" fill=\"{fill}\"/>"));
    }

    /// Dashed for some ways, so that colours are not all.
    fn line(&mut self, points: &[(f64, f64)], stroke: &str, way: Way) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let dashes = if matches!(way, Way::Poisson | Way::Momentum | Way::BySmoothness | Way::Equal) {
            " stroke-dasharray=\"4 3\""
        } else {
            ""
        };
        let points = points.join(" ");
        self.add(format_args!(
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"1.5\"{dashes}/>"
        ));
    }

    fn axes(&mut self, x: &Axis, y: &Axis) {
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

    fn write(mut self, name: &str) -> Result<(), Box<dyn Error>> {
        self.text.push_str("</svg>\n");
        std::fs::create_dir_all(folder())?;
        let path = folder().join(name);
        Ok(std::fs::write(path, self.text)?)
    }
}
