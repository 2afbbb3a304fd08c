//! Connections that are made when they are needed, each for one call at a time.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::Poll,
    time::Duration,
};

use futures_util::future::BoxFuture;
use tenure_core::{Clock, Fault, FaultKind, SystemClock, Timestamp};
use tenure_sql::AbandonedCallState;
use tokio::{
    sync::oneshot,
    time::{Instant, sleep, timeout_at},
};

use crate::{
    connection::{
        calls::InFlightCalls,
        open::ConnectionFactory,
        session::Session,
        turnstile::{PriorityPermit, PrioritySemaphore},
    },
    error::Failure,
};

/// For how long nobody tries again after a failure.
const PAUSE: Duration = Duration::from_millis(100);
/// A connection that nobody used for so long is asked whether it is still there, and still ours, before anything is sent
/// that may have an effect.
const FRESH: Duration = Duration::from_secs(1);
/// How long that may take.
const PING: Duration = Duration::from_secs(1);
/// Twice as many answers as a renewal has: so many may take as long as the slowest of late over a session that was there
/// before, and it does not count as hanging.
const ANSWERS: u32 = 4;
/// Part of the time of a call that is left for another connection where that one hangs: `REST.0 / REST.1`.
const REST: (u32, u32) = (2, 5);
/// For how long a statement waits at the server for what others have locked once its connection is gone, which the server
/// does not notice: twice as long as it is told, as it looks once a second.
const GOES_ON: Duration = Duration::from_secs(3);
/// One that nobody used for so long is closed where there is another one.
const NEEDED: Duration = Duration::from_secs(10);

/// Some connections, of which each call has one for itself.
///
/// A call is carried out where its caller is, and goes on by itself where the caller leaves, or looks after something
/// else: the answer is read to its end whatever becomes of who asked, and a connection is nobody's for long. What does
/// not end in time, or in an order that is not understood, ends with its connection: no later call can take the answer
/// for its own.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionPool(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    maker: ConnectionFactory,
    turnstile: PrioritySemaphore,
    under_way: InFlightCalls,
    state: Arc<Mutex<State>>,
}

/// What a call does with its session. What that comes to goes another way, so that all calls are of one type and
/// compiled once.
type SessionJob =
    Box<dyn for<'a> FnOnce(&'a mut Session) -> BoxFuture<'a, Result<(), Failure>> + Send>;

/// How long a call may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallLimits {
    pub(crate) in_all: Duration,
    /// The same over a connection that was there before: it may hang.
    pub(crate) by_old: Duration,
    /// Whether the work asks by itself whether a session that nobody used for long is still ours: a way less.
    pub(crate) asks_itself: bool,
}

impl From<Duration> for CallLimits {
    fn from(in_all: Duration) -> Self {
        Self { in_all, by_old: in_all, asks_itself: false }
    }
}

impl CallLimits {
    /// How long a call may take over a connection that was there before. Where the way to the server is long, answers
    /// are not taken for silence.
    fn by_old(&self, pace: Duration) -> Duration {
        let most = self.in_all * (REST.1 - REST.0) / REST.1;
        self.by_old.max((pace * ANSWERS).min(most))
    }
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<(Session, Timestamp)>,
    failed: Option<(Timestamp, Fault)>,
}

impl ConnectionPool {
    /// At most so many connections.
    pub(crate) fn new(maker: ConnectionFactory, most: usize) -> Self {
        Self::of(maker, most, Arc::default())
    }

    /// So many calls more at once, which wait for none of these, over connections of the same.
    pub(crate) fn with_separate_permits(&self, most: usize) -> Self {
        let (maker, state) = (self.0.maker.clone(), self.0.state.clone());
        Self::of(maker, most, state)
    }

    fn of(maker: ConnectionFactory, most: usize, state: Arc<Mutex<State>>) -> Self {
        let (turnstile, under_way) = (PrioritySemaphore::new(most), InFlightCalls::default());
        Self(Arc::new(Inner { maker, turnstile, under_way, state }))
    }

    /// Waits until what callers have left is over, for so long at most.
    pub(crate) async fn settle(&self, limit: Duration) -> AbandonedCallState {
        self.0.under_way.settle(limit).await
    }

