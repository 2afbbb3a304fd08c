//! Blocking callers in the child of a fork.

use std::{path::Path, thread, time::Duration};

use fork::{Fork, fork, waitpid};
use tenure::{AcquireError, LostReason, blocking::Tenure};

use crate::child::{Player, say};

#[test]
fn a_forked_child_opens_a_store_of_its_own_and_has_none_of_its_parents() {
    let dir = tempfile::tempdir().unwrap();
    let parent = Player::start("fork and block", dir.path());
    let right = ["refused", "lost", "busy", "waited", "the parent holds it"];
    assert_eq!(right.map(|_| parent.hear()), right);
    parent.finish();
}

/// What the parent does: see `child.rs`.
pub(crate) fn fork_and_block(dir: &Path) {
    let url = &format!("file:{}", dir.join("locks").display());
    let work = || {
        let tenure = Tenure::open(url).unwrap();
        let guard = tenure.mutex("a").lock().unwrap();
        match fork().unwrap() {
            Fork::Child => {
                let refused = tenure.mutex("b").lock();
                if matches!(&refused, Err(error @ AcquireError::ShutDown { .. })
                    if format!("{error:#}").contains("before a fork"))
                {
                    say("refused");
                }
                if guard.check().is_err_and(|lost| lost.reason == LostReason::Taken) {
                    say("lost");
                }
                let own = Tenure::open(url).unwrap();
                if own.mutex("a").wait(Duration::from_millis(1)).lock().is_err() {
                    say("busy");
                }
                let mutex = own.mutex("b");
                let held = mutex.lock().unwrap();
                thread::scope(|scope| {
                    scope.spawn(|| mutex.lock().unwrap().release().unwrap());
                    held.release().unwrap();
                });
                say("waited");
                std::process::exit(0);
            }
            Fork::Parent(child) => drop(waitpid(child)),
        }
        guard.check().unwrap();
        guard.release().unwrap();
        say("the parent holds it");
    };
    // Outside of the runtime that parts are played in.
    thread::scope(|scope| scope.spawn(work).join()).unwrap();
}
