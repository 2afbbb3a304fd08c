//! The store on a database.

pub(crate) mod health;
pub(crate) mod history;
pub(crate) mod listing;
pub(crate) mod renewal;
pub(crate) mod slots;
pub(crate) mod sweep;
pub(crate) mod sweep_budget;
pub(crate) mod together;
pub(crate) mod usage_hints;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use tenure_core::{
    Evictions, Fault, FaultKind, HoldId, Incarnation, LockName, Owner, Store, Token, Wakeups,
    proto::{
        Renewed,
        queue::{
            Answer, Ask, Contender, DecisionContext, Evicted, Intent, Mode, NameState, Raised,
            Released, Snapshot, TakeOver, TakenOver, Together,
        },
    },
    store::{
        Capabilities, Diagnostic, HistoryWrite, Listing, Renewal, Severity, SlotsWrite,
        SlotsWritten, StoredHistory, StoredSlots, check_slot_record,
    },
};
use tokio::time::{Instant, timeout_at};

use crate::{
    AbandonedCallState, ClaimedLock, Database, FastPathResult, FromOptions, GrantRequest,
    Notifications, RowSnapshot,
    row::number_of,
    store::history::to_keep,
    store::usage_hints::{Usage, UsageHints},
    write::{
        attempt::change,
        decision::{DecisionResult, Response, at, corrupt, decide_unwritten},
        group::{WriteGroups, carry_out},
        request::{Release, Request},
        turn_policy::YIELDS,
    },
};

/// The subject of the first diagnostic of a health check.
pub const CONNECTION: &str = "connection";
/// How long to wait at a time for an ask that its caller dropped, before its owner is taken back. A lock seldom delays
/// an ask by more than half a second.
const SETTLES: Duration = Duration::from_millis(700);
/// How long a health check may take in all, or three times as long as one call if that is longer.
const LOOK: Duration = Duration::from_secs(15);

/// Locks in the rows of a database. Clones share one client.
pub struct SqlStore<D: ?Sized>(pub(crate) Arc<D>, pub(crate) Arc<UsageHints>, GroupedWrites);

/// Writes that are sent together: asks with asks, and releases with releases.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupedWrites {
    asks: Arc<WriteGroups<Ask>>,
    releases: Arc<WriteGroups<Release>>,
}

impl<D: ?Sized> Clone for SqlStore<D> {
    fn clone(&self) -> Self {
        Self(self.0.clone(), self.1.clone(), self.2.clone())
    }
}

impl<D: FromOptions> SqlStore<D> {
    /// Connects to the database at `url`. Creates missing tables, unless the URL forbids it.
    ///
    /// # Errors
    /// A fault if the URL is malformed, the database cannot be reached, or it refuses this user.
    ///
    /// # Cancel safety
    /// Cancel-safe: connections that are no longer needed are closed.
    pub async fn open(url: &str) -> Result<Self, Fault> {
        Self::open_with(D::options(url)?).await
    }

    /// Connects to the database with these options. Creates missing tables, unless the options forbid it.
    ///
    /// # Errors
    /// As for [`SqlStore::open`].
    ///
    /// # Cancel safety
    /// Cancel-safe: connections that are no longer needed are closed.
    pub async fn open_with(options: D::Options) -> Result<Self, Fault> {
        let store = Self::new(options)?;
        store.0.first_look().await?;
        Ok(store)
    }

    /// Makes the store without connecting. The first call connects.
    ///
    /// # Errors
    /// A fault if the options contradict each other, or no thread can be started.
    pub fn new(options: D::Options) -> Result<Self, Fault> {
        Ok(Self::of(Arc::new(D::with_options(options)?)))
    }

    /// Returns the same store without its type of database, so that the common code is compiled once, in this crate.
    #[must_use]
    pub fn erased(self) -> Arc<dyn Store> {
        erased(SqlStore(self.0, self.1, self.2))
    }
}

fn erased(store: SqlStore<dyn Database>) -> Arc<dyn Store> {
    Arc::new(store)
}

impl<D: Database + ?Sized> SqlStore<D> {
    pub(crate) fn of(database: Arc<D>) -> Self {
        Self(database, Arc::default(), GroupedWrites::default())
    }

