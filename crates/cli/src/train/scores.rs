//! The main scores, for a terminal; the report and `--json` have all.

use sordino_report::{Evaluation, Score};

use crate::decimal;
use crate::table::Table;

/// The scores that a terminal shows after the first.
const SHOWN: [&str; 3] = ["AUC", "log loss", "R²"];

pub(crate) fn rows(table: &mut Table, public: &Evaluation) {
    let on = match public.data.rows() {
        Some(rows) => format!(" on {rows} public records"),
        None => String::new(),
    };
    let mut scores = public.scores.iter();
    if let Some(first) = scores.next() {
        table.row([first.name.as_str(), &words(first, &on)]);
    }
    let shown = scores.filter(|score| SHOWN.contains(&score.name.as_str()));
    shown.for_each(|score| table.row([score.name.as_str(), &words(score, "")]));
    if let Some(rule) = &public.threshold {
        let rule = format!("{} from probability {} on", rule.class, decimal::exact(rule.probability));
        table.row(["threshold", &rule]);
    }
    if let Some(groups) = &public.groups {
        table.row(["by", &groups.column]);
    }
    for group in public.groups.iter().flat_map(|groups| &groups.groups) {
        let few = if group.few { ", few" } else { "" };
        let records = if group.records == 1 { "record" } else { "records" };
        let on = format!(" on {} {records}{few}", group.records);
        if let Some(first) = group.scores.first() {
            table.row([format!("  {}", group.value).as_str(), &words(first, &on)]);
        }
    }
}

/// `0.9204 on 113 public records (0.8555 to 0.9576), the best constant 0.6283`.
fn words(score: &Score, on: &str) -> String {
    let Some(value) = score.value else { return format!("not a number{on}") };
    let interval = score.interval.as_ref();
    let interval = interval.map(|ends| format!(" ({:.4} to {:.4})", ends.lower, ends.upper));
    let constant = score.constant.map(|constant| format!(", the best constant {constant:.4}"));
    format!("{value:.4}{on}{}{}", interval.unwrap_or_default(), constant.unwrap_or_default())
}
