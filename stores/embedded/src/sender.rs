//! Sends hints to the sockets of other members.

use std::{
    collections::HashMap,
    io,
    os::unix::net::UnixDatagram,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tenure_core::proto::queue::Client;

use crate::{
    layout::{SOCKET, WAKE_SOCKET},
    members::{Members, name_of},
    short_path::ShortPath,
    socket,
};

/// To how many members there are connections at most: with more, all begin anew.
const MOST: usize = 128;

/// What hints are sent with. Never waits: a hint that finds a full queue is lost.
#[derive(Debug)]
pub(crate) struct Sender {
    members: Arc<Members>,
    dir: ShortPath,
    /// To where waiters wait: a connection spares looking for the socket each time.
    connections: Mutex<HashMap<Client, Arc<UnixDatagram>>>,
}

impl Sender {
    pub(crate) fn new(members: Arc<Members>) -> Self {
        let dir = ShortPath::of(members.dir());
        Self { members, dir, connections: Mutex::default() }
    }

    /// Sends to where the waiters of `to` wait; if nobody does there, to where its holders are told.
    pub(crate) fn to_waiters(&self, to: Client, hint: &[u8]) -> io::Result<()> {
        let known = self.connections().get(&to).cloned();
        if let Some(known) = known {
            let sent = known.send(hint);
            if !sent.as_ref().is_err_and(is_nobody) {
                return sent.map(drop);
            }
            self.connections().remove(&to);
        }
        let connected = self.connect(to, WAKE_SOCKET);
        // It has no such socket before it waits, nor if it is of an earlier version.
        if connected.as_ref().is_err_and(is_nobody) {
            return self.to_holders(to, hint);
        }
        let connected = Arc::new(connected?);
        let mut connections = self.connections();
        if connections.len() >= MOST {
            connections.clear();
        }
        connections.insert(to, connected.clone());
        drop(connections);
        connected.send(hint).map(drop)
    }

    /// Sends to where the holders of `to` are told.
    pub(crate) fn to_holders(&self, to: Client, hint: &[u8]) -> io::Result<()> {
        self.connect(to, SOCKET)?.send(hint).map(drop)
    }

    fn connect(&self, to: Client, ending: &str) -> io::Result<UnixDatagram> {
        let name = format!("{}{ending}", name_of(to));
        let access = self.members.layout().access();
        socket::connect((self.members.dir(), &self.dir), &name, access)
    }

    fn connections(&self) -> MutexGuard<'_, HashMap<Client, Arc<UnixDatagram>>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether there is no socket, or nobody who would hear.
fn is_nobody(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}
