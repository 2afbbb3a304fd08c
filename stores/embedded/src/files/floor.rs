//! The last tokens of names whose files were removed: one number for all of them, so that what is
//! kept does not grow with the names that ever were.

use std::{
    fs::File,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tenure_core::Fault;

use crate::{
    disk::{
        age::touch,
        create,
        patience::{Backoff, FileLock},
        slots::{Damage, ReadBuffer, SlotFile, SlotFileKind, SlotRecord},
    },
    error,
    files::layout::{FLOOR, Layout},
    machine::Machine,
};

const PATIENCE: Duration = Duration::from_secs(1);
/// A reader can meet two writers in a row, hardly more.
const READS: usize = 100;
const CURE: &str = "restart the machine, or, with no process using the store, remove its `boots`";

/// The floor of this boot's tokens. It is never synced: the next boot starts above all of them.
#[derive(Debug)]
pub(crate) struct TokenFloorFile {
    machine: Arc<dyn Machine>,
    path: PathBuf,
    file: File,
    /// What it is at least, as was seen or written here: within a boot it only rises.
    known: Mutex<u64>,
    boot: [u8; 16],
}

impl TokenFloorFile {
    pub(crate) fn open(
        machine: Arc<dyn Machine>,
        layout: &Layout,
        boot: [u8; 16],
    ) -> Result<Self, Fault> {
        let path = layout.boot.path_of(FLOOR);
        let failed = |why| error::io("open", &path, why);
        let open = || layout.boot.open_file(FLOOR);
        let file = match open().map_err(failed)? {
            Some(file) => file,
            None => {
                let record = SlotRecord { seq: 1, flags: 0, boot, payload: &[0; 8] };
                let place = (&layout.boot, FLOOR);
                create::create_slot_file(
                    &*machine,
                    place,
                    layout.access(),
                    SlotFileKind::Floor,
                    &record,
                )
                .and_then(|made| made.map_or_else(open, |made| Ok(Some(made))))
                .map_err(failed)?
                .ok_or_else(|| error::removed(layout.root.path()))?
            }
        };
        Ok(Self { machine, path, file, known: Mutex::new(0), boot })
    }

    pub(crate) fn touch(&self) {
        touch(&self.file);
    }

    /// No token of a removed file is above this. Takes no lock.
    pub(crate) fn get(&self) -> Result<u64, Fault> {
        let mut last = Damage::Torn;
        for _ in 0..READS {
            match self.read() {
                Ok((_, floor)) => return Ok(floor),
                Err(Damage::Torn) => std::thread::yield_now(),
                Err(damage) => {
                    last = damage;
                    break;
                }
            }
        }
        Err(error::damaged(&self.path, last, CURE))
    }

    /// Makes the floor at least `time`.
    pub(crate) fn raise(&self, time: u64) -> Result<(), Fault> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if *known >= time {
            return Ok(());
        }
        let _locked = FileLock::take(&self.file, Backoff::of(PATIENCE))
            .map_err(|why| error::io("lock", &self.path, why))?
            .ok_or_else(|| error::stays_locked(&self.path))?;
        let (seq, floor) =
            self.read().map_err(|damage| error::damaged(&self.path, damage, CURE))?;
        if floor >= time {
            *known = floor;
            return Ok(());
        }
        let payload = &time.to_le_bytes();
        let record = SlotRecord { seq: seq + 1, flags: 0, boot: self.boot, payload };
        self.slots().write(&record).map_err(|why| error::unwritten(&self.path, why))?;
        *known = time;
        Ok(())
    }

    /// The number of the last write, and what it says.
    fn read(&self) -> Result<(u64, u64), Damage> {
        let mut room = ReadBuffer::new();
        let record = self.slots().read(&mut room)?;
        let bytes = record.payload.try_into().map_err(|_| Damage::Torn)?;
        Ok((record.seq, u64::from_le_bytes(bytes)))
    }

    fn slots(&self) -> SlotFile<'_> {
        SlotFile { machine: &*self.machine, file: &self.file, kind: SlotFileKind::Floor }
    }
}
