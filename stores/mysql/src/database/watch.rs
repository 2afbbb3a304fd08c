//! How waiters are woken: one look for all names that anybody of this process waits for, since there are no messages.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tenure_core::{
    Fault, LockName, Owner, Timestamp,
    proto::queue::{Client, NameState, Presence},
    store::HintBoard,
};
use tenure_sql::{random_part, state_of};
use tokio::{sync::Notify, time::Instant};

use crate::{
    client::Row,
    connection::lane::ConnectionPool,
    error::Failure,
    tables::{
        rows::{hex, name, value},
        statements::Statements,
    },
};

/// How often it looks at most, and at least, about.
const LOOKS: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));
/// Whoever is next waits longer than it has to by about one such part of what it has waited.
const PART: u32 = 8;
/// How long one look may take.
const LIMIT: Duration = Duration::from_secs(2);
/// How long it waits after a look that failed.
const PAUSE: Duration = Duration::from_millis(500);
/// How many names one statement looks at, at most.
const MOST: usize = 200;
/// For how much longer than its place is kept a waiter is watched for.
const SURELY_OVER: Duration = Duration::from_secs(1);

/// The names that are looked at.
#[derive(Debug, Default)]
pub(crate) struct WatchedNames {
    names: Mutex<BTreeMap<LockName, WatchedName>>,
    changed: Notify,
    /// Whether the last look worked, so that waiters need not look by themselves that often.
    works: AtomicBool,
}

#[derive(Clone, Copy, Debug, Default)]
struct WatchedName {
    /// How often it was asked for.
    asked: u64,
    /// The version that waiters were told of.
    told: i64,
    /// Since when somebody of this process is next, if anybody is.
    next_since: Option<Instant>,
    /// When the last place of this process ends, unless its row changes before. Nothing until it was seen.
    ends: Option<Instant>,
}

impl WatchedNames {
    /// Looks at this name from now on, until nobody of this process waits for it. With `is_next` soon, as the name may
    /// be free soon.
    pub(crate) fn add(&self, name: &LockName, is_next: bool) {
        let mut names = self.names();
        let before = names.len();
        let watched = names.entry(name.clone()).or_default();
        watched.asked += 1;
        let is_new = is_next && watched.next_since.is_none();
        if is_new {
            watched.next_since = Some(Instant::now());
        }
        if is_new || before == 0 {
            self.changed.notify_one();
        }
    }

    pub(crate) fn works(&self) -> bool {
        self.works.load(Ordering::Relaxed)
    }

    fn names(&self) -> MutexGuard<'_, BTreeMap<LockName, WatchedName>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks until it is ended.
    pub(crate) async fn look(self: Arc<Self>, eyes: RowPoller) {
        loop {
            let before = self.names().clone();
            if before.is_empty() {
                self.changed.notified().await;
                continue;
            }
            let looked = eyes.look(&before).await;
            let works = looked.is_ok();
            self.works.store(works, Ordering::Relaxed);
            if let Ok(rows) = looked {
                self.apply_changes(&eyes.board, &before, &rows);
            }
            if works {
                tokio::time::sleep(LOOKS.0).await;
                let rest = self.pause(Instant::now()).mul_f64(0.75 + random_part() / 2.0);
                // Whoever has become next meanwhile does not wait for the others.
                let _ = tokio::time::timeout(rest.saturating_sub(LOOKS.0), self.changed.notified())
                    .await;
            } else {
                tokio::time::sleep(PAUSE.mul_f64(0.75 + random_part() / 2.0)).await;
            }
        }
    }

    /// How long it is until the next look.
    fn pause(&self, now: Instant) -> Duration {
        let names = self.names();
        let since = names.values().filter_map(|watched| watched.next_since).max();
        pause(since.map(|since| now - since))
    }

    fn apply_changes(
        &self,
        board: &HintBoard,
        before: &BTreeMap<LockName, WatchedName>,
        rows: &[ChangedRow],
    ) {
        let seen: BTreeMap<_, _> = rows.iter().map(|seen| (&seen.name, seen)).collect();
        let now = Instant::now();
        let mut names = self.names();
        for (name, earlier) in before {
            let Some(watched) = names.get_mut(name) else { continue };
            if let Some(seen) = seen.get(name) {
                watched.told = seen.version;
                watched.ends = seen.left.map(|left| now + left + SURELY_OVER);
                watched.next_since =
                    if seen.is_next { watched.next_since.or(Some(now)) } else { None };
                seen.offered.iter().for_each(|owner| board.wake(owner));
            }
            // Whoever began to wait meanwhile was not in the row yet.
            if watched.ends.is_none_or(|ends| ends <= now) && watched.asked == earlier.asked {
                names.remove(name);
            }
        }
    }
}

/// How long it is until the next look where the last one to become next has waited so long: a part of that, so that
/// short holds are noticed soon and long ones cost little.
fn pause(waited: Option<Duration>) -> Duration {
    waited.map_or(LOOKS.1, |waited| (waited / PART).clamp(LOOKS.0, LOOKS.1))
}

