//! The histories of locks: a file for each name that has one, outside of the directories of boots, which it outlives.
//!
//! Events are appended under a lock on the file, and no lock of the name. When a file has twice what is kept, a new one
//! takes its place. A process that waited for the lock of the old one sees that it has no place any more. Removing
//! takes the same lock. Nothing is synced: what a loss of power tears is left out by readers, and cut by the next
//! writer.

use std::{fs::File, io, os::unix::fs::MetadataExt, path::PathBuf};

use nix::{sys::stat::fstat, unistd::geteuid};
use tenure_core::{
    Fault, FaultKind, LockName,
    proto::history::{Event, Retention, StoredEvent},
    store::HistoryWrite,
};

use crate::{
    disk::{
        create,
        dir::{Dir, NotOurs},
        patience::FileLock,
        slots::Damage,
    },
    error,
    files::{
        history_wire::{BEGINNING, BadHead, Frame, HistoryHead, LONGEST_FRAME, kept_events},
        layout::{HISTORY, Layout, Root, StatePath},
    },
    machine::Machine,
};

const CURE: &str =
    "restore it from a backup, or remove it: the history of this lock then begins anew";
/// No history is larger: a writer replaces a file before it is.
const LARGEST: u64 = 2 * 2 * Retention::MOST as u64 * Event::MAX as u64 + BEGINNING as u64;
/// A file is replaced when its first event is older than what is kept by this part of the time: not for each event
/// that ends, and soon enough.
const PART: u64 = 8;

/// Whether events were added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addition {
    Done,
    /// Another process has the file locked. Nothing was changed.
    Locked,
    /// Another file took the place of the one that was opened. Nothing was changed.
    Moved,
}

/// Reads the events of `name` that are kept at `now`.
pub(crate) fn read(
    machine: &dyn Machine,
    root: &Root,
    name: &LockName,
    now: u64,
) -> Result<Vec<StoredEvent>, Fault> {
    let StatePath { shelf, file } = Layout::history(name);
    let Some(dir) = root.shelf(HISTORY, &shelf)? else { return Ok(Vec::new()) };
    let path = dir.path_of(&file);
    let opened = dir.open_readonly(&file).map_err(|why| error::io("open", &path, why))?;
    let Some(file) = opened else { return Ok(Vec::new()) };
    let history = HistoryFile { machine, root, file: &file, path };
    history.check_access()?;
    history.kept(name, now)
}

/// The directories that lead to the history of one name.
#[derive(Debug)]
pub(crate) struct HistoryPlace<'a> {
    machine: &'a dyn Machine,
    root: &'a Root,
    name: &'a LockName,
    dir: Dir,
    file: String,
}

impl<'a> HistoryPlace<'a> {
    /// Creates what is missing on the way to the history.
    pub(crate) fn prepare(
        machine: &'a dyn Machine,
        root: &'a Root,
        name: &'a LockName,
    ) -> Result<Self, Fault> {
        let StatePath { shelf, file } = Layout::history(name);
        let histories = root.make(&root.dir, HISTORY)?;
        let dir = root.make(&histories, &shelf)?;
        Ok(Self { machine, root, name, dir, file })
    }

    /// Adds the events, unless another process is at the file.
    pub(crate) fn try_add(&self, write: &HistoryWrite) -> Result<Addition, Fault> {
        let path = self.path();
        let opened = self.dir.open_file(&self.file);
        let opened = opened.map_err(|why| error::io("open", &path, why))?;
        let now = || self.machine.clock().wall();
        let Some(file) = opened else {
            let bytes = self.new_file(Vec::new(), write, now())?;
            let created = create::write_file(self.machine, self.place(), self.root.access, &bytes)
                .and_then(|unfinished| unfinished.place(&self.file));
            let created = created.map_err(|why| error::io("create", &path, why))?;
            return Ok(if created { Addition::Done } else { Addition::Moved });
        };
        let history = HistoryFile { machine: self.machine, root: self.root, file: &file, path };
        history.check_access()?;
        let failed = |why| error::io("lock", &history.path, why);
        let Some(_locked) = FileLock::try_take(&file).map_err(failed)? else {
            return Ok(Addition::Locked);
        };
        let in_place =
            fstat(&file).map_err(Into::into).and_then(|this| self.dir.still_has(&self.file, &this));
        if !in_place.map_err(failed)? {
            return Ok(Addition::Moved);
        }
        let (now, ends) = (now(), history.ends()?);
        ends.iter().try_for_each(|ends| history.check_name(&ends.name, self.name))?;
        match ends.filter(|ends| !ends.is_to_be_replaced(write, now)) {
            Some(ends) => history.append(&ends, write, now)?,
            None => self.replace(&history, write, now)?,
        }
        Ok(Addition::Done)
    }

    /// Puts a file with what is kept and the new events in the place of this one, whose lock the caller has.
    fn replace(
        &self,
        history: &HistoryFile<'_>,
        write: &HistoryWrite,
        now: u64,
    ) -> Result<(), Fault> {
        let bytes = self.new_file(history.kept(self.name, now)?, write, now)?;
        create::write_file(self.machine, self.place(), self.root.access, &bytes)
            .and_then(|unfinished| unfinished.replace(&self.file))
            .map_err(|why| error::io("write", &history.path, why))
    }

