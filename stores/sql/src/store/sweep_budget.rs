//! A process that makes rows sweeps in proportion.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// The number of new rows for which one page is owed.
const EACH: u64 = 64;

/// The pages that a process owes for the rows that it makes.
///
/// Each process begins to count at a random number below `EACH`. So even processes that each make one row pay their
/// part.
#[derive(Debug)]
pub struct SweepBudget {
    made: AtomicU64,
    /// In pages.
    owed: AtomicU64,
    told: Notify,
}

impl Default for SweepBudget {
    fn default() -> Self {
        let first = getrandom::u64().unwrap_or_default() % EACH;
        Self { made: AtomicU64::new(first), owed: AtomicU64::new(0), told: Notify::new() }
    }
}

impl SweepBudget {
    /// Records that this process has made this many rows.
    pub fn made(&self, rows: usize) {
        let rows = rows as u64;
        let before = self.made.fetch_add(rows, Ordering::Relaxed);
        let pages = (before.wrapping_add(rows) / EACH).wrapping_sub(before / EACH);
        if pages > 0 {
            self.owed.fetch_add(pages, Ordering::Relaxed);
            self.told.notify_one();
        }
    }

    /// Waits until a page is owed.
    pub(crate) async fn wait_until_owed(&self) {
        while self.owed.load(Ordering::Relaxed) == 0 {
            self.told.notified().await;
        }
    }

    /// Records that a page was swept.
    pub(crate) fn record_page(&self) {
        let less = |owed: u64| Some(owed.saturating_sub(1));
        let _ = self.owed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Records that there is nothing to sweep for now.
    pub(crate) fn clear_debt(&self) {
        self.owed.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owed(sweep_budget: &SweepBudget) -> u64 {
        sweep_budget.owed.load(Ordering::Relaxed)
    }

    #[test]
    fn many_that_make_one_row_each_owe_as_much_as_one_that_makes_all() {
        let one = SweepBudget::default();
        (0..640).for_each(|_| one.made(1));
        assert_eq!(owed(&one), 10);
        one.made(64);
        assert_eq!(owed(&one), 11);
        one.record_page();
        assert_eq!(owed(&one), 10);
        let many: u64 = (0..64_000)
            .map(|_| {
                let sweep_budget = SweepBudget::default();
                sweep_budget.made(1);
                owed(&sweep_budget)
            })
            .sum();
        assert!((700..1_300).contains(&many), "{many} of 1000");
    }
}