/// What a row that changed says to this process.
struct ChangedRow {
    name: LockName,
    version: i64,
    /// How long its last place is kept, if it has any.
    left: Option<Duration>,
    /// Whether it is this process's turn, or will be.
    is_next: bool,
    offered: Vec<Owner>,
}

/// What it looks with.
pub(crate) struct RowPoller {
    pub(crate) lane: ConnectionPool,
    pub(crate) statements: Arc<Statements>,
    pub(crate) client: Client,
    pub(crate) board: HintBoard,
}

impl RowPoller {
    async fn look(
        &self,
        names: &BTreeMap<LockName, WatchedName>,
    ) -> Result<Vec<ChangedRow>, Failure> {
        let (client, statements) = (self.client, self.statements.clone());
        let one = |(name, watched): (&LockName, &WatchedName)| {
            format!("[\"{}\",\"\",{}]", hex(name.as_str().as_bytes()), watched.told)
        };
        let all: Vec<_> = names.iter().map(one).collect();
        let parts: Vec<_> = all.chunks(MOST).map(|part| format!("[{}]", part.join(","))).collect();
        let look = self.lane.call(false, LIMIT, move |session| {
            Box::pin(async move {
                let mut all = Vec::new();
                for part in parts {
                    for row in &session.rows(&statements.watch, vec![part.into()]).await? {
                        all.push(seen(row, client)?);
                    }
                }
                Ok(all)
            })
        });
        look.await
    }
}

/// Whether somebody of this process waits for a row with these bytes, and soon has its turn.
pub(crate) fn local_waiter_status(others: &[u8], client: Client) -> Option<bool> {
    let state = state_of(others)?;
    let waits = state.waiters.iter().any(|one| one.client == client);
    waits.then(|| is_next(&state, client))
}

/// Whether this process is next or the one behind: whoever is next may have taken the name by now.
fn is_next(state: &NameState, client: Client) -> bool {
    let there = state.waiters.iter().filter(|waiter| waiter.presence != Presence::Absent);
    there.take(2).any(|waiter| waiter.client == client)
}

fn seen(row: &Row, client: Client) -> Result<ChangedRow, Fault> {
    let others: Option<Vec<u8>> = value(row, 3)?;
    let now = u64::try_from(value::<i64>(row, 2)?).unwrap_or_default();
    let state = others.and_then(|bytes| state_of(&bytes)).unwrap_or_default();
    let waiters: Vec<_> = state.waiters.iter().filter(|waiter| waiter.client == client).collect();
    let is_offered = |presence| matches!(presence, Presence::Offered(_));
    let offered = waiters.iter().filter(|waiter| is_offered(waiter.presence));
    let kept = waiters.iter().map(|waiter| waiter.keep_until).max();
    Ok(ChangedRow {
        name: name(row)?,
        version: value(row, 1)?,
        left: kept.map(|until| until.since(Timestamp::from_nanos(now.saturating_mul(1_000)))),
        is_next: is_next(&state, client),
        offered: offered.map(|waiter| waiter.owner).collect(),
    })
}

#[cfg(test)]
mod tests {
    use tenure_core::proto::queue::{Kind, Label, Mode, Position, Waiter};

    use super::*;

    #[test]
    fn whoever_is_next_looks_the_less_often_the_longer_it_has_waited() {
        let millis = Duration::from_millis;
        assert_eq!(pause(None), LOOKS.1);
        assert_eq!(pause(Some(Duration::ZERO)), LOOKS.0);
        assert_eq!(pause(Some(millis(80))), millis(10));
        assert_eq!(pause(Some(millis(10_000))), LOOKS.1);
    }

    #[test]
    fn the_first_two_who_are_there_have_their_turn_soon() {
        let waits = |client: u8, presence| Waiter {
            owner: Owner::from_bytes([client; 16]),
            client: Client([client; 16]),
            kind: Kind::Mutex,
            mode: Mode::Exclusive,
            position: Position(client.into()),
            keep_until: Timestamp::from_nanos(1),
            presence,
            asks_by: Timestamp::ZERO,
            came_back: false,
            since: 0,
            label: Label::default(),
        };
        let present = [2, 3, 4].map(|client| waits(client, Presence::Present));
        let waiters = [vec![waits(1, Presence::Absent)], present.to_vec()].concat();
        let state = NameState { waiters, ..NameState::default() };
        let next: Vec<_> = (1..=5).map(|client| is_next(&state, Client([client; 16]))).collect();
        assert_eq!(next, [false, true, true, false, false]);
    }

    #[test]
    fn the_last_one_to_become_next_says_how_often() {
        let watch = WatchedNames::default();
        let (one, other) = (LockName::new("one").unwrap(), LockName::new("other").unwrap());
        watch.add(&one, false);
        assert_eq!(watch.pause(Instant::now()), LOOKS.1);
        watch.add(&one, true);
        let later = Instant::now() + Duration::from_millis(800);
        assert_eq!(watch.pause(later), LOOKS.1);
        watch.add(&other, true);
        assert_eq!(watch.pause(Instant::now()), LOOKS.0);
    }
}
