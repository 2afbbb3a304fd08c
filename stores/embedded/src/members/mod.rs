//! Which processes live: each opened store keeps a kernel lock on a file of its own, which ends
//! with the process, however it ends.
//!
//! The file of a dead member stays until no lease can be left of what it had: it is what frees all
//! names of the dead at once. Where there is no file nobody knows, and the lease decides.

pub(crate) mod boots;
pub(crate) mod stake;

use std::{
    collections::{HashMap, HashSet},
    fs::{File, TryLockError},
    io,
    os::{
        fd::OwnedFd,
        unix::{fs::FileExt, net::UnixDatagram},
    },
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use nix::sys::stat::fstat;
use tenure_core::{
    Fault, FaultKind,
    proto::{Timestamp, queue::Client},
};

use crate::{
    disk::{
        age::{is_old, touch},
        dir::{Dir, EntryKind, stem_of_unfinished, temporary_name},
        short_path::ShortPath,
    },
    error,
    files::{
        layout::{Layout, SOCKET, WAKE_SOCKET, is_hash, stem_of_socket},
        removal,
    },
    machine::check_size,
    members::stake::ContenderCount,
};

/// How often a member's file is made to look new, so that those who remove what is old leave it.
const FRESH: Duration = Duration::from_secs(3600);
/// By how much more than needed a file says that it counts, so that it is seldom written.
const AHEAD: Duration = Duration::from_secs(60);

/// What a look at a member's file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Liveness {
    Living,
    Dead,
    /// It has no file: it ended in order and had nothing, ended long ago, or somebody removed it.
    Unknown,
}

/// How many files of others are kept open at most: with more, all are looked for anew.
const MOST_SEEN: usize = 128;
/// With so many, those that stand for nobody any more are closed.
const MANY_SEEN: usize = 16;
/// How long one that is locked stands for its member: it may have made room for another one.
const SEEN: Duration = Duration::from_millis(50);

/// This store's own membership, and what it sees of the others'.
#[derive(Debug)]
pub(crate) struct Members {
    dir: Dir,
    layout: Arc<Layout>,
    own: Client,
    own_name: String,
    process: u32,
    file: Mutex<Option<File>>,
    /// Another process may hold a copy of the lock: then the file stays when this store ends.
    handed_out: AtomicBool,
    /// How many holds and places this store has in all names, or more.
    stakes: AtomicU64,
    /// Until when they count at the latest, as the file says.
    until: AtomicU64,
    /// When the file was last made to look new.
    freshened: AtomicU64,
    /// The files of others that lived when they were looked for, and when that was.
    seen: Mutex<HashMap<Client, (File, Instant)>>,
    /// How often it was asked whether another one lives.
    #[cfg(test)]
    pub(crate) looks: AtomicU64,
}

impl Members {
    /// Becomes a member under a fresh random id.
    pub(crate) fn join(layout: Arc<Layout>, dir: Dir, now: Timestamp) -> Result<Self, Fault> {
        let mut id = [0; 16];
        getrandom::fill(&mut id).map_err(|why| {
            Fault::new(
                FaultKind::Unreachable,
                "the system provides no random numbers",
                "try again later",
            )
            .because(why)
        })?;
        let own_name = name_of(Client(id));
        let file = publish(&dir, &own_name, &layout, 0)
            .map_err(|why| error::io("create", &dir.path_of(&own_name), why))?;
        Ok(Self {
            dir,
            layout,
            own: Client(id),
            own_name,
            process: std::process::id(),
            file: Mutex::new(Some(file)),
            handed_out: AtomicBool::new(false),
            stakes: AtomicU64::new(0),
            until: AtomicU64::new(0),
            freshened: AtomicU64::new(now.as_nanos()),
            seen: Mutex::default(),
            #[cfg(test)]
            looks: AtomicU64::new(0),
        })
    }

    pub(crate) const fn own(&self) -> Client {
        self.own
    }

    /// Whether this is the process that joined. In the child of a fork all is still the parent's.
    pub(crate) fn are_ours(&self) -> bool {
        std::process::id() == self.process
    }

