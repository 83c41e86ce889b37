//! The same scores by the values of a column.

use sordino_report::{GroupScores, Groups};

use super::Outcomes;

/// A group with fewer records than this is marked as having few.
pub const FEW: usize = 30;

/// The scores of the records with each value, in the order of `values`; values without records are
/// left out. `value_of` has the index of each record's value, `None` for a record without one.
pub fn groups(outcomes: &Outcomes, column: &str, values: &[String], value_of: &[Option<usize>]) -> Groups {
    let group = |(number, value): (usize, &String)| {
        let is_member = |record: &usize| value_of.get(*record) == Some(&Some(number));
        let records: Vec<usize> = (0..outcomes.len()).filter(is_member).collect();
        (!records.is_empty()).then(|| GroupScores {
            value: value.clone(),
            records: records.len() as u64,
            few: records.len() < FEW,
            scores: outcomes.of(&records).scores(),
        })
    };
    let groups = values.iter().enumerate().filter_map(group).collect();
    let others = value_of.iter().filter(|value| value.is_none()).count() as u64;
    Groups { column: column.to_owned(), groups, others }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scores::{Classified, Estimated};

    #[test]
    fn each_group_has_the_scores_of_its_records() {
        let outcomes = Outcomes::Classes(Classified {
            classes: vec!["no".into(), "yes".into()],
            is: vec![0, 1, 1, 0, 1],
            said: vec![0, 1, 0, 1, 1],
            probabilities: None,
            evidence: None,
        });
        let values = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
        let groups = groups(&outcomes, "ward", &values, &[Some(0), Some(0), Some(2), Some(2), None]);
        let shown: Vec<_> =
            groups.groups.iter().map(|g| (g.value.as_str(), g.records, g.scores[0].value)).collect();
        assert_eq!(shown, [("a", 2, Some(1.0)), ("c", 2, Some(0.0))]);
        assert!(groups.groups.iter().all(|group| group.few) && groups.others == 1);
    }

    #[test]
    fn numbers_are_grouped_too() {
        let is: Vec<f64> = (0..60).map(f64::from).collect();
        let outcomes = Outcomes::Numbers(Estimated { said: is.iter().map(|y| y + 2.0).collect(), is });
        let value_of: Vec<Option<usize>> = (0..60).map(|record| Some(usize::from(record >= 50))).collect();
        let found = groups(&outcomes, "x", &["a".into(), "b".into()], &value_of).groups;
        assert_eq!((found[0].few, found[1].few, found[1].scores[0].value), (false, true, Some(2.0)));
    }
}