    /// Carries out `work` with a session that nobody else has, in this time at most.
    ///
    /// # Cancel safety
    /// What was begun is carried on. Nothing is begun for a caller that has gone.
    pub(crate) async fn call<T, W>(
        &self,
        hurries: bool,
        limits: impl Into<CallLimits>,
        work: W,
    ) -> Result<T, Failure>
    where
        T: Send + 'static,
        W: for<'a> FnOnce(&'a mut Session) -> BoxFuture<'a, Result<T, Failure>> + Send + 'static,
    {
        let (tells, mut told) = oneshot::channel();
        let work: SessionJob = Box::new(|session| {
            Box::pin(async {
                // The caller may have gone.
                let _ = tells.send(work(session).await?);
                Ok(())
            })
        });
        self.carry_out(hurries, limits.into(), work).await?;
        told.try_recv().map_err(|_| ended().into())
    }

    async fn carry_out(
        &self,
        hurries: bool,
        limits: CallLimits,
        work: SessionJob,
    ) -> Result<(), Failure> {
        let home = &self.0.maker.home;
        if home.is_forked() {
            return Err(forked().into());
        }
        let asks = Arc::new(());
        let asked = Arc::downgrade(&asks);
        let done = home.carry_on(self.0.clone().carry_out(asked, hurries, limits, work));
        // What waits for its turn is to see that the caller has gone when it is left behind: this goes first.
        let _asks = asks;
        done.await.unwrap_or_else(|| Err(ended().into()))
    }
}

impl Inner {
    /// All times are looked at by who carries it out, who alone knows what was sent.
    async fn carry_out(
        self: Arc<Self>,
        asked: Weak<()>,
        hurries: bool,
        limits: CallLimits,
        work: SessionJob,
    ) -> Result<(), Failure> {
        // By the clock of the store's own runtime: that of the caller may stand still in a test.
        let until = Instant::now() + limits.in_all;
        let entering = until_abandoned(&asked, self.turnstile.acquire_permit(hurries));
        let pass = timeout_at(until, entering).await;
        let pass = pass.map_err(|_| late("all connections were busy", false))?;
        let pass = pass.ok_or_else(abandoned)?;
        let borrowed = match self.idle(limits.asks_itself) {
            Some(session) => BorrowedSession::new(self, session, pass),
            None => {
                let taking =
                    until_abandoned(&asked, self.borrow_session(until, limits.by_old, pass));
                taking.await.ok_or_else(abandoned)??
            }
        };
        let lane = borrowed.lane.clone();
        let call = lane.under_way.begin(asked.clone());
        if asked.strong_count() == 0 {
            return Err(abandoned().into());
        }
        let until = borrowed
            .hang_timeout(limits)
            .map_or(until, |by_old| until.min(Instant::now() + by_old));
        let done = borrowed.carry_out(until, work).await;
        if matches!(&done, Err(Failure::Fault(fault)) if fault.kind() == FaultKind::InDoubt) {
            lane.maker.home.spawn(async move {
                sleep(GOES_ON).await;
                drop(call);
            });
        }
        done
    }

    /// A session that is asked for whether it is still there, or made. Whoever waits for it may leave.
    async fn borrow_session(
        self: Arc<Self>,
        until: Instant,
        by_old: Duration,
        pass: Option<PriorityPermit>,
    ) -> Result<BorrowedSession, Fault> {
        let (told, hears) = oneshot::channel();
        let home = self.maker.home.clone();
        home.spawn(async move {
            let taken = timeout_at(until, self.idle_or_new_session(PING.min(by_old))).await;
            let taken =
                taken.unwrap_or_else(|_| Err(late("the database could not be reached", false)));
            // Of a caller that has gone it goes to the next one.
            let _ = told.send(taken.map(|session| BorrowedSession::new(self, session, pass)));
        });
        hears.await.unwrap_or_else(|_| Err(ended()))
    }