    fn new_file(
        &self,
        mut kept: Vec<StoredEvent>,
        write: &HistoryWrite,
        now: u64,
    ) -> Result<Vec<u8>, Fault> {
        let mut seed = [0; 4];
        getrandom::fill(&mut seed)
            .map_err(|why| error::io("write", &self.path(), io::Error::other(why)))?;
        let seed = u32::from_le_bytes(seed);
        let mut bytes = HistoryHead { name: self.name.as_str(), seed }.encode();
        write.add_to(&mut kept, now);
        bytes.extend(frames(seed, 0, &kept, write, now));
        Ok(bytes)
    }

    fn place(&self) -> (&Dir, &str) {
        (&self.dir, &self.file)
    }

    fn path(&self) -> PathBuf {
        self.dir.path_of(&self.file)
    }

    pub(crate) fn stays_locked(&self) -> Fault {
        error::stays_locked(&self.path())
    }
}

/// Removes the history in this file if its time is over. Leaves what is not surely a history in its own place.
pub(crate) fn remove_if_over(
    machine: &dyn Machine,
    root: &Root,
    (dir, name): (&Dir, &str),
    now: u64,
) -> Result<(), Fault> {
    let path = dir.path_of(name);
    let opened = dir.open_readonly(name).map_err(|why| error::io("open", &path, why))?;
    let Some(file) = opened else { return Ok(()) };
    let history = HistoryFile { machine, root, file: &file, path };
    history.check_access()?;
    // Most are not, and their writers need not wait for this look.
    if !history.is_over(name, now)? {
        return Ok(());
    }
    let failed = |why| error::io("remove", &history.path, why);
    let Some(_locked) = FileLock::try_take(&file).map_err(failed)? else { return Ok(()) };
    if !history.is_over(name, now)? {
        return Ok(());
    }
    // Another file may have taken its place until now, and none can from here on.
    fstat(&file).map_err(Into::into).and_then(|this| dir.remove_this(name, &this)).map_err(failed)
}

/// The frames of events that are added at `now`.
fn frames(
    seed: u32,
    first: u32,
    events: &[StoredEvent],
    write: &HistoryWrite,
    now: u64,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let most = write.retention.most_events();
    let until = now.saturating_add(now.saturating_sub(write.oldest(now)));
    for (number, event) in (first..).zip(events) {
        Frame { number, most, at: event.at, added: now, until, text: &event.text }
            .encode_to(seed, &mut bytes);
    }
    bytes
}

/// What a writer has to know of a file.
#[derive(Debug)]
struct Ends {
    /// The name whose history it is.
    name: String,
    seed: u32,
    /// Where the last whole frame ends.
    end: u64,
    /// How long the file is: longer if its tail is torn.
    length: u64,
    /// How many events there are.
    count: u32,
    /// When the first one happened.
    first: u64,
    /// When all is over, if nothing is added.
    until: u64,
}

impl Ends {
    /// Whether too much of the file would not be kept after the write.
    fn is_to_be_replaced(&self, write: &HistoryWrite, now: u64) -> bool {
        let most = u64::from(write.retention.most_events()) * 2;
        let count = u64::from(self.count) + write.events.len() as u64;
        let length = write.events.iter().map(|_| LONGEST_FRAME as u64).sum::<u64>() + self.end;
        let oldest = write.oldest(now);
        count > most
            || length > most * Event::MAX as u64
            || self.first < oldest.saturating_sub((now - oldest) / PART)
            || self.until <= now
    }
}

/// An open file in the place of a history.
#[derive(Debug)]
struct HistoryFile<'a> {
    machine: &'a dyn Machine,
    root: &'a Root,
    file: &'a File,
    path: PathBuf,
}