    /// Changes the state of a name as `decide` says, alone.
    async fn change<T: Response + Send>(
        &self,
        name: &LockName,
        seen: Option<Box<RowSnapshot>>,
        decide: impl Fn(&mut NameState, &DecisionContext<'_>) -> DecisionResult<T> + Send + Sync,
    ) -> Result<T, Fault> {
        change(&*self.0, name, (self.0.response_timeout(), YIELDS), seen, decide).await
    }

    async fn release_name(
        &self,
        name: &LockName,
        owner: &Owner,
        keep: Duration,
    ) -> Result<Released, Fault> {
        let mut seen = None;
        let used = self.1.of(name);
        if keep.is_zero() && used != Usage::Shared {
            match self.0.release(name, owner, used == Usage::Contended).await? {
                FastPathResult::Done(()) => return Ok(Released::Released),
                FastPathResult::Undone(snapshot) => seen = snapshot,
            }
        }
        let want = (Release { owner: *owner, keep }, self.0.response_timeout());
        let released = carry_out(&self.2.releases, &self.0, name, want, seen).await?;
        if released == Released::Released && used == Usage::Alone {
            self.1.set(name, Usage::Contended);
        }
        Ok(released)
    }

    /// Asks by one statement where one may be enough.
    async fn ask_at_once(
        &self,
        name: &LockName,
        ask: &Ask,
    ) -> Result<FastPathResult<Answer>, Fault> {
        let (owner, kind, client) = (&ask.owner, number_of(ask.kind), self.0.client());
        let grant = GrantRequest { owner, client, kind, ttl: ask.ttl, label: &ask.label };
        let waited = matches!(ask.intent, Intent::Wait { position: Some(_) });
        Ok(match (ask.mode, waited) {
            (Mode::Exclusive, true) => match self.0.claim(name, &grant).await? {
                FastPathResult::Done(ClaimedLock { token, others_waiting }) => {
                    // A holder that alternates with one other sees no waiter behind it yet.
                    self.1.set(name, Usage::Contended);
                    FastPathResult::Done(Answer::Granted { token, left: ask.ttl, others_waiting })
                }
                FastPathResult::Undone(seen) => FastPathResult::Undone(seen),
            },
            // Most likely it is not free.
            (Mode::Exclusive, false) if self.1.of(name) != Usage::Alone => {
                FastPathResult::Undone(None)
            }
            (Mode::Exclusive, false) => match self.0.grant(name, &grant).await? {
                FastPathResult::Done(token) => FastPathResult::Done(Answer::Granted {
                    token,
                    left: ask.ttl,
                    others_waiting: false,
                }),
                FastPathResult::Undone(seen) => FastPathResult::Undone(seen),
            },
            (Mode::Shared | Mode::Permits { .. }, _) => FastPathResult::Undone(None),
        })
    }
}

fn not_settled(name: &LockName) -> Fault {
    let what = format!("an abandoned call for {:?} has not been answered yet", name.as_str());
    Fault::new(
        FaultKind::Unreachable,
        what,
        "check that the database can be reached, and try again",
    )
}

impl<D: Database + ?Sized> fmt::Debug for SqlStore<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlStore").field("location", &self.0.location()).finish()
    }
}

