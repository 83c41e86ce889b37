//! "Did you mean": the known word that is nearest to one that is not.

/// `; did you mean `age`?`, or nothing.
pub(crate) fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    // Hostile input must not buy quadratic time, and what differs in every other letter is no slip.
    const LONGEST: usize = 60;
    let near = known.into_iter().filter(|known| known.len() <= LONGEST && word.len() <= LONGEST);
    let near = near.map(|known| (strsim::osa_distance(word, known), known));
    let nearest = near.filter(|(distance, known)| *distance <= 1 + known.len() / 4).min_by_key(|near| near.0);
    nearest.map(|(_, known)| format!("; did you mean `{known}`?")).unwrap_or_default()
}
