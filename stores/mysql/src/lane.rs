//! Connections that are made when they are needed, each for one call at a time.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::BoxFuture;
use mysql_async::prelude::Queryable;
use tenure_core::{Clock, Fault, FaultKind, SystemClock, Timestamp};
use tokio::{
    sync::oneshot,
    time::{Instant, timeout_at},
};

use crate::{
    connect::Maker,
    error::Failure,
    session::{Doubt, Session},
    turnstile::{Pass, Turnstile},
};

/// For how long nobody tries again after a failure.
const PAUSE: Duration = Duration::from_millis(100);
/// A connection that nobody used for so long is asked whether it is still there, before anything is sent that may
/// have an effect.
const FRESH: Duration = Duration::from_secs(1);
/// How long that may take.
const PING: Duration = Duration::from_secs(1);

/// Some connections, of which each call has one for itself.
///
/// A call is carried out where its caller is, and goes on by itself where the caller leaves, or looks after something
/// else: the answer is read to its end whatever becomes of who asked, and a connection is nobody's for long. What does not end in time, or in an order that is not understood, ends with its
/// connection: no later call can take the answer for its own.
#[derive(Clone, Debug)]
pub(crate) struct Lane(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    maker: Maker,
    turnstile: Turnstile,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<(Session, Timestamp)>,
    failed: Option<(Timestamp, Fault)>,
}

impl Lane {
    /// At most so many connections.
    pub(crate) fn new(maker: Maker, most: usize) -> Self {
        let turnstile = Turnstile::new(most);
        Self(Arc::new(Inner { maker, turnstile, state: Mutex::default() }))
    }

    /// Carries out `work` with a session that nobody else has, in this time at most.
    ///
    /// # Cancel safety
    /// What was begun is carried on.
    pub(crate) async fn call<T, W>(
        &self,
        hurries: bool,
        limit: Duration,
        work: W,
    ) -> Result<T, Failure>
    where
        T: Send + 'static,
        W: for<'a> FnOnce(&'a mut Session) -> BoxFuture<'a, Result<T, Failure>> + Send + 'static,
    {
        let until = Instant::now() + limit;
        let pass = timeout_at(until, self.0.turnstile.enter(hurries)).await;
        let pass = pass.map_err(|_| late("all connections were busy", false))?;
        let lent = match self.0.fresh() {
            Some(session) => Lent::new(self.0.clone(), session, pass),
            None => self.taken(until, pass).await?,
        };
        let doubt = lent.doubt.clone();
        let mut done = self.0.maker.home.carry_on(until, lent.carry_out(work));
        match timeout_at(until, &mut done).await {
            Ok(Some(done)) => done,
            Ok(None) | Err(_) => {
                let fault = late("the database did not answer", doubt.is_any());
                done.give_up();
                Err(fault.into())
            }
        }
    }

    /// A session that is asked for whether it is still there, or made. On the store's own thread, to which it belongs.
    async fn taken(&self, until: Instant, pass: Option<Pass>) -> Result<Lent, Failure> {
        let (told, hears) = oneshot::channel();
        let inner = self.0.clone();
        self.0.maker.home.spawn(async move {
            let taken = timeout_at(until, inner.take()).await;
            let taken = taken.unwrap_or_else(|_| Err(late("the database was not reached", false)));
            // Of a caller that has gone it goes to the next one.
            let _ = told.send(taken.map(|session| Lent::new(inner, session, pass)));
        });
        Ok(hears.await.unwrap_or_else(|_| Err(ended()))?)
    }
}
impl Inner {
    fn put(&self, session: Session) {
        self.state().idle.push((session, SystemClock.now()));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a session from which no good is to be expected.
    fn end(&self, mut session: Session) {
        session.is_over = true;
        self.maker.home.spawn(session.close());
    }

    /// The one that was used last, if that was just now.
    fn fresh(&self) -> Option<Session> {
        let mut state = self.state();
        let (session, since) = state.idle.pop()?;
        if SystemClock.now().since(since) < FRESH {
            return Some(session);
        }
        state.idle.push((session, since));
        None
    }

    /// The one that was used last, if it is still there, or a new one.
    async fn take(&self) -> Result<Session, Fault> {
        loop {
            let next = self.state().idle.pop();
            let Some((mut session, since)) = next else { break };
            if SystemClock.now().since(since) < FRESH {
                return Ok(session);
            }
            let there = tokio::time::timeout(PING, session.conn.ping()).await;
            if matches!(there, Ok(Ok(()))) {
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
struct Lent {
    lane: Arc<Inner>,
    session: Option<Session>,
    doubt: Doubt,
    is_busy: bool,
    _pass: Option<Pass>,
}

impl Lent {
    fn new(lane: Arc<Inner>, session: Session, pass: Option<Pass>) -> Self {
        let doubt = session.doubt.clone();
        Self { lane, session: Some(session), doubt, is_busy: false, _pass: pass }
    }

    async fn carry_out<T, W>(mut self, work: W) -> Result<T, Failure>
    where
        W: for<'a> FnOnce(&'a mut Session) -> BoxFuture<'a, Result<T, Failure>> + Send,
    {
        let Some(session) = &mut self.session else { return Err(ended().into()) };
        self.is_busy = true;
        let done = work(session).await;
        self.is_busy = false;
        done
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some(session) = self.session.take() else { return };
        if !self.is_busy && session.is_clean() {
            self.lane.put(session);
        } else {
            self.lane.end(session);
        }
    }
}

pub(crate) fn late(what: &str, in_doubt: bool) -> Fault {
    let kind = if in_doubt { FaultKind::InDoubt } else { FaultKind::Unreachable };
    Fault::new(kind, format!("{what} in time"), "see that it can be reached, and try again")
}

fn ended() -> Fault {
    let what = "the thread of the store has ended";
    Fault::new(FaultKind::InDoubt, what, "open the store anew")
}
