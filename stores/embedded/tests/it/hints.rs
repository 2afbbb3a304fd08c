//! Who is woken by a hint, and where.

use std::{path::Path, sync::mpsc, thread, time::Duration};

use tenure_core::{Store, Wakeups, in_background, proto::queue::Answer};
use tenure_embedded::EmbeddedStore;
use tokio::runtime::{Builder, Runtime};

use crate::{
    child::{Process, say},
    foreign::walk,
    support::{give_back, name, open, owner, take, until, waiting},
};

/// How long a hint may take on a slow machine.
const PATIENCE: Duration = Duration::from_secs(15);

#[test]
#[cfg(target_os = "linux")]
fn nobody_listens_for_a_store_that_was_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let mut process = Process::start(&["listen and drop", dir.path().to_str().unwrap()]);
    assert_eq!(process.says().unwrap(), "one listens");
    assert_eq!(process.says().unwrap(), "none listens");
}

/// What it does: see `child.rs`.
pub(crate) async fn listen_and_drop(dir: &str) {
    // The thread of tenure's own has some by itself.
    in_background(async {}).unwrap().await.unwrap();
    let before = sockets();
    let store = EmbeddedStore::open(dir).unwrap();
    let mut wakeups = store.wakeups(&name("a"), &owner());
    let waits = tokio::spawn(async move { wakeups.next().await });
    // One to send from, and two with what listens there.
    until("both are listened to", async || sockets() == before + 5).await;
    say("one listens");
    waits.abort();
    drop(store);
    until("nobody listens", async || sockets() == before).await;
    say("none listens");
}

/// How many open sockets this process has.
pub(crate) fn sockets() -> usize {
    let files = std::fs::read_dir("/proc/self/fd").unwrap();
    // One may be closed meanwhile, as that of the list itself.
    let opened = files.filter_map(|file| std::fs::read_link(file.unwrap().path()).ok());
    opened.filter(|file| file.to_string_lossy().starts_with("socket:")).count()
}

#[tokio::test]
async fn a_hint_crosses_a_long_path() {
    let dir = tempfile::tempdir().unwrap();
    // Longer than the address of a socket can be.
    let deep = dir.path().join("d".repeat(150)).join("e".repeat(150));
    let (one, two) = (EmbeddedStore::open(&deep).unwrap(), EmbeddedStore::open(&deep).unwrap());
    let (mine, _) = take(&one, &name("a")).await;
    let mut wakeups = in_line(&two, "a").await;
    // It does not wait yet, so this one goes to the socket that each store has.
    give_back(&one, &name("a"), &mine).await;
    hinted(&mut wakeups).await;

    let (mine, _) = take(&one, &name("b")).await;
    let mut wakeups = in_line(&two, "b").await;
    let waits = tokio::spawn(async move { hinted(&mut wakeups).await });
    until("its waiters have a socket", async || has_socket_of_waiters(&deep)).await;
    give_back(&one, &name("b"), &mine).await;
    waits.await.unwrap();
}

pub(crate) fn has_socket_of_waiters(dir: &Path) -> bool {
    walk(dir).iter().any(|file| file.extension().is_some_and(|it| it == "wake"))
}

#[test]
fn a_waiter_is_woken_in_its_own_runtime() {
    let dir = tempfile::tempdir().unwrap();
    let mut process =
        Process::start(&["wait without tenure's thread", dir.path().to_str().unwrap()]);
    assert_eq!(process.says().unwrap(), "hinted");
}

/// What it does: see `child.rs`.
pub(crate) async fn wait_without_the_thread(dir: &str) {
    let (one, two) = (EmbeddedStore::open(dir).unwrap(), EmbeddedStore::open(dir).unwrap());
    let (mine, _) = take(&one, &name("a")).await;
    let mut wakeups = in_line(&two, "a").await;
    let (stands, goes_on) = stand_still();
    in_background(stands).unwrap();
    let waits = tokio::spawn(async move { hinted(&mut wakeups).await });
    let dir = Path::new(dir);
    until("it has a socket", async || has_socket_of_waiters(dir)).await;
    give_back(&one, &name("a"), &mine).await;
    waits.await.unwrap();
    say("hinted");
    drop(goes_on);
}

#[test]
fn a_runtime_that_stands_still_keeps_nobody_elsewhere_from_a_hint() {
    let dir = tempfile::tempdir().unwrap();
    let (holder, store) = (open(&dir), open(&dir));
    let runtime = || Builder::new_current_thread().enable_all().build().unwrap();
    let (one, other) = (runtime(), runtime());
    let (stands, goes_on) = stand_still();
    let mine = one.block_on(async {
        take(&holder, &name("a")).await;
        let (mine, _) = take(&holder, &name("b")).await;
        let mut wakeups = in_line(&store, "a").await;
        tokio::spawn(async move { wakeups.next().await });
        until("it has a socket", async || has_socket_of_waiters(dir.path())).await;
        mine
    });
    thread::scope(|scope| {
        // Dropped also where this fails.
        let _goes_on = goes_on;
        scope.spawn(|| one.block_on(stands));
        other.block_on(async {
            let mut wakeups = in_line(&store, "b").await;
            let waits = tokio::spawn(async move { hinted(&mut wakeups).await });
            // It waits by then.
            tokio::task::yield_now().await;
            give_back(&holder, &name("b"), &mine).await;
            waits.await.unwrap();
        });
    });
}

#[test]
fn a_runtime_without_io_hears_of_its_turn() {
    let dir = tempfile::tempdir().unwrap();
    let (holder, store) = (open(&dir), open(&dir));
    let runtime: Runtime = Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        for lock in ["a", "b"] {
            let (mine, _) = take(&holder, &name(lock)).await;
            let mut wakeups = in_line(&store, lock).await;
            let waits = tokio::spawn(async move { hinted(&mut wakeups).await });
            until("it has a socket", async || has_socket_of_waiters(dir.path())).await;
            give_back(&holder, &name(lock), &mine).await;
            waits.await.unwrap();
        }
    });
}

#[tokio::test]
async fn waiters_for_whom_no_socket_can_be_made_are_told_at_the_stores_own() {
    let dir = tempfile::tempdir().unwrap();
    let (holder, store) = (open(&dir), open(&dir));
    for file in
        walk(dir.path()).iter().filter(|file| file.extension().is_some_and(|it| it == "sock"))
    {
        std::fs::create_dir(file.with_extension("wake")).unwrap();
    }
    let (mine, _) = take(&holder, &name("a")).await;
    let mut wakeups = in_line(&store, "a").await;
    let waits = tokio::spawn(async move { hinted(&mut wakeups).await });
    // It waits by then.
    tokio::task::yield_now().await;
    give_back(&holder, &name("a"), &mine).await;
    waits.await.unwrap();
}

/// Something that blocks its thread until the other half is dropped.
pub(crate) fn stand_still() -> (impl Future<Output = ()> + Send, mpsc::Sender<()>) {
    let (goes_on, stands) = mpsc::channel();
    let stands = async move {
        let _ = stands.recv();
    };
    (stands, goes_on)
}

/// Stands in line for a name that is held.
pub(crate) async fn in_line(store: &EmbeddedStore, lock: &str) -> Wakeups {
    let waiter = owner();
    let wakeups = store.wakeups(&name(lock), &waiter);
    let asked = store.acquire(&name(lock), &waiting(waiter)).await.unwrap();
    assert!(matches!(asked, Answer::Busy { .. }), "{asked:?}");
    wakeups
}

pub(crate) async fn hinted(wakeups: &mut Wakeups) {
    tokio::time::timeout(PATIENCE, wakeups.next()).await.expect("a hint comes");
}
