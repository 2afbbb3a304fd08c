//! What nobody needs any more goes away, and nothing that counts goes with it.

use std::{
    fs::File,
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use tenure_core::{
    Clock, Store,
    proto::queue::{Answer, Ask},
};
use tenure_embedded::EmbeddedStore;

use crate::{
    child::Process,
    support::{TestMachine, give_back, is_free, name, once, open, owner, state_files, take, until},
};

/// Makes files look as if nobody had touched them for an hour.
fn age(dir: &Path) {
    let then = SystemTime::now() - Duration::from_secs(3600);
    for path in state_files(dir) {
        File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
    }
}

async fn use_once(store: &EmbeddedStore, text: &str) {
    let name = name(text);
    let (owner, _) = take(store, &name).await;
    give_back(store, &name, &owner).await;
}

#[tokio::test]
async fn files_of_idle_names_go_and_their_tokens_stay() {
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let machine = TestMachine::default();
    let open = || EmbeddedStore::open_on(dir.path(), Arc::new(machine.clone())).unwrap();
    let (one, two) = (open(), open());
    let mut tokens = Vec::new();
    for number in 0..200 {
        let name = name(&format!("idle {number}"));
        let (owner, token) = take(&one, &name).await;
        give_back(&one, &name, &owner).await;
        tokens.push((name, token));
    }
    let held = owner();
    let long = Ask { ttl: Duration::from_secs(36_000), ..once(held) };
    let Ok(Answer::Granted { token, .. }) = one.acquire(&name("held"), &long).await else {
        panic!("it is free")
    };
    age(dir.path());
    let old = state_files(dir.path());
    // A process that was killed while it made a file leaves a second name of it.
    for (number, path) in old.iter().take(10).enumerate() {
        std::fs::hard_link(path, dir.path().join(format!("second name {number}"))).unwrap();
    }
    // Only the floor keeps tokens from going back now.
    machine.clock.set_wall(machine.clock.wall() - 24 * 3600 * 1_000_000);
    let mut number = 0;
    while old.iter().filter(|path| path.exists()).count() > 1 {
        use_once(&two, &format!("new {number}")).await;
        number += 1;
        assert!(number < 100_000, "old files stay");
    }
    // The one that is left is the one that counts.
    let repeated = two.acquire(&name("held"), &once(held)).await.unwrap();
    assert!(matches!(repeated, Answer::Granted { token: same, .. } if same == token));
    // The first store still has the removed files open, and must notice.
    for (name, token) in tokens {
        let (_, next) = take(&one, &name).await;
        assert!(next > token, "{name} went back from {token} to {next}");
        assert!(!is_free(&two, &name).await, "{name} is two locks now");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn few_files_are_kept_open() {
    let dir = tempfile::tempdir().unwrap();
    let mut process = Process::start(&["use many names", dir.path().to_str().unwrap()]);
    let open: usize = process.says().unwrap().parse().unwrap();
    assert!((200..320).contains(&open), "{open} files are open");
}

#[test]
#[cfg(target_os = "linux")]
fn nothing_of_who_is_gone_stays_open() {
    let dir = tempfile::tempdir().unwrap();
    let mut process = Process::start(&["meet many", dir.path().to_str().unwrap()]);
    let met: usize = process.says().unwrap().parse().unwrap();
    // Beyond 128 all would begin anew.
    assert!((60..120).contains(&met), "{met} were met");
}

#[tokio::test]
async fn unfinished_files_are_removed_when_they_are_old() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    use_once(&store, "a").await;
    let shelf = state_files(dir.path()).remove(0).parent().unwrap().to_owned();
    let unfinished = shelf.join(format!("{:032x}.{:016x}.tmp", 1, 2));
    std::fs::write(&unfinished, "").unwrap();
    let then = SystemTime::now() - Duration::from_secs(3600);
    File::options().write(true).open(&unfinished).unwrap().set_modified(then).unwrap();
    // Each opened store tidies a shelf of its own.
    until("it is removed", async || {
        drop(open(&dir));
        !unfinished.exists()
    })
    .await;
}
