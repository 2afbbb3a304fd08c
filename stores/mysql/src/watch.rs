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
    Fault, LockName, Owner,
    proto::queue::{Client, Presence},
    store::HintBoard,
};
use tenure_sql::state_of;
use tokio::sync::Notify;

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
        let mut names = self.names();
        for (name, earlier) in before {
            let waits = seen.get(name).filter(|seen| seen.is_waited_for);
            let Some(now) = names.get_mut(name) else { continue };
            match waits {
                Some(seen) if seen.version != now.told => {
                    now.told = seen.version;
                    seen.offered.iter().for_each(|owner| board.wake(owner));
                }
                Some(_) => {}
                // Whoever began to wait meanwhile was not in the row yet.
                None if now.asked == earlier.asked => {
                    names.remove(name);
                }
                None => {}
            }
        }
    }
}

/// What a row says to this process.
struct Seen {
    name: LockName,
    version: i64,
    is_waited_for: bool,
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
        let names: Vec<_> =
            names.keys().map(|name| format!("[\"{}\"]", hex(name.as_str().as_bytes()))).collect();
        let json = format!("[{}]", names.join(","));
        let look = self.lane.call(false, LIMIT, move |session| {
            Box::pin(async move {
                let rows = session.rows(&statements.watch, vec![json.into()]).await?;
                let seen: Result<_, Fault> = rows.iter().map(|row| seen(row, client)).collect();
                Ok(seen?)
            })
        });
        look.await
    }
}

fn seen(row: &mysql_async::Row, client: Client) -> Result<Seen, Fault> {
    let others: Option<Vec<u8>> = value(row, 2)?;
    let state = others.and_then(|bytes| state_of(&bytes)).unwrap_or_default();
    let waiters: Vec<_> = state.waiters.iter().filter(|waiter| waiter.client == client).collect();
    let is_offered = |presence| matches!(presence, Presence::Offered(_));
    let offered = waiters.iter().filter(|waiter| is_offered(waiter.presence));
    Ok(Seen {
        name: name(row)?,
        version: value(row, 1)?,
        is_waited_for: !waiters.is_empty(),
        offered: offered.map(|waiter| waiter.owner).collect(),
    })
}
