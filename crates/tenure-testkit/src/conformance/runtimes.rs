//! Clauses 11 and 12: any runtime, several calls at a time, and calls that are given up.

use std::future::{Future, poll_fn};

use tenure_core::proto::queue::{Answer, Ask, Released, Snapshot};

use super::scene::{MARGIN, SHORT, STEP, Scene};

/// Clause 12: a client that was used in one runtime works when that runtime is gone.
pub async fn calls_come_from_any_runtime(scene: Scene) {
    let client = scene.client().await;
    let held = client.tries();
    for _ in 0..3 {
        let (there, ask) = (client.clone(), held.clone());
        let token = run_on_thread(async move { there.lock(&ask).await.token });
        assert_eq!(client.lock(&held).await.token, token);
    }
    let (there, owner) = (client.clone(), held.owner);
    run_on_thread(async move { there.let_go(&owner).await });
    // What a store sends after it has answered ended with that runtime.
    client.release(&held.owner).await;
    client.lock_within(&client.tries(), MARGIN).await;
}

/// Runs a future in a runtime and on a thread of its own, both of which end with it.
fn run_on_thread<T: Send>(future: impl Future<Output = T> + Send) -> T {
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        match runtime {
            Ok(runtime) => runtime.block_on(future),
            Err(error) => panic!("no second runtime: {error:#}"),
        }
    };
    std::thread::scope(|scope| match scope.spawn(run).join() {
        Ok(value) => value,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// Clause 12: what tenure's own thread uses is the same store.
pub async fn the_engine_sees_the_same_locks(scene: Scene) {
    let client = scene.client().await;
    let engine = client.engine();
    assert_eq!(engine.can(), client.can());
    let held = client.tries();
    let grant = client.lock(&held).await;
    engine.busy(&engine.tries()).await;
    assert_eq!(engine.lock(&held).await.token, grant.token);
    engine.let_go(&held.owner).await;
    assert_eq!(client.release(&held.owner).await, Released::NotHeld);
    client.lock(&client.tries()).await;
}

/// Clause 12: calls of one client that overlap do not mix up their answers.
pub async fn calls_run_side_by_side(scene: Scene) {
    let client = scene.client().await;
    let mut calls = tokio::task::JoinSet::new();
    for index in 0..32 {
        let named = client.on(&format!("name {index}"));
        calls.spawn(async move {
            let ask = Ask { label: index.to_string().into(), ..named.tries() };
            let grant = named.lock(&ask).await;
            let seen = named.inspect().await.holders;
            let shown: Vec<_> =
                seen.iter().map(|holder| (holder.label.as_str(), holder.token)).collect();
            assert_eq!(shown, [(&*ask.label, Some(grant.token))]);
            named.let_go(&ask.owner).await;
        });
    }
    while let Some(ended) = calls.join_next().await {
        if let Err(error) = ended {
            panic!("{error:#}");
        }
    }
    assert_eq!(client.list("", 1).await.names, []);
}

/// Clause 11: a call whose future was dropped takes effect at once or never, or, where calls can
/// be late, leaves nothing longer than its ttl.
pub async fn a_dropped_call_ends_within_one_ttl(scene: Scene) {
    let client = scene.client().await;
    let held = Ask { ttl: SHORT, ..client.tries() };
    {
        let mut call = client.store().acquire(client.name(), &held);
        poll_fn(|context| {
            let _ = call.as_mut().poll(context);
            std::task::Poll::Ready(())
        })
        .await;
    }
    if !client.can().calls_outlive_drop {
        // One copy: what was decided by now stays decided until the lease ends.
        let seen = client.inspect().await;
        let mut taken = seen != Snapshot::default();
        for _ in 0..10 {
            scene.pass(STEP).await;
            let now = client.inspect().await != Snapshot::default();
            assert!(taken || !now, "a dropped call took effect late");
            taken = now;
        }
    }
    let other = client.waits();
    client.lock_within(&other, SHORT + MARGIN).await;
    let again = client.ask(&other).await;
    assert!(matches!(again, Ok(Answer::Granted { .. })), "{again:?}");
}
