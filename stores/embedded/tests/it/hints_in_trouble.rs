//! What hints survive: moments without files, panics, forks, runtimes that end or are busy, many members.

use std::{
    path::Path,
    pin::pin,
    process::Command,
    sync::{Arc, Barrier},
    task::{Context, Waker},
    thread,
    time::Duration,
};

use tenure_core::{Store, Wakeups, in_background};
use tenure_embedded::EmbeddedStore;
use tokio::runtime::{Builder, Runtime};

use crate::{
    child::{Process, outside, say, wait_to_go_on},
    hints::{has_socket_of_waiters, hinted, in_line, sockets, stand_still},
    support::{give_back, name, open, owner, take, until},
};

const SOON: Duration = Duration::from_secs(5);

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Has a waiter begin to wait, and stop.
fn touch(wakeups: &mut Wakeups) {
    let _ = pin!(wakeups.next()).poll(&mut Context::from_waker(Waker::noop()));
}

fn playing(role: &str) -> (tempfile::TempDir, Process) {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::start(&["hints in trouble", role, dir.path().to_str().unwrap()]);
    (dir, process)
}

pub(crate) fn play(role: &str, dir: &str) {
    let work = match role {
        "no files" => no_files,
        "panic" => panic_in_a_runtime,
        "steal" => fork_and_wait,
        "race" => race,
        "full" => full,
        "another file" => another_file,
        "come and go" => come_and_go,
        other => panic!("{other}"),
    };
    outside(|| work(dir));
}

/// Lets a process have so many files open from now on.
fn limit_files(pid: &str, most: u32) {
    let limit = format!("--nofile={most}:20000");
    assert!(Command::new("prlimit").args(["--pid", pid, &limit]).status().unwrap().success());
}

#[test]
fn evictions_are_told_after_a_moment_without_files() {
    let (_dir, mut process) = playing("no files");
    let pid = process.says().unwrap();
    limit_files(&pid, 3);
    process.go_on();
    assert_eq!(process.says().unwrap(), "registered");
    limit_files(&pid, 20_000);
    process.go_on();
    assert_eq!(process.says().unwrap(), "told");
}

fn no_files(dir: &str) {
    runtime().block_on(async {
        in_background(async {}).unwrap().await.unwrap();
        let (store, other) = (EmbeddedStore::open(dir).unwrap(), EmbeddedStore::open(dir).unwrap());
        take(&store, &name("a")).await;
        say(std::process::id());
        wait_to_go_on();
        let mut evictions = store.evictions();
        for _ in 0..10 {
            in_background(async {}).unwrap().await.unwrap();
        }
        say("registered");
        wait_to_go_on();
        other.evict(&name("a")).await.unwrap();
        let told = tokio::time::timeout(SOON, evictions.next()).await;
        say(if told.is_ok() { "told" } else { "not told" });
    });
}

#[test]
fn a_runtime_that_ends_by_a_panic_says_nothing_about_others() {
    let (_dir, mut process) = playing("panic");
    assert_eq!(process.says().unwrap(), "hinted");
}

fn panic_in_a_runtime(dir: &str) {
    let (one, two) = (EmbeddedStore::open(dir).unwrap(), EmbeddedStore::open(dir).unwrap());
    let mut wakeups = two.wakeups(&name("z"), &owner());
    let ended = thread::spawn(move || {
        let runtime = runtime();
        runtime.block_on(async {
            touch(&mut wakeups);
            tokio::task::yield_now().await;
        });
        panic!("on purpose: the runtime is dropped");
    });
    ended.join().unwrap_err();
    runtime().block_on(async {
        let (mine, _) = take(&one, &name("a")).await;
        let mut wakeups = in_line(&two, "a").await;
        let (stands, _goes_on) = stand_still();
        in_background(stands).unwrap();
        let waits =
            tokio::spawn(async move { tokio::time::timeout(SOON, wakeups.next()).await.is_ok() });
        tokio::task::yield_now().await;
        give_back(&one, &name("a"), &mine).await;
        say(if waits.await.unwrap() { "hinted" } else { "not hinted" });
    });
}

#[test]
fn a_forked_child_that_waits_takes_no_hint_of_its_parent() {
    let (_dir, mut process) = playing("steal");
    assert_eq!(process.says().unwrap(), "0 of 40 lost");
}

fn fork_and_wait(dir: &str) {
    let (one, two) = (EmbeddedStore::open(dir).unwrap(), EmbeddedStore::open(dir).unwrap());
    let mut wakeups = two.wakeups(&name("z"), &owner());
    touch(&mut wakeups);
    let child = match fork::fork().unwrap() {
        fork::Fork::Child => {
            // What waited goes on in the child, in a runtime of its own.
            runtime().block_on(async {
                let _ = tokio::time::timeout(Duration::from_secs(20), wakeups.next()).await;
            });
            std::process::exit(0);
        }
        fork::Fork::Parent(child) => child,
    };
    let mut lost = 0;
    runtime().block_on(async {
        for round in 0..40 {
            let lock = format!("a {round}");
            let (mine, _) = take(&one, &name(&lock)).await;
            let mut wakeups = in_line(&two, &lock).await;
            let waits = tokio::spawn(async move {
                tokio::time::timeout(Duration::from_millis(500), wakeups.next()).await.is_ok()
            });
            tokio::task::yield_now().await;
            give_back(&one, &name(&lock), &mine).await;
            lost += u32::from(!waits.await.unwrap());
        }
    });
    say(format_args!("{lost:#} of 40 lost"));
    let _ = Command::new("kill").arg("-9").arg(child.to_string()).status();
}

