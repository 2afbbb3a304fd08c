//! Deletes the rows of names that are no longer used. No token goes back because of it.
//!
//! Rounds go over the table in the order of its names, page by page. The table itself records how far the current round
//! has come, so all processes share it, however long they live. A round begins when the floor has covered more rows for
//! a while. The floor is raised when a round ends, and only as often as useful.

use std::{sync::Arc, time::Duration};

use tenure_core::{Fault, LockName};
use tokio::time::{Instant, sleep, timeout_at};

use crate::{
    Database, IdleRow, SqlStore, SweepPage, random::random_part, store::sweep_budget::SweepBudget,
    write::decision::at,
};

/// How many rows one page has. For each new row, a process reads eight rows sooner or later.
pub const PAGE: usize = 512;
/// How long a name must be unused before its row is deleted.
const AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// A round is useful only after this part of the age.
const PARTS: u32 = 16;
/// How long the floor must cover a row before the row is deleted, in microseconds. This is longer than a server works
/// on any statement: two minutes and a second at most.
pub const COVERED: i64 = 140_000_000;
/// How often each process checks whether a round is due, even if it makes no rows.
const PAUSE: Duration = Duration::from_secs(60 * 60);
/// How soon to check again if the floor has to cover rows first.
const LATER: Duration = Duration::from_secs(150);
/// How long new rows cause no sweep after one with nothing to do.
const REST: Duration = Duration::from_secs(60);
/// The pause after a page: this many times as long as the page took, within these limits.
const TIMES: u32 = 3;
const BOUNDS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));
/// How often the pause doubles after a page that others swept: up to ten seconds.
const MOST_MET: u32 = 10;
/// How often to look for a page that no other process takes.
const TRIES: u32 = 4;
const MEETS: Duration = Duration::from_millis(10);
/// How many rows of a page are read again because they have other contenders.
const READS: usize = 16;

/// How often histories are swept at most, and how many batches at a time.
const HISTORIES: Duration = Duration::from_secs(60);
const BATCHES: u32 = 64;

/// Returns the database while it is in use.
pub type DatabaseSource = Box<dyn Fn() -> Option<Arc<dyn Database>> + Send>;

/// Sweeps while there is a database: a page whenever this process owes one, and the rest of a round now and then.
pub async fn keep_swept(sweep_budget: Arc<SweepBudget>, mut database: DatabaseSource) {
    let mut next = Instant::now() + PAUSE.mul_f64(random_part());
    let mut rests_until = Instant::now();
    let mut histories_at = Instant::now();
    let mut met = 0;
    loop {
        let pays = timeout_at(next, sweep_budget.wait_until_owed()).await.is_ok();
        if pays && Instant::now() < rests_until {
            sweep_budget.clear_debt();
            continue;
        }
        let Some(used) = database() else { return };
        let began = Instant::now();
        // A failure here does no harm. A program that locks receives the same fault.
        let then = SqlStore::of(used).sweep(AGE).await.map(|swept| swept.then);
        let pause = (began.elapsed() * TIMES).clamp(BOUNDS.0, BOUNDS.1);
        met = if matches!(then, Ok(NextSweep::Met)) { (met + 1).min(MOST_MET) } else { 0 };
        match then {
            Ok(NextSweep::Met) => sleep(BOUNDS.0 * 2_u32.pow(met)).await,
            Ok(NextSweep::More) if pays => {
                sweep_budget.record_page();
                sleep(pause).await;
            }
            Ok(NextSweep::More) => next = Instant::now() + pause,
            _ if pays => {
                sweep_budget.clear_debt();
                rests_until = Instant::now() + REST;
            }
            Ok(NextSweep::Later) => next = Instant::now() + LATER,
            Ok(NextSweep::Rest) | Err(_) => {
                next = Instant::now() + PAUSE.mul_f64(0.5 + random_part())
            }
        }
        // After the page: a process that lives briefly owes that.
        if Instant::now() >= histories_at {
            sweep_histories(&mut database).await;
            histories_at = Instant::now() + HISTORIES;
        }
    }
}

