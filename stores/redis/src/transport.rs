//! Commands to the server: one connection for each tokio runtime that calls, opened when it is
//! first used and opened anew after it broke.
//!
//! A connection lives in the runtime that opened it. When that runtime ends, so does its entry
//! here. Nothing is ever sent twice by itself: what may have taken effect is the caller's to ask
//! again.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, Weak,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use tenure_core::{Fault, FaultKind};
use tokio::{
    runtime::{Handle, Id},
    task::AbortHandle,
};

use crate::{
    RedisOptions,
    call::{Call, delete_if},
    compare::NoOutcome,
    connect::connect,
    connection::Connection,
    error,
    failure::Failure,
    gather::{Many, Told},
    protocol::Value,
    reply::Reply,
    route::{Route, Server},
    script::Script,
    sentinel::Panel,
    wire::OwnerText,
};

/// How often in a row it is asked which server has the locks, when the answer does not count for as long
/// as connecting to it takes.
const ATTEMPTS: u32 = 3;

/// Who a call is made for: the reply begins with it, or belongs to another call.
pub(crate) type Echo<'a> = &'a [u8];

/// The answer to a call that others may have gone with.
pub(crate) enum Answered {
    /// The reply, as if it had gone alone.
    Whole(Reply),
    /// Its part of the reply to all of them.
    Part(Value),
}

#[derive(Debug)]
pub(crate) struct Transport {
    pub(crate) options: Arc<RedisOptions>,
    pub(crate) place: String,
    pub(crate) route: Arc<Route>,
    lines: Arc<Lines>,
    compares: AtomicBool,
}

#[derive(Debug, Default)]
struct Lines(Mutex<Vec<(Id, Arc<Line>)>>);

/// The connection of one runtime.
#[derive(Default)]
struct Line {
    open: Mutex<Option<Open>>,
    opening: tokio::sync::Mutex<()>,
    /// Counts attempts, so that whoever waited for one that failed does not make another.
    attempts: AtomicU64,
    last_failure: Mutex<Option<(FaultKind, String, String)>>,
    watcher: Mutex<Option<AbortHandle>>,
    /// Who is asked for the server.
    panel: Panel,
}

#[derive(Clone)]
struct Open {
    connection: Arc<Connection>,
    number: u64,
    server: Arc<Server>,
}

impl Transport {
    pub(crate) fn new(options: Arc<RedisOptions>, route: Arc<Route>) -> Self {
        let place = options.location();
        let compares = AtomicBool::new(false);
        Self { options, place, route, lines: Arc::default(), compares }
    }

    /// Runs a script whose reply begins with `echo`, and answers with the rest of the reply.
    pub(crate) async fn run(
        &self,
        script: &Script,
        echo: Echo<'_>,
        call: Call,
    ) -> Result<Reply, Fault> {
        let line = self.line()?;
        let open = self.opened(&line).await?;
        let answer = open.connection.run(&call, script).await;
        self.reply(&line, &open, echo, answer)
    }

    /// The same for a call that others may go with, as far as they are ready at the same time.
    pub(crate) async fn run_gathered(
        &self,
        kind: Many,
        echo: &OwnerText,
        call: Call,
    ) -> Result<Answered, Fault> {
        let line = self.line()?;
        let open = self.opened(&line).await?;
        let connection = &*open.connection;
        if !connection.gathers.load(Ordering::Relaxed) {
            return self.run(kind.alone(), echo, call).await.map(Answered::Whole);
        }
        let answer = match connection.gather(kind, &call, echo).await {
            Ok(Told::Part(Value::Error(error))) => Err(Failure::Server(error)),
            Ok(Told::Part(part)) => return Ok(Answered::Part(part)),
            Ok(Told::Whole(value)) => Ok(value),
            Ok(Told::Refused(error)) => {
                return match error.code() {
                    // The server was told to forget; one of these calls has it learn again.
                    "NOSCRIPT" => {
                        if connection.gathers.swap(false, Ordering::Relaxed) {
                            connection.learn().await;
                        }
                        self.run(kind.alone(), echo, call).await.map(Answered::Whole)
                    }
                    // Names of several slots, or one that this user may not touch.
                    "CROSSSLOT" | "NOPERM" if !error::is_midway(error.detail()) => {
                        connection.gathers.store(false, Ordering::Relaxed);
                        self.run(kind.alone(), echo, call).await.map(Answered::Whole)
                    }
                    _ => Err(self.failed(&line, &open, Failure::Server(error))),
                };
            }
            Err(error) if error.code() == Some("NOSCRIPT") => {
                connection.run(&call, kind.alone()).await
            }
            Err(error) => Err(error),
        };
        self.reply(&line, &open, echo, answer).map(Answered::Whole)
    }

