//! Calls that take effect when nobody waits for their answer any more: what they leave is taken back.

use std::{future::IntoFuture, sync::Arc, time::Duration};

use tenure_core::{
    DowngradeError, Guard, LockName, ManualClock, MemoryStore, Store, Tenure, proto::queue::Answer,
    store::Capabilities,
};
use tokio::task::JoinHandle;

use crate::{
    STEP,
    flawed::{Call, Flawed},
    on_manual_clock, settle,
};

const TTL: Duration = Duration::from_secs(60);

/// A store whose calls may come late, by the word of [`Flawed`].
struct Far {
    tenure: Tenure,
    far: Flawed,
    store: MemoryStore,
    clock: ManualClock,
}

impl Far {
    fn new() -> Self {
        Self::with(|can| can.calls_outlive_drop = true)
    }

    fn with(change: impl FnOnce(&mut Capabilities)) -> Self {
        let (_, _, store, clock) = on_manual_clock();
        let far = Flawed::new(store.clone()).without(change);
        let builder = Tenure::builder(Arc::new(far.clone())).clock(Arc::new(clock.clone()));
        let (tenure, engine) = builder.build_inline();
        tokio::spawn(engine);
        Self { tenure, far, store, clock }
    }

    /// Somebody else has the name.
    async fn others_have_it(&self) -> Guard {
        let tenure = Tenure::new(Arc::new(self.store.clone()));
        tenure.mutex("a").ttl(TTL * 9).lock().await.unwrap()
    }

    /// How often something was released since this was last asked.
    fn releases(&self) -> usize {
        self.far.diary().into_iter().filter(|call| *call == Call::Release).count()
    }

    /// What `call` comes to whose first answer gets lost, so that it is repeated.
    async fn repeated<T: Send + 'static>(
        &self,
        call: impl IntoFuture<Output = T, IntoFuture: Send + 'static>,
    ) -> T {
        let calling = self.begun(call).await;
        self.after(STEP).await;
        calling.await.unwrap()
    }

    /// `call` is given up when its first answer got lost.
    async fn given_up<T: Send + 'static>(
        &self,
        call: impl IntoFuture<Output = T, IntoFuture: Send + 'static>,
    ) {
        self.begun(call).await.abort();
        settle().await;
    }

    async fn begun<T: Send + 'static>(
        &self,
        call: impl IntoFuture<Output = T, IntoFuture: Send + 'static>,
    ) -> JoinHandle<T> {
        self.far.lose_next_answer();
        let calling = tokio::spawn(call.into_future());
        settle().await;
        calling
    }

    async fn after(&self, length: Duration) {
        for _ in 0..length.as_millis() / STEP.as_millis() {
            self.clock.advance(STEP);
            settle().await;
        }
    }

    /// How many hold the name.
    async fn holders(&self) -> usize {
        self.store.inspect(&LockName::new("a").unwrap()).await.unwrap().holders.len()
    }

    async fn waiters(&self) -> usize {
        self.store.inspect(&LockName::new("a").unwrap()).await.unwrap().waiters.len()
    }

    /// A copy of the last ask whose answer got lost comes late, and is granted to nobody.
    async fn comes_late(&self) {
        settle().await;
        assert_eq!(self.holders().await, 0);
        assert!(matches!(self.far.arrives_again().await, Answer::Granted { .. }));
        assert_eq!(self.holders().await, 1);
    }
}

#[tokio::test]
async fn an_ask_that_was_repeated_and_comes_late_is_taken_back_after_the_release() {
    for dropped in [false, true] {
        let far = Far::new();
        let guard = far.repeated(far.tenure.mutex("a").ttl(TTL).lock()).await.unwrap();
        if dropped {
            drop(guard);
        } else {
            guard.release().await.unwrap();
        }
        far.comes_late().await;
        far.after(TTL / 2).await;
        assert_eq!(far.holders().await, 0);
    }
}

#[tokio::test]
async fn what_comes_after_the_lease_would_have_ended_is_taken_back_too() {
    for dropped in [false, true] {
        let far = Far::new();
        far.far.lose_next_answer();
        let asking = tokio::spawn(far.tenure.mutex("a").ttl(TTL).lock().into_future());
        settle().await;
        // The ask is repeated so late that its copy may outlast the lease by this.
        far.clock.advance(TTL / 3);
        settle().await;
        let guard = asking.await.unwrap().unwrap();
        if dropped {
            drop(guard);
        } else {
            guard.release().await.unwrap();
        }
        far.after(TTL * 5 / 6).await;
        far.comes_late().await;
        far.after(TTL / 6 + STEP).await;
        assert_eq!(far.holders().await, 0);
    }
}

