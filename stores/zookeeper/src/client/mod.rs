//! A client of ZooKeeper that takes nothing on trust: whatever a server says is bounded before it is kept.
//!
//! It has what a store needs and nothing else, and no unsafe code. One that serves all programs makes room for as many
//! children as a server says that there are, and the process ends by that.

mod acl;
mod calls;
mod connector;
mod error;
mod events;
mod live;
mod multi;
#[cfg(feature = "sasl")]
mod sasl;
mod servers;
mod session;
mod stream;
mod watches;
mod wire;

use std::{future::Future, time::Duration};

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot, watch};

#[cfg(feature = "tls")]
pub(crate) use self::stream::begin;
pub(crate) use self::{
    acl::{Acl, Acls, AuthId, Permission},
    calls::OneshotWatcher,
    connector::{Connector, LastFailure},
    error::Error,
    events::{EventType, SessionState, StateWatcher},
    multi::{MultiReadResult, MultiReader, MultiWriteError, MultiWriteResult, MultiWriter},
    wire::Stat,
};
use self::{
    calls::{Call, Command, WatchKind},
    wire::{Reader, Writer, op},
};

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// How a node lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CreateMode {
    /// Until its session ends.
    Ephemeral,
    /// The same, with a number behind its name.
    EphemeralSequential,
    /// Until nothing is in it any more.
    Container,
    /// Until somebody deletes it.
    Persistent,
}

impl CreateMode {
    /// Who may do what with it.
    pub(crate) const fn with_acls(self, acls: Acls<'_>) -> CreateOptions<'_> {
        CreateOptions { mode: self, acls }
    }
}

/// How a node is created.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CreateOptions<'a> {
    mode: CreateMode,
    acls: Acls<'a>,
}

impl CreateOptions<'_> {
    fn op(self) -> i32 {
        if self.mode == CreateMode::Container { op::CREATE_CONTAINER } else { op::CREATE2 }
    }

    fn write(self, path: &str, data: &[u8], to: &mut Writer) {
        to.text(path);
        to.bytes(data);
        self.acls.write(to);
        to.int(match self.mode {
            CreateMode::Ephemeral => 1,
            CreateMode::EphemeralSequential => 3,
            CreateMode::Container => 4,
            CreateMode::Persistent => 0,
        });
    }
}

/// The number behind a name, as the server writes it.
pub(crate) type CreateSequence = String;

/// The number of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionId(pub(crate) i64);

/// A session. It ends when the last clone is dropped.
#[derive(Clone)]
pub(crate) struct Client {
    commands: mpsc::Sender<Command>,
    states: watch::Receiver<SessionState>,
    id: i64,
    length: Duration,
}

impl Client {
    /// How a session is begun.
    pub(crate) fn connector() -> Connector {
        Connector::new()
    }

    pub(crate) const fn session_id(&self) -> SessionId {
        SessionId(self.id)
    }

    /// The length that the ensemble granted.
    pub(crate) const fn session_timeout(&self) -> Duration {
        self.length
    }

    pub(crate) fn state(&self) -> SessionState {
        *self.states.borrow()
    }

    /// Tells of changes from now on.
    pub(crate) fn state_watcher(&self) -> StateWatcher {
        StateWatcher::new(&self.states)
    }

    /// Sends a request at once, in the order of these calls.
    fn send(
        &self,
        op: i32,
        body: Writer,
        watch: Option<(WatchKind, &str)>,
    ) -> impl Future<Output = Result<(Bytes, Option<OneshotWatcher>)>> + Send + use<> {
        let (answer, answered) = oneshot::channel();
        let watch = watch.map(|(kind, path)| (kind, path.to_owned()));
        let sent = self.commands.try_send(Command::Call(Call { op, body, watch, answer }));
        let refused = sent.err().map(|error| match error {
            // It was not sent.
            mpsc::error::TrySendError::Full(_) => Error::Throttled,
            mpsc::error::TrySendError::Closed(_) => self.state().error(),
        });
        let states = self.states.clone();
        async move {
            match refused {
                Some(error) => Err(error),
                None => answered.await.unwrap_or_else(|_| Err(states.borrow().error())),
            }
        }
    }