    /// What a script answered to this owner.
    fn reply(
        &self,
        line: &Line,
        open: &Open,
        echo: Echo<'_>,
        answer: Result<Value, Failure>,
    ) -> Result<Reply, Fault> {
        let value = answer.map_err(|error| self.failed(line, open, error))?;
        Reply::to(echo, value).ok_or_else(|| self.mixed_up(line, open))
    }

    /// Deletes a key if it has this value, by one command that compares, both written in parts.
    /// `false` when it had another, and where the server has no such command.
    pub(crate) async fn delete_if(&self, key: &[&[u8]], value: &[&[u8]]) -> Result<bool, Fault> {
        let line = self.line()?;
        let open = self.opened(&line).await?;
        let connection = &*open.connection;
        let Some(words) = connection.compare.words() else { return Ok(false) };
        let answer = connection.write(|out| delete_if(words, key, value, out)).await;
        let outcome = connection.compare.outcome(answer);
        // Else records would be kept that nobody can use.
        self.compares.store(connection.compare.is_there(), Ordering::Relaxed);
        outcome.map_err(|none| match none {
            NoOutcome::MixedUp => self.mixed_up(&line, &open),
            NoOutcome::Failed(error) => self.failed(&line, &open, error),
        })
    }

    /// Whether a connection was opened to a server that deletes a key if it has a certain value.
    pub(crate) fn compares(&self) -> bool {
        self.compares.load(Ordering::Relaxed)
    }

    /// Sends one command that is no script.
    pub(crate) async fn send(&self, words: &[&str]) -> Result<Value, Fault> {
        let line = self.line()?;
        let open = self.opened(&line).await?;
        open.connection.send(words).await.map_err(|error| self.failed(&line, &open, error))
    }

    /// Opens the connection of this runtime, if it is not open.
    pub(crate) async fn open(&self) -> Result<(), Fault> {
        let line = self.line()?;
        self.opened(&line).await.map(drop)
    }

    fn mixed_up(&self, line: &Line, open: &Open) -> Fault {
        condemn(line, open);
        tracing::warn!(store = "redis", place = %self.place, "a reply belongs to another call");
        error::mixed_up(&self.place)
    }

    fn failed(&self, line: &Line, open: &Open, error: Failure) -> Fault {
        // A replica may have taken the place of the server: the address has to be looked up again.
        if !error.is_an_answer() || error.code() == Some("READONLY") {
            condemn(line, open);
            self.route.suspect(&open.server);
        }
        error::of_command(&self.place, error)
    }

    fn line(&self) -> Result<Arc<Line>, Fault> {
        let runtime = Handle::try_current().map_err(|error| {
            let what = "the Redis store was called outside of a tokio runtime";
            Fault::new(FaultKind::Unsupported, what, "call it from a task of tokio").because(error)
        })?;
        let id = runtime.id();
        let mut lines = self.lines.lock();
        if let Some((_, line)) = lines.iter().find(|(known, _)| *known == id) {
            return Ok(line.clone());
        }
        let line = Arc::new(Line::default());
        lines.push((id, line.clone()));
        drop(lines);
        let end = EndOfRuntime { id, lines: Arc::downgrade(&self.lines) };
        let watcher = runtime.spawn(async move {
            let _end = end;
            std::future::pending::<()>().await;
        });
        *lock(&line.watcher) = Some(watcher.abort_handle());
        Ok(line)
    }