#[tokio::test]
async fn a_downgrade_that_was_repeated_and_comes_late_is_taken_back_after_the_release() {
    let far = Far::new();
    let writer = far.tenure.rwlock("a").ttl(TTL).write().await.unwrap();
    let reader = far.repeated(Box::pin(writer.downgrade())).await.unwrap();
    reader.release().await.unwrap();
    far.comes_late().await;
    far.after(TTL / 2).await;
    assert_eq!(far.holders().await, 0);
}

#[tokio::test]
async fn a_downgrade_that_was_given_up_and_comes_late_is_taken_back_after_the_release() {
    let far = Far::new();
    let writer = far.tenure.rwlock("a").ttl(TTL).write().await.unwrap();
    far.given_up(Box::pin(writer.downgrade())).await;
    far.comes_late().await;
    far.after(TTL / 2).await;
    assert_eq!(far.holders().await, 0);
}

#[tokio::test]
async fn what_comes_a_ttl_after_a_downgrade_was_repeated_is_taken_back() {
    let far = Far::new();
    let writer = far.tenure.rwlock("a").ttl(TTL).write().await.unwrap();
    far.far.lose_next_answer();
    let downgrading = tokio::spawn(writer.downgrade());
    settle().await;
    far.clock.advance(STEP * 3);
    settle().await;
    downgrading.await.unwrap().unwrap().release().await.unwrap();
    far.after(TTL - STEP * 2).await;
    far.comes_late().await;
    far.after(STEP * 3).await;
    assert_eq!(far.holders().await, 0);
}

#[tokio::test]
async fn no_downgrade_is_asked_for_once_the_hold_is_over() {
    let (_, _, store, clock) = on_manual_clock();
    let far = Flawed::new(store.clone());
    let builder = Tenure::builder(Arc::new(far.clone())).clock(Arc::new(clock.clone()));
    let (tenure, engine) = builder.build_inline();
    tokio::spawn(engine);
    let writer = tenure.rwlock("a").ttl(TTL).max_hold(STEP).write().await.unwrap();
    far.refuse_asks(true);
    let mut downgrading = std::pin::pin!(writer.downgrade());
    tokio::select! {
        biased;
        _ = &mut downgrading => panic!("the store cannot be reached"),
        () = settle() => {}
    }
    // Its task stands still until the hold is over and the store has been told.
    far.refuse_asks(false);
    clock.advance(STEP * 2);
    settle().await;
    let name = LockName::new("a").unwrap();
    assert!(store.inspect(&name).await.unwrap().holders.is_empty());
    let over = downgrading.await.unwrap_err();
    assert!(matches!(over, DowngradeError::Lost(_)), "{over}");
    assert!(store.inspect(&name).await.unwrap().holders.is_empty());
}

#[tokio::test]
async fn an_acquire_that_was_repeated_and_comes_after_a_downgrade_is_taken_back() {
    let far = Far::new();
    let writer = far.repeated(far.tenure.rwlock("a").ttl(TTL).write()).await.unwrap();
    let reader = writer.downgrade().await.unwrap();
    reader.release().await.unwrap();
    far.comes_late().await;
    far.after(TTL / 2).await;
    assert_eq!(far.holders().await, 0);
}

#[tokio::test]
async fn a_hold_that_outlasts_what_may_come_late_is_released_once() {
    let far = Far::new();
    let guard = far.repeated(far.tenure.mutex("a").ttl(TTL).lock()).await.unwrap();
    far.after(TTL * 2).await;
    guard.release().await.unwrap();
    far.after(TTL * 2).await;
    assert_eq!(far.releases(), 1);
}

#[tokio::test]
async fn an_ask_that_was_given_up_and_comes_late_is_taken_back() {
    let far = Far::new();
    far.given_up(far.tenure.mutex("a").ttl(TTL).lock()).await;
    far.comes_late().await;
    far.after(TTL / 2).await;
    assert_eq!(far.holders().await, 0);
}

