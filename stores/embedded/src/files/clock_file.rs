//! The durable bound of all tokens, so that they rise also after a loss of power.
//!
//! State files are never synced. Instead no token above a ceiling is granted, and the ceiling is
//! on the disk before it counts; the next boot goes on from the highest one ever announced. That
//! costs two syncs a minute for the whole machine.

use std::{
    fs::File,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tenure_core::Fault;

use crate::{
    disk::{
        age::touch,
        create,
        patience::{Backoff, FileLock},
        slots::{Damage, ReadBuffer, SlotFile, SlotFileKind, SlotRecord, WriteError},
    },
    error,
    files::layout::{CLOCK, Root},
    machine::Machine,
};

/// How far ahead of the tokens the ceiling is set, in microseconds.
const AHEAD: u64 = 60_000_000;
/// The last time that fits a token.
const LAST_TIME: u64 = (1 << 53) - 1;
/// A sync happens under this file's lock, and disks can be slow.
const PATIENCE: Duration = Duration::from_secs(10);
const CURE: &str = "restore it from a backup, or, with no process using the store, remove it and `boots`: tokens then continue from the clock";

/// The store's clock of tokens.
#[derive(Debug)]
pub(crate) struct TokenClockFile {
    machine: Arc<dyn Machine>,
    path: PathBuf,
    file: File,
    /// The kernel lock belongs to the open file, which all threads share.
    inside: Mutex<()>,
    boot: [u8; 16],
    /// A ceiling known to be durable. The true one only grows.
    ceiling: AtomicU64,
    base: u64,
}

/// Times of tokens, in microseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TokenBounds {
    /// No token of an earlier boot is above it.
    base: u64,
    /// On the disk for certain.
    durable: u64,
    /// Written, and perhaps not on the disk yet. Never below `durable`.
    announced: u64,
}

impl TokenClockFile {
    /// Opens the clock, or creates it, which makes the directory a store. Nothing else changes.
    pub(crate) fn find(
        machine: Arc<dyn Machine>,
        root: &Root,
        boot: [u8; 16],
    ) -> Result<Self, Fault> {
        let path = root.dir.path_of(CLOCK);
        let file = match root.dir.open_file(CLOCK).map_err(|why| error::io("open", &path, why))? {
            Some(file) => file,
            None => create_clock_file(&*machine, root, boot)?,
        };
        let ceiling = AtomicU64::new(0);
        let clock = Self { machine, path, file, inside: Mutex::new(()), boot, ceiling, base: 0 };
        // A file that is none of ours is found before anything is made beside it.
        clock.read()?;
        Ok(clock)
    }

    /// Starts above all earlier tokens, if this is the first use after a boot.
    pub(crate) fn start(mut self) -> Result<Self, Fault> {
        self.base = self.extend(0)?.base;
        Ok(self)
    }

    pub(crate) fn touch(&self) {
        touch(&self.file);
    }

    /// No token above this may be granted yet.
    pub(crate) fn ceiling(&self) -> u64 {
        self.ceiling.load(Ordering::Acquire)
    }

    /// No token of an earlier boot is above this.
    pub(crate) const fn base(&self) -> u64 {
        self.base
    }

    /// No token of this store, of any process in any boot, is above this.
    pub(crate) fn highest(&self) -> Result<u64, Fault> {
        let _inside = self.enter();
        let _locked = self.lock()?;
        Ok(self.read()?.2.announced)
    }

    /// Makes the ceiling at least `time`, and high enough for the next minute if it has to be
    /// raised at all. Blocks the thread while the disk syncs.
    pub(crate) fn raise(&self, time: u64) -> Result<(), Fault> {
        self.extend(time).map(drop)
    }

