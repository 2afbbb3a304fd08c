//! Whether a member lives: what its file says, and what its absence does not.

use std::{
    fs::{self, File},
    os::unix::net::UnixDatagram,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use tenure_core::{
    Clock, Store, SystemClock,
    proto::{
        Renewed,
        queue::{Answer, Ask},
    },
    store::Renewal,
};
use tenure_embedded::{EmbeddedStore, Machine, ThisMachine};

use crate::{
    child::Process,
    support::{
        TTL, TestMachine, files, give_back, is_free, name, once, open, owner, take, until, wait_for,
    },
};

fn members(dir: &Path) -> Vec<PathBuf> {
    let mut found = files(dir);
    found.retain(|path| path.parent().is_some_and(|dir| dir.ends_with("members")));
    found
}

/// The files that are locked, without the sockets.
fn member_files(dir: &Path) -> Vec<PathBuf> {
    let mut found = members(dir);
    found.retain(|path| path.extension().is_none());
    found
}

fn on(dir: &Path, machine: &TestMachine) -> EmbeddedStore {
    EmbeddedStore::open_on(dir, Arc::new(machine.clone())).unwrap()
}

#[tokio::test]
async fn a_living_holder_whose_file_is_gone_keeps_its_lease_and_no_longer() {
    let dir = tempfile::tempdir().unwrap();
    let machine = TestMachine::default();
    let (holder, other) = (on(dir.path(), &machine), on(dir.path(), &machine));
    let (mine, token) = take(&holder, &name("a")).await;
    for file in member_files(dir.path()) {
        fs::remove_file(file).unwrap();
    }
    assert!(!is_free(&other, &name("a")).await, "nobody has found it dead");
    machine.clock.advance(TTL / 2);
    let renewal = Renewal { name: name("a"), owner: mine, ttl: TTL };
    assert!(matches!(holder.renew(&[renewal]).await[..], [Ok(Renewed::Renewed { .. })]));
    machine.clock.advance(TTL - Duration::from_secs(1));
    assert!(!is_free(&other, &name("a")).await, "it was renewed");
    machine.clock.advance(Duration::from_secs(1));
    let (_, next) = take(&other, &name("a")).await;
    assert!(next > token);
}

#[tokio::test]
async fn a_member_whose_file_is_gone_gets_another_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let [file] = &member_files(dir.path())[..] else { panic!("there is one member") };
    fs::remove_file(file).unwrap();
    take(&store, &name("a")).await;
    let other = open(&dir);
    assert!(file.exists() && !is_free(&other, &name("a")).await);
    // It is seen to end again. A child that another test is about to start may have a copy of the
    // lock for a moment.
    drop(store);
    until("it is free", async || is_free(&other, &name("a")).await).await;
}

#[tokio::test]
async fn a_member_that_got_another_file_lives_for_those_who_saw_the_first_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    take(&store, &name("a")).await;
    let [file] = &member_files(dir.path())[..] else { panic!("there is one member") };
    let other = open(&dir);
    assert!(!is_free(&other, &name("a")).await);
    fs::remove_file(file).unwrap();
    take(&store, &name("b")).await;
    assert!(file.exists() && !is_free(&other, &name("a")).await, "the first one is locked no more");
    drop(store);
    until("it is free", async || is_free(&other, &name("a")).await).await;
}

#[tokio::test]
async fn a_death_that_was_noticed_frees_all_names_of_the_dead_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().to_str().unwrap();
    let store = open(&dir);
    let mut holder = Process::start(&["hold many", place, "12", "60000"]);
    holder.says_held();
    let mut waiter = Process::start(&["wait", place, "name 0"]);
    assert_eq!(waiter.says().unwrap(), "waiting");
    holder.kill();
    waiter.says_held();
    // Whoever opens the store tidies, `doctor` more than anybody.
    drop(open(&dir));
    store.health().await.unwrap();
    for number in 1..12 {
        assert!(is_free(&store, &name(&format!("name {number}"))).await, "{number}");
    }
}

