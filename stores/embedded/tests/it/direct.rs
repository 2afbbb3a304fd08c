//! A thread that blocks hears its turn itself.

use std::{
    pin::pin,
    task::{Context, Waker},
    thread,
    time::{Duration, Instant},
};

use tenure_core::{
    Store, Wakeups, in_background,
    threads::{DirectWait, poll_directly},
};
use tokio::runtime::{Builder, Runtime};

use crate::{
    child::{Process, say},
    hints::{in_line, stand_still},
    support::{give_back, name, open, owner, take},
};

const PATIENCE: Duration = Duration::from_secs(15);

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Asks once whether it was hinted, as a thread does that blocks if it was not.
fn is_hinted(wakeups: &mut Wakeups, wait: &mut Option<DirectWait>) -> bool {
    let mut next = pin!(wakeups.next());
    poll_directly(wait, || next.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready())
}

/// Blocks until it is hinted, by what it hears itself alone.
fn hear(wakeups: &mut Wakeups, wait: &mut Option<DirectWait>) {
    let until = Instant::now() + PATIENCE;
    while !is_hinted(wakeups, wait) {
        assert!(Instant::now() < until, "no hint within {PATIENCE:?}");
        wait.as_ref().expect("it listens").wait(Some(until)).unwrap();
    }
}

#[test]
fn a_blocked_thread_is_woken_by_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let mut process = Process::start(&["hear directly", dir.path().to_str().unwrap()]);
    assert_eq!(process.says().unwrap(), "hinted");
}

/// What it does: see `child.rs`.
pub(crate) fn hear_directly(dir: &str) {
    let open = || tenure_embedded::EmbeddedStore::open(dir).unwrap();
    let (one, two, three) = (open(), open(), open());
    let runtime = runtime();
    let (mine, other, mut wakeups) = runtime.block_on(async {
        let (mine, other) = (take(&one, &name("a")).await.0, take(&one, &name("b")).await.0);
        (mine, other, in_line(&two, "a").await)
    });
    let (stands, goes_on) = stand_still();
    in_background(stands).unwrap();
    let mut wait = None;
    assert!(!is_hinted(&mut wakeups, &mut wait), "it is not its turn yet");
    thread::scope(|scope| {
        let give = || runtime.block_on(give_back(&one, &name("a"), &mine));
        scope.spawn(give);
        hear(&mut wakeups, &mut wait);
    });
    // What it waits for in one store it does not wait for in another.
    let mut elsewhere = runtime.block_on(in_line(&three, "b"));
    assert!(!is_hinted(&mut elsewhere, &mut wait));
    drop((goes_on, wait));
    runtime.block_on(async {
        give_back(&one, &name("b"), &other).await;
        crate::hints::hinted(&mut elsewhere).await;
    });
    say("hinted");
}

#[test]
fn of_two_blocked_threads_one_is_woken_by_tenures_own() {
    let dir = tempfile::tempdir().unwrap();
    let (holder, store) = (open(&dir), open(&dir));
    let runtime = runtime();
    let (mine, theirs, mut first, mut second) = runtime.block_on(async {
        let (mine, theirs) = (take(&holder, &name("a")).await.0, take(&holder, &name("b")).await.0);
        (mine, theirs, in_line(&store, "a").await, in_line(&store, "b").await)
    });
    let (mut wait, mut none) = (None, None);
    assert!(!is_hinted(&mut first, &mut wait) && wait.is_some());
    assert!(!is_hinted(&mut second, &mut none) && none.is_none(), "one listens already");
    runtime.block_on(give_back(&holder, &name("b"), &theirs));
    let until = Instant::now() + PATIENCE;
    while !is_hinted(&mut second, &mut none) {
        assert!(Instant::now() < until, "the second hears of its turn");
        thread::yield_now();
    }
    runtime.block_on(give_back(&holder, &name("a"), &mine));
    let until = Instant::now() + PATIENCE;
    while !is_hinted(&mut first, &mut wait) {
        // Either may hear it.
        wait.as_ref().unwrap().wait(Some(Instant::now() + Duration::from_millis(5))).unwrap();
        assert!(Instant::now() < until, "the first hears of its turn");
    }
}

#[test]
fn who_listens_is_called_back() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let mut wakeups = store.wakeups(&name("a"), &owner());
    let mut wait = None;
    assert!(!is_hinted(&mut wakeups, &mut wait));
    let wait = wait.unwrap();
    let began = Instant::now();
    for before in [true, false] {
        let hints = wait.hints().clone();
        if before {
            hints.interrupt();
        }
        thread::scope(|scope| {
            scope.spawn(|| hints.interrupt());
            wait.wait(Some(began + PATIENCE)).unwrap();
        });
    }
    assert!(began.elapsed() < PATIENCE, "it was called back");
    wait.wait(Some(Instant::now())).unwrap();
    let until = Instant::now() + Duration::from_millis(20);
    wait.wait(Some(until)).unwrap();
    assert!(Instant::now() >= until, "who was called back once is not for ever");
}

#[test]
fn a_forked_child_hears_nothing_of_its_parents() {
    let dir = tempfile::tempdir().unwrap();
    let mut process = Process::start(&["fork and hear", dir.path().to_str().unwrap()]);
    assert_eq!(process.says().unwrap(), "nothing");
}

/// What it does: see `child.rs`.
pub(crate) fn fork_and_hear(dir: &str) {
    let store = tenure_embedded::EmbeddedStore::open(dir).unwrap();
    let mut wakeups = store.wakeups(&name("a"), &owner());
    let mut wait = None;
    assert!(!is_hinted(&mut wakeups, &mut wait));
    let child = match fork::fork().unwrap() {
        fork::Fork::Child => {
            let heard = wait.unwrap().wait(Some(Instant::now() + PATIENCE));
            std::process::exit(i32::from(heard.is_ok()));
        }
        fork::Fork::Parent(child) => child,
    };
    let ended = fork::waitpid(child).unwrap();
    say(if ended == 0 { "nothing" } else { "something" });
}