#[async_trait]
impl<D: Database + ?Sized> Store for SqlStore<D> {
    fn kind(&self) -> &'static str {
        self.0.kind()
    }

    fn db_system(&self) -> Option<&'static str> {
        Some(self.0.db_system())
    }

    fn location(&self) -> String {
        self.0.location().to_owned()
    }

    fn capabilities(&self) -> &Capabilities {
        self.0.capabilities()
    }

    fn for_engine(&self) -> Arc<dyn Store> {
        // Releases by callers must not delay it.
        let together = GroupedWrites { asks: self.2.asks.clone(), releases: Arc::default() };
        Arc::new(SqlStore(self.0.for_engine(), self.1.clone(), together))
    }

    fn wakeups(&self, name: &LockName, owner: &Owner) -> Wakeups {
        self.0.listen();
        self.0.board().listen(name, owner)
    }

    fn evictions(&self) -> Evictions {
        self.0.listen();
        self.0.board().evictions()
    }

    async fn acquire(&self, name: &LockName, ask: &Ask) -> Result<Answer, Fault> {
        let mut seen = match self.ask_at_once(name, ask).await? {
            FastPathResult::Done(answer) => return Ok(answer),
            FastPathResult::Undone(seen) => seen,
        };
        // A refusal that leaves no trace need not wait for writers.
        if ask.intent == Intent::Try {
            let snapshot = match seen {
                Some(snapshot) => snapshot,
                None => Box::new(self.0.read(name).await?),
            };
            let decide = |state: &mut NameState, at: &DecisionContext<'_>| {
                ask.decide(state, self.0.client(), at)
            };
            if let Some(answer) = decide_unwritten(&*self.0, name, &snapshot, decide)? {
                return Ok(answer);
            }
            seen = Some(snapshot);
        }
        // The caller in `tenure-core` waits no longer: an ask that it gave up would be in doubt.
        let limit = self.0.response_timeout().min(ask.ttl);
        let want = (ask.clone(), limit);
        let answer = carry_out(&self.2.asks, &self.0, name, want, seen).await?;
        if ask.mode == Mode::Exclusive {
            let is_quiet = matches!(answer, Answer::Granted { others_waiting: false, .. });
            self.1.set_contended(name, !is_quiet);
        } else {
            self.1.set(name, Usage::Shared);
        }
        Ok(answer)
    }

    async fn acquire_together(&self, asks: &[(LockName, Ask)]) -> Result<Together, Fault> {
        self.ask_together(asks).await
    }

    async fn renew(&self, holds: &[Renewal]) -> Vec<Result<Renewed, Fault>> {
        self.renew_all(holds).await
    }

    async fn release(
        &self,
        name: &LockName,
        owner: &Owner,
        keep: Duration,
    ) -> Result<Released, Fault> {
        let is_written = self.2.asks.settle(name, owner, SETTLES).await;
        let mut released = self.release_name(name, owner, keep).await?;
        if released != Released::NotHeld {
            return Ok(released);
        }
        // An ask that its caller dropped may still acquire the lock.
        let settled = self.0.settle(SETTLES).await;
        if settled == AbandonedCallState::Answered {
            released = self.release_name(name, owner, keep).await?;
        }
        let is_open = settled == AbandonedCallState::Open || !is_written;
        if is_open && released == Released::NotHeld { Err(not_settled(name)) } else { Ok(released) }
    }

    async fn turn(&self, name: &LockName, owner: &Owner, ask: &Ask) -> Result<Answer, Fault> {
        self.change(name, None, |state, at| {
            let (answer, wakes) = state.turn(owner, ask, self.0.client(), at)?;
            Ok((answer, wakes.into()))
        })
        .await
    }

    async fn take_over(&self, name: &LockName, over: &TakeOver) -> Result<TakenOver, Fault> {
        self.change(name, None, |state, at| {
            let (taken, wakes) = state.take_over(over, self.0.client(), at)?;
            Ok((taken, wakes.into()))
        })
        .await
    }

    async fn raise(&self, name: &LockName, owner: &Owner, token: Token) -> Result<Raised, Fault> {
        self.change(name, None, |state, at| {
            Ok((state.raise(owner, token, at), Notifications::default()))
        })
        .await
    }

    async fn inspect(&self, name: &LockName) -> Result<Snapshot, Fault> {
        let snapshot = self.0.read(name).await?;
        let state = snapshot.row.state(snapshot.floor).map_err(|_| corrupt(&*self.0, name))?;
        Ok(state.inspect(&at(&snapshot, &*self.0)))
    }

    async fn list(&self, prefix: &str, limit: usize) -> Result<Listing, Fault> {
        self.names(prefix, limit).await
    }

    async fn evict(&self, name: &LockName) -> Result<Vec<Contender>, Fault> {
        self.change(name, None, |state, at| {
            let (Evicted { holders, clients }, wakes) = state.evict(at);
            Ok((holders, Notifications { wakes, evicted: clients.into_iter().collect() }))
        })
        .await
    }

    async fn evict_hold(&self, name: &LockName, hold: HoldId) -> Result<Option<Contender>, Fault> {
        let evicted = self.change(name, None, |state, at| {
            let (Evicted { holders, clients }, wakes) = state.evict_hold(hold, at);
            Ok((holders, Notifications { wakes, evicted: clients.into_iter().collect() }))
        });
        Ok(evicted.await?.pop())
    }

    async fn hint_holders(&self, name: &LockName) -> Result<(), Fault> {
        if !self.0.capabilities().tells_evictions {
            return Ok(());
        }
        self.change(name, None, |state, at| {
            let evicted = state.holding_clients(at).into_iter().collect();
            Ok(((), Notifications { wakes: Vec::new(), evicted }))
        })
        .await
    }

    async fn read_slots(&self, name: &LockName) -> Result<StoredSlots, Fault> {
        self.slots(name).await
    }

    async fn write_slots(
        &self,
        name: &LockName,
        owner: &Owner,
        write: &SlotsWrite,
    ) -> Result<SlotsWritten, Fault> {
        check_slot_record(&write.text)?;
        self.0.write_slots(name, owner, write).await
    }

    async fn read_history(&self, name: &LockName) -> Result<StoredHistory, Fault> {
        self.history(name).await
    }

    async fn add_history(&self, name: &LockName, write: &HistoryWrite) -> Result<(), Fault> {
        self.0.add_history(name, &to_keep(write)).await
    }

    async fn incarnation(&self) -> Result<Incarnation, Fault> {
        self.0.incarnation().await
    }

    async fn server(&self) -> Result<Option<String>, Fault> {
        self.0.server().await
    }

    async fn health(&self) -> Result<Vec<Diagnostic>, Fault> {
        // Each question has its own limit. A server that falls silent would use them all up.
        let limit = LOOK.max(self.0.response_timeout() * 3);
        let until = Instant::now() + limit;
        let silent = || {
            let what = format!("{} did not answer all questions within {limit:?}", self.location());
            Fault::new(
                FaultKind::Unreachable,
                what,
                "check that it can be reached, and check again",
            )
        };
        let Ok(looked) = timeout_at(until, self.0.health()).await else {
            return Ok(vec![Diagnostic::failed(CONNECTION, &silent()).touches("S9")]);
        };
        let mut diagnostics = looked?;
        // If the connection failed, there is nothing to try.
        if diagnostics.iter().all(|diagnostic| {
            diagnostic.what != CONNECTION || diagnostic.severity == Severity::Good
        }) {
            match timeout_at(until, self.try_out()).await.unwrap_or_else(|_| Err(silent())) {
                Ok(more) => diagnostics.extend(more),
                Err(fault) => {
                    diagnostics.push(Diagnostic::failed("full cycle", &fault).touches("S9"))
                }
            }
        }
        Ok(diagnostics)
    }

    #[cfg(unix)]
    fn liveness(&self) -> Option<std::os::fd::OwnedFd> {
        None
    }
}
