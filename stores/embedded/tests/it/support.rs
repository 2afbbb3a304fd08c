//! What the tests share: asks, owners, and waiting for something to become true.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tenure_core::{
    Clock, Fault, LockName, ManualClock, Store,
    proto::{
        Owner, Token,
        queue::{Answer, Ask, Intent, Kind, Mode, Order, Released},
    },
    store::{SlotsWrite, SlotsWritten},
};
use tenure_embedded::{EmbeddedStore, FileSystem, Machine, ThisMachine};

pub(crate) const TTL: Duration = Duration::from_secs(30);
/// How long what must come may take on a slow machine.
const PATIENCE: Duration = Duration::from_secs(15);

pub(crate) fn open(dir: &tempfile::TempDir) -> EmbeddedStore {
    EmbeddedStore::open(dir.path()).unwrap()
}

pub(crate) fn name(text: &str) -> LockName {
    LockName::new(text).unwrap()
}

/// An owner that no other test of this process has.
pub(crate) fn owner() -> Owner {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let process = u64::from(std::process::id());
    Owner::from_bytes(((u128::from(process) << 64) | u128::from(number)).to_be_bytes())
}

/// Asks to wait in line, exclusively.
pub(crate) fn waiting(owner: Owner) -> Ask {
    Ask {
        owner,
        kind: Kind::Mutex,
        mode: Mode::Exclusive,
        order: Order::Fifo,
        intent: Intent::Wait { position: None },
        ttl: TTL,
        label: "test".into(),
    }
}

/// Asks once, exclusively.
pub(crate) fn once(owner: Owner) -> Ask {
    Ask { intent: Intent::Try, order: Order::Barging, ..waiting(owner) }
}

/// Writes the record of a name's slots in place of the one that is there, if one can be read.
pub(crate) async fn put(
    store: &dyn Store,
    name: &LockName,
    owner: &Owner,
    (text, keep): (&str, Duration),
) -> Result<SlotsWritten, Fault> {
    let before = store.read_slots(name).await.ok().and_then(|known| known.text);
    store.write_slots(name, owner, &SlotsWrite { before, text: text.to_owned(), keep }).await
}

/// Takes a name that is free.
pub(crate) async fn take(store: &dyn Store, name: &LockName) -> (Owner, Token) {
    let owner = owner();
    match store.acquire(name, &once(owner)).await.unwrap() {
        Answer::Granted { token, .. } => (owner, token),
        busy @ Answer::Busy { .. } => panic!("{name} should be free: {busy:?}"),
    }
}

pub(crate) async fn is_free(store: &dyn Store, name: &LockName) -> bool {
    let owner = owner();
    let answer = store.acquire(name, &once(owner)).await.unwrap();
    let free = matches!(answer, Answer::Granted { .. });
    if free {
        give_back(store, name, &owner).await;
    }
    free
}

pub(crate) async fn give_back(store: &dyn Store, name: &LockName, owner: &Owner) {
    let released = store.release(name, owner, Duration::ZERO).await.unwrap();
    assert_eq!(released, Released::Released);
}

/// Waits in line for a name as a client does: it asks again when told or when it is time to.
/// `queued` is called when it has its place.
pub(crate) async fn wait_for(
    store: &dyn Store,
    name: &LockName,
    mut queued: impl FnMut(),
) -> (Owner, Token) {
    let owner = owner();
    let mut wakeups = store.wakeups(name, &owner);
    let mut ask = waiting(owner);
    let began = Instant::now();
    loop {
        match store.acquire(name, &ask).await.unwrap() {
            Answer::Granted { token, .. } => return (owner, token),
            Answer::Busy { retry_after, position, .. } => {
                if ask.intent == (Intent::Wait { position: None }) {
                    queued();
                }
                ask.intent = Intent::Wait { position };
                // Well below the lease of whoever holds it.
                assert!(began.elapsed() < PATIENCE, "{name} was not granted within {PATIENCE:?}");
                let _ = tokio::time::timeout(retry_after, wakeups.next()).await;
            }
        }
    }
}

/// Waits until `condition` holds.
pub(crate) async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !condition().await {
        assert!(began.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// All files below a directory, and links, which are not followed.
pub(crate) fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let below = |entry: std::fs::DirEntry| match entry.file_type().unwrap().is_dir() {
        true => files(&entry.path()),
        false => vec![entry.path()],
    };
    entries.flat_map(below).collect()
}

/// The state files of a store.
pub(crate) fn state_files(dir: &Path) -> Vec<PathBuf> {
    let mut found = files(dir);
    found.retain(|path| path.extension().is_some_and(|ending| ending == "lk"));
    found
}

/// The real files of this machine, on a clock that moves by hand and in a boot that ends on
/// command.
#[derive(Clone, Debug, Default)]
pub(crate) struct TestMachine {
    pub(crate) clock: ManualClock,
    boot: Arc<AtomicU64>,
}

impl TestMachine {
    /// Opened stores stay in the boot before, without what a kernel keeps for a living process;
    /// those opened from now on are in the next one.
    pub(crate) fn reboot(&self, dir: &Path) {
        for path in files(dir).iter().filter(|path| path.parent().unwrap().ends_with("members")) {
            std::fs::remove_file(path).unwrap();
        }
        self.another_boot_id();
    }

    /// Those opened from now on are told another boot id, as in a container.
    pub(crate) fn another_boot_id(&self) {
        self.boot.fetch_add(1, Ordering::Relaxed);
    }
}

impl Machine for TestMachine {
    fn clock(&self) -> &dyn Clock {
        &self.clock
    }

    fn boot_id(&self) -> Result<[u8; 16], Fault> {
        Ok(u128::from(self.boot.load(Ordering::Relaxed) + 1).to_be_bytes())
    }

    fn file_system(&self, path: &Path) -> io::Result<FileSystem> {
        ThisMachine.file_system(path)
    }

    fn read_at(&self, file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        ThisMachine.read_at(file, bytes, offset)
    }

    fn write_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        ThisMachine.write_at(file, bytes, offset)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        ThisMachine.sync(file)
    }
}
