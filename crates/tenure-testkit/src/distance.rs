//! A check for any store whose calls read a state and write it back if nobody came between.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tenure_core::{
    LockName, Owner, Store,
    proto::queue::{Answer, Ask, Intent, Kind, Mode, Order},
};
use tokio::task::JoinSet;

const TTL: Duration = Duration::from_secs(60);
const TIMES: u32 = 3;

/// Has everybody in `near` take a permit of one name and give it back, again and again, and `far` do so a few times among
/// them.
///
/// # Panics
/// If a call of `far` fails: each time that it looked, one of the others had come before by the time it wrote. If the others
/// did not write all the time.
#[allow(clippy::panic, clippy::unwrap_used, reason = "a check fails by panics")]
pub async fn far_gets_its_turn(near: Vec<Arc<dyn Store>>, far: Arc<dyn Store>) {
    let is_over = Arc::new(AtomicBool::new(false));
    let mut crowd = JoinSet::new();
    for (number, store) in (1..).zip(near) {
        let is_over = is_over.clone();
        crowd.spawn(async move {
            let mut written: u32 = 0;
            // Whoever is near may lose, too, and asks again.
            while !is_over.load(Ordering::Relaxed) {
                let owner = Owner::from_bytes([number; 16]);
                let granted = store.acquire(&name(), &ask(owner)).await;
                written += u32::from(granted.is_ok());
                let _ = store.release(&name(), &owner, Duration::ZERO).await;
            }
            written
        });
    }
    let owner = Owner::from_bytes([0; 16]);
    for _ in 0..TIMES {
        let granted = far.acquire(&name(), &ask(owner)).await.unwrap();
        assert!(matches!(granted, Answer::Granted { .. }), "{granted:?}");
        far.release(&name(), &owner, Duration::ZERO).await.unwrap();
    }
    is_over.store(true, Ordering::Relaxed);
    let written: u32 = crowd.join_all().await.into_iter().sum();
    assert!(written > 20 * TIMES, "the others have written {written} times");
}

#[allow(clippy::unwrap_used, reason = "it is a name")]
fn name() -> LockName {
    LockName::new("wanted").unwrap()
}

fn ask(owner: Owner) -> Ask {
    Ask {
        owner,
        kind: Kind::Semaphore,
        mode: Mode::Permits { take: 1, of: 100 },
        order: Order::Fifo,
        intent: Intent::Try,
        ttl: TTL,
        label: "".into(),
    }
}
