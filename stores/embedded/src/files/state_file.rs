//! The file of one name, and the section in which one process at a time reads and writes it.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError, atomic::AtomicU64},
};

use nix::sys::stat::fstat;
use tenure_core::{Fault, FaultKind, LockName, proto::queue::NameState};

use crate::{
    disk::{
        create,
        dir::Dir,
        links,
        patience::FileLock,
        slots::{Damage, ReadBuffer, SlotFile, SlotFileKind, SlotRecord},
    },
    error,
    files::{
        clock_file::TokenClockFile,
        floor::TokenFloorFile,
        layout::{Layout, StatePath},
        wire,
    },
    machine::Machine,
};

/// The file was just created: tokens of an earlier file of this name may be in the floor.
const FRESH: u16 = 1;
/// The file is about to be removed: who opened it before opens it again.
const REMOVED: u16 = 2;
/// How often a taken lock is tried for before the caller is told to come back later.
const TRIES: usize = 16;
const CURE: &str = "`tenure break NAME` takes the name from its holder and repairs it";

/// What all decisions of a store share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreContext<'a> {
    pub(crate) machine: &'a dyn Machine,
    pub(crate) boot: [u8; 16],
    pub(crate) layout: &'a Layout,
    pub(crate) clock: &'a TokenClockFile,
    pub(crate) floor: &'a TokenFloorFile,
}

/// The open file of one name.
#[derive(Debug)]
pub(crate) struct StateFile {
    place: StatePath,
    path: PathBuf,
    file: File,
    /// The kernel lock belongs to the open file, which all threads share.
    inside: Mutex<()>,
    /// When it was last used, in uses of the cache.
    pub(crate) used: AtomicU64,
}

impl StateFile {
    /// Opens the file of a name; `None` when there is none.
    pub(crate) fn open(layout: &Layout, place: &StatePath) -> io::Result<Option<Self>> {
        let Some(shelf) = layout.locks.sub(&place.shelf)? else { return Ok(None) };
        Self::open_in(&shelf, layout, place)
    }

    /// The same where its shelf is open.
    pub(crate) fn open_in(
        shelf: &Dir,
        layout: &Layout,
        place: &StatePath,
    ) -> io::Result<Option<Self>> {
        let found = shelf.open_file(&place.file)?;
        Ok(found.map(|file| Self::new(layout, place, file)))
    }

    /// Creates the file of `name`; `None` when somebody else was faster.
    pub(crate) fn create(
        ground: &StoreContext<'_>,
        place: &StatePath,
        name: &LockName,
    ) -> io::Result<Option<Self>> {
        let layout = ground.layout;
        let shelf = layout.locks.open_or_create(&place.shelf, layout.access())?;
        let payload = &wire::encode(name.as_str(), &NameState::default());
        let record = SlotRecord { seq: 1, flags: FRESH, boot: ground.boot, payload };
        let file = (&shelf, place.file.as_str());
        let file = create::create_slot_file(
            ground.machine,
            file,
            layout.access(),
            SlotFileKind::State,
            &record,
        )?;
        Ok(file.map(|file| Self::new(layout, place, file)))
    }

    fn new(layout: &Layout, place: &StatePath, file: File) -> Self {
        let path = layout.path_of(place);
        Self { place: place.clone(), path, file, inside: Mutex::new(()), used: AtomicU64::new(0) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Enters the section; `None` when another process is in it for longer than a few tries.
    pub(crate) fn try_lock_state(&self) -> Result<Option<StateFileGuard<'_>>, Fault> {
        let inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..TRIES {
            let tried = FileLock::try_take(&self.file);
            if let Some(locked) = tried.map_err(|why| error::io("lock", &self.path, why))? {
                return Ok(Some(StateFileGuard { file: self, _locked: locked, _inside: inside }));
            }
            std::thread::yield_now();
        }
        Ok(None)
    }

    fn slots<'a>(&'a self, machine: &'a dyn Machine) -> SlotFile<'a> {
        SlotFile { machine, file: &self.file, kind: SlotFileKind::State }
    }
}

/// The right to read and write one name's state. Ends the moment it is dropped.
#[derive(Debug)]
pub(crate) struct StateFileGuard<'a> {
    file: &'a StateFile,
    // Given back in this order.
    _locked: FileLock<'a>,
    _inside: MutexGuard<'a, ()>,
}

/// What a file holds.
#[derive(Debug)]
pub(crate) struct LoadedState<'p> {
    name: &'p str,
    pub(crate) state: NameState,
    /// The record that it was read from.
    seq: u64,
    /// The same as bytes, unless they have to be written anew in any case.
    bytes: Option<&'p [u8]>,
}

