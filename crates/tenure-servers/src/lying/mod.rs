//! Servers that lie, and whoever stands on the wire: what is said is endless, huge, deep, cut, or of the wrong type.
//!
//! A liar passes on what comes and goes between a client and a real server, until it is told to lie. What it says in
//! the place of the server is for each protocol in a file of its own. Its threads end with their connections.

mod mysql;
mod postgres;
mod redis;
mod zookeeper;

pub use self::{
    mysql::ASKS_IN_CLEAR as ASKS_IN_CLEAR_ON_MYSQL,
    postgres::{ASKS_FOR_A_SUM, ASKS_IN_CLEAR},
};

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// Which protocol is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// PostgreSQL's, version 3.
    Postgres,
    /// That of MySQL and MariaDB.
    Mysql,
    /// Redis' second and third.
    Redis,
    /// ZooKeeper's.
    Zookeeper,
}

impl Protocol {
    /// All lies that are told in it.
    #[must_use]
    pub fn lies(self) -> Vec<RogueBehavior> {
        match self {
            Self::Postgres => postgres::lies(),
            Self::Mysql => mysql::lies(),
            Self::Redis => redis::lies(),
            Self::Zookeeper => zookeeper::lies(),
        }
    }
}

/// What is said to something that a client asked.
#[derive(Debug)]
enum RogueReply {
    /// What the real server says.
    Pass,
    /// This, and then the next is waited for.
    Say(Vec<u8>),
    /// This, and no more is said.
    Leave(Vec<u8>),
    /// This, and then what the function makes of 0, 1, 2 and so on, for as long as it is read.
    Flood(Vec<u8>, fn(u64) -> Vec<u8>),
}

/// One way of lying.
#[derive(Clone, Copy, Debug)]
pub struct RogueBehavior {
    /// What it is, in a few words.
    pub name: &'static str,
    /// Whether it is told to whoever connects. Others are told by servers that were trusted before.
    pub at_once: bool,
    /// Whether the server speaks first, as it does in some protocols.
    speaks_first: bool,
    tells: fn(&[u8]) -> RogueReply,
}

const fn at_once(name: &'static str, tells: fn(&[u8]) -> RogueReply) -> RogueBehavior {
    RogueBehavior { name, at_once: true, speaks_first: false, tells }
}

const fn later(name: &'static str, tells: fn(&[u8]) -> RogueReply) -> RogueBehavior {
    RogueBehavior { name, at_once: false, speaks_first: false, tells }
}

/// A server that lies. It listens until it is dropped.
#[derive(Debug)]
pub struct RogueServer {
    address: SocketAddr,
    lies: Arc<AtomicBool>,
    heard: Arc<Mutex<Vec<u8>>>,
    is_over: Arc<AtomicBool>,
}

impl RogueServer {
    /// One that stands before a real server, and lies from the beginning, or once it is told to.
    ///
    /// # Panics
    /// When no port is free.
    #[must_use]
    #[allow(clippy::unwrap_used, reason = "it is part of a test, which may fail")]
    pub fn start(lie: RogueBehavior, before: Option<SocketAddr>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let lies = Arc::new(AtomicBool::new(lie.at_once));
        let liar = Self { address, lies, heard: Arc::default(), is_over: Arc::default() };
        let (lies, heard, is_over) = (liar.lies.clone(), liar.heard.clone(), liar.is_over.clone());
        thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                if is_over.load(Ordering::SeqCst) {
                    return;
                }
                let (lies, heard) = (lies.clone(), heard.clone());
                thread::spawn(move || meet(client, before, lie, &lies, &heard));
            }
        });
        liar
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on it lies.
    pub fn lie(&self) {
        self.lies.store(true, Ordering::SeqCst);
    }

    /// All that clients said to it since it lies.
    #[must_use]
    pub fn heard(&self) -> Vec<u8> {
        locked(&self.heard).clone()
    }
}

impl Drop for RogueServer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // What waits for the next one wakes up by it.
        let _ = TcpStream::connect(self.address);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes on what a server says, for as long as nobody else speaks in its stead.
fn pass(mut server: TcpStream, client: &Mutex<TcpStream>, speaks: &AtomicBool) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = server.read(&mut bytes) {
        let mut client = locked(client);
        let part = bytes.get(..length).unwrap_or_default();
        if speaks.load(Ordering::SeqCst) || client.write_all(part).is_err() {
            return;
        }
    }
    let _ = locked(client).shutdown(Shutdown::Both);
}

/// Speaks with one client, until one of them goes.
fn meet(
    client: TcpStream,
    before: Option<SocketAddr>,
    lie: RogueBehavior,
    lies: &AtomicBool,
    heard: &Mutex<Vec<u8>>,
) -> Option<()> {
    client.set_nodelay(true).ok()?;
    let mut asks = client.try_clone().ok()?;
    let (client, speaks) = (Arc::new(Mutex::new(client)), Arc::new(AtomicBool::new(false)));
    let mut server = None;
    if let Some(before) = before.filter(|_| !lie.at_once) {
        let stream = TcpStream::connect(before).ok()?;
        stream.set_nodelay(true).ok()?;
        server = Some(stream.try_clone().ok()?);
        let (client, speaks) = (client.clone(), speaks.clone());
        thread::spawn(move || pass(stream, &client, &speaks));
    }
    if lie.at_once && lie.speaks_first {
        say(&client, (lie.tells)(b""))?;
    }
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = asks.read(&mut bytes) {
        let asked = bytes.get(..length).unwrap_or_default();
        if lies.load(Ordering::SeqCst) {
            locked(heard).extend_from_slice(asked);
            match (lie.tells)(asked) {
                RogueReply::Pass => {}
                turn => {
                    speaks.store(true, Ordering::SeqCst);
                    say(&client, turn)?;
                    continue;
                }
            }
        }
        server.as_mut()?.write_all(asked).ok()?;
    }
    if let Some(server) = server {
        let _ = server.shutdown(Shutdown::Both);
    }
    None
}

/// Nothing once it is over.
fn say(client: &Mutex<TcpStream>, turn: RogueReply) -> Option<()> {
    let mut client = locked(client);
    match turn {
        RogueReply::Pass => Some(()),
        RogueReply::Say(bytes) => client.write_all(&bytes).ok(),
        RogueReply::Leave(bytes) => {
            let _ = client.write_all(&bytes);
            let _ = client.shutdown(Shutdown::Both);
            None
        }
        RogueReply::Flood(bytes, more) => {
            client.write_all(&bytes).ok()?;
            let mut number = 0;
            loop {
                let mut many = Vec::new();
                while many.len() < 64 * 1024 {
                    many.extend(more(number));
                    number += 1;
                }
                client.write_all(&many).ok()?;
            }
        }
    }
}

/// As many zeros as anybody reads.
fn zeros(_: u64) -> Vec<u8> {
    vec![0; 64 * 1024]
}
