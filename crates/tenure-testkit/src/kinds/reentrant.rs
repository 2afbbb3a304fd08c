//! The reentrant mutex.

use tenure_core::{AcquireError, LostReason, Scope, scope};

use super::{
    Kind,
    scene::{NAME, PATIENCE, RENEWED, Scene, name},
};

/// The kind, which every store has: reentry asks nothing of it.
pub const KIND: Kind = Kind {
    name: "reentrant",
    lacks: |_| None,
    attempt: |tenure| {
        let lock = tenure.mutex(NAME).reentrant().within(&Scope::new()).lock();
        Box::pin(async move { lock.await.err().map(|error| format!("{error:#}")) })
    },
};

/// S1, S2: one hold with one token, which the last guard lets go.
pub async fn a_scope_enters_again_and_others_wait(scene: Scene) {
    let [one, other] = scene.processes().await;
    let reentrant = one.mutex(NAME).reentrant();
    let outer = scope(async {
        let outer = reentrant.lock().await.unwrap();
        let inner = reentrant.try_lock().await.unwrap().unwrap();
        assert_eq!((inner.token(), inner.depth()), (outer.token(), 2));
        inner.release().await.unwrap();
        assert!(other.mutex(NAME).try_lock().await.unwrap().is_none());
        outer
    })
    .await;
    let token = outer.token();
    outer.release().await.unwrap();
    assert!(other.mutex(NAME).lock().wait(PATIENCE).await.unwrap().token() > token);
}

/// S1: another scope is another contender, in this process and in others.
pub async fn another_scope_stays_out(scene: Scene) {
    let [one, other] = scene.processes().await;
    let (mine, theirs) = (Scope::new(), Scope::new());
    let held = one.mutex(NAME).reentrant().within(&mine).lock().await.unwrap();
    for tenure in [&one, &other] {
        let theirs = tenure.mutex(NAME).reentrant().within(&theirs);
        assert!(theirs.try_lock().await.unwrap().is_none());
    }
    held.check().unwrap();
}

/// S3: what was lost is not entered again.
pub async fn a_lost_hold_is_not_entered(scene: Scene) {
    let [one, other] = scene.processes().await;
    let scope = Scope::new();
    let reentrant = one.mutex(NAME).ttl(RENEWED).reentrant().within(&scope);
    let old = reentrant.lock().await.unwrap();
    other.store().evict(&name()).await.unwrap();
    let lost = tokio::time::timeout(PATIENCE, old.lost()).await.unwrap();
    assert_eq!(lost.reason, LostReason::Taken);
    let fresh = reentrant.lock().wait(PATIENCE).await.unwrap();
    assert!(fresh.token() > old.token());
    assert!(old.check().is_err() && fresh.check().is_ok());
}

/// Without a scope nobody can say who enters again.
pub async fn without_a_scope_it_is_an_error(scene: Scene) {
    let tenure = scene.tenure().await;
    let refused = tenure.mutex(NAME).reentrant().lock().await.unwrap_err();
    assert!(matches!(refused, AcquireError::NoScope { .. }), "{refused}");
}

/// A look shows one hold, however often its scope entered.
pub async fn a_look_shows_one_hold(scene: Scene) {
    let [one, other] = scene.processes().await;
    let reentrant = one.mutex(NAME).reentrant().within(&Scope::new());
    let outer = reentrant.lock().await.unwrap();
    let inner = reentrant.lock().await.unwrap();
    let seen = other.mutex(NAME).reentrant().inspect().await.unwrap();
    let [holder] = &seen.holders[..] else { panic!("{seen:?}") };
    assert_eq!(holder.token, Some(outer.token()));
    inner.release().await.unwrap();
    outer.release().await.unwrap();
    assert!(!reentrant.inspect().await.unwrap().is_held());
}
