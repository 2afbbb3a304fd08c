//! What this test binary does when it runs again as a process of its own.

use std::{path::Path, process::Command, time::Duration};

use tenure_core::proto::{
    Owner,
    queue::{Answer, Ask},
};
use tenure_embedded::EmbeddedStore;
pub(crate) use tenure_testkit::child::{Process, command, role, say, wait_to_go_on};

use crate::support::{give_back, name, once, owner, wait_for};

/// Nothing is denied to root, and root can be everybody.
pub(crate) fn i_am_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap().stdout;
    id.trim_ascii() == b"0"
}

/// Not a test by itself: what a child does.
#[test]
fn plays_its_role() {
    let Some(role) = role() else { return };
    let words: Vec<_> = role.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        match words.as_slice() {
            ["open", dir] => open(dir),
            ["hold", dir, lock, ttl] => hold(dir, lock, ttl).await,
            ["hold many", dir, count, ttl] => hold_many(dir, count, ttl).await,
            ["hold and fork", dir] => crate::forks::hold_and_fork(dir).await,
            ["open and stay", dir] => {
                let _store = EmbeddedStore::open(dir).unwrap();
                say("opened");
                wait_to_go_on();
            }
            ["wait", dir, lock] => wait(dir, lock).await,
            ["count", dir, lock, file, rounds] => count(dir, lock, file, rounds).await,
            ["stay inside", file] => stay_inside(file),
            ["listen and drop", dir] => crate::hints::listen_and_drop(dir).await,
            ["wait without tenure's thread", dir] => {
                crate::hints::wait_without_the_thread(dir).await;
            }
            ["hear directly", dir] => outside(|| crate::direct::hear_directly(dir)),
            ["fork and hear", dir] => crate::direct::fork_and_hear(dir),
            ["hints in trouble", role, dir] => crate::hints_in_trouble::play(role, dir),
            ["add many to a history", dir, who, count, most] => {
                crate::history::add_many(dir, who, count, most).await;
            }
            ["look often", dir] => crate::engine::look_often(dir).await,
            ["use many names", dir] => use_many_names(dir).await,
            ["meet many", dir] => meet_many(dir).await,
            ["say the default"] => say(tenure_embedded::default_dir().unwrap().display()),
            ["fill the disk", dir] => fill_the_disk(dir).await,
            other => panic!("no such role: {other:?}"),
        }
    });
}

/// Works outside of the runtime that roles are played in.
pub(crate) fn outside(work: impl FnOnce() + Send) {
    std::thread::scope(|scope| scope.spawn(work).join()).unwrap();
}

fn open(dir: &str) {
    match EmbeddedStore::open(dir) {
        Ok(_) => say("opened"),
        Err(fault) => say(format_args!("{:?}: {fault:#}", fault.kind())),
    }
}

async fn hold(dir: &str, lock: &str, ttl: &str) {
    let store = EmbeddedStore::open(dir).unwrap();
    let owner = owner();
    let ask = Ask { ttl: Duration::from_millis(ttl.parse().unwrap()), ..once(owner) };
    match tenure_core::Store::acquire(&store, &name(lock), &ask).await.unwrap() {
        Answer::Granted { token, .. } => say(format_args!("held {token}")),
        busy @ Answer::Busy { .. } => panic!("{busy:?}"),
    }
    wait_to_go_on();
    let released = tenure_core::Store::release(&store, &name(lock), &owner, Duration::ZERO).await;
    say(format_args!("{:?}", released.unwrap()));
}

async fn hold_many(dir: &str, count: &str, ttl: &str) {
    let store = EmbeddedStore::open(dir).unwrap();
    let ttl = Duration::from_millis(ttl.parse().unwrap());
    for number in 0..count.parse::<u32>().unwrap() {
        let ask = Ask { ttl, ..once(owner()) };
        let name = name(&format!("name {number}"));
        let answer = tenure_core::Store::acquire(&store, &name, &ask).await.unwrap();
        assert!(matches!(answer, Answer::Granted { .. }), "{answer:?}");
    }
    say("held 0");
    wait_to_go_on();
}

