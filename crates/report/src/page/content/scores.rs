//! Scores beside those of the best constant, and how their intervals were computed.

use super::heads;
use crate::number::{count, rounded};
use crate::page::{Block, Table, Text};
use crate::run::{Better, Calibration, Confusion, Evaluation, Groups, Interval, Scale, Score};

/// The most classes of a confusion matrix that a page shows.
const MAX_CLASSES: usize = 12;

/// What the best constant is, in words.
const CONSTANT: &str = "The best constant always says the same: the commonest class or the frequencies of \
    classes, the mean or the median. It is chosen on these very records, so no private record was looked at \
    for it, and it is hard to beat.";

pub(super) fn blocks(evaluation: &Evaluation) -> Vec<Block> {
    let scores = &evaluation.scores;
    let mut blocks = Vec::new();
    if !scores.is_empty() {
        blocks.push(table("All of the released model.".into(), scores));
    }
    if scores.iter().any(|score| score.constant.is_some()) {
        blocks.push(Block::Paragraph(CONSTANT.into()));
    }
    blocks.extend(methods(scores).map(Block::Paragraph));
    if let Some(rule) = &evaluation.threshold {
        let words = Text::words("Declared before the run: ").and_name(&rule.class);
        let words = words.and(" is predicted from a probability of ");
        let words = words.and_number(rule.probability.to_string(), rule.probability).and(" on.");
        blocks.push(Block::Paragraph(words));
    }
    blocks.extend(evaluation.groups.iter().map(groups));
    blocks.extend(evaluation.confusion.as_ref().map(confusion));
    blocks.extend(evaluation.calibration.as_ref().map(calibration));
    blocks
}

fn table(caption: Text, scores: &[Score]) -> Block {
    let row = |score: &Score| {
        vec![
            Text::name(&score.name),
            value(score.value, score.scale, score.better),
            interval(score.interval.as_ref(), score.scale),
            constant(score),
        ]
    };
    let rows = scores.iter().map(row).collect();
    Block::Table(Table { caption, head: heads(["", "score", "95 % within", "best constant"]), rows })
}

/// The score of the best constant, rounded in its favour.
fn constant(score: &Score) -> Text {
    score
        .constant
        .map_or_else(Text::default, |constant| number(constant, score.scale, opposite(score.better)))
}

/// How the intervals were computed.
fn methods(scores: &[Score]) -> Option<Text> {
    let named = |score: &Score| Some((score.name.clone(), score.interval.as_ref()?.method.clone()));
    let named: Vec<(String, String)> = scores.iter().filter_map(named).collect();
    if named.is_empty() {
        return None;
    }
    let mut text = Text::words(
        "Other records like these would give scores within the intervals 95 times in 100. Methods: ",
    );
    for (index, (name, method)) in named.iter().enumerate() {
        let between = if index == 0 { "" } else { "; " };
        text = text.and(between).and_name(name).and(" ").and_name(method);
    }
    Some(text.and("."))
}

fn groups(groups: &Groups) -> Block {
    let row = |group: &crate::GroupScores| {
        let records = Text::number(count(group.records), group.records as f64);
        let records = if group.few { records.and(", few") } else { records };
        let mut row = vec![Text::name(&group.value), records];
        row.extend(group.scores.iter().take(1).flat_map(|score| {
            [
                value(score.value, score.scale, score.better),
                interval(score.interval.as_ref(), score.scale),
                constant(score),
            ]
        }));
        row
    };
    let score = groups.groups.iter().find_map(|group| group.scores.first());
    let score = score.map(|score| score.name.as_str()).unwrap_or_default();
    let caption = Text::name(score)
        .and(" by ")
        .and_name(&groups.column)
        .and(". Groups with few records say little: look at the interval. ");
    let caption = match groups.others {
        0 => caption,
        others => caption.and_number(count(others), others as f64).and(" records have no listed value."),
    };
    let head = heads(["", "records", "score", "95 % within", "best constant"]);
    Block::Table(Table { caption, head, rows: groups.groups.iter().map(row).collect() })
}

fn confusion(confusion: &Confusion) -> Block {
    if confusion.classes.len() > MAX_CLASSES {
        let words = format!("The confusion matrix of {} classes is in the JSON.", confusion.classes.len());
        return Block::Paragraph(words.into());
    }
    let head =
        std::iter::once(Text::words("true")).chain(confusion.classes.iter().map(|class| Text::name(class)));
    let row = |(class, counts): (&String, &Vec<u64>)| {
        let counts = counts.iter().map(|number| Text::number(count(*number), *number as f64));
        std::iter::once(Text::name(class)).chain(counts).collect()
    };
    let rows = confusion.classes.iter().zip(&confusion.counts).map(row).collect();
    let caption =
        "How many records of each true class, by row, were predicted to be of each class, by column.".into();
    Block::Table(Table { caption, head: head.collect(), rows })
}

fn calibration(calibration: &Calibration) -> Block {
    let share = |share: f64| number(share, Scale::Share, Better::Higher);
    let row = |bin: &crate::Bin| {
        vec![
            Text::number(percent(bin.from), bin.from).and(" to ").and_number(percent(bin.to) + " %", bin.to),
            Text::number(count(bin.records), bin.records as f64),
            bin.stated.map(share).unwrap_or_default(),
            bin.observed.map(share).unwrap_or_default(),
            interval(bin.interval.as_ref(), Scale::Share),
        ]
    };
    let caption = Text::words("Does ")
        .and_name(&calibration.of)
        .and(" come true? Ten bins of equal width, declared beforehand.");
    let rows = calibration.bins.iter().filter(|bin| bin.records > 0).map(row).collect();
    let head = heads(["stated between", "records", "mean stated", "came true", "95 % within"]);
    let table = Block::Table(Table { caption, head, rows });
    Block::Folded { title: "Calibration", blocks: vec![table] }
}

pub(super) fn value(value: Option<f64>, scale: Scale, better: Better) -> Text {
    match value.filter(|value| value.is_finite()) {
        Some(value) => number(value, scale, better),
        None => Text::words("not a number"),
    }
}

fn number(value: f64, scale: Scale, better: Better) -> Text {
    Text::number(rounded(value, scale, better), value)
}

/// The end of a bin, a whole number of per cent.
fn percent(share: f64) -> String {
    format!("{:.0}", 100.0 * share)
}

/// Both ends of an interval, rounded outwards.
fn interval(interval: Option<&Interval>, scale: Scale) -> Text {
    match interval {
        Some(Interval { lower, upper, .. }) => number(*lower, scale, Better::Higher)
            .and(" to ")
            .and_number(rounded(*upper, scale, Better::Lower), *upper),
        None => Text::default(),
    }
}

fn opposite(better: Better) -> Better {
    match better {
        Better::Higher => Better::Lower,
        Better::Lower => Better::Higher,
    }
}
