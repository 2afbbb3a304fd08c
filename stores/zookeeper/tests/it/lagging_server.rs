//! A server that is behind the others: what they have committed reaches it later.

use std::{future::Future, pin::pin, time::Duration};

use tenure_core::{
    FaultKind, Store,
    proto::queue::{Answer, Ask, Intent, Kind, Mode},
};
use tenure_servers::ZookeeperEnsemble;
use tenure_zookeeper::{ZookeeperOptions, ZookeeperStore};
use tokio::{sync::MutexGuard, time::timeout};

use crate::support::{PATIENCE, ask, ensemble, name, path, store};

const WAIT: Intent = Intent::Wait { position: None };
/// How long it is behind: longer than an answer takes, and not so long that its leader gives it up.
const BEHIND: Duration = Duration::from_millis(500);

struct Scene {
    ensemble: MutexGuard<'static, ZookeeperEnsemble>,
    member: usize,
    /// Of the leader and of a follower.
    urls: [String; 2],
}

async fn scene() -> Scene {
    let ensemble = ensemble().await;
    let (leader, path) = (ensemble.leader(), path());
    let member = (leader + 1) % 3;
    let url = |member| format!("{}{path}?session=10s&tick=500ms", ensemble.url_of(member));
    let urls = [url(leader), url(member)];
    Scene { ensemble, member, urls }
}

impl Scene {
    fn stores(&self) -> [ZookeeperStore; 2] {
        [store(&self.urls[0]), store(&self.urls[1])]
    }

    /// What an ask is answered by a server that has not seen yet what was done before it.
    async fn asked_behind<T>(&self, done: impl Future, asks: impl Future<Output = T>) -> T {
        self.ensemble.part_one_way(self.ensemble.leader(), self.member);
        done.await;
        let mut asks = pin!(asks);
        let early = timeout(BEHIND, &mut asks).await;
        self.ensemble.heal();
        match early {
            Ok(answer) => answer,
            Err(_) => timeout(PATIENCE, asks).await.unwrap(),
        }
    }
}

async fn asks(store: &ZookeeperStore, ask: &Ask) -> Answer {
    store.acquire(&name("lock"), ask).await.unwrap()
}

async fn is_granted(store: &ZookeeperStore, ask: &Ask) {
    let answer = asks(store, ask).await;
    assert!(matches!(answer, Answer::Granted { .. }), "{answer:?}");
}

async fn is_busy(store: &ZookeeperStore, ask: &Ask) {
    let answer = asks(store, ask).await;
    assert!(matches!(answer, Answer::Busy { .. }), "{answer:?}");
}

async fn lets_go(store: &ZookeeperStore, ask: &Ask) {
    store.release(&name("lock"), &ask.owner, Duration::ZERO).await.unwrap();
}

fn permit(owner: u8) -> Ask {
    let mode = Mode::Permits { take: 1, of: 1 };
    Ask { kind: Kind::Semaphore, mode, ..ask(owner, WAIT) }
}

/// The second waits for what the first has, and asks once the first has let go at another server.
async fn a_waiter_gets_it(holds: Ask, waits: Ask) {
    let scene = scene().await;
    let [ahead, behind] = scene.stores();
    is_granted(&ahead, &holds).await;
    is_busy(&behind, &waits).await;
    let answer = scene.asked_behind(lets_go(&ahead, &holds), asks(&behind, &waits)).await;
    assert!(matches!(answer, Answer::Granted { .. }), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiter_at_a_server_that_is_behind_gets_what_was_released_at_another() {
    a_waiter_gets_it(ask(1, Intent::Try), ask(2, WAIT)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiter_for_a_permit_at_a_server_that_is_behind_gets_what_was_released_at_another() {
    a_waiter_gets_it(permit(1), permit(2)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_behind_a_waiter_for_permits_is_next_when_that_gave_up_at_another_server() {
    let scene = scene().await;
    let [ahead, behind] = scene.stores();
    let two = |owner| Ask { mode: Mode::Permits { take: 1, of: 2 }, ..permit(owner) };
    let both = Ask { mode: Mode::Permits { take: 2, of: 2 }, ..permit(2) };
    is_granted(&ahead, &two(1)).await;
    is_busy(&ahead, &both).await;
    is_busy(&behind, &two(3)).await;
    let answer = scene.asked_behind(lets_go(&ahead, &both), asks(&behind, &two(3))).await;
    assert!(matches!(answer, Answer::Granted { .. }), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_try_at_a_server_that_is_behind_gets_what_was_released_at_another() {
    for (holds, tries) in [
        (ask(1, Intent::Try), ask(2, Intent::Try)),
        (permit(1), Ask { intent: Intent::Try, ..permit(2) }),
    ] {
        let scene = scene().await;
        let [ahead, behind] = scene.stores();
        is_granted(&ahead, &holds).await;
        is_busy(&behind, &tries).await;
        let answer = scene.asked_behind(lets_go(&ahead, &holds), asks(&behind, &tries)).await;
        assert!(matches!(answer, Answer::Granted { .. }), "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_at_a_server_that_is_behind_gets_the_room_that_was_made_at_another() {
    let scene = scene().await;
    let bounded = |url: &str| {
        ZookeeperStore::new(ZookeeperOptions::from_url(url).unwrap().bounds(20, 1)).unwrap()
    };
    let [ahead, behind] = [bounded(&scene.urls[0]), bounded(&scene.urls[1])];
    let reads = |owner| Ask { kind: Kind::ReadWrite, mode: Mode::Shared, ..ask(owner, WAIT) };
    is_granted(&ahead, &reads(1)).await;
    is_busy(&behind, &reads(2)).await;
    let answer = scene.asked_behind(lets_go(&ahead, &reads(1)), asks(&behind, &reads(2))).await;
    assert!(matches!(answer, Answer::Granted { .. }), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_line_has_room_at_a_server_that_is_behind_when_a_waiter_left_at_another() {
    let scene = scene().await;
    let bounded = |url: &str| {
        ZookeeperStore::new(ZookeeperOptions::from_url(url).unwrap().bounds(1, 20)).unwrap()
    };
    let [ahead, behind] = [bounded(&scene.urls[0]), bounded(&scene.urls[1])];
    is_granted(&ahead, &ask(1, WAIT)).await;
    is_busy(&ahead, &ask(2, WAIT)).await;
    // The second is refused by a look.
    for owner in [3, 4] {
        let refused = behind.acquire(&name("lock"), &ask(owner, WAIT)).await.unwrap_err();
        assert_eq!(refused.kind(), FaultKind::Full, "{refused:#}");
    }
    let (gone, comes) = (ask(2, WAIT), ask(5, WAIT));
    let answer = scene.asked_behind(lets_go(&ahead, &gone), asks(&behind, &comes)).await;
    assert!(matches!(answer, Answer::Busy { .. }), "{answer:?}");
}
