//! Sends hints to the sockets of other members.

use std::{
    collections::HashMap,
    io,
    os::unix::net::UnixDatagram,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tenure_core::proto::queue::Client;

use crate::{
    disk::short_path::ShortPath,
    files::layout::{SOCKET, WAKE_SOCKET},
    hints::socket::{self, Address},
    members::{Members, name_of},
};

/// To how many members there are connections at most: with more, all begin anew.
const MOST: usize = 128;

/// With so many, those that were not used for a while are closed: their members may be gone.
const MANY: usize = 16;
const UNUSED: Duration = Duration::from_secs(1);

/// What hints are sent with. Never waits: a hint that finds a full queue is lost.
#[derive(Debug)]
pub(crate) struct HintSender {
    members: Arc<Members>,
    dir: ShortPath,
    /// What can send to everybody, also when there are no more files.
    unconnected: io::Result<UnixDatagram>,
    /// To where waiters wait: a connection spares looking for the socket each time.
    connections: Mutex<Connections>,
}

/// Each with when it was last used.
type Connections = HashMap<Client, (Arc<UnixDatagram>, Instant)>;

impl HintSender {
    pub(crate) fn new(members: Arc<Members>) -> Self {
        let dir = ShortPath::of(members.dir());
        Self { members, dir, unconnected: socket::unconnected(), connections: Mutex::default() }
    }

    /// Sends to where the waiters of `to` wait. Where that cannot be, to where its holders are told: it has no
    /// other socket before it waits, nor if it is of an earlier version.
    pub(crate) fn to_waiters(&self, to: Client, hint: &[u8]) -> io::Result<()> {
        let sent = match self.connection(to) {
            Ok(connection) => connection.send(hint).map(drop).inspect_err(|error| {
                if error.kind() != io::ErrorKind::WouldBlock {
                    self.connections().remove(&to);
                }
            }),
            Err(error) if is_nobody(&error) => Err(error),
            Err(_) => self.send(to, WAKE_SOCKET, hint),
        };
        sent.or_else(|_| self.to_holders(to, hint))
    }

    /// Sends to where the holders of `to` are told.
    pub(crate) fn to_holders(&self, to: Client, hint: &[u8]) -> io::Result<()> {
        self.send(to, SOCKET, hint)
    }

    /// Why nothing can be sent, if that is so.
    pub(crate) fn send_error(&self) -> Option<&io::Error> {
        self.unconnected.as_ref().err()
    }

    fn connection(&self, to: Client) -> io::Result<Arc<UnixDatagram>> {
        if let Some((known, used)) = self.connections().get_mut(&to) {
            *used = Instant::now();
            return Ok(known.clone());
        }
        let connected = self.address(to, WAKE_SOCKET)?.connect()?;
        let connected = Arc::new(connected);
        let mut connections = self.connections();
        if connections.len() >= MANY {
            connections.retain(|_, (_, used)| used.elapsed() < UNUSED);
        }
        if connections.len() >= MOST {
            connections.clear();
        }
        connections.insert(to, (connected.clone(), Instant::now()));
        Ok(connected)
    }

    fn send(&self, to: Client, ending: &str, hint: &[u8]) -> io::Result<()> {
        let Ok(from) = &self.unconnected else { return Ok(()) };
        self.address(to, ending)?.send(from, hint)
    }

    fn address(&self, to: Client, ending: &str) -> io::Result<Address> {
        let name = format!("{}{ending}", name_of(to));
        let access = self.members.layout().access();
        Address::resolve((self.members.dir(), &self.dir), &name, access)
    }

    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether there is no socket, or nobody who would hear.
fn is_nobody(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}