#[tokio::test]
async fn what_a_store_still_has_when_it_ends_is_free_at_once_for_all() {
    let dir = tempfile::tempdir().unwrap();
    let (one, other) = (open(&dir), open(&dir));
    take(&one, &name("a")).await;
    take(&one, &name("b")).await;
    drop(one);
    until("the one is free", async || is_free(&other, &name("a")).await).await;
    drop(open(&dir));
    assert!(is_free(&open(&dir), &name("b")).await);
}

/// This machine, days later.
#[derive(Debug)]
struct Later(tenure_core::ManualClock);

impl Later {
    fn by(length: Duration) -> Arc<Self> {
        let clock = tenure_core::ManualClock::new();
        clock.advance(Duration::from_nanos(SystemClock.now().as_nanos()) + length);
        Arc::new(Self(clock))
    }
}

impl Machine for Later {
    fn clock(&self) -> &dyn Clock {
        &self.0
    }

    fn boot_id(&self) -> Result<[u8; 16], tenure_core::Fault> {
        ThisMachine.boot_id()
    }

    fn file_system(&self, path: &Path) -> std::io::Result<tenure_embedded::FileSystem> {
        ThisMachine.file_system(path)
    }

    fn read_at(&self, file: &File, bytes: &mut [u8], offset: u64) -> std::io::Result<usize> {
        ThisMachine.read_at(file, bytes, offset)
    }

    fn write_at(&self, file: &File, bytes: &[u8], offset: u64) -> std::io::Result<()> {
        ThisMachine.write_at(file, bytes, offset)
    }

    fn sync(&self, file: &File) -> std::io::Result<()> {
        ThisMachine.sync(file)
    }
}

#[tokio::test]
async fn what_a_killed_process_leaves_goes_when_no_lease_of_it_can_be_left() {
    let dir = tempfile::tempdir().unwrap();
    let mut process = Process::start(&["hold", dir.path().to_str().unwrap(), "a", "3600000"]);
    process.says_held();
    process.kill();
    let left = members(dir.path());
    assert_eq!(left.len(), 2, "a file and a socket: a killed process removes nothing");
    drop(open(&dir));
    drop(EmbeddedStore::open_on(dir.path(), Later::by(Duration::from_secs(3500))).unwrap());
    assert_eq!(members(dir.path()), left, "its lease may not be over");
    drop(EmbeddedStore::open_on(dir.path(), Later::by(Duration::from_secs(3 * 3600))).unwrap());
    assert_eq!(members(dir.path()).len(), 0, "who ends in order leaves nothing");
}

#[tokio::test]
async fn a_killed_process_that_had_nothing_leaves_nothing_for_long() {
    let dir = tempfile::tempdir().unwrap();
    let mut process = Process::start(&["hold", dir.path().to_str().unwrap(), "a", "60000"]);
    process.says_held();
    process.kill();
    let mut process = Process::start(&["open and stay", dir.path().to_str().unwrap()]);
    assert_eq!(process.says().unwrap(), "opened");
    assert_eq!(members(dir.path()).len(), 4);
    process.kill();
    drop(open(&dir));
    assert_eq!(members(dir.path()).len(), 2, "one of them may have had something");
}

#[test]
fn many_dead_members_go_little_by_little() {
    const DEAD: usize = 300;
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let own = member_files(dir.path());
    let place = own[0].parent().unwrap().to_owned();
    for number in 0..DEAD {
        // Of every other one something may be left.
        let until = if number % 2 == 0 { u64::MAX } else { 0 };
        fs::write(place.join(format!("{number:032x}")), until.to_le_bytes()).unwrap();
        UnixDatagram::bind(place.join(format!("{number:032x}.sock"))).unwrap();
    }
    let left = || member_files(dir.path()).len() - own.len();
    drop(open(&dir));
    assert!(left() > DEAD - 50, "one opening does a little of it");
    let all_gone = (0..10_000).any(|_| {
        drop(open(&dir));
        left() == DEAD / 2
    });
    assert!(all_gone, "{} are left: each opening looks at others", left());
    drop(store);
}

