//! What the best attacker could learn, and ε at other δ.

use super::{heads, paragraph, section};
use crate::number::{down, given, of_100, percent_up, up};
use crate::page::{Block, Figure, Section, Table, Text};
use crate::picture::attacker as attacker_plot;
use crate::report::{ProfileEntry, Report};
use sordino_plot::{Axis, Curve, Line, Plot, Shape};

pub(super) fn attacker(report: &Report<'_>) -> Section {
    let whose = report.whose();
    let intro = format!(
        "The attacker sees the release, knows {}, and decides whether {} {} used. The trade-off curve shows \
        how often that can succeed. The closer it is to the diagonal, which is guessing, the better for \
        those in the data.",
        whose.others,
        whose.data,
        whose.was()
    );
    let figure = Figure { id: "plot-attacker".to_owned(), plot: attacker_plot(report.promise()) };
    let blocks =
        vec![paragraph(intro), Block::Figure(figure), detections(report), odds(report), groups(report)];
    section("attacker", "What the best attacker could learn", blocks)
}

fn detections(report: &Report<'_>) -> Block {
    let row = |attack: &crate::Attack| {
        let (alarms, found) = (attack.false_positive_rate, attack.true_positive_rate);
        vec![Text::number(percent_up(alarms), alarms), Text::number(percent_up(found), found)]
    };
    Block::Table(Table {
        caption: "An attacker who rarely accuses wrongly finds at most this many of those who took part."
            .into(),
        head: heads(["wrongly accused", "found, at most"]),
        rows: report.explanation().attacks.iter().map(row).collect(),
    })
}

fn odds(report: &Report<'_>) -> Block {
    let facts = report.explanation();
    let whose = report.whose();
    let result = if facts.delta == 0.0 {
        "the most telling result".to_owned()
    } else {
        format!(
            "one of the most telling results (a kind that comes up at least once in 100 times without {})",
            whose.it
        )
    };
    let row = |odds: &crate::Odds| {
        let in_100 = |share: f64| Text::number(format!("{} of 100", of_100(share)), share);
        vec![in_100(odds.before), in_100(odds.after)]
    };
    Block::Table(Table {
        caption: format!(
            "What somebody believes, before and after {result}, because {} {} used. Guesses are judged over \
            all results, such a belief after one.",
            whose.it,
            whose.was()
        )
        .into(),
        head: heads(["before", "after, at most"]),
        rows: facts.odds.iter().map(row).collect(),
    })
}

fn groups(report: &Report<'_>) -> Block {
    let row = |group: &crate::GroupPromise| {
        let right = 0.5 * (1.0 + group.advantage);
        vec![
            Text::number(group.size.to_string(), group.size as f64),
            Text::number(up(group.epsilon), group.epsilon),
            Text::number(up(group.delta), group.delta),
            Text::number(format!("{} of 100", of_100(right)), right),
        ]
    };
    Block::Table(Table {
        caption: "Units that change together, such as a family, are promised less.".into(),
        head: heads(["units", "ε, at most", "at δ", "right guesses, at most"]),
        rows: report.explanation().groups.iter().map(row).collect(),
    })
}

pub(super) fn profile(report: &Report<'_>) -> Section {
    let profile = report.profile();
    let blocks = if profile.is_empty() {
        vec![paragraph("There is no finite ε at any δ up to 1/10.")]
    } else {
        let intro = "One release has many pairs (ε, δ), all of them true at once. The guarantee names one of \
            them; the curve shows the others. Both ends are certified: the truth lies between the lines.";
        let figure = Figure { id: "plot-profile".to_owned(), plot: profile_plot(report) };
        let table = Block::Folded { title: "The same as a table", blocks: vec![profile_table(report)] };
        vec![paragraph(intro), Block::Figure(figure), table]
    };
    section("profile", "ε at every δ", blocks)
}

fn profile_plot(report: &Report<'_>) -> Plot {
    let profile = report.profile();
    let guarantee = &report.run().guarantee;
    let end = |end: fn(&sordino_privacy::Bound) -> f64| {
        profile.iter().map(|entry| (entry.delta, end(&entry.epsilon))).collect::<Vec<_>>()
    };
    let upper = end(|bound| bound.upper);
    let highest = upper.iter().map(|(_, epsilon)| *epsilon).fold(0.0, f64::max);
    let decade = |delta: f64| delta.log10();
    // Not empty: the caller has checked.
    let (first, last) = (upper[0].0, upper[upper.len() - 1].0);
    let gap = profile.iter().map(|entry| entry.epsilon.relative_gap()).fold(0.0, f64::max);
    let mut curves = vec![
        Curve { label: "ε, lower end".to_owned(), line: Line::Second, points: end(|bound| bound.lower) },
        Curve { label: "ε, upper end".to_owned(), line: Line::Main, points: upper },
    ];
    let own = (guarantee.delta.get(), guarantee.epsilon.upper);
    if own.0 > 0.0 && own.1.is_finite() {
        curves.push(Curve {
            label: "the pair of the guarantee".to_owned(),
            line: Line::Mark,
            points: vec![own],
        });
    }
    Plot {
        title: "ε at every δ".to_owned(),
        description: format!(
            "At δ = {} epsilon is at most {}; at δ = {} it is at most {}. The ends differ by at most {}.",
            given(first),
            up(profile[0].epsilon.upper),
            given(last),
            up(profile[profile.len() - 1].epsilon.upper),
            percent_up(gap)
        ),
        x: Axis::decades("δ", decade(first).floor() as i32, decade(last).ceil() as i32),
        y: Axis::linear("ε", 0.0, if highest > 0.0 { highest } else { 1.0 }),
        shape: Shape::Wide,
        curves,
        notes: Vec::new(),
    }
}

fn profile_table(report: &Report<'_>) -> Block {
    let row = |ProfileEntry { delta, epsilon: bound }: &ProfileEntry| {
        vec![
            Text::number(given(*delta), *delta),
            Text::number(down(bound.lower), bound.lower),
            Text::number(up(bound.upper), bound.upper),
        ]
    };
    Block::Table(Table {
        caption: "Certified ends of ε.".into(),
        head: heads(["δ", "ε, at least", "ε, at most"]),
        rows: report.profile().iter().map(row).collect(),
    })
}