    fn return_session(&self, session: Session) {
        let now = SystemClock.now();
        let mut state = self.state();
        // The first is the one that was not used for longest.
        let is_over = state.idle.first().is_some_and(|(_, since)| now.since(*since) > NEEDED);
        let over = is_over.then(|| state.idle.remove(0));
        state.idle.push((session, now));
        drop(state);
        over.into_iter().for_each(|(over, _)| self.end(over));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a session from which no good is to be expected.
    fn end(&self, session: Session) {
        self.maker.home.spawn(async { session.close() });
    }

    /// The one that was used last, if that was just now or whoever uses it looks whether it is ours.
    fn idle(&self, may_be_unsure: bool) -> Option<Session> {
        let mut state = self.state();
        let (mut session, since) = state.idle.pop()?;
        session.is_unsure = SystemClock.now().since(since) >= FRESH;
        if !session.is_unsure || may_be_unsure {
            return Some(session);
        }
        state.idle.push((session, since));
        None
    }

    /// The one that was used last, if it is still there, or a new one.
    async fn idle_or_new_session(&self, ping: Duration) -> Result<Session, Fault> {
        loop {
            if let Some(session) = self.idle(false) {
                return Ok(session);
            }
            let next = self.state().idle.pop();
            let Some((mut session, _)) = next else { break };
            let ping = ping.max(session.pace * 2);
            let is_ours = tokio::time::timeout(ping, session.verify_identity()).await;
            if matches!(is_ours, Ok(true)) {
                session.is_unsure = false;
                return Ok(session);
            }
            self.end(session);
        }
        if let Some((at, fault)) = &self.state().failed
            && SystemClock.now().since(*at) < PAUSE
        {
            return Err(fault.clone());
        }
        let made = self.maker.make().await;
        self.state().failed = made.as_ref().err().map(|fault| (SystemClock.now(), fault.clone()));
        made
    }
}

/// A session that one call has for itself. Dropped, it is there for the next, unless something is left undone in it.
struct BorrowedSession {
    lane: Arc<Inner>,
    session: Option<Session>,
    is_busy: bool,
    _pass: Option<PriorityPermit>,
}

impl BorrowedSession {
    fn new(lane: Arc<Inner>, session: Session, pass: Option<PriorityPermit>) -> Self {
        Self { lane, session: Some(session), is_busy: false, _pass: pass }
    }

    /// How long a call may take over it before it counts as hanging, which only one does that was used before.
    fn hang_timeout(&self, limits: CallLimits) -> Option<Duration> {
        let session = self.session.as_ref().filter(|session| session.is_old)?;
        Some(limits.by_old(session.pace))
    }

    async fn carry_out(mut self, until: Instant, work: SessionJob) -> Result<(), Failure> {
        let Some(session) = &mut self.session else { return Err(ended().into()) };
        self.is_busy = true;
        let Ok(done) = timeout_at(until, work(session)).await else {
            return Err(late("the database did not answer", session.in_doubt).into());
        };
        self.is_busy = false;
        session.is_old = true;
        done
    }
}

impl Drop for BorrowedSession {
    fn drop(&mut self) {
        let Some(session) = self.session.take() else { return };
        if !self.is_busy && session.is_clean() {
            self.lane.return_session(session);
        } else {
            self.lane.end(session);
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let is_forked = self.maker.home.is_forked();
        for (session, _) in std::mem::take(&mut self.state().idle) {
            if is_forked {
                // A goodbye would be the parent's.
                std::mem::forget(session);
            } else {
                session.close();
            }
        }
    }
}

/// What a future comes to; nothing if it is not done when nobody asks for it any more.
async fn until_abandoned<T>(asked: &Weak<()>, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Pending if asked.strong_count() == 0 => Poll::Ready(None),
        done => done.map(Some),
    })
    .await
}

pub(crate) fn late(what: &str, in_doubt: bool) -> Fault {
    let kind = if in_doubt { FaultKind::InDoubt } else { FaultKind::Unreachable };
    Fault::new(kind, format!("{what} in time"), "check that it can be reached, and try again")
}

fn ended() -> Fault {
    let what = "the call ended early: it panicked, or the thread of the store has ended";
    Fault::new(FaultKind::InDoubt, what, "look for a panic in the log, and open the store anew")
}

/// Nobody hears of it.
fn abandoned() -> Fault {
    Fault::new(FaultKind::Unreachable, "the caller gave up before it began", "try again")
}

fn forked() -> Fault {
    let what = "this process was forked from the one that opened the store";
    Fault::new(FaultKind::Misconfigured, what, "open the store again after a fork")
}