/// Deletes events of histories whose time is over, with pauses. It keeps no database that nobody else uses.
#[allow(clippy::needless_pass_by_ref_mut, reason = "a shared one cannot go to another thread")]
async fn sweep_histories(database: &mut DatabaseSource) {
    for _ in 0..BATCHES {
        let Some(database) = database() else { return };
        let began = Instant::now();
        // A failure here does no harm, and there is another time.
        if !matches!(database.sweep_history().await, Ok(true)) {
            return;
        }
        drop(database);
        sleep((began.elapsed() * TIMES).clamp(BOUNDS.0, BOUNDS.1)).await;
    }
}

/// The result of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SweepOutcome {
    /// How many rows were deleted.
    pub removed: usize,
    /// What to do next.
    pub then: NextSweep,
}

/// What to do after a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextSweep {
    /// The next page.
    More,
    /// The same page a little later: others sweep it each time, or another process keeps the mark locked.
    Met,
    /// A round, once the floor has covered rows for a while.
    Later,
    /// Nothing for now.
    Rest,
}

/// What to do with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SweepStep {
    /// Sweep it, in a round that deletes rows last used before this time, if not more.
    Sweep(i64),
    /// Raise the floor to this time.
    Raise(i64),
    Wait,
    Rest,
}

/// How much later the new floor must be, at least.
fn interval(age: i64) -> i64 {
    (age / i64::from(PARTS)).max(1)
}

/// Whether more rows are old than the floor covers, so that raising it is useful.
fn is_behind(page: &SweepPage, age: i64) -> bool {
    page.floor < page.now.saturating_sub(age).saturating_sub(interval(age))
}

fn step(page: &SweepPage, age: i64) -> SweepStep {
    let old = page.now.saturating_sub(age);
    let is_covered = page.raised <= page.now.saturating_sub(COVERED);
    let reaches = page.floor.min(old);
    let reached = page.mark.reached;
    // A later time is from before the clock was set back.
    let is_due = reaches.saturating_sub(reached) >= interval(age) || reached > old;
    match (page.mark.is_at_start(), is_due) {
        (false, _) if is_covered => SweepStep::Sweep(reached),
        (true, true) if is_covered => SweepStep::Sweep(reaches),
        (true, false) if is_behind(page, age) => SweepStep::Raise(old),
        (true, false) if is_covered => SweepStep::Rest,
        _ => SweepStep::Wait,
    }
}

impl<D: Database + ?Sized> SqlStore<D> {
    /// Deletes the rows of the next page whose names have been unused for `age`.
    ///
    /// The floor is raised to the last tokens of all old rows. A row is deleted only after the floor has covered it for
    /// a while, so a program that creates it again has seen the floor.
    ///
    /// # Errors
    /// A fault of the database. Rows that were not deleted remain.
    ///
    /// # Cancel safety
    /// Cancel-safe: after each step, tokens keep rising. The next round has the rest of a page.
    pub async fn sweep(&self, age: Duration) -> Result<SweepOutcome, Fault> {
        let micros = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
        let mut removed = 0;
        for _ in 0..TRIES {
            let page = self.0.page(age).await?;
            let reached = match step(&page, micros) {
                SweepStep::Sweep(reached) => reached,
                SweepStep::Raise(to) => {
                    self.0.raise_floor(to).await?;
                    return Ok(SweepOutcome { removed, then: NextSweep::Later });
                }
                SweepStep::Wait => return Ok(SweepOutcome { removed, then: NextSweep::Later }),
                SweepStep::Rest => return Ok(SweepOutcome { removed, then: NextSweep::Rest }),
            };
            if page.mark.version == 0 {
                self.0.make_mark().await?;
                continue;
            }
            let rows = self.unneeded(&page).await?;
            let Some(went) = self.0.take_away(&page.mark_behind(reached), &rows).await? else {
                // Another process sweeps this page.
                sleep(MEETS.mul_f64(random_part())).await;
                continue;
            };
            removed = went;
            if page.end.is_some() {
                return Ok(SweepOutcome { removed, then: NextSweep::More });
            }
            let then = if is_behind(&page, micros) {
                self.0.raise_floor(page.now.saturating_sub(micros)).await?;
                NextSweep::Later
            } else {
                NextSweep::Rest
            };
            return Ok(SweepOutcome { removed, then });
        }
        Ok(SweepOutcome { removed, then: NextSweep::Met })
    }

