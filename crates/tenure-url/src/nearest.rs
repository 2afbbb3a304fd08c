//! The word that a user may have meant.

/// Returns the word of `known` that is closest to `word`, if one is close. Ignores case, and treats `_` and `-` as the
/// same.
///
/// ```
/// assert_eq!(tenure_url::nearest("max_hold", ["ttl", "max-hold"]), Some("max-hold"));
/// assert_eq!(tenure_url::nearest("colour", ["ttl", "max-hold"]), None);
/// ```
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = plain(word).collect();
    known
        .into_iter()
        .map(|candidate| (distance(&word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len() / 3 + 1)
        .min()
        .map(|(_, candidate)| candidate)
}

fn plain(word: &str) -> impl Iterator<Item = char> {
    word.chars().flat_map(char::to_lowercase).map(|c| if c == '_' { '-' } else { c })
}

/// How many characters must be inserted, deleted or replaced.
fn distance(word: &[char], other: &str) -> usize {
    let mut row: Vec<usize> = (0..=word.len()).collect();
    for (at, character) in plain(other).enumerate() {
        let mut before = at;
        let mut left = at + 1;
        for (one, above) in word.iter().zip(row.iter_mut().skip(1)) {
            let best = (before + usize::from(*one != character)).min(*above + 1).min(left + 1);
            before = std::mem::replace(above, best);
            left = best;
        }
        if let Some(first) = row.first_mut() {
            *first = at + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_finds_the_word_that_was_meant() {
        let known = ["ttl", "wait", "max-hold", "hold-at-least", "store", "connect_timeout"];
        assert_eq!(nearest("tll", known), Some("ttl"));
        assert_eq!(nearest("max_hold", known), Some("max-hold"));
        assert_eq!(nearest("Store", known), Some("store"));
        assert_eq!(nearest("hold-atleast", known), Some("hold-at-least"));
        assert_eq!(nearest("connectTimeout", known), Some("connect_timeout"));
        assert_eq!(nearest("colour", known), None);
    }
}