    /// The directory of all members.
    pub(crate) const fn dir(&self) -> &Dir {
        &self.dir
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether the process that `client` belongs to lives. In doubt it does: its lease still ends.
    pub(crate) fn alive(&self, client: Client) -> bool {
        if client == self.own {
            return true;
        }
        #[cfg(test)]
        self.looks.fetch_add(1, Ordering::Relaxed);
        self.is_seen_alive(client) || self.look(client) != Liveness::Dead
    }

    /// Whether the file that was seen lately is locked.
    fn is_seen_alive(&self, client: Client) -> bool {
        let mut seen = self.seen();
        let alive = seen.get(&client).is_some_and(|(file, since)| {
            since.elapsed() < SEEN && matches!(life_by(file), Ok(Liveness::Living))
        });
        if !alive {
            seen.remove(&client);
        }
        alive
    }

    fn look(&self, client: Client) -> Liveness {
        let Ok(Some(file)) = self.dir.open_readonly(&name_of(client)) else {
            return Liveness::Unknown;
        };
        match life_by(&file) {
            Ok(Liveness::Living) => {
                let mut seen = self.seen();
                if seen.len() >= MANY_SEEN {
                    seen.retain(|_, (_, since)| since.elapsed() < SEEN);
                }
                if seen.len() >= MOST_SEEN {
                    seen.clear();
                }
                seen.insert(client, (file, Instant::now()));
                Liveness::Living
            }
            Ok(life) => life,
            Err(_) => Liveness::Unknown,
        }
    }

    fn seen(&self) -> MutexGuard<'_, HashMap<Client, (File, Instant)>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sees that others can still see this store.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        let root = self.layout.root.path();
        if self.dir.is_gone() || !self.layout.root.dir.is_in_place() {
            return Err(error::removed(root));
        }
        let mut file = self.file();
        if file.as_ref().is_some_and(|file| fstat(file).is_ok_and(|found| found.st_nlink > 0)) {
            return Ok(());
        }
        if self.handed_out.load(Ordering::Relaxed) {
            // Whoever has the copy keeps nobody alive any more.
            return Err(error::removed(root));
        }
        let until = self.until.load(Ordering::Relaxed);
        let published = publish(&self.dir, &self.own_name, &self.layout, until)
            .map_err(|why| error::io("create", &self.dir.path_of(&self.own_name), why))?;
        *file = Some(published);
        Ok(())
    }

    /// Keeps the file from looking as if nobody needed it. Says whether it was time for it, which
    /// it seldom is.
    pub(crate) fn keep_fresh(&self, now: Timestamp) -> bool {
        let last = self.freshened.load(Ordering::Relaxed);
        if now.since(Timestamp::from_nanos(last)) < FRESH {
            return false;
        }
        self.freshened.store(now.as_nanos(), Ordering::Relaxed);
        match self.check() {
            Ok(()) => {
                self.file().as_ref().map(touch);
            }
            Err(fault) => {
                tracing::debug!(fault = %format_args!("{fault:#}"), "other processes cannot see this store any more")
            }
        }
        true
    }

    /// Counts what a decision gave this store, before it is in force: its file has to outlast it.
    pub(crate) fn take_on(&self, before: ContenderCount, after: ContenderCount, now: Timestamp) {
        self.stakes.fetch_add(after.count.saturating_sub(before.count), Ordering::Relaxed);
        if after.until.as_nanos() > self.until.load(Ordering::Relaxed) {
            let length = after.until.since(now);
            let until = after.until.saturating_add(length).saturating_add(AHEAD).as_nanos();
            let file = self.file();
            if file.as_ref().is_some_and(|file| write_until(file, until).is_ok()) {
                self.until.fetch_max(until, Ordering::Relaxed);
            }
        }
    }

    /// Counts what a decision took from it, after it came into force.
    pub(crate) fn let_go(&self, before: ContenderCount, after: ContenderCount) {
        let gone = before.count.saturating_sub(after.count);
        let less = |stakes: u64| Some(stakes.saturating_sub(gone));
        if gone > 0 {
            let _ = self.stakes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        }
    }

    /// A copy of what keeps this store alive in the eyes of the others.
    pub(crate) fn liveness(&self) -> Option<OwnedFd> {
        self.handed_out.store(true, Ordering::Relaxed);
        self.file().as_ref()?.try_clone().ok().map(OwnedFd::from)
    }

    /// LivenessChecks at no more than so many of what others have there, not the same ones each time: counts those that
    /// live, and this one, and removes what the dead left that nothing depends on any more.
    pub(crate) fn sweep(&self, looks: usize, now: Timestamp) -> io::Result<usize> {
        let names = self.dir.names()?;
        let members: HashSet<&str> =
            names.iter().map(String::as_str).filter(|name| is_hash(name)).collect();
        let goes_with_its_member =
            |name: &str| stem_of_socket(name).is_some_and(|member| members.contains(member));
        let mut others: Vec<&str> = names
            .iter()
            .map(String::as_str)
            .filter(|name| is_member_file(name) && *name != self.own_name)
            .filter(|name| !goes_with_its_member(name))
            .collect();
        let [_, one, two, ..] = self.own.0;
        let first = usize::from(u16::from_le_bytes([one, two])) % others.len().max(1);
        others.rotate_left(first);
        let mut living = usize::from(members.contains(self.own_name.as_str()));
        for name in others.into_iter().take(looks) {
            if is_hash(name) {
                if matches!(life(&self.dir, name), Ok(Liveness::Living)) {
                    living += 1;
                } else if self.is_over(name, now) {
                    self.remove_sockets(name);
                    self.remove(name);
                }
            } else if match stem_of_socket(name) {
                Some(member) => self.is_deaf(member, name),
                None => is_old(&self.dir, name),
            } {
                self.remove(name);
            }
        }
        Ok(living)
    }

