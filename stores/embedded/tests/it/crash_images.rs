//! A process that ends in the middle of any write, and a machine that loses power there: tokens
//! never go back, nobody loses a lock that it was told it had, and nothing has to be repaired.

use std::{
    collections::HashMap,
    ffi::OsString,
    fs::{self, File},
    io,
    ops::RangeInclusive,
    os::{fd::AsRawFd, unix::fs::MetadataExt},
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use tenure_core::{
    Clock, Fault, Store,
    proto::{
        Owner, Renewed, Token,
        queue::{Answer, Ask, Released},
    },
    store::Renewal,
};
use tenure_embedded::{EmbeddedStore, FileSystem, Machine, ThisMachine};

use crate::support::{TestMachine, name, once, owner, take, waiting};

const LONG: Duration = Duration::from_secs(3600);
const PATIENCE: Duration = Duration::from_secs(15);
const DAY: u64 = 24 * 3600 * 1_000_000;

/// Where everything stops: in which write, and after how many of its bytes. A sync counts as a
/// write of no bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    write: usize,
    bytes: usize,
}

/// A machine that stops in the middle of a write: from then on nothing answers.
#[derive(Clone, Debug)]
pub(crate) struct Stopping {
    below: TestMachine,
    pub(crate) done: Arc<Mutex<Done>>,
}

#[derive(Debug, Default)]
pub(crate) struct Done {
    stop: Option<Stop>,
    stopped: bool,
    /// How long each write was.
    writes: Vec<usize>,
    /// What each file held at its last sync: all that is sure to outlive a loss of power.
    pub(crate) synced: HashMap<u64, Vec<u8>>,
    /// What each directory held at its last sync.
    pub(crate) names: HashMap<u64, HashMap<OsString, u64>>,
}

impl Stopping {
    pub(crate) fn new(below: TestMachine, stop: Option<Stop>) -> Self {
        Self { below, done: Arc::new(Mutex::new(Done { stop, ..Done::default() })) }
    }

    /// Counts writes from here.
    pub(crate) fn begin(&self, stop: Option<Stop>) {
        let mut done = self.done.lock().unwrap();
        (done.stop, done.writes) = (stop, Vec::new());
    }

    fn answers(&self) -> io::Result<()> {
        if self.done.lock().unwrap().stopped { Err(io::Error::other("stopped")) } else { Ok(()) }
    }

    /// How much of a write of `length` bytes is done.
    fn next(&self, length: usize) -> usize {
        let mut done = self.done.lock().unwrap();
        done.writes.push(length);
        match done.stop {
            Some(stop) if stop.write + 1 == done.writes.len() => {
                done.stopped = true;
                stop.bytes
            }
            _ => length,
        }
    }
}

impl Machine for Stopping {
    fn clock(&self) -> &dyn Clock {
        self.below.clock()
    }

    fn boot_id(&self) -> Result<[u8; 16], Fault> {
        self.below.boot_id()
    }

    fn file_system(&self, path: &Path) -> io::Result<FileSystem> {
        self.below.file_system(path)
    }

    fn read_at(&self, file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.answers()?;
        self.below.read_at(file, bytes, offset)
    }

    fn write_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.answers()?;
        let whole = self.next(bytes.len());
        ThisMachine.write_at(file, &bytes[..whole], offset)?;
        self.answers()
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.answers()?;
        self.next(0);
        self.answers()?;
        let mut content = vec![0; usize::try_from(file.metadata()?.len()).unwrap()];
        ThisMachine.read_at(file, &mut content, 0)?;
        self.done.lock().unwrap().synced.insert(file.metadata()?.ino(), content);
        Ok(())
    }

    fn sync_dir(&self, dir: &File) -> io::Result<()> {
        self.answers()?;
        self.next(0);
        self.answers()?;
        let inode = dir.metadata()?.ino();
        let path = fs::read_link(format!("/proc/self/fd/{}", dir.as_raw_fd()))?;
        let names = fs::read_dir(path)?.map(|entry| {
            let entry = entry?;
            Ok((entry.file_name(), entry.metadata()?.ino()))
        });
        let names = names.collect::<io::Result<_>>()?;
        self.done.lock().unwrap().names.insert(inode, names);
        Ok(())
    }
}

/// What clients were told, and so may count on.
#[derive(Debug, Default)]
struct Told {
    highest: HashMap<&'static str, u64>,
    /// What the steady client holds.
    held: HashMap<&'static str, (Owner, u64)>,
}

impl Told {
    fn granted(&mut self, lock: &'static str, token: u64) {
        let highest = self.highest.entry(lock).or_default();
        assert!(token > *highest, "{lock}: {token} was granted after {highest}");
        *highest = token;
    }
}