    async fn opened(&self, line: &Line) -> Result<Open, Fault> {
        match line.current() {
            Some(open) if self.route.trusts(&open.server) => Ok(open),
            // Rare and large: in a box of its own it does not make every call large.
            _ => Box::pin(self.open_anew(line)).await,
        }
    }

    async fn open_anew(&self, line: &Line) -> Result<Open, Fault> {
        let seen = line.attempts.load(Ordering::Acquire);
        let _alone = line.opening.lock().await;
        if let Some(open) = line.current().filter(|open| self.route.trusts(&open.server)) {
            return Ok(open);
        }
        let number = line.attempts.load(Ordering::Acquire) + 1;
        if number != seen + 1
            && let Some((kind, what, cure)) = lock(&line.last_failure).clone()
        {
            return Err(Fault::new(kind, what, cure));
        }
        let opened = self.connect(line, number).await;
        line.attempts.store(number, Ordering::Release);
        match opened {
            Ok(open) => {
                *lock(&line.last_failure) = None;
                Ok(open)
            }
            Err(fault) => {
                let told = (fault.kind(), fault.what_and_why(), fault.cure().to_owned());
                *lock(&line.last_failure) = Some(told);
                Err(fault)
            }
        }
    }

    /// Connects to the server that has the locks, unless that is the one that is connected to.
    async fn connect(&self, line: &Line, number: u64) -> Result<Open, Fault> {
        for _ in 0..ATTEMPTS {
            let server = self.route.server(&line.panel).await?;
            let open = match line.current().filter(|open| *open.server == server) {
                Some(open) => open,
                None => {
                    let connection = connect(&self.options, &self.route, &server, None).await?;
                    self.compares.store(connection.compare.is_there(), Ordering::Relaxed);
                    let (connection, server) = (Arc::new(connection), Arc::new(server));
                    let open = Open { connection, number, server };
                    *lock(&line.open) = Some(open.clone());
                    open
                }
            };
            // To connect can take longer than it is known which server it is.
            if self.route.trusts(&open.server) {
                return Ok(open);
            }
        }
        Err(error::not_known_for_long_enough(&self.place))
    }
}

impl Line {
    /// The connection, if there is one that can be used.
    fn current(&self) -> Option<Open> {
        let open = lock(&self.open);
        open.as_ref().filter(|open| !open.connection.is_closed()).cloned()
    }
}

/// Nobody uses this connection any more; the next call opens another.
fn condemn(line: &Line, open: &Open) {
    let mut current = lock(&line.open);
    if current.as_ref().is_some_and(|current| current.number == open.number) {
        *current = None;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Lines {
    fn lock(&self) -> MutexGuard<'_, Vec<(Id, Arc<Line>)>> {
        lock(&self.0)
    }
}

/// Dropped with the runtime whose task it is part of.
struct EndOfRuntime {
    id: Id,
    lines: Weak<Lines>,
}

impl Drop for EndOfRuntime {
    fn drop(&mut self) {
        if let Some(lines) = self.lines.upgrade() {
            let mut lines = lines.lock();
            let at = lines.iter().position(|(id, _)| *id == self.id);
            let line = at.map(|at| lines.swap_remove(at));
            drop(lines);
            drop(line);
        }
    }
}

impl Drop for Transport {
    fn drop(&mut self) {
        let lines = std::mem::take(&mut *self.lines.lock());
        for (_, line) in lines {
            if let Some(watcher) = lock(&line.watcher).take() {
                watcher.abort();
            }
        }
    }
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Line").field("open", &lock(&self.open).is_some()).finish_non_exhaustive()
    }
}