#[tokio::test]
async fn a_store_that_let_everything_go_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (one, other) = (open(&dir), open(&dir));
    let (mine, _) = take(&one, &name("a")).await;
    let long = Ask { ttl: Duration::from_secs(3600), ..once(mine) };
    assert!(matches!(one.acquire(&name("a"), &long).await, Ok(Answer::Granted { .. })));
    // A hold, a place that is given up, one that becomes a hold, and one that is passed on.
    let waits = crate::support::waiting(owner());
    assert!(matches!(other.acquire(&name("a"), &waits).await, Ok(Answer::Busy { .. })));
    let gives_up = crate::support::waiting(owner());
    assert!(matches!(other.acquire(&name("a"), &gives_up).await, Ok(Answer::Busy { .. })));
    give_back(&other, &name("a"), &gives_up.owner).await;
    give_back(&one, &name("a"), &mine).await;
    let (last, _) = wait_for(&other, &name("a"), || {}).await;
    give_back(&other, &name("a"), &last).await;
    other.release(&name("a"), &waits.owner, Duration::ZERO).await.unwrap();
    let (kept, _) = take(&one, &name("kept")).await;
    one.release(&name("kept"), &kept, TTL).await.unwrap();
    drop((one, other));
    assert_eq!(members(dir.path()), [] as [PathBuf; 0]);
}

#[tokio::test]
async fn a_file_that_a_guardian_kept_alive_goes_with_the_next_look() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let copy = store.liveness().unwrap();
    let (mine, _) = take(&store, &name("a")).await;
    give_back(&store, &name("a"), &mine).await;
    drop(store);
    assert_eq!(members(dir.path()).len(), 1, "the copy's holder may need it");
    drop(copy);
    let is_swept = async || {
        drop(open(&dir));
        members(dir.path()).is_empty()
    };
    until("it is removed", is_swept).await;
    // Where the copy went first nothing is left to look at, unless a child that another test is about
    // to start has one for a moment.
    until("nothing is left", async || {
        let store = open(&dir);
        drop(store.liveness().unwrap());
        drop(store);
        members(dir.path()).is_empty()
    })
    .await;
}

#[tokio::test]
async fn the_files_a_store_stands_on_are_kept_fresh() {
    let dir = tempfile::tempdir().unwrap();
    let machine = TestMachine::default();
    let store = on(dir.path(), &machine);
    let (mine, _) = take(&store, &name("a")).await;
    let renewal = Renewal { name: name("a"), owner: mine, ttl: 400 * TTL };
    let renew = async || store.renew(std::slice::from_ref(&renewal)).await;
    assert!(matches!(renew().await[..], [Ok(Renewed::Renewed { .. })]));
    let long_ago = SystemTime::now() - Duration::from_secs(10 * 24 * 3600);
    let mut old = member_files(dir.path());
    old.extend(
        files(dir.path())
            .into_iter()
            .filter(|path| path.file_name().is_some_and(|name| name == "clock" || name == "floor")),
    );
    assert_eq!(old.len(), 3);
    for path in &old {
        File::options().write(true).open(path).unwrap().set_modified(long_ago).unwrap();
    }
    machine.clock.advance(Duration::from_secs(3600));
    assert!(matches!(renew().await[..], [Ok(Renewed::Renewed { .. })]));
    for path in &old {
        let touched = path.metadata().unwrap().modified().unwrap();
        assert!(touched > long_ago + Duration::from_secs(3600), "{}", path.display());
    }
}

#[tokio::test]
async fn a_socket_that_nobody_has_goes_and_one_that_somebody_has_stays() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let sockets = || {
        let mut found = members(dir.path());
        found.retain(|path| path.extension().is_some());
        found
    };
    let living = sockets();
    let dead = |ending| living[0].with_file_name(format!("{:032x}.{ending}", 1));
    let dead = [dead("sock"), dead("wake")];
    for dead in &dead {
        drop(UnixDatagram::bind(dead).unwrap());
    }
    for file in member_files(dir.path()) {
        fs::remove_file(file).unwrap();
    }
    until("it is removed", async || {
        drop(open(&dir));
        dead.iter().all(|dead| !dead.exists())
    })
    .await;
    assert_eq!(sockets(), living);
    drop(store);
}