/// A client whose calls end the story when its machine has stopped.
struct Ending {
    store: EmbeddedStore,
}

impl Ending {
    async fn take(&self, told: &mut Told, lock: &'static str) -> Option<Owner> {
        let owner = owner();
        let ask = Ask { ttl: LONG, ..once(owner) };
        match self.store.acquire(&name(lock), &ask).await.ok()? {
            Answer::Granted { token, .. } => told.granted(lock, token.get()),
            busy @ Answer::Busy { .. } => panic!("{lock} is free: {busy:?}"),
        }
        Some(owner)
    }

    async fn turn(&self, told: &mut Told, lock: &'static str, old: &Owner) -> Option<Owner> {
        let new = owner();
        let ask = Ask { ttl: LONG, ..waiting(new) };
        match self.store.turn(&name(lock), old, &ask).await.ok()? {
            Answer::Granted { token, .. } => told.granted(lock, token.get()),
            busy @ Answer::Busy { .. } => panic!("nobody waits for {lock}: {busy:?}"),
        }
        Some(new)
    }

    async fn queue(&self, lock: &'static str) -> Option<Owner> {
        let owner = owner();
        let ask = Ask { label: "x".repeat(200).into(), ..waiting(owner) };
        let answer = self.store.acquire(&name(lock), &ask).await.ok()?;
        assert!(matches!(answer, Answer::Busy { .. }), "{lock} is held: {answer:?}");
        Some(owner)
    }

    async fn release(&self, lock: &'static str, owner: &Owner) -> Option<()> {
        let released = self.store.release(&name(lock), owner, Duration::ZERO).await.ok()?;
        assert_eq!(released, Released::Released);
        Some(())
    }

    async fn keep(&self, told: &mut Told, lock: &'static str) -> Option<()> {
        let owner = self.take(told, lock).await?;
        told.held.insert(lock, (owner, told.highest[lock]));
        Some(())
    }
}

/// Two clients use two names until one of them stops; enough happens that the ceiling of the
/// tokens is raised and that a state outgrows its slot.
async fn story(
    clock: &tenure_core::ManualClock,
    ending: &Ending,
    steady: &Ending,
    told: &mut Told,
) -> Option<()> {
    steady.keep(told, "b").await?;
    let mine = ending.take(told, "a").await?;
    ending.release("a", &mine).await?;
    for _ in 0..10 {
        ending.queue("b").await?;
    }
    clock.advance(Duration::from_secs(61));
    let mine = ending.take(told, "a").await?;
    let again = ending.turn(told, "a", &mine).await?;
    ending.release("a", &again).await?;
    steady.keep(told, "a").await
}

struct Scene {
    dir: tempfile::TempDir,
    machine: TestMachine,
    stopping: Stopping,
    told: Told,
}

/// Plays the story until `stop`. With `both`, both clients are on the machine that stops.
async fn play(stop: Option<Stop>, both: bool) -> (Scene, Option<EmbeddedStore>) {
    // In memory where there is such a place: thousands of stories sync thousands of times.
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let machine = TestMachine::default();
    let stopping = Stopping::new(machine.clone(), stop);
    let mut told = Told::default();
    let steady: Arc<dyn Machine> =
        if both { Arc::new(stopping.clone()) } else { Arc::new(machine.clone()) };
    let steady = EmbeddedStore::open_on(dir.path(), steady).ok().map(|store| Ending { store });
    let ending = EmbeddedStore::open_on(dir.path(), Arc::new(stopping.clone()));
    if let (Some(steady), Ok(store)) = (&steady, ending) {
        let ending = Ending { store };
        let ended = story(&machine.clock, &ending, steady, &mut told).await;
        assert_eq!(ended.is_none(), stop.is_some(), "the story ends where it was stopped");
    }
    let steady = steady.map(|steady| steady.store);
    (Scene { dir, machine, stopping, told }, steady)
}

/// Every place where the story can be stopped, with at most so many prefixes of one write.
async fn stops(both: bool, most: usize) -> Vec<Stop> {
    stops_in(&play(None, both).await.0.stopping, most)
}

/// The same of a story that was played to its end.
pub(crate) fn stops_in(played: &Stopping, most: usize) -> Vec<Stop> {
    let writes = played.done.lock().unwrap().writes.clone();
    let prefixes = |length: usize| -> RangeInclusive<usize> { 0..=length };
    let places = writes.into_iter().enumerate().flat_map(|(write, length)| {
        let step = length.div_ceil(most).max(1);
        let all = prefixes(length);
        all.filter(move |bytes| bytes % step == 0 || *bytes + 1 >= length)
            .map(move |bytes| Stop { write, bytes })
    });
    places.collect()
}

