//! The child of a fork has its parent's memory and its parent's open files, and none of its locks.

use tenure_core::{FaultKind, Store};
use tenure_embedded::EmbeddedStore;

use crate::{
    child::{Process, say, wait_to_go_on},
    support::{TTL, is_free, name, once, open, owner, take, wait_for},
};

#[tokio::test]
async fn a_forked_child_can_do_nothing_with_the_store_and_harms_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let mut parent = Process::start(&["hold and fork", dir.path().to_str().unwrap()]);
    // The child ends, and drops its copy of the store.
    assert_eq!(parent.says().unwrap(), "the child was refused everything");
    assert_eq!(parent.says().unwrap(), "held");
    assert!(!is_free(&store, &name("a")).await, "the parent lives");
    // It is still told when its turn comes.
    let (mine, _) = take(&store, &name("b")).await;
    parent.go_on();
    assert_eq!(parent.says().unwrap(), "waiting");
    crate::support::give_back(&store, &name("b"), &mine).await;
    assert_eq!(parent.says().unwrap(), "hinted");
    parent.kill();
    wait_for(&store, &name("a"), || {}).await;
}

/// What the parent does: see `child.rs`.
pub(crate) async fn hold_and_fork(dir: &str) {
    let store = EmbeddedStore::open(dir).unwrap();
    let (mine, _) = take(&store, &name("a")).await;
    let waiter = crate::support::waiting(owner());
    let mut wakeups = store.wakeups(&name("b"), &waiter.owner);
    match fork::fork().unwrap() {
        fork::Fork::Child => {
            let again = store.acquire(&name("a"), &once(mine)).await;
            let released = store.release(&name("a"), &mine, TTL).await;
            let faults = [again.map(drop).unwrap_err(), released.map(drop).unwrap_err()];
            let refused = |fault: &tenure_core::Fault| {
                fault.kind() == FaultKind::Misconfigured && fault.message().contains("fork")
            };
            if faults.iter().all(refused) {
                say("the child was refused everything");
            }
            drop((wakeups, store));
            std::process::exit(0);
        }
        fork::Fork::Parent(child) => drop(fork::waitpid(child)),
    }
    say("held");
    wait_to_go_on();
    let asked = store.acquire(&name("b"), &waiter).await.unwrap();
    assert!(matches!(asked, tenure_core::proto::queue::Answer::Busy { .. }));
    say("waiting");
    let hinted = tokio::time::timeout(std::time::Duration::from_secs(10), wakeups.next()).await;
    say(if hinted.is_ok() { "hinted" } else { "not hinted" });
    wait_to_go_on();
}