#[test]
fn a_store_that_ends_as_somebody_begins_to_wait_leaves_nothing_open() {
    let (_dir, mut process) = playing("race");
    assert_eq!(process.says().unwrap(), "0 sockets left");
}

fn race(dir: &str) {
    // A runtime may have sockets of its own.
    let runtime = runtime();
    runtime.block_on(async { in_background(async {}).unwrap().await.unwrap() });
    let before = sockets();
    for _ in 0..400 {
        let store = EmbeddedStore::open(dir).unwrap();
        let mut wakeups = store.wakeups(&name("a"), &owner());
        let both = Arc::new(Barrier::new(2));
        let theirs = both.clone();
        let waits = thread::spawn(move || {
            theirs.wait();
            touch(&mut wakeups);
        });
        both.wait();
        drop(store);
        waits.join().unwrap();
    }
    runtime.block_on(until("all are closed", async || sockets() == before));
    say("0 sockets left");
}

/// Runtimes come and go while another one goes on waiting; a waiter moves between them.
#[test]
fn a_waiter_that_moves_from_a_runtime_that_ends_is_told_in_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (open(&dir), open(&dir));
    let mut waited = None;
    let mut mine = None;
    for round in 0..200 {
        let runtime = runtime();
        runtime.block_on(async {
            let wakeups = match &mut waited {
                Some(wakeups) => wakeups,
                none => {
                    mine = Some(take(&one, &name("a")).await.0);
                    none.insert(in_line(&two, "a").await)
                }
            };
            touch(wakeups);
            tokio::task::yield_now().await;
            if round == 199 {
                assert!(has_socket_of_waiters(Path::new(dir.path())));
                give_back(&one, &name("a"), &mine.unwrap()).await;
                hinted(wakeups).await;
            }
        });
    }
}

#[test]
fn who_releases_at_its_limit_of_files_still_tells_the_next() {
    let (_dir, mut process) = playing("full");
    let pid = process.says().unwrap();
    limit_files(&pid, 3);
    process.go_on();
    let said = process.says();
    limit_files(&pid, 20_000);
    assert_eq!(said.unwrap(), "hinted");
}

fn full(dir: &str) {
    let (one, two) = (EmbeddedStore::open(dir).unwrap(), EmbeddedStore::open(dir).unwrap());
    runtime().block_on(async {
        let (mine, _) = take(&one, &name("a")).await;
        let mut wakeups = in_line(&two, "a").await;
        let waits =
            tokio::spawn(async move { tokio::time::timeout(SOON, wakeups.next()).await.is_ok() });
        until("it has a socket", async || has_socket_of_waiters(Path::new(dir))).await;
        say(std::process::id());
        wait_to_go_on();
        give_back(&one, &name("a"), &mine).await;
        say(if waits.await.unwrap() { "hinted" } else { "not hinted" });
    });
}

#[test]
fn a_busy_worker_keeps_no_hint_from_who_waits_on_another() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (open(&dir), open(&dir));
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut first = two.wakeups(&name("z"), &owner());
    let (busy, other) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (its, theirs) = (busy.clone(), other.clone());
    // It begins to wait, and works on in the same task.
    runtime.spawn(async move {
        touch(&mut first);
        its.wait();
        theirs.wait();
    });
    busy.wait();
    let (mine, mut wakeups) =
        runtime.block_on(async { (take(&one, &name("a")).await.0, in_line(&two, "a").await) });
    let waits =
        runtime.spawn(async move { tokio::time::timeout(SOON, wakeups.next()).await.is_ok() });
    runtime.block_on(until("it has a socket", async || has_socket_of_waiters(dir.path())));
    runtime.block_on(give_back(&one, &name("a"), &mine));
    let hinted = runtime.block_on(waits).unwrap();
    other.wait();
    assert!(hinted);
}

#[test]
fn runtimes_that_come_and_go_by_the_thousand_leave_nothing_and_disturb_nobody() {
    let (_dir, mut process) = playing("come and go");
    assert_eq!(process.says().unwrap(), "0 sockets left, 0 of 200 lost");
}

