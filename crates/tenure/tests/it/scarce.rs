//! A system that has no thread to spare for a moment, as at the limit of a container: nothing that is held is lost, and
//! nobody panics.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt, chown},
    path::Path,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tempfile::{TempDir, tempdir};
use tenure::{AcquireError, OpenError, Tenure, blocking, store::MemoryStore};

use crate::child::{PATIENCE, Player, open, say};

/// Nobody else's: the system counts what a user has, and none of root's.
const USER: u32 = 54_322;

const TTL: Duration = Duration::from_secs(2);

/// From now on the system allows this process no further thread, or as many as before.
fn threads(allowed: bool) {
    let (_, hard) = getrlimit(Resource::RLIMIT_NPROC).unwrap();
    setrlimit(Resource::RLIMIT_NPROC, if allowed { hard } else { 0 }, hard).unwrap();
    assert_eq!(thread::Builder::new().spawn(|| {}).is_ok(), allowed);
}

/// A user that may be told so plays `part`.
fn plays(part: &str) -> (TempDir, Player) {
    let dir = tempdir().unwrap();
    let program = dir.path().join("program");
    tenure_testkit::child::copy_program(std::env::current_exe().unwrap(), &program);
    for path in [dir.path(), &program] {
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
    // Whom the system lets give it away is root, for whom there is no limit.
    let gives = chown(dir.path(), Some(USER), Some(USER)).is_ok();
    let player = Player::start_as(gives.then_some(USER), &program, part, dir.path());
    (dir, player)
}

#[track_caller]
fn goes_well(part: &str) {
    let (_dir, player) = plays(part);
    assert_eq!(player.hear(), "done");
    player.finish();
}

/// In a child: whether it has such a part.
pub(crate) fn play(part: &str, dir: &Path) -> bool {
    let work: fn(&Path) = match part {
        "hold without threads" => hold,
        "work without threads" => work,
        "open without threads" => open_and_lock,
        "run elsewhere without threads" => elsewhere,
        "block without threads" => block,
        "tell without threads" => tell,
        "look up without threads" => look_up,
        _ => return false,
    };
    work(dir);
    say("done");
    true
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn a_hold_outlasts_a_lack_of_threads() {
    goes_well("hold without threads");
}

fn hold(dir: &Path) {
    runtime().block_on(async {
        let tenure = open(dir).await;
        let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
        threads(false);
        let until = Instant::now() + 2 * TTL;
        while Instant::now() < until {
            guard.check().unwrap();
            tokio::time::sleep(TTL / 50).await;
        }
        // A drop is carried out, too.
        drop(guard);
        let again = tenure.mutex("a").fair().wait(PATIENCE).lock().await.unwrap();
        again.release().await.unwrap();
    });
}

#[test]
fn a_caller_works_on_without_threads() {
    goes_well("work without threads");
}

fn work(dir: &Path) {
    runtime().block_on(async {
        let tenure = open(dir).await;
        threads(false);
        // The store tidies up now and then, in whoever calls it.
        for name in 0..300 {
            tenure.mutex(name.to_string()).lock().await.unwrap().release().await.unwrap();
        }
    });
}

#[test]
fn what_cannot_begin_without_a_thread_begins_later() {
    goes_well("open without threads");
}

fn open_and_lock(dir: &Path) {
    runtime().block_on(async {
        threads(false);
        let url = format!("file:{}", dir.join("locks").display());
        let refused = Tenure::open(&url).await.unwrap_err();
        assert!(matches!(refused, OpenError::Thread(_)) && refused.is_transient(), "{refused:#}");
        let memory = Tenure::with_store(std::sync::Arc::new(MemoryStore::new()));
        let refused = memory.mutex("a").lock().await.unwrap_err();
        assert!(matches!(refused, AcquireError::Unreachable(_)), "{refused:#}");
        threads(true);
        Tenure::open(&url).await.unwrap().mutex("a").lock().await.unwrap().release().await.unwrap();
        memory.mutex("a").lock().await.unwrap().release().await.unwrap();
    });
}

#[test]
fn a_caller_without_a_runtime_waits_for_a_thread_that_has_one() {
    goes_well("run elsewhere without threads");
}

fn elsewhere(_: &Path) {
    let helper = thread::spawn(|| {
        thread::park();
        thread::sleep(TTL / 20);
        let (_, hard) = getrlimit(Resource::RLIMIT_NPROC).unwrap();
        setrlimit(Resource::RLIMIT_NPROC, hard, hard).unwrap();
    });
    threads(false);
    helper.thread().unpark();
    let work = async { tokio::time::sleep(Duration::from_millis(1)).await };
    futures_executor::block_on(tenure_core::within_runtime(work));
}

#[test]
fn a_thread_of_a_runtime_waits_for_a_lock_although_no_other_can_take_its_place() {
    goes_well("block without threads");
}

fn block(_: &Path) {
    let tenure = blocking::Tenure::open("memory:").unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let held = tenure.mutex("a").lock().unwrap();
    let (waits, waiting) = mpsc::channel();
    threads(false);
    let waiter = runtime.spawn(async move {
        let lock = tenure.mutex("a").wait(PATIENCE);
        waits.send(()).unwrap();
        lock.lock().map(drop)
    });
    waiting.recv_timeout(PATIENCE).unwrap();
    drop(held);
    runtime.block_on(waiter).unwrap().unwrap();
}

#[test]
fn a_loss_is_told_although_there_is_no_thread_left() {
    goes_well("tell without threads");
}

fn tell(_: &Path) {
    let tenure = blocking::Tenure::open("memory:").unwrap();
    let guard = tenure.mutex("a").ttl(TTL).lock().unwrap();
    let (tells, told) = mpsc::channel();
    guard.on_lost(move |lost| tells.send(lost.reason).unwrap());
    threads(false);
    runtime().block_on(tenure.as_async().store().evict(guard.name())).unwrap();
    told.recv_timeout(PATIENCE).unwrap();
}

#[test]
fn names_of_hosts_are_looked_up_without_threads() {
    goes_well("look up without threads");
}

fn look_up(_: &Path) {
    use tenure_core::threads::StoreThread;
    let ours = || tenure_core::runtime::addresses("localhost", 80);
    // As a store does that opens.
    assert!(!runtime().block_on(ours()).unwrap().is_empty());
    let home = StoreThread::start("a-store", Duration::ZERO).unwrap();
    threads(false);
    assert!(!runtime().block_on(ours()).unwrap().is_empty());
    let by_driver = home.spawn(async { tokio::net::lookup_host(("localhost", 80)).await.is_ok() });
    assert!(runtime().block_on(by_driver).unwrap());
}