/// The token of a name that nobody holds any more, as soon as it is granted. A child that another test forks has copies of
/// all open files until it ends or executes a program, and may keep the killed process alive meanwhile.
async fn granted_at_last(store: &EmbeddedStore, lock: &str, mut answer: Answer) -> Token {
    let began = Instant::now();
    loop {
        match answer {
            Answer::Granted { token, .. } => return token,
            Answer::Busy { .. } if began.elapsed() < PATIENCE => {}
            other @ Answer::Busy { .. } => panic!("{lock}: {other:?}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
        answer = store.acquire(&name(lock), &once(owner())).await.unwrap();
    }
}

#[tokio::test]
async fn a_process_killed_in_any_write_leaves_all_locks_whole() {
    for stop in stops(false, 40).await {
        let (scene, steady) = play(Some(stop), false).await;
        let steady = steady.unwrap();
        let late = EmbeddedStore::open_on(scene.dir.path(), Arc::new(scene.machine)).unwrap();
        for (lock, highest) in &scene.told.highest {
            let answer = late.acquire(&name(lock), &once(owner())).await.unwrap();
            let Some((owner, token)) = scene.told.held.get(lock) else {
                let token = granted_at_last(&late, lock, answer).await;
                assert!(token.get() > *highest, "{stop:?}: {lock} went back to {token}");
                continue;
            };
            assert!(matches!(answer, Answer::Busy { .. }), "{stop:?}: {lock} has two holders");
            let renewal = Renewal { name: name(lock), owner: *owner, ttl: LONG };
            let renewed = steady.renew(&[renewal]).await;
            assert!(matches!(renewed[..], [Ok(Renewed::Renewed { .. })]), "{stop:?}: {renewed:?}");
            let repeated = steady.acquire(&name(lock), &once(*owner)).await.unwrap();
            assert!(
                matches!(repeated, Answer::Granted { token: same, .. } if same.get() == *token),
                "{stop:?}: {repeated:?}"
            );
        }
    }
}

/// What of the clock's file is on the disk after a loss of power.
#[derive(Clone, Copy, Debug)]
enum Image {
    /// All that was written.
    Whole,
    /// Only what was synced.
    Synced,
    /// What was synced, and the first slot as it was written last, or the second.
    FirstSlot,
    SecondSlot,
}

/// Leaves what a loss of power leaves. Files of this boot are torn: nobody looks at them again.
fn lose_power(scene: &Scene, image: Image) {
    let clock = scene.dir.path().join("clock");
    if let Ok(metadata) = fs::metadata(&clock) {
        let whole = fs::read(&clock).unwrap();
        let done = scene.stopping.done.lock().unwrap();
        let synced = done.synced.get(&metadata.ino()).cloned().unwrap_or_default();
        let mixed = |slot: std::ops::Range<usize>| {
            let mut mixed = synced.clone();
            mixed.resize(whole.len(), 0);
            mixed[slot.clone()].copy_from_slice(&whole[slot]);
            mixed
        };
        let content = match image {
            Image::Whole => whole.clone(),
            Image::Synced => synced.clone(),
            Image::FirstSlot => mixed(0..2048),
            Image::SecondSlot => mixed(2048..4096),
        };
        drop(done);
        fs::write(&clock, content).unwrap();
    }
    for path in crate::support::state_files(scene.dir.path()) {
        fs::write(path, "torn").unwrap();
    }
    scene.machine.reboot(scene.dir.path());
}

#[tokio::test]
async fn tokens_rise_across_a_loss_of_power_in_any_write_with_the_clock_set_back() {
    for stop in stops(true, 12).await {
        for image in [Image::Whole, Image::Synced, Image::FirstSlot, Image::SecondSlot] {
            let (scene, _) = play(Some(stop), true).await;
            lose_power(&scene, image);
            scene.machine.clock.set_wall(scene.machine.clock.wall() - DAY);
            let machine = Arc::new(scene.machine.clone());
            let store = EmbeddedStore::open_on(scene.dir.path(), machine).unwrap();
            for (lock, highest) in &scene.told.highest {
                let (_, token) = take(&store, &name(lock)).await;
                assert!(token.get() > *highest, "{stop:?} {image:?}: {lock} went back to {token}");
            }
        }
    }
}

#[tokio::test]
async fn a_reboot_ends_all_leases_and_removes_their_files() {
    let dir = tempfile::tempdir().unwrap();
    let machine = TestMachine::default();
    let open = || EmbeddedStore::open_on(dir.path(), Arc::new(machine.clone())).unwrap();
    let before = open();
    let (_, token) = take(&before, &name("a")).await;
    machine.reboot(dir.path());
    let after = open();
    assert!(crate::support::state_files(dir.path()).is_empty());
    assert!(take(&after, &name("a")).await.1 > token);
}