    /// Deletes a few events of histories whose time is over, and returns whether there may be more.
    ///
    /// # Errors
    /// A fault of the database. Events that were not deleted remain. It is no fault if there is no table of histories.
    ///
    /// # Cancel safety
    /// Cancel-safe: an event is deleted or remains.
    pub async fn sweep_history(&self) -> Result<bool, Fault> {
        self.0.sweep_history().await
    }

    /// The names that are no longer used, with the versions of their rows.
    async fn unneeded(&self, page: &SweepPage) -> Result<Vec<(LockName, i64)>, Fault> {
        let (others, plain): (Vec<_>, Vec<_>) = page.idle.iter().partition(|idle| idle.has_others);
        let mut unneeded: Vec<_> =
            plain.into_iter().filter_map(|idle| self.version(idle)).collect();
        // Most were left without a release. Others are read in the next round.
        let first = (random_part() * others.len() as f64) as usize;
        for idle in others.iter().cycle().skip(first).take(READS.min(others.len())) {
            let snapshot = self.0.read(&idle.name).await?;
            if snapshot.row.version == idle.snapshot.row.version {
                unneeded.extend(self.version(&IdleRow { snapshot, ..IdleRow::clone(idle) }));
            }
        }
        unneeded.sort();
        Ok(unneeded)
    }

    /// The name and the version of a row without holder, waiter, or writer.
    fn version(&self, idle: &IdleRow) -> Option<(LockName, i64)> {
        // A row that makes no sense may not be ours to delete.
        let (mut state, line) =
            idle.snapshot.row.state_and_reservations(idle.snapshot.floor).ok()?;
        state.expire(&at(&idle.snapshot, &*self.0));
        let is_reserved = line.iter().any(|turn| turn.is_live(idle.snapshot.now));
        (state.is_idle() && !is_reserved).then(|| (idle.name.clone(), idle.snapshot.row.version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SweepCursor;

    const HOUR: i64 = 3_600_000_000;
    const DAY: i64 = 24 * HOUR;

    /// A page of which so much is told, in hours.
    fn page(now: i64, floor: i64, raised: i64, reached: i64, at: &[u8]) -> SweepPage {
        let mark = SweepCursor { version: 1, at: at.to_vec(), reached: reached * HOUR };
        SweepPage {
            now: now * HOUR,
            floor: floor * HOUR,
            raised: raised * HOUR,
            mark,
            ..SweepPage::default()
        }
    }

    #[test]
    fn a_round_begins_once_the_floor_has_covered_more_rows_for_a_while() {
        // The floor was never raised.
        assert_eq!(step(&page(1000, 0, 0, 0, b""), DAY), SweepStep::Raise(976 * HOUR));
        assert_eq!(step(&page(1000, 976, 1000, 0, b""), DAY), SweepStep::Wait);
        assert_eq!(step(&page(1001, 976, 1000, 0, b""), DAY), SweepStep::Sweep(976 * HOUR));
        // The round has ended.
        assert_eq!(step(&page(1001, 976, 1000, 976, b""), DAY), SweepStep::Rest);
        assert_eq!(step(&page(1002, 976, 1000, 976, b""), DAY), SweepStep::Raise(978 * HOUR));
    }

    #[test]
    fn a_round_that_has_begun_goes_on_whatever_the_floor_covers_by_then() {
        assert_eq!(step(&page(1002, 976, 1000, 976, b"m"), DAY), SweepStep::Sweep(976 * HOUR));
        assert_eq!(step(&page(1002, 978, 1002, 976, b"m"), DAY), SweepStep::Wait);
    }

    #[test]
    fn a_floor_that_is_far_ahead_keeps_no_round_from_what_becomes_old() {
        assert_eq!(step(&page(1000, 1000, 999, 975, b""), DAY), SweepStep::Rest);
        assert_eq!(step(&page(1001, 1000, 999, 975, b""), DAY), SweepStep::Sweep(977 * HOUR));
    }

    #[test]
    fn a_clock_that_was_set_back_keeps_no_round_from_beginning() {
        assert_eq!(step(&page(1000, 990, 999, 990, b""), DAY), SweepStep::Sweep(976 * HOUR));
        assert_eq!(step(&page(1000, 990, 2000, 990, b""), DAY), SweepStep::Wait);
    }
}
