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
    proto::queue::{Client, Presence},
    store::HintBoard,
};
use tenure_sql::state_of;
use tokio::{sync::Notify, time::Instant};

use crate::{
    error::Failure,
    lane::Lane,
    rows::{hex, name, value},
    statements::Statements,
};

/// How often it looks, about.
const LOOKS: Duration = Duration::from_millis(50);
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
pub(crate) struct Watch {
    names: Mutex<BTreeMap<LockName, Watched>>,
    changed: Notify,
    /// Whether the last look worked, so that waiters need not look by themselves that often.
    works: AtomicBool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Watched {
    /// How often it was asked for.
    asked: u64,
    /// The version that waiters were told of.
    told: i64,
    /// When the last place of this process ends, unless its row changes before. Nothing until it was seen.
    ends: Option<Instant>,
}

impl Watch {
    /// Looks at this name from now on, until nobody of this process waits for it.
    pub(crate) fn add(&self, name: &LockName) {
        self.names().entry(name.clone()).or_default().asked += 1;
        self.changed.notify_one();
    }

    pub(crate) fn works(&self) -> bool {
        self.works.load(Ordering::Relaxed)
    }

    fn names(&self) -> MutexGuard<'_, BTreeMap<LockName, Watched>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks until it is ended.
    pub(crate) async fn look(self: Arc<Self>, eyes: Eyes) {
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
                self.heard(&eyes.board, &before, &rows);
            }
            let part =
                getrandom::u32().map_or(0.5, |number| f64::from(number) / f64::from(u32::MAX));
            let pause = if works { LOOKS } else { PAUSE };
            tokio::time::sleep(pause.mul_f64(0.75 + part / 2.0)).await;
        }
    }

    fn heard(&self, board: &HintBoard, before: &BTreeMap<LockName, Watched>, rows: &[Seen]) {
        let seen: BTreeMap<_, _> = rows.iter().map(|seen| (&seen.name, seen)).collect();
        let now = Instant::now();
        let mut names = self.names();
        for (name, earlier) in before {
            let Some(watched) = names.get_mut(name) else { continue };
            if let Some(seen) = seen.get(name) {
                watched.told = seen.version;
                watched.ends = seen.left.map(|left| now + left + SURELY_OVER);
                seen.offered.iter().for_each(|owner| board.wake(owner));
            }
            // Whoever began to wait meanwhile was not in the row yet.
            if watched.ends.is_none_or(|ends| ends <= now) && watched.asked == earlier.asked {
                names.remove(name);
            }
        }
    }
}

/// What a row that changed says to this process.
struct Seen {
    name: LockName,
    version: i64,
    /// How long its last place is kept, if it has any.
    left: Option<Duration>,
    offered: Vec<Owner>,
}

/// What it looks with.
pub(crate) struct Eyes {
    pub(crate) lane: Lane,
    pub(crate) statements: Arc<Statements>,
    pub(crate) client: Client,
    pub(crate) board: HintBoard,
}

impl Eyes {
    async fn look(&self, names: &BTreeMap<LockName, Watched>) -> Result<Vec<Seen>, Failure> {
        let (client, statements) = (self.client, self.statements.clone());
        let one = |(name, watched): (&LockName, &Watched)| {
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

/// Whether anybody of this process waits for a row with these bytes.
pub(crate) fn waits(others: &[u8], client: Client) -> bool {
    state_of(others).is_some_and(|state| state.waiters.iter().any(|one| one.client == client))
}

fn seen(row: &mysql_async::Row, client: Client) -> Result<Seen, Fault> {
    let others: Option<Vec<u8>> = value(row, 3)?;
    let now = u64::try_from(value::<i64>(row, 2)?).unwrap_or_default();
    let state = others.and_then(|bytes| state_of(&bytes)).unwrap_or_default();
    let waiters: Vec<_> = state.waiters.iter().filter(|waiter| waiter.client == client).collect();
    let is_offered = |presence| matches!(presence, Presence::Offered(_));
    let offered = waiters.iter().filter(|waiter| is_offered(waiter.presence));
    let kept = waiters.iter().map(|waiter| waiter.keep_until).max();
    Ok(Seen {
        name: name(row)?,
        version: value(row, 1)?,
        left: kept.map(|until| until.since(Timestamp::from_nanos(now.saturating_mul(1_000)))),
        offered: offered.map(|waiter| waiter.owner).collect(),
    })
}