fn come_and_go(dir: &str) {
    let (one, two) = (EmbeddedStore::open(dir).unwrap(), EmbeddedStore::open(dir).unwrap());
    let over = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let mut first = two.wakeups(&name("z"), &owner());
    let runtime = runtime();
    let before = sockets() + 2;
    runtime.block_on(async {
        touch(&mut first);
        until("it listens", async || sockets() == before).await;
    });
    let churn: Vec<_> = (0..3)
        .map(|_| {
            let (store, over) = (two.clone(), over.clone());
            thread::spawn(move || {
                while !over.load(std::sync::atomic::Ordering::Relaxed) {
                    let runtime = self::runtime();
                    let mut wakeups = store.wakeups(&name("z"), &owner());
                    runtime.block_on(async {
                        touch(&mut wakeups);
                        tokio::task::yield_now().await;
                        touch(&mut wakeups);
                    });
                }
            })
        })
        .collect();
    let mut lost = 0;
    runtime.block_on(async {
        for round in 0..200 {
            let lock = format!("a {round}");
            let (mine, _) = take(&one, &name(&lock)).await;
            let mut wakeups = in_line(&two, &lock).await;
            let waits =
                tokio::spawn(
                    async move { tokio::time::timeout(SOON, wakeups.next()).await.is_ok() },
                );
            tokio::task::yield_now().await;
            give_back(&one, &name(&lock), &mine).await;
            lost += u32::from(!waits.await.unwrap());
        }
    });
    over.store(true, std::sync::atomic::Ordering::Relaxed);
    churn.into_iter().for_each(|thread| thread.join().unwrap());
    // One is the connection of `one`.
    runtime.block_on(until("the others are closed", async || sockets() == before + 1));
    say(format_args!("0 sockets left, {lost:#} of 200 lost"));
}

#[test]
fn local_sets_and_workers_that_block_in_place_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (open(&dir), open(&dir));
    let round = async |lock: &str| {
        let (mine, _) = take(&one, &name(lock)).await;
        let mut wakeups = in_line(&two, lock).await;
        touch(&mut wakeups);
        give_back(&one, &name(lock), &mine).await;
        hinted(&mut wakeups).await;
    };
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime(), round("local set"));
    let many = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (one, two) = (one.clone(), two.clone());
    let blocks = async move {
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                let (mine, _) = take(&one, &name("in place")).await;
                let mut wakeups = in_line(&two, "in place").await;
                touch(&mut wakeups);
                give_back(&one, &name("in place"), &mine).await;
                hinted(&mut wakeups).await;
            });
        });
    };
    let task = many.spawn(blocks);
    many.block_on(task).unwrap();
    // Its runtime ends while it waits, and it goes on without one.
    let mut wakeups = many.block_on(async {
        let mut wakeups = in_line_of(&dir, "moves").await;
        touch(&mut wakeups.1);
        wakeups
    });
    drop(many);
    touch(&mut wakeups.1);
    runtime().block_on(async {
        give_back(&wakeups.0.0, &name("moves"), &wakeups.0.1).await;
        hinted(&mut wakeups.1).await;
    });
}

async fn in_line_of(
    dir: &tempfile::TempDir,
    lock: &str,
) -> ((EmbeddedStore, tenure_core::proto::Owner, EmbeddedStore), Wakeups) {
    let (one, two) = (open(dir), open(dir));
    let (mine, _) = take(&one, &name(lock)).await;
    let wakeups = in_line(&two, lock).await;
    ((one, mine, two), wakeups)
}

#[test]
fn three_hundred_members_are_all_told() {
    let dir = tempfile::tempdir().unwrap();
    let one = open(&dir);
    let others: Vec<_> = (0..300).map(|_| open(&dir)).collect();
    runtime().block_on(async {
        for pass in 0..2 {
            for (number, other) in others.iter().enumerate() {
                let lock = format!("{pass} {number}");
                let (mine, _) = take(&one, &name(&lock)).await;
                let mut wakeups = in_line(other, &lock).await;
                touch(&mut wakeups);
                give_back(&one, &name(&lock), &mine).await;
                hinted(&mut wakeups).await;
            }
        }
    });
}

/// The child keeps the lock on the first file alone, which is gone.
#[test]
fn a_dead_member_does_not_live_by_a_file_that_it_has_no_more() {
    let (dir, mut process) = playing("another file");
    assert_eq!(process.says().unwrap(), "held");
    let other = open(&dir);
    let runtime = runtime();
    let is_free = || runtime.block_on(crate::support::is_free(&other, &name("a")));
    assert!(!is_free());
    let mut files = crate::support::files(dir.path());
    files.retain(|file| file.parent().unwrap().ends_with("members") && file.extension().is_none());
    for file in files {
        std::fs::remove_file(file).unwrap();
    }
    process.go_on();
    assert_eq!(process.says().unwrap(), "it has another file");
    assert!(!is_free());
    process.kill();
    runtime
        .block_on(until("it is free", async || crate::support::is_free(&other, &name("a")).await));
}

fn another_file(dir: &str) {
    let store = EmbeddedStore::open(dir).unwrap();
    runtime().block_on(take(&store, &name("a")));
    if let fork::Fork::Child = fork::fork().unwrap() {
        // Longer than the test looks.
        thread::sleep(Duration::from_secs(20));
        std::process::exit(0);
    }
    say("held");
    wait_to_go_on();
    runtime().block_on(take(&store, &name("b")));
    say("it has another file");
    wait_to_go_on();
}