    fn extend(&self, time: u64) -> Result<TokenBounds, Fault> {
        let _inside = self.enter();
        let _locked = self.lock()?;
        let (seq, boot, mut bounds) = self.read()?;
        let rebooted = boot != self.boot;
        if rebooted || bounds.durable < time || bounds.announced == 0 {
            if rebooted {
                bounds.base = bounds.announced;
            }
            bounds.announced = self
                .machine
                .clock()
                .wall()
                .max(time)
                .max(bounds.base)
                .saturating_add(AHEAD)
                .min(LAST_TIME)
                .max(bounds.announced);
            // The slot that is about to be written over may hold what was announced last, if the
            // other one never reached the disk.
            self.sync()?;
            self.write(seq + 1, bounds)?;
            self.sync()?;
            bounds.durable = bounds.announced;
            self.write(seq + 2, bounds)?;
        }
        self.ceiling.fetch_max(bounds.durable, Ordering::Release);
        Ok(bounds)
    }

    /// The number of the last write, the boot it was made in, and what it says.
    fn read(&self) -> Result<(u64, [u8; 16], TokenBounds), Fault> {
        let torn = |damage| error::damaged(&self.path, damage, CURE);
        let mut room = ReadBuffer::new();
        let SlotRecord { seq, boot, payload, .. } = self.slots().read(&mut room).map_err(torn)?;
        let bounds = TokenBounds::decode(payload).ok_or_else(|| torn(Damage::Torn))?;
        Ok((seq, boot, bounds))
    }

    fn write(&self, seq: u64, bounds: TokenBounds) -> Result<(), Fault> {
        let record = SlotRecord { seq, flags: 0, boot: self.boot, payload: &bounds.encode() };
        self.slots().write(&record).map_err(|error| match error {
            // A ceiling in doubt is as harmless as one that was not written: nobody counts on it.
            WriteError::NoEffect(why) | WriteError::Unknown(why) => {
                error::io("write", &self.path, why)
            }
            error @ WriteError::TooLarge(_) => error::unwritten(&self.path, error),
        })
    }

    fn sync(&self) -> Result<(), Fault> {
        self.machine.sync(&self.file).map_err(|why| error::io("sync", &self.path, why))
    }

    fn slots(&self) -> SlotFile<'_> {
        SlotFile { machine: &*self.machine, file: &self.file, kind: SlotFileKind::Clock }
    }

    fn enter(&self) -> MutexGuard<'_, ()> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> Result<FileLock<'_>, Fault> {
        FileLock::take(&self.file, Backoff::of(PATIENCE))
            .map_err(|why| error::io("lock", &self.path, why))?
            .ok_or_else(|| error::stays_locked(&self.path))
    }
}

/// Creates the clock file, so that its name is on the disk before anything counts on it.
fn create_clock_file(machine: &dyn Machine, root: &Root, boot: [u8; 16]) -> Result<File, Fault> {
    let failed = |why| error::io("create", &root.dir.path_of(CLOCK), why);
    let bounds = TokenBounds { base: 0, durable: 0, announced: 0 };
    let record = SlotRecord { seq: 1, flags: 0, boot, payload: &bounds.encode() };
    let place = (&root.dir, CLOCK);
    let created =
        create::create_slot_file(machine, place, root.access, SlotFileKind::Clock, &record)
            .map_err(failed)?;
    root.dir.file().sync_all().map_err(failed)?;
    match created {
        Some(file) => Ok(file),
        None => {
            root.dir.open_file(CLOCK).map_err(failed)?.ok_or_else(|| error::removed(root.path()))
        }
    }
}

impl TokenBounds {
    fn encode(self) -> Vec<u8> {
        [self.base, self.durable, self.announced].into_iter().flat_map(u64::to_le_bytes).collect()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut numbers =
            bytes.chunks_exact(8).map(|chunk| chunk.try_into().map(u64::from_le_bytes));
        let mut next = || numbers.next()?.ok();
        let bounds = Self { base: next()?, durable: next()?, announced: next()? };
        // No store announces what fits no token.
        (bytes.len() == 24 && bounds.announced <= LAST_TIME).then_some(bounds)
    }
}