    pub(crate) fn create(
        &self,
        path: &str,
        data: &[u8],
        options: &CreateOptions<'_>,
    ) -> impl Future<Output = Result<(Stat, CreateSequence)>> + Send + use<> {
        let mut body = Writer::default();
        options.write(path, data, &mut body);
        let sent = self.send(options.op(), body, None);
        let path = path.to_owned();
        async move {
            let (body, _) = sent.await?;
            let mut reader = Reader(&body);
            let number = reader.text()?.strip_prefix(&*path).ok_or(OTHER_NODE)?.to_owned();
            if !number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
                return Err(OTHER_NODE);
            }
            Ok((Stat::read(&mut reader)?, number))
        }
    }

    pub(crate) fn delete(
        &self,
        path: &str,
        version: Option<i32>,
    ) -> impl Future<Output = Result<()>> + Send + use<> {
        let mut body = Writer::default();
        body.text(path);
        body.int(version.unwrap_or(-1));
        let sent = self.send(op::DELETE, body, None);
        async move { sent.await.map(|_| ()) }
    }

    pub(crate) fn check_stat(
        &self,
        path: &str,
    ) -> impl Future<Output = Result<Option<Stat>>> + Send + use<> {
        let sent = self.send(op::EXISTS, looks_at(path, false), None);
        async move {
            match sent.await {
                Ok((body, _)) => Stat::read(&mut Reader(&body)).map(Some),
                Err(Error::NoNode) => Ok(None),
                Err(error) => Err(error),
            }
        }
    }

    pub(crate) fn get_data(
        &self,
        path: &str,
    ) -> impl Future<Output = Result<(Vec<u8>, Stat)>> + Send + use<> {
        let sent = self.send(op::GET_DATA, looks_at(path, false), None);
        async move { data_of(&sent.await?.0) }
    }

    /// The same, and tells of the next change.
    pub(crate) fn get_and_watch_data(
        &self,
        path: &str,
    ) -> impl Future<Output = Result<(Vec<u8>, Stat, OneshotWatcher)>> + Send + use<> {
        let sent = self.send(op::GET_DATA, looks_at(path, true), Some((WatchKind::Data, path)));
        async move {
            let (body, watcher) = sent.await?;
            let (data, stat) = data_of(&body)?;
            Ok((data, stat, watcher.ok_or(Error::Odd("it watches nothing"))?))
        }
    }

    pub(crate) fn list_children(
        &self,
        path: &str,
    ) -> impl Future<Output = Result<Vec<String>>> + Send + use<> {
        let sent = self.send(op::GET_CHILDREN, looks_at(path, false), None);
        async move { Reader(&sent.await?.0).texts() }
    }

    /// The same, and tells of the next change.
    pub(crate) fn list_and_watch_children(
        &self,
        path: &str,
    ) -> impl Future<Output = Result<(Vec<String>, OneshotWatcher)>> + Send + use<> {
        let sent =
            self.send(op::GET_CHILDREN, looks_at(path, true), Some((WatchKind::Child, path)));
        async move {
            let (body, watcher) = sent.await?;
            let children = Reader(&body).texts()?;
            Ok((children, watcher.ok_or(Error::Odd("it watches nothing"))?))
        }
    }

    pub(crate) fn sync(&self, path: &str) -> impl Future<Output = Result<()>> + Send + use<> {
        let mut body = Writer::default();
        body.text(path);
        let sent = self.send(op::SYNC, body, None);
        async move { sent.await.map(|_| ()) }
    }

    /// Logs in, also each time that the session has another connection.
    pub(crate) fn auth(
        &self,
        scheme: &str,
        proof: &[u8],
    ) -> impl Future<Output = Result<()>> + Send + use<> {
        let mut body = Writer::default();
        body.int(0);
        body.text(scheme);
        body.bytes(proof);
        let sent = self.send(op::AUTH, body, None);
        async move { sent.await.map(|_| ()) }
    }

    /// Makes a directory, and those above it, each with the data and options that `how` has for it.
    pub(crate) async fn mkdir<'a>(
        &self,
        path: &str,
        how: impl Fn(&str) -> (&'a [u8], CreateOptions<'a>),
    ) -> Result<()> {
        let mut missing = vec![path];
        while let Some(next) = missing.last().copied() {
            let (data, options) = how(next);
            match self.create(next, data, &options).await {
                Ok(_) | Err(Error::NodeExists) => {
                    missing.pop();
                }
                Err(Error::NoNode) => match next.rsplit_once('/') {
                    Some((above, _)) if !above.is_empty() => missing.push(above),
                    _ => return Err(Error::NoNode),
                },
                Err(error) => return Err(error),
            }
            // Somebody takes away what is made.
            if missing.len() > 64 {
                return Err(Error::NoNode);
            }
        }
        Ok(())
    }

    pub(crate) fn new_multi_reader(&self) -> MultiReader<'_> {
        MultiReader::new(self)
    }

    pub(crate) fn new_multi_writer(&self) -> MultiWriter<'_> {
        MultiWriter::new(self)
    }
}

const OTHER_NODE: Error = Error::Odd("it made another node than it was told to");

fn looks_at(path: &str, watches: bool) -> Writer {
    let mut body = Writer::default();
    body.text(path);
    body.flag(watches);
    body
}

fn data_of(body: &[u8]) -> Result<(Vec<u8>, Stat)> {
    let mut reader = Reader(body);
    let data = reader.bytes()?.to_vec();
    Ok((data, Stat::read(&mut reader)?))
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