async fn wait(dir: &str, lock: &str) {
    let store = EmbeddedStore::open(dir).unwrap();
    let (owner, token) = wait_for(&store, &name(lock), || say("waiting")).await;
    say(format_args!("held {token}"));
    wait_to_go_on();
    give_back(&store, &name(lock), &owner).await;
    say("released");
}

/// Reads a number, adds one and writes it, which loses increments unless the lock excludes.
async fn count(dir: &str, lock: &str, file: &str, rounds: &str) {
    let store = EmbeddedStore::open(dir).unwrap();
    for _ in 0..rounds.parse::<u32>().unwrap() {
        let (owner, token) = wait_for(&store, &name(lock), || {}).await;
        let text = std::fs::read_to_string(file).unwrap();
        let (count, last) = text.split_once(' ').unwrap();
        assert!(token.get() > last.parse().unwrap(), "tokens rise in the order of the holds");
        let next = count.parse::<u64>().unwrap() + 1;
        std::fs::write(file, format!("{next} {token}")).unwrap();
        give_back(&store, &name(lock), &owner).await;
    }
    say("done");
}

/// Does what a process does that is stopped in the middle of a decision.
fn stay_inside(file: &str) {
    let file = std::fs::File::open(file).unwrap();
    file.lock().unwrap();
    say("inside");
    wait_to_go_on();
}

async fn use_many_names(dir: &str) {
    let store = EmbeddedStore::open(dir).unwrap();
    for number in 0..600 {
        crate::support::take(&store, &name(&format!("name {number}"))).await;
    }
    say(std::fs::read_dir("/proc/self/fd").unwrap().count());
}

/// Hands a lock to others, one after the other, each of which then goes for good, until few files are open.
async fn meet_many(dir: &str) {
    let (store, lock) = (EmbeddedStore::open(dir).unwrap(), name("handed to many"));
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let (before, mut met) = (open(), 0);
    crate::support::until("files of who is gone are closed", async || {
        let other = EmbeddedStore::open(dir).unwrap();
        let (owner, _) = crate::support::take(&store, &lock).await;
        let (queued, is_queued) = tokio::sync::oneshot::channel();
        let mut queued = Some(queued);
        let waits = wait_for(&other, &lock, || {
            queued.take().unwrap().send(()).unwrap();
        });
        let hands = async {
            is_queued.await.unwrap();
            give_back(&store, &lock, &owner).await;
        };
        let ((owner, _), ()) = tokio::join!(waits, hands);
        assert!(!crate::support::is_free(&store, &lock).await);
        give_back(&other, &lock, &owner).await;
        drop(other);
        met += 1;
        if met > 60 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        met >= 60 && open() < before + 45
    })
    .await;
    say(met);
}

async fn fill_the_disk(dir: &str) {
    let store = EmbeddedStore::open(Path::new(dir).join("store")).unwrap();
    let (held, filler) = (name("held"), Path::new(dir).join("filler"));
    let (mine, token) = crate::support::take(&store, &held).await;
    // Writes as much as fits.
    let _ = std::fs::write(&filler, vec![1; 64 << 20]);
    let other = Owner::from_bytes([9; 16]);
    let fault = tenure_core::Store::acquire(&store, &name("other"), &once(other)).await;
    say(fault.map_or_else(|fault| format!("{:?}: {fault:#}", fault.kind()), |_| "granted".into()));
    // What is there already goes on: it takes no more room.
    let repeated = tenure_core::Store::acquire(&store, &held, &once(mine)).await.unwrap();
    assert!(matches!(repeated, Answer::Granted { token: same, .. } if same == token));
    give_back(&store, &held, &mine).await;
    std::fs::remove_file(filler).unwrap();
    crate::support::take(&store, &name("other")).await;
    say("granted when there was room again");
}
