//! The measurements that contestants print, and their medians.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::failure::Failure;

/// One measurement.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Line {
    /// The name of the work, which is the same for every contestant.
    pub(crate) workload: String,
    /// The contestant.
    pub(crate) system: String,
    /// The unit: `ns` for one draw, `s` for one answer, `GB/s`.
    pub(crate) metric: String,
    pub(crate) value: f64,
    /// Parameters and results worth keeping: `upper`, `lower`, `note`, ...
    #[serde(default)]
    pub(crate) config: Map<String, Value>,
    /// How many processors other processes kept busy meanwhile, where the system reports it.
    #[serde(skip)]
    pub(crate) other_load: Option<f64>,
}

/// The measurements of one contestant on one piece of work, over all rounds.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Summary {
    pub(crate) workload: String,
    pub(crate) system: String,
    pub(crate) metric: String,
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
    pub(crate) rounds: usize,
    /// The largest load over the rounds.
    pub(crate) other_load: Option<f64>,
    pub(crate) config: Map<String, Value>,
}

/// Reads a contestant's output. A line that is not a measurement is an error, since it would leave
/// a silent gap.
pub(crate) fn parse(output: &str, other_load: Option<f64>) -> Result<Vec<Line>, Failure> {
    let one = |text: &str| {
        let line: Line = serde_json::from_str(text)
            .map_err(|error| Failure::check(format!("expected a measurement, got `{text}`: {error}")))?;
        Ok(Line { other_load, ..line })
    };
    output.lines().filter(|text| !text.trim().is_empty()).map(one).collect()
}

/// The medians, in the order in which work and contestants first appeared.
pub(crate) fn summaries(lines: &[Line]) -> Vec<Summary> {
    let mut order: Vec<(&str, &str, &str)> = Vec::new();
    let mut groups: BTreeMap<(&str, &str, &str), Vec<&Line>> = BTreeMap::new();
    for line in lines {
        let key = (line.workload.as_str(), line.system.as_str(), line.metric.as_str());
        groups.entry(key).or_insert_with(|| {
            order.push(key);
            Vec::new()
        });
        groups.entry(key).and_modify(|group| group.push(line));
    }
    let first = |workload: &str| order.iter().position(|key| key.0 == workload);
    let mut sorted = order.clone();
    sorted.sort_by_key(|key| first(key.0));
    sorted.iter().filter_map(|key| groups.get(key)).filter_map(|group| summary(group)).collect()
}

fn summary(group: &[&Line]) -> Option<Summary> {
    let mut values: Vec<f64> = group.iter().map(|line| line.value).collect();
    values.sort_by(f64::total_cmp);
    let first = group.first()?;
    let mut config = Map::new();
    for line in group {
        config.extend(line.config.clone());
    }
    Some(Summary {
        workload: first.workload.clone(),
        system: first.system.clone(),
        metric: first.metric.clone(),
        median: median(&values)?,
        least: *values.first()?,
        most: *values.last()?,
        rounds: values.len(),
        other_load: group.iter().filter_map(|line| line.other_load).reduce(f64::max),
        config,
    })
}

fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len() % 2 == 1 { upper } else { (sorted[middle - 1] + upper) / 2.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(workload: &str, system: &str, value: f64) -> String {
        format!(r#"{{"workload":"{workload}","system":"{system}","metric":"s","value":{value}}}"#)
    }

    #[test]
    fn medians_are_taken_over_rounds_and_work_stays_together() {
        let rounds = [("a", "x", 3.0), ("b", "x", 9.0), ("a", "y", 5.0), ("a", "x", 1.0), ("a", "x", 2.0)];
        let text: Vec<String> = rounds.iter().map(|(w, s, v)| line(w, s, *v)).collect();
        let found = summaries(&parse(&text.join("\n"), Some(0.5)).unwrap());
        let seen: Vec<_> = found.iter().map(|s| (s.workload.as_str(), s.system.as_str(), s.median)).collect();
        assert_eq!(seen, [("a", "x", 2.0), ("a", "y", 5.0), ("b", "x", 9.0)]);
        assert_eq!((found[0].least, found[0].most, found[0].other_load), (1.0, 3.0, Some(0.5)));
    }

    #[test]
    fn the_median_of_an_even_number_is_the_mean_of_the_middle_two() {
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]), Some(3.0));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn a_line_that_is_not_a_measurement_is_an_error() {
        assert!(parse("hello", None).is_err());
    }
}