    /// Whether the dead member's file says that nothing is left of what it had.
    fn is_over(&self, name: &str, now: Timestamp) -> bool {
        let Ok(Some(file)) = self.dir.open_readonly(name) else { return false };
        // Locked once more, since two of a name can follow each other.
        let mut until = [0; 8];
        match file.read_exact_at(&mut until, 0) {
            Ok(()) => u64::from_le_bytes(until) <= now.as_nanos() && file.try_lock_shared().is_ok(),
            // Nobody wrote into it, so it is another version's, or was never used.
            Err(error) => error.kind() == io::ErrorKind::UnexpectedEof,
        }
    }

    /// Whether a socket of a member that has no file belongs to nobody.
    fn is_deaf(&self, member: &str, socket: &str) -> bool {
        if !matches!(life(&self.dir, member), Ok(Liveness::Unknown))
            || !matches!(self.dir.entry(socket), Ok(Some(EntryKind::Socket)))
        {
            return false;
        }
        let path = ShortPath::of(&self.dir).join(socket);
        let heard = UnixDatagram::unbound().and_then(|socket| socket.connect(path));
        heard.is_err_and(|why| why.kind() == io::ErrorKind::ConnectionRefused)
    }

    /// Removes what has this name, if it is what a member has there. Empty directories are what a
    /// member leaves that was killed while it made its socket.
    fn remove(&self, name: &str) {
        let is_socket = stem_of_socket(name).is_some();
        let _ = match self.dir.entry(name) {
            Ok(Some(EntryKind::Socket)) if is_socket => self.dir.remove(name),
            Ok(Some(EntryKind::File)) if !is_socket => self.dir.remove(name),
            Ok(Some(EntryKind::Dir)) if stem_of_unfinished(name).is_some() => {
                removal::remove_unfinished_entry(&self.dir, name);
                Ok(())
            }
            _ => Ok(()),
        };
    }

    fn remove_sockets(&self, member: &str) {
        for ending in [SOCKET, WAKE_SOCKET] {
            self.remove(&format!("{member}{ending}"));
        }
    }

    fn file(&self) -> MutexGuard<'_, Option<File>> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        if !self.are_ours() {
            return;
        }
        self.remove_sockets(&self.own_name);
        if self.stakes.load(Ordering::Relaxed) > 0 {
            // The file stays, unlocked: who holds nothing any more can be seen by it.
            return;
        }
        let file = self.file().take();
        let ours = file.as_ref().and_then(|file| fstat(file).ok());
        if self.handed_out.load(Ordering::Relaxed) {
            // A copy keeps the lock, and whoever comes after it removes the file.
            let _ = file.as_ref().map(|file| write_until(file, 0));
            drop(file);
            if !matches!(life(&self.dir, &self.own_name), Ok(Liveness::Dead)) {
                return;
            }
        }
        if let Some(ours) = ours {
            let _ = self.dir.remove_this(&self.own_name, &ours);
        }
    }
}

/// The name of a member's file.
pub(crate) fn name_of(client: Client) -> String {
    format!("{:032x}", u128::from_be_bytes(client.0))
}

/// Whether this may be the name of something of a member.
pub(crate) fn is_member_file(name: &str) -> bool {
    let stem = stem_of_socket(name).or_else(|| stem_of_unfinished(name));
    // Earlier versions called what is not complete by the id alone.
    is_hash(stem.or_else(|| name.strip_suffix(".tmp")).unwrap_or(name))
}

/// Whether a living process keeps the file of this name locked.
pub(crate) fn life(members: &Dir, name: &str) -> io::Result<Liveness> {
    members.open_readonly(name)?.map_or(Ok(Liveness::Unknown), |file| life_by(&file))
}

fn life_by(file: &File) -> io::Result<Liveness> {
    // Shared, so that those who look at the same time do not take each other for the member.
    match file.try_lock_shared() {
        Ok(()) => Ok(Liveness::Dead),
        Err(TryLockError::WouldBlock) => Ok(Liveness::Living),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Creates a member's file; it is locked before others can see it.
fn publish(dir: &Dir, name: &str, layout: &Layout, until: u64) -> io::Result<File> {
    let unfinished = temporary_name(name)?;
    let file = dir.create_file(&unfinished, layout.access())?;
    let published = file
        .try_lock()
        .map_err(io::Error::from)
        .and_then(|()| write_until(&file, until))
        .and_then(|()| dir.rename(&unfinished, name));
    if published.is_err() {
        let _ = dir.remove(&unfinished);
    }
    published.map(|()| file)
}

/// Writes until when what the member has counts, in nanoseconds since the boot.
fn write_until(file: &File, until: u64) -> io::Result<()> {
    let bytes = until.to_le_bytes();
    check_size(bytes.len() as u64)?;
    file.write_all_at(&bytes, 0)
}
