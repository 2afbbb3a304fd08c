//! The records of slots: a file for each name that has one, outside of the directories of boots, which it outlives.
//!
//! A file is never changed. A new one is on the disk before it takes the place of the old one, so a reader and a loss
//! of power meet one or the other, and no sync happens under a name's lock. The holder replaces it under the lock of
//! its name. To remove it, a process needs no lock of the name: removing and replacing exclude each other by a lock on
//! the file that is there.

use std::{fs::File, path::Path};

use nix::sys::stat::fstat;
use tenure_core::{Fault, FaultKind, LockName, store::SlotsWrite};

use crate::{
    disk::{
        create::{self, TemporaryFile},
        dir::Dir,
        patience::FileLock,
        slots::{Damage, ReadBuffer, SlotFile, SlotFileKind, SlotRecord},
    },
    error,
    files::{
        layout::{Layout, SLOTS, StatePath},
        record_wire::KeptRecord,
        state_file::StoreContext,
    },
    machine::Machine,
};

const CURE: &str = "restore it from a backup, or remove it: its slots then count as not done yet";

/// Reads the record of `name` into `room`; `None` when there is none.
pub(crate) fn read<'p>(
    ground: &StoreContext<'_>,
    name: &LockName,
    room: &'p mut ReadBuffer,
) -> Result<Option<KeptRecord<'p>>, Fault> {
    let place = Layout::record(name);
    let Some(dir) = ground.layout.root.shelf(SLOTS, &place.shelf)? else { return Ok(None) };
    let Some(file) = open(&dir, &place.file)? else { return Ok(None) };
    load_of(ground.machine, (&dir, &file), name, room).map(Some)
}

/// The directories that lead to the record of one name.
#[derive(Debug)]
pub(crate) struct RecordPlace<'a> {
    ground: StoreContext<'a>,
    name: &'a LockName,
    slots: Dir,
    dir: Dir,
    file: String,
}

/// Whether a record took its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordReplacement {
    Done,
    /// The record that is there is neither the one to be replaced nor the new one. Nothing was changed.
    Changed,
    /// Another process has the record that is there locked, to remove it. Nothing was changed.
    Locked,
}

impl<'a> RecordPlace<'a> {
    /// Creates what is missing on the way to the record.
    pub(crate) fn prepare(ground: StoreContext<'a>, name: &'a LockName) -> Result<Self, Fault> {
        let StatePath { shelf, file } = Layout::record(name);
        let root = &ground.layout.root;
        let slots = root.make(&root.dir, SLOTS)?;
        let dir = root.make(&slots, &shelf)?;
        Ok(Self { ground, name, slots, dir, file })
    }

    /// Writes a record that is on the disk, and not in its place yet.
    pub(crate) fn write(&self, until: u64, text: &str) -> Result<TemporaryFile<'_>, Fault> {
        let payload = &KeptRecord { name: self.name.as_str(), until, text }.encode();
        // A file has one record, which begins at its first byte.
        let record = SlotRecord { seq: 0, flags: 0, boot: self.ground.boot, payload };
        let written = create::write_slot_file(
            self.ground.machine,
            (&self.dir, &self.file),
            self.ground.layout.access(),
            SlotFileKind::Record,
            &record,
        );
        written
            .map(|(unfinished, _)| unfinished)
            .map_err(|why| error::io("write", &self.dir.path_of(&self.file), why))
    }

    /// Puts `record` in its place. The caller has the lock of the name. What is there and is not the record of this
    /// name stays.
    pub(crate) fn replace(
        &self,
        record: &TemporaryFile<'_>,
        write: &SlotsWrite,
        now: u64,
    ) -> Result<RecordReplacement, Fault> {
        let path = self.dir.path_of(&self.file);
        let there = open(&self.dir, &self.file)?;
        let (mut locked, mut room) = (None, ReadBuffer::new());
        let known = match &there {
            Some(there) => {
                Some(load_of(self.ground.machine, (&self.dir, there), self.name, &mut room)?)
            }
            None => None,
        };
        if !write.replaces(known.filter(|known| known.until > now).map(|known| known.text)) {
            return Ok(RecordReplacement::Changed);
        }
        if let Some(there) = &there {
            let tried = FileLock::try_take(there).map_err(|why| error::io("lock", &path, why))?;
            let Some(taken) = tried else { return Ok(RecordReplacement::Locked) };
            locked = Some(taken);
        }
        let replaced = record.replace(&self.file);
        drop(locked);
        replaced.map_err(|why| error::io("write", &path, why))?;
        Ok(RecordReplacement::Done)
    }

    /// Returns when the record in its place will outlive a loss of power. Another process may have created the
    /// directories and been killed before it synced them, so this syncs all of them.
    pub(crate) fn sync(&self) -> Result<(), Fault> {
        for dir in [&self.dir, &self.slots, &self.ground.layout.root.dir] {
            let synced = self.ground.machine.sync_dir(dir.file());
            synced.map_err(|why| error::unsynced(&self.dir.path_of(&self.file), why))?;
        }
        Ok(())
    }

    pub(crate) fn stays_locked(&self) -> Fault {
        error::stays_locked(&self.dir.path_of(&self.file))
    }
}

/// Removes the record in this file if its time is over. Leaves what is not surely a record in its own place.
pub(crate) fn remove_if_over(
    machine: &dyn Machine,
    dir: &Dir,
    name: &str,
    now: u64,
) -> Result<(), Fault> {
    let Some(file) = open(dir, name)? else { return Ok(()) };
    let path = dir.path_of(name);
    let mut room = ReadBuffer::new();
    let record = load(machine, &file, &path, &mut room)?;
    let in_place = LockName::new(record.name).is_ok_and(|lock| Layout::record(&lock).file == name);
    if record.until > now || !in_place {
        return Ok(());
    }
    let failed = |why| error::io("remove", &path, why);
    let Some(_locked) = FileLock::try_take(&file).map_err(failed)? else { return Ok(()) };
    // Another record may have taken its place until now, and none can from here on.
    fstat(&file).map_err(Into::into).and_then(|this| dir.remove_this(name, &this)).map_err(failed)
}

fn open(dir: &Dir, name: &str) -> Result<Option<File>, Fault> {
    dir.open_readonly(name).map_err(|why| error::io("open", &dir.path_of(name), why))
}

/// The record in the file, which must be that of `name`.
fn load_of<'p>(
    machine: &dyn Machine,
    (dir, file): (&Dir, &File),
    name: &LockName,
    room: &'p mut ReadBuffer,
) -> Result<KeptRecord<'p>, Fault> {
    let path = dir.path_of(&Layout::record(name).file);
    let record = load(machine, file, &path, room)?;
    if record.name == name.as_str() {
        return Ok(record);
    }
    let what = format!("{} holds the record of another lock, {:?}", path.display(), record.name);
    Err(Fault::new(FaultKind::Corrupt, what, CURE))
}

fn load<'p>(
    machine: &dyn Machine,
    file: &File,
    path: &Path,
    room: &'p mut ReadBuffer,
) -> Result<KeptRecord<'p>, Fault> {
    let slots = SlotFile { machine, file, kind: SlotFileKind::Record };
    let torn = || {
        let what = format!("the record in {} makes no sense", path.display());
        Fault::new(FaultKind::Corrupt, what, CURE)
    };
    match slots.read(room) {
        Ok(record) => KeptRecord::decode(record.payload).ok_or_else(torn),
        Err(Damage::Torn) if slots.has_store_record() => Err(torn()),
        Err(Damage::Torn) => Err(error::not_a_record(path)),
        Err(damage) => Err(error::damaged(path, damage, CURE)),
    }
}
