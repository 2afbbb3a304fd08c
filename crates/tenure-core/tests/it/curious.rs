//! Whoever is told of a lock, or woken for it, may look at it at once: nothing is told under a mutex of
//! the core.

use std::{
    future::IntoFuture,
    pin::Pin,
    sync::{Arc, Mutex, mpsc},
    task::{Context, Wake, Waker},
    time::Duration,
};

use futures_util::FutureExt;
use tenure_core::{Guard, Lost, Store, Tenure};

use crate::{on_manual_clock, running, settle, subscriber::subscribed};

const TTL: Duration = Duration::from_secs(3);

type Losses = Vec<Pin<Box<dyn Future<Output = Lost> + Send>>>;

/// Asks at each event whether the holds it knows of are lost.
#[derive(Clone, Default)]
struct Curious(Arc<Mutex<Losses>>, Arc<Mutex<usize>>);

impl Curious {
    fn looks(&self) {
        *self.1.lock().unwrap() += 1;
        self.0.lock().unwrap().retain_mut(|lost| lost.now_or_never().is_none());
    }

    fn watches(&self, guard: &Guard) {
        self.0.lock().unwrap().push(Box::pin(guard.lost()));
    }
}

#[test]
fn whoever_is_told_of_a_hold_may_look_at_it() {
    let (done, ended) = mpsc::channel();
    std::thread::spawn(move || {
        let curious = Curious::default();
        let looking = curious.clone();
        subscribed(
            move |_| looking.looks(),
            || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                runtime.block_on(acquired_passed_on_released_let_in_and_lost(&curious));
            },
        );
        let told = *curious.1.lock().unwrap();
        done.send(told).unwrap();
    });
    let told = ended.recv_timeout(Duration::from_secs(30)).expect("it hangs where it is told");
    assert_eq!(told, 11);
}

async fn acquired_passed_on_released_let_in_and_lost(curious: &Curious) {
    let (tenure, store, clock) = running();
    let mutex = tenure.mutex("a").ttl(TTL);
    let first = mutex.lock().await.unwrap();
    curious.watches(&first);
    let waiting = tokio::spawn(mutex.lock().into_future());
    settle().await;
    drop(first);
    let second = waiting.await.unwrap().unwrap();
    curious.watches(&second);
    second.release().await.unwrap();
    let writer = tenure.rwlock("b").ttl(TTL).write().await.unwrap();
    curious.watches(&writer);
    let reader = writer.downgrade().await.unwrap();
    clock.advance(TTL / 2);
    settle().await;
    store.evict(reader.name()).await.unwrap();
    clock.advance(TTL / 2);
    settle().await;
    reader.check().unwrap_err();
    let limited = mutex.lock().max_hold(TTL).await.unwrap();
    curious.watches(&limited);
    clock.advance(TTL);
    settle().await;
    limited.check().unwrap_err();
}

/// Looks at the lock when it is woken, once it is told which.
#[derive(Default)]
struct Looks(Mutex<Option<Tenure>>);

impl Wake for Looks {
    fn wake(self: Arc<Self>) {
        let tenure = self.0.lock().unwrap().take();
        if let Some(tenure) = tenure {
            drop(tenure.mutex("a").try_lock().into_future().now_or_never());
        }
    }
}

/// Whether `scene` comes to an end.
fn ends(scene: impl FnOnce() + Send + 'static) {
    let (done, ended) = mpsc::channel();
    std::thread::spawn(move || {
        scene();
        done.send(()).unwrap();
    });
    let ended = ended.recv_timeout(Duration::from_secs(30));
    assert!(ended.is_ok(), "it hangs where it is woken");
}

#[test]
fn the_waker_of_a_task_that_gives_up_may_look_at_the_lock() {
    ends(|| {
        let (tenure, _engine, _store, _) = on_manual_clock();
        let _guard = tenure.mutex("a").lock().into_future().now_or_never().unwrap().unwrap();
        let mut waiting = Box::pin(tenure.mutex("a").lock().into_future());
        let looks = Arc::new(Looks::default());
        let waker = Waker::from(looks.clone());
        assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        *looks.0.lock().unwrap() = Some(tenure.clone());
        drop(waiting);
    });
}

#[test]
fn the_waker_of_the_engine_may_look_at_a_lock_that_is_waited_for() {
    ends(|| {
        let (tenure, engine, store, clock) = on_manual_clock();
        let other = Tenure::builder(Arc::new(store)).clock(Arc::new(clock));
        let (other, _theirs) = other.build_inline();
        let _held = other.mutex("a").lock().into_future().now_or_never().unwrap().unwrap();
        let mut engine = Box::pin(engine);
        let looks = Arc::new(Looks::default());
        let waker = Waker::from(looks.clone());
        assert!(engine.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        *looks.0.lock().unwrap() = Some(tenure.clone());
        let mut waiting = Box::pin(tenure.mutex("a").lock().into_future());
        assert!((&mut waiting).now_or_never().is_none());
        assert!(looks.0.lock().unwrap().is_none(), "the engine was not woken");
    });
}