impl HistoryFile<'_> {
    /// Refuses a file that tenure did not make so: it belongs to another user, or more users may use it.
    fn check_access(&self) -> Result<(), Fault> {
        let access = self.root.access;
        let found = self.file.metadata().map_err(|why| self.unread(why))?;
        let owners = [access.uid(), geteuid().as_raw()];
        let refused = if !access.is_shared() && !owners.contains(&found.uid()) {
            "it belongs to another user than the store"
        } else if found.mode() & 0o7777 & !access.file_mode() != 0 {
            "its mode allows more than that of the store's directory"
        } else {
            return Ok(());
        };
        Err(error::io("use", &self.path, io::Error::other(NotOurs(refused))))
    }

    /// The events of `name` that are kept at `now`.
    fn kept(&self, name: &LockName, now: u64) -> Result<Vec<StoredEvent>, Fault> {
        let bytes = self.bytes()?;
        let Some((head, rest)) = self.head(&bytes)? else { return Ok(Vec::new()) };
        self.check_name(head.name, name)?;
        Ok(kept_events(Frame::all(head.seed, rest).map(|(frame, _)| frame), now))
    }

    /// What a writer has to know; `None` for a file that a loss of power left without content.
    fn ends(&self) -> Result<Option<Ends>, Fault> {
        if let Some(ends) = self.ends_at_a_glance()? {
            return Ok(Some(ends));
        }
        let bytes = self.bytes()?;
        let Some((head, rest)) = self.head(&bytes)? else { return Ok(None) };
        let before = bytes.len() - rest.len();
        let mut ends = Ends {
            name: head.name.to_owned(),
            seed: head.seed,
            end: before as u64,
            length: bytes.len() as u64,
            count: 0,
            first: u64::MAX,
            until: u64::MAX,
        };
        for (frame, end) in Frame::all(head.seed, rest) {
            ends.end = (before + end) as u64;
            ends.count = frame.number.saturating_add(1);
            ends.first = ends.first.min(frame.at);
            ends.until = frame.until;
        }
        Ok(Some(ends))
    }

    /// The same of a file whose first and last frames are whole, which two short reads show; `None` for any other.
    fn ends_at_a_glance(&self) -> Result<Option<Ends>, Fault> {
        let length = self.length()?;
        let (mut beginning, mut tail) = ([0; BEGINNING], [0; LONGEST_FRAME]);
        let Ok((head, rest)) = HistoryHead::decode(self.read_at(&mut beginning, 0)?) else {
            return Ok(None);
        };
        let tail = self.read_at(&mut tail, length.saturating_sub(LONGEST_FRAME as u64))?;
        let (first, last) = (Frame::first(head.seed, rest), Frame::last(head.seed, tail));
        Ok(first.zip(last).map(|((first, _), last)| Ends {
            name: head.name.to_owned(),
            seed: head.seed,
            end: length,
            length,
            count: last.number.saturating_add(1),
            first: first.at,
            until: last.until,
        }))
    }

    /// Adds events behind the last whole frame. The caller has the file's lock.
    fn append(&self, ends: &Ends, write: &HistoryWrite, now: u64) -> Result<(), Fault> {
        let events: Vec<_> = write.stamped(now).collect();
        let bytes = frames(ends.seed, ends.count, &events, write, now);
        let appended = (|| {
            if ends.length > ends.end {
                self.file.set_len(ends.end)?;
            }
            self.machine.write_at(self.file, &bytes, ends.end)
        })();
        appended.map_err(|why| {
            // A part may be there. If it cannot be cut, it is torn.
            let _ = self.file.set_len(ends.end);
            error::io("write", &self.path, why)
        })
    }

    /// Whether the time of the history that belongs into `file` is over.
    fn is_over(&self, file: &str, now: u64) -> Result<bool, Fault> {
        // Without content, its place and its mode are tenure's, and there is nothing to lose.
        let Some(ends) = self.ends()? else { return Ok(true) };
        let in_place =
            LockName::new(ends.name).is_ok_and(|lock| Layout::history(&lock).file == file);
        Ok(in_place && (ends.until <= now || ends.count == 0))
    }

    /// The head and what follows it; `None` for a file that a loss of power left without content.
    fn head<'p>(&self, bytes: &'p [u8]) -> Result<Option<(HistoryHead<'p>, &'p [u8])>, Fault> {
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        HistoryHead::decode(bytes).map(Some).map_err(|why| self.refused(why))
    }

    fn check_name(&self, there: &str, name: &LockName) -> Result<(), Fault> {
        if there == name.as_str() {
            return Ok(());
        }
        let path = self.path.display();
        let what = format!("{path} holds the history of another lock, {there:?}");
        Err(Fault::new(FaultKind::Corrupt, what, CURE))
    }

    fn bytes(&self) -> Result<Vec<u8>, Fault> {
        let length = self.length()?;
        if length > LARGEST {
            // It is none, whatever it begins with.
            let mut beginning = [0; BEGINNING];
            let head = HistoryHead::decode(self.read_at(&mut beginning, 0)?);
            return Err(self.refused(head.err().unwrap_or(BadHead::Damaged)));
        }
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        let read = self.read_at(&mut bytes, 0)?.len();
        bytes.truncate(read);
        Ok(bytes)
    }

    fn read_at<'p>(&self, room: &'p mut [u8], at: u64) -> Result<&'p [u8], Fault> {
        let read = self.machine.read_at(self.file, room, at).map_err(|why| self.unread(why))?;
        Ok(room.get(..read).unwrap_or_default())
    }

    fn length(&self) -> Result<u64, Fault> {
        self.file.metadata().map(|found| found.len()).map_err(|why| self.unread(why))
    }

    fn unread(&self, why: io::Error) -> Fault {
        error::io("read", &self.path, why)
    }

    fn refused(&self, why: BadHead) -> Fault {
        match why {
            BadHead::Foreign => error::not_a_history(&self.path),
            BadHead::OtherVersion(version) => {
                error::damaged(&self.path, Damage::OtherVersion(version), CURE)
            }
            BadHead::Damaged => {
                let what = format!("the history in {} makes no sense", self.path.display());
                Fault::new(FaultKind::Corrupt, what, CURE)
            }
        }
    }
}
