//! What tenure's own thread is given: nothing blocks it, and what it gives up never happens.

use std::{path::Path, sync::Arc, time::Duration};

use futures_util::{FutureExt, StreamExt, stream::FuturesUnordered};
use tenure_core::{Clock, Store, proto::Renewed, proto::queue::Answer, store::Renewal};
use tenure_embedded::EmbeddedStore;

use crate::{
    child::{Process, say},
    support::{TTL, TestMachine, name, once, open, owner, state_files, take, waiting},
};

/// A child that is in the middle of a decision on the only name there is.
fn somebody_inside(dir: &Path) -> Process {
    let file = state_files(dir).remove(0);
    let mut process = Process::start(&["stay inside", file.to_str().unwrap()]);
    assert_eq!(process.says().unwrap(), "inside");
    process
}

#[tokio::test]
async fn the_engine_goes_on_while_a_file_is_locked() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let (owner, _) = take(&store, &name("a")).await;
    let mut process = somebody_inside(dir.path());
    let engine = store.for_engine();
    let (name, again) = (name("a"), once(owner));
    // On this runtime of one thread the child is only let go if the call leaves it free.
    let (answer, ()) = tokio::join!(engine.acquire(&name, &again), async { process.go_on() });
    assert!(matches!(answer, Ok(Answer::Granted { .. })), "{answer:?}");
}

#[tokio::test]
async fn a_locked_file_makes_only_its_own_hold_unknown() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let (first, _) = take(&store, &name("a")).await;
    let process = somebody_inside(dir.path());
    let (second, _) = take(&store, &name("b")).await;
    let renewal = |text, owner| Renewal { name: name(text), owner, ttl: TTL };
    let renewals = [renewal("a", first), renewal("b", second), renewal("a", first)];
    let renewed = store.for_engine().renew(&renewals).await;
    let as_it_should = matches!(renewed[..], [Err(_), Ok(Renewed::Renewed { .. }), Err(_)]);
    assert!(as_it_should, "{renewed:?}");
    drop(process);
}

/// However many stand still.
#[tokio::test]
async fn calls_on_a_locked_file_hold_up_no_renewal() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    take(&store, &name("a")).await;
    let process = somebody_inside(dir.path());
    let (mine, _) = take(&store, &name("b")).await;
    let engine = store.for_engine();
    let mut looks = FuturesUnordered::new();
    for _ in 0..300 {
        let engine = engine.clone();
        looks.push(async move { engine.inspect(&name("a")).await });
    }
    // All are under way.
    assert!(looks.next().now_or_never().is_none());
    let renewals = [Renewal { name: name("b"), owner: mine, ttl: TTL }];
    tokio::select! {
        biased;
        _ = looks.next() => panic!("a call that stands still ended before the renewal"),
        renewed = engine.renew(&renewals) => {
            assert!(matches!(renewed[..], [Ok(Renewed::Renewed { .. })]), "{renewed:?}");
        }
    }
    drop(process);
}

/// As where all holds of a process are dropped at once.
#[test]
#[cfg(target_os = "linux")]
fn many_calls_at_once_take_few_threads() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(take(&store, &name("a")));
    let _inside = somebody_inside(dir.path());
    let mut process = Process::start(&["look often", dir.path().to_str().unwrap()]);
    let threads: usize = process.says().unwrap().parse().unwrap();
    assert!((16..40).contains(&threads), "{threads} threads");
}

/// What the child of that does.
pub(crate) async fn look_often(dir: &str) {
    let engine = EmbeddedStore::open(dir).unwrap().for_engine();
    let mut looks = FuturesUnordered::new();
    for _ in 0..300 {
        let engine = engine.clone();
        looks.push(async move { engine.inspect(&name("a")).await });
    }
    assert!(looks.next().now_or_never().is_none());
    say(std::fs::read_dir("/proc/self/task").unwrap().count());
}

/// A caller's own work must not keep tenure's from being done.
#[test]
fn a_runtime_whose_threads_for_blocking_work_are_all_busy_holds_up_no_call() {
    let dir = tempfile::tempdir().unwrap();
    let machine = TestMachine::default();
    let store = EmbeddedStore::open_on(dir.path(), Arc::new(machine.clone())).unwrap();
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.max_blocking_threads(1).enable_all().build().unwrap();
    let (ends, until) = std::sync::mpsc::channel::<()>();
    let (begins, begun) = std::sync::mpsc::channel();
    runtime.spawn_blocking(move || {
        begins.send(()).unwrap();
        until.recv().unwrap_err();
    });
    begun.recv().unwrap();
    // Behind it nothing begins, whatever the runtime is given.
    let behind = runtime.spawn_blocking(|| {});
    // No token of an hour later may be granted before the disk has been told.
    machine.clock.set_wall(machine.clock.wall() + 3_600_000_000);
    let all = async {
        let (owner, _) = take(&store, &name("a")).await;
        let renewals = [Renewal { name: name("a"), owner, ttl: TTL }];
        assert!(matches!(store.renew(&renewals).await[..], [Ok(Renewed::Renewed { .. })]));
        assert_eq!(store.list("", 10).await.unwrap().names.len(), 1);
        store.health().await.unwrap();
        assert_eq!(store.evict(&name("a")).await.unwrap().len(), 1);
    };
    let done = runtime.block_on(async { tokio::time::timeout(TTL, all).await });
    assert!(done.is_ok() && !behind.is_finished());
    drop(ends);
}

#[test]
fn a_call_that_was_given_up_never_happens() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime().block_on(take(&store, &name("a")));
    let mut process = somebody_inside(dir.path());
    let engine: Arc<dyn Store> = store.for_engine();
    let its_own = runtime();
    its_own.block_on(async {
        let (name, ask) = (name("a"), waiting(owner()));
        let call = engine.acquire(&name, &ask);
        let outcome = tokio::time::timeout(Duration::from_millis(50), call).await;
        assert!(outcome.is_err(), "somebody is inside: {outcome:?}");
    });
    process.go_on();
    // Waits for the threads that it gave work to.
    drop(its_own);
    let snapshot = runtime().block_on(store.inspect(&name("a"))).unwrap();
    assert_eq!((snapshot.holders.len(), snapshot.waiters.len()), (1, 0), "{snapshot:?}");
}
