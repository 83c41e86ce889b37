//! The results of the comparison of coordinate and gradient descent: one file for each problem,
//! beside the book's page, so that problems can be run one by one and the page shows the whole
//! grid.

use std::error::Error;
use std::fmt::Write;
use std::path::PathBuf;

/// A variant of a learner: how its batches are drawn, or its gradients clipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Full,
    Momentum,
    Poisson,
    Jointly,
    BySmoothness,
    Equal,
}

impl Way {
    pub(crate) const GRADIENT: [Self; 3] = [Self::Full, Self::Momentum, Self::Poisson];
    pub(crate) const COORDINATE: [Self; 3] = [Self::Jointly, Self::BySmoothness, Self::Equal];
    pub(crate) const ALL: [Self; 6] =
        [Self::Full, Self::Momentum, Self::Poisson, Self::Jointly, Self::BySmoothness, Self::Equal];

    /// The name in files.
    fn word(self) -> &'static str {
        match self {
            Self::Full => "gradient-full",
            Self::Momentum => "gradient-momentum",
            Self::Poisson => "gradient-poisson",
            Self::Jointly => "coordinate-jointly",
            Self::BySmoothness => "coordinate-smoothness",
            Self::Equal => "coordinate-equal",
        }
    }

    /// The name in plots and tables.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Full => "gradient, full batches",
            Self::Momentum => "gradient, with momentum",
            Self::Poisson => "gradient, Poisson samples",
            Self::Jointly => "coordinate, clipped jointly",
            Self::BySmoothness => "coordinate, by smoothness",
            Self::Equal => "coordinate, all alike",
        }
    }
}

/// A point of the grid. Step size and clip norm are relative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Setting {
    pub(crate) way: Way,
    pub(crate) passes: u64,
    pub(crate) step_size: f64,
    pub(crate) clip: f64,
}

/// In which of the three stages a setting was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Grid,
    Again,
    Last,
}

impl Stage {
    const ALL: [Self; 3] = [Self::Grid, Self::Again, Self::Last];

    fn word(self) -> &'static str {
        match self {
            Self::Grid => "grid",
            Self::Again => "again",
            Self::Last => "last",
        }
    }
}

/// The excess loss of a setting over some seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) stage: Stage,
    pub(crate) setting: Setting,
    pub(crate) seeds: usize,
    pub(crate) mean: f64,
    pub(crate) deviation: f64,
}

/// All results of a problem.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) n: u64,
    pub(crate) predicted: f64,
    /// The excess loss of weights 0.
    pub(crate) at_zero: f64,
    pub(crate) lines: Vec<Line>,
}

const HEAD: &str = "stage,way,passes,step_size,clip,seeds,excess,deviation";

impl Record {
    /// Writes the record to its file.
    pub(crate) fn write(&self) -> Result<(), Box<dyn Error>> {
        let mut text =
            format!("# n={} predicted={:.4e} at_zero={:.4e}\n{HEAD}\n", self.n, self.predicted, self.at_zero);
        for Line { stage, setting, seeds, mean, deviation } in &self.lines {
            let Setting { way, passes, step_size, clip } = setting;
            let (stage, way) = (stage.word(), way.word());
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{stage},{way},{passes},{step_size},{clip},{seeds},{mean:.3e},{deviation:.1e}"
            );
        }
        std::fs::create_dir_all(folder())?;
        Ok(std::fs::write(path(&self.name), text)?)
    }

    /// Reads a record from its file; `None` if the file is missing or unreadable.
    pub(crate) fn read(name: &str) -> Option<Self> {
        let text = std::fs::read_to_string(path(name)).ok()?;
        let mut rows = text.lines();
        let about = rows.next()?.strip_prefix("# ")?;
        let value = |key: &str| about.split(' ').find_map(|part| part.strip_prefix(key)?.strip_prefix('='));
        let lines = rows.skip(1).map(line).collect::<Option<Vec<Line>>>()?;
        Some(Self {
            name: name.to_owned(),
            n: value("n")?.parse().ok()?,
            predicted: value("predicted")?.parse().ok()?,
            at_zero: value("at_zero")?.parse().ok()?,
            lines,
        })
    }

    /// The last stage's result of the best setting of these ways.
    pub(crate) fn last(&self, ways: [Way; 3]) -> Option<&Line> {
        self.lines.iter().find(|line| line.stage == Stage::Last && ways.contains(&line.setting.way))
    }

    /// The excess of coordinate descent divided by that of gradient descent.
    pub(crate) fn ratio(&self) -> Option<f64> {
        Some(self.last(Way::COORDINATE)?.mean / self.last(Way::GRADIENT)?.mean)
    }

    /// The least excess of a way at a number of passes, in the grid.
    pub(crate) fn least(&self, way: Way, passes: u64) -> Option<f64> {
        let of_way = |line: &&Line| {
            line.stage == Stage::Grid && (line.setting.way, line.setting.passes) == (way, passes)
        };
        self.lines.iter().filter(of_way).map(|line| line.mean).min_by(f64::total_cmp)
    }

    /// The row in the table of results.
    pub(crate) fn row(&self) -> String {
        let cell = |ways| {
            let line: Option<&Line> = self.last(ways);
            line.map_or("-".to_owned(), |line| format!("{:.2e} ± {:.1e}", line.mean, line.deviation))
        };
        let ratio = self.ratio().map_or("-".to_owned(), short);
        let (gradient, coordinate) = (cell(Way::GRADIENT), cell(Way::COORDINATE));
        let Self { name, n, predicted, at_zero, .. } = self;
        format!("| {name} | {n} | {at_zero:.2e} | {gradient} | {coordinate} | {ratio} | {predicted:.3} |")
    }

    /// The row in the table of best settings.
    pub(crate) fn row_of_settings(&self) -> String {
        let cell = |ways| {
            let line: Option<&Line> = self.last(ways);
            line.map_or("-".to_owned(), |line| {
                let Setting { way, passes, step_size, clip } = line.setting;
                format!("{}; {passes} passes, γ = {step_size}, clip {clip}", way.about())
            })
        };
        format!("| {} | {} | {} |", self.name, cell(Way::GRADIENT), cell(Way::COORDINATE))
    }
}

/// A ratio with two or three digits.
pub(crate) fn short(ratio: f64) -> String {
    if ratio < 0.001 { format!("{ratio:.1e}") } else { format!("{ratio:.3}") }
}

/// The folder of the comparison's files and plots, beside the page that shows them.
pub(crate) fn folder() -> PathBuf {
    sordino_bench::docs().join("studies/coordinate")
}

fn path(name: &str) -> PathBuf {
    folder().join(format!("{}.csv", name.replace([' ', '.'], "-").to_lowercase()))
}

fn line(row: &str) -> Option<Line> {
    let cells: Vec<&str> = row.split(',').collect();
    let [stage, way, passes, step_size, clip, seeds, mean, deviation] = cells.as_slice() else { return None };
    Some(Line {
        stage: Stage::ALL.into_iter().find(|known| known.word() == *stage)?,
        setting: Setting {
            way: Way::ALL.into_iter().find(|known| known.word() == *way)?,
            passes: passes.parse().ok()?,
            step_size: step_size.parse().ok()?,
            clip: clip.parse().ok()?,
        },
        seeds: seeds.parse().ok()?,
        mean: mean.parse().ok()?,
        deviation: deviation.parse().ok()?,
    })
}