#[tokio::test]
async fn a_first_ask_that_comes_after_its_repeat_was_given_up_is_taken_back() {
    // With a place in the store's queue, and with nothing.
    for fifo in [true, false] {
        let far = Far::with(|can| (can.calls_outlive_drop, can.fifo) = (true, fifo));
        let theirs = far.others_have_it().await;
        far.far.lose_next_answer();
        let asking = tokio::spawn(far.tenure.mutex("a").ttl(TTL).lock().into_future());
        settle().await;
        far.after(STEP).await;
        assert!(!asking.is_finished());
        asking.abort();
        settle().await;
        theirs.release().await.unwrap();
        far.comes_late().await;
        far.after(TTL / 2).await;
        assert_eq!(far.holders().await, 0);
    }
}

#[tokio::test]
async fn where_every_call_was_answered_one_release_is_all_that_follows() {
    let far = Far::new();
    let theirs = far.others_have_it().await;
    let asking = tokio::spawn(far.tenure.mutex("a").ttl(TTL).lock().into_future());
    settle().await;
    theirs.release().await.unwrap();
    settle().await;
    let guard = asking.await.unwrap().unwrap();
    guard.release().await.unwrap();
    far.after(TTL * 2).await;
    assert_eq!(far.releases(), 1);
}

#[tokio::test]
async fn a_place_is_given_back_by_one_release_where_every_call_was_answered() {
    let far = Far::new();
    let _theirs = far.others_have_it().await;
    let asking = tokio::spawn(far.tenure.mutex("a").ttl(TTL).lock().into_future());
    settle().await;
    far.after(STEP * 4).await;
    asking.abort();
    settle().await;
    far.after(TTL * 2).await;
    assert_eq!(far.releases(), 1);
}

#[tokio::test]
async fn a_place_is_given_back_although_no_release_arrives_for_much_longer_than_its_ttl() {
    const SHORT: Duration = Duration::from_millis(100);
    let far = Far::with(|_| {});
    let _theirs = far.others_have_it().await;
    let asking = tokio::spawn(far.tenure.mutex("a").ttl(SHORT).lock().into_future());
    settle().await;
    far.far.cut_off(true);
    asking.abort();
    settle().await;
    far.after(SHORT * 30).await;
    assert_eq!(far.waiters().await, 1);
    far.far.cut_off(false);
    // Long before the place ends by itself.
    far.after(SHORT * 40).await;
    assert_eq!(far.waiters().await, 0);
}

#[tokio::test]
async fn an_ask_that_was_given_up_is_released_once_where_no_call_comes_late() {
    let far = Far::with(|_| {});
    far.given_up(far.tenure.mutex("a").ttl(TTL).lock()).await;
    far.after(TTL * 2).await;
    assert_eq!((far.releases(), far.holders().await), (1, 0));
}

#[tokio::test]
async fn a_downgrade_that_was_answered_leaves_one_release() {
    for refused in [false, true] {
        let far = Far::new();
        let writer = far.tenure.rwlock("a").ttl(TTL).write().await.unwrap();
        far.far.refuse_asks(refused);
        let downgrading = tokio::spawn(writer.downgrade());
        far.after(STEP * 5).await;
        drop(downgrading.await.unwrap());
        far.after(TTL * 2).await;
        assert_eq!(far.releases(), 1, "refused: {refused:#}");
    }
}

#[tokio::test]
async fn a_repeated_ask_is_released_once_where_no_call_comes_late() {
    let far = Far::with(|_| {});
    let guard = far.repeated(far.tenure.mutex("a").ttl(TTL).lock()).await.unwrap();
    guard.release().await.unwrap();
    far.after(TTL * 2).await;
    assert_eq!(far.releases(), 1);
}

#[tokio::test]
async fn nothing_is_released_of_what_certainly_had_no_effect() {
    for calls_outlive_drop in [false, true] {
        let far = Far::with(|can| can.calls_outlive_drop = calls_outlive_drop);
        far.far.refuse_asks(true);
        let asking = tokio::spawn(far.tenure.mutex("a").ttl(TTL).lock().into_future());
        settle().await;
        far.after(STEP).await;
        asking.abort();
        settle().await;
        far.after(TTL * 2).await;
        assert_eq!(far.releases(), 0);
    }
}
