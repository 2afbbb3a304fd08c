//! What the increments left in their table.

/// The row of one increment.
#[derive(Clone, Copy, Debug)]
pub struct IncrementRow {
    /// Its number.
    pub id: u64,
    /// The token of the lock.
    pub token: u64,
    /// What it counted to.
    pub count: u64,
    /// When its hold began, and when it last knew that it had the lock: [`Hold::times`](super::Hold::times).
    pub times: [u64; 2],
}

/// Looks at the count and at the rows of all increments.
///
/// # Panics
/// When an increment was lost or written twice, when one was accepted that came late, or when two believed that they
/// had the lock.
pub fn assert_history(mut entries: Vec<IncrementRow>, counted: u64, expected: u64) {
    entries.sort_by_key(|entry| (entry.count, entry.token));
    assert_eq!(counted, expected, "an increment was lost");
    let mut ids: Vec<_> = entries.iter().map(|entry| entry.id).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..expected).collect::<Vec<_>>(), "each has one row");
    for pair in entries.windows(2) {
        let [one, next] = pair else { continue };
        assert_eq!(next.count, one.count + 1, "{one:?} {next:?}");
        assert!(next.token > one.token, "a stale one was accepted: {one:?} {next:?}");
        assert!(next.times[0] > one.times[1], "two believed that they had it: {one:?} {next:?}");
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use super::*;

    fn good() -> Vec<IncrementRow> {
        let entry = |at: u64| IncrementRow {
            id: 2 - at,
            token: 10 + at,
            count: 1 + at,
            times: [at * 10, at * 10 + 5],
        };
        (0..3).map(entry).collect()
    }

    fn complaint(change: fn(&mut Vec<IncrementRow>)) -> String {
        let seen = std::panic::catch_unwind(|| {
            let mut entries = good();
            change(&mut entries);
            assert_history(entries, 3, 3);
        });
        *seen.unwrap_err().downcast::<String>().unwrap()
    }

    #[test]
    fn what_went_wrong_is_seen() {
        assert_history(good(), 3, 3);
        assert!(complaint(|all| all[1].count = 1).contains("left"));
        assert!(complaint(|all| all[1].id = 0).contains("each has one row"));
        assert!(complaint(|all| all[2].token = 11).contains("a stale one was accepted"));
        assert!(complaint(|all| all[1].times[0] = 5).contains("two believed"));
    }
}
