//! Promise S1, with many contenders at a time.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tenure_core::proto::{Token, queue::Answer};
use tokio::task::JoinSet;

use super::{
    Client,
    client::expect_success,
    scene::{STEP, Scene},
};

const CLIENTS: u32 = 4;
const ROUNDS: u32 = 10;
/// No store is so slow that all rounds together take longer.
const BOUND: Duration = Duration::from_secs(120);

/// What the holders themselves see.
#[derive(Debug, Default)]
struct CriticalSection {
    here: u32,
    last: Option<Token>,
    entered: u32,
}

impl CriticalSection {
    fn enter(&mut self, token: Token) {
        assert_eq!(self.here, 0, "two hold the name together");
        assert!(Some(token) > self.last, "token {token} after {:?}", self.last);
        self.here += 1;
        self.entered += 1;
        self.last = Some(token);
    }
}

/// Promises S1 and S2: never two at a time, and tokens in the order of the holds.
pub async fn contenders_exclude_each_other(scene: Scene) {
    contend(&scene, false).await;
}

/// Clause 9 and promise S6: waiters that ask as told are all served.
pub async fn waiters_are_all_served(scene: Scene) {
    contend(&scene, true).await;
}

async fn contend(scene: &Scene, wait: bool) {
    let inside = Arc::new(Mutex::new(CriticalSection::default()));
    let mut contenders = JoinSet::new();
    for _ in 0..CLIENTS {
        let (scene, client, inside) = (scene.clone(), scene.client().await, inside.clone());
        contenders.spawn(async move {
            for _ in 0..ROUNDS {
                one_round(&scene, &client, &inside, wait).await;
            }
        });
    }
    while let Some(ended) = contenders.join_next().await {
        if let Err(error) = ended {
            panic!("{error:#}");
        }
    }
    let entered = inside.lock().unwrap_or_else(PoisonError::into_inner).entered;
    assert_eq!(entered, CLIENTS * ROUNDS);
}

async fn one_round(scene: &Scene, client: &Client, inside: &Mutex<CriticalSection>, wait: bool) {
    let ask = if wait { client.waits() } else { client.tries() };
    let mut wakeups = client.wakeups(&ask.owner);
    let mut waited = Duration::ZERO;
    let token = loop {
        match expect_success(client.ask(&ask).await) {
            Answer::Granted { token, .. } => break token,
            Answer::Busy { retry_after, .. } => {
                assert!(waited < BOUND, "not served within {BOUND:?}");
                let pause = retry_after.min(STEP);
                tokio::select! {
                    () = wakeups.next() => {}
                    () = scene.pass(pause) => waited += pause,
                }
            }
        }
    };
    inside.lock().unwrap_or_else(PoisonError::into_inner).enter(token);
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
    inside.lock().unwrap_or_else(PoisonError::into_inner).here -= 1;
    client.let_go(&ask.owner).await;
}
