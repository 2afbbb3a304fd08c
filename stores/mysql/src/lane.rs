//! Connections that are made when they are needed, each for one call at a time.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::future::BoxFuture;
use mysql_async::prelude::Queryable;
use tenure_core::{Clock, Fault, FaultKind, SystemClock, Timestamp};
use tokio::{
    sync::oneshot,
    time::{Instant, timeout_at},
};

use crate::{connect::Maker, error::Failure, session::Session, turnstile::Turnstile};

/// For how long nobody tries again after a failure.
const PAUSE: Duration = Duration::from_millis(100);
/// A connection that nobody used for so long is asked whether it is still there, before anything is sent that may
/// have an effect.
const FRESH: Duration = Duration::from_secs(1);
/// How long that may take.
const PING: Duration = Duration::from_secs(1);

/// Some connections, of which each call has one for itself.
///
/// A call is carried out by a task on the store's own thread, which reads the answer to its end whatever becomes of
/// the caller. What does not end in time, or in an order that is not understood, ends with its connection: no later
/// call can take the answer for its own.
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
        let (told, hears) = oneshot::channel();
        let inner = self.0.clone();
        self.0.maker.home.spawn(async move {
            // Nothing is begun for a caller that has gone.
            let answer = inner.serve(until, work, || told.is_closed()).await;
            drop(pass);
            if let Some(answer) = answer {
                let _ = told.send(answer);
            }
        });
        hears.await.unwrap_or_else(|_| Err(ended().into()))
    }
}

impl Inner {
    async fn serve<T, W>(
        &self,
        until: Instant,
        work: W,
        nobody_asks: impl Fn() -> bool + Send,
    ) -> Option<Result<T, Failure>>
    where
        W: for<'a> FnOnce(&'a mut Session) -> BoxFuture<'a, Result<T, Failure>> + Send,
    {
        let mut session = match timeout_at(until, self.take()).await {
            Ok(Ok(session)) => session,
            Ok(Err(fault)) => return Some(Err(fault.into())),
            Err(_) => return Some(Err(late("the database was not reached", false).into())),
        };
        if nobody_asks() {
            self.put(session);
            return None;
        }
        let done = timeout_at(until, work(&mut session)).await;
        let Ok(done) = done else {
            let fault = late("the database did not answer", session.in_doubt);
            session.is_over = true;
            self.maker.home.spawn(session.close());
            return Some(Err(fault.into()));
        };
        if session.is_clean() {
            self.put(session);
        } else {
            self.maker.home.spawn(session.close());
        }
        Some(done)
    }

    fn put(&self, session: Session) {
        self.state().idle.push((session, SystemClock.now()));
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
            session.is_over = true;
            self.maker.home.spawn(session.close());
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

pub(crate) fn late(what: &str, in_doubt: bool) -> Fault {
    let kind = if in_doubt { FaultKind::InDoubt } else { FaultKind::Unreachable };
    Fault::new(kind, format!("{what} in time"), "see that it can be reached, and try again")
}

fn ended() -> Fault {
    let what = "the thread of the store has ended";
    Fault::new(FaultKind::InDoubt, what, "open the store anew")
}