impl StateFileGuard<'_> {
    /// Reads the state; `None` when the file was removed and has to be opened again.
    pub(crate) fn read<'p>(
        &self,
        ground: &StoreContext<'_>,
        room: &'p mut ReadBuffer,
    ) -> Result<Option<LoadedState<'p>>, Fault> {
        let torn = |damage| error::damaged(&self.file.path, damage, CURE);
        let record = self.file.slots(ground.machine).read(room).map_err(torn)?;
        if record.flags & REMOVED != 0 {
            // It stays only where this user may not remove it; then nobody can use the name.
            let shelf = ground.layout.locks.sub(&self.file.place.shelf);
            shelf
                .and_then(|shelf| shelf.map_or(Ok(()), |shelf| self.unlink(&shelf)))
                .map_err(|why| error::io("remove", &self.file.path, why))?;
            return Ok(None);
        }
        let named = links::has_name(&self.file.file);
        if !named.map_err(|why| error::io("look at", &self.file.path, why))? {
            return Ok(None);
        }
        let (name, mut state) = wire::decode(record.payload).ok_or_else(|| torn(Damage::Torn))?;
        if record.boot != ground.boot {
            // Deadlines of another boot mean nothing on this one's clock.
            state = NameState { last_time: state.last_time, ..NameState::default() };
        }
        if record.flags & FRESH != 0 || record.boot != ground.boot {
            let floor = ground.clock.base().max(ground.floor.get()?);
            state.last_time = state.last_time.max(floor);
        }
        let bytes = (record.boot == ground.boot).then_some(record.payload);
        Ok(Some(LoadedState { name, state, seq: record.seq, bytes }))
    }

    /// The state that an eviction makes of a file that cannot be read: nobody has the name, and
    /// the next token is above all that this store ever granted.
    pub(crate) fn rebuild_state<'n>(
        &self,
        ground: &StoreContext<'_>,
        name: &'n LockName,
    ) -> Result<LoadedState<'n>, Fault> {
        if !self.file.slots(ground.machine).has_store_record() {
            return Err(error::not_a_state(&self.file.path));
        }
        let state = NameState { last_time: ground.clock.highest()?, ..NameState::default() };
        // Above a record that is whole but of no use.
        let seq = self
            .file
            .slots(ground.machine)
            .read(&mut ReadBuffer::new())
            .map_or(0, |record| record.seq);
        Ok(LoadedState { name: name.as_str(), state, seq, bytes: None })
    }

    /// Writes the state, if it changed.
    pub(crate) fn write(
        &self,
        ground: &StoreContext<'_>,
        loaded: &LoadedState<'_>,
    ) -> Result<(), Fault> {
        let payload = &*wire::encode(loaded.name, &loaded.state);
        if loaded.bytes == Some(payload) {
            return Ok(());
        }
        self.put(ground, loaded.seq, 0, payload)
    }

    /// Removes the file of a name that nobody contends for. Its last token goes to the floor.
    pub(crate) fn remove(
        &self,
        ground: &StoreContext<'_>,
        shelf: &Dir,
        loaded: &LoadedState<'_>,
    ) -> Result<(), Fault> {
        ground.floor.raise(loaded.state.last_time)?;
        self.put(ground, loaded.seq, REMOVED, &wire::encode(loaded.name, &loaded.state))?;
        self.unlink(shelf).map_err(|why| error::io("remove", &self.file.path, why))
    }

    fn put(
        &self,
        ground: &StoreContext<'_>,
        seq: u64,
        flags: u16,
        payload: &[u8],
    ) -> Result<(), Fault> {
        let record = SlotRecord { seq: seq + 1, flags, boot: ground.boot, payload };
        let written = self.file.slots(ground.machine).write(&record);
        written.map_err(|why| error::unwritten(&self.file.path, why))
    }

    /// Removes the file's name, unless it is another file's by now.
    fn unlink(&self, shelf: &Dir) -> io::Result<()> {
        shelf.remove_this(&self.file.place.file, &fstat(&self.file.file)?)
    }
}

impl LoadedState<'_> {
    /// Whether a lock can have its name: else it is none that a store wrote.
    pub(crate) fn has_valid_name(&self) -> bool {
        LockName::new(self.name).is_ok()
    }

    /// Refuses the state of another name: the file was moved or copied there.
    pub(crate) fn check_name(&self, name: &LockName, path: &Path) -> Result<(), Fault> {
        if self.name == name.as_str() {
            return Ok(());
        }
        let what = format!("{} holds the state of another lock, {:?}", path.display(), self.name);
        Err(Fault::new(FaultKind::Corrupt, what, CURE))
    }
}
