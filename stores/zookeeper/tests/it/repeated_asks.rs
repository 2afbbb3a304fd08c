//! Asks of one owner: several at once, dropped in the middle, repeated in another way.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
    time::Duration,
};

use tenure_core::{
    FaultKind, Store,
    proto::{
        Renewed,
        queue::{Answer, Ask, Intent, Kind, Mode, Released},
    },
    store::Renewal,
};
use tenure_zookeeper::ZookeeperStore;
use zookeeper_client::{Acls, Client, CreateMode};

use crate::support::{PATIENCE, ask, name, nodes_under, path, quiet_server, store, until};

const WAIT: Intent = Intent::Wait { position: None };

/// A store with a path of its own.
fn place() -> (ZookeeperStore, String) {
    let path = path();
    let url = format!("{}{path}-repeated?session=10s&tick=500ms", quiet_server().url());
    (store(&url), format!("{path}-repeated"))
}

fn nodes(path: &str) -> Vec<String> {
    nodes_under(quiet_server(), path)
}

fn permits(owner: u8, take: u32, of: u32, intent: Intent) -> Ask {
    Ask { kind: Kind::Semaphore, mode: Mode::Permits { take, of }, ..ask(owner, intent) }
}

fn rwlock(owner: u8, mode: Mode) -> Ask {
    Ask { kind: Kind::ReadWrite, mode, ..ask(owner, Intent::Try) }
}

/// Goes on with a call by one step, which sends what it has to send, until that is answered; whether it is through.
async fn step<F: Future>(call: &mut Pin<Box<F>>) -> bool {
    let mut is_sent = false;
    poll_fn(|context| {
        if is_sent {
            return Poll::Ready(false);
        }
        is_sent = true;
        call.as_mut().poll(context).map(|_| true)
    })
    .await
}

async fn let_go(store: &ZookeeperStore, lock: &str, owner: u8) -> Released {
    let owner = ask(owner, WAIT).owner;
    store.release(&name(lock), &owner, Duration::ZERO).await.unwrap()
}

async fn nothing_is_left(path: &str) {
    until("no node is left", async || nodes(path).is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn asks_of_one_owner_at_once_are_one() {
    let (store, path) = place();
    let asks = [
        ask(1, Intent::Try),
        ask(2, WAIT),
        rwlock(3, Mode::Shared),
        permits(4, 1, 1, Intent::Try),
        permits(5, 1, 1, WAIT),
        permits(6, 2, 3, WAIT),
    ];
    for (number, ask) in asks.iter().enumerate() {
        let lock = name(&format!("lock-{number}"));
        let (one, two, three) = tokio::join!(
            store.acquire(&lock, ask),
            store.acquire(&lock, ask),
            store.acquire(&lock, ask)
        );
        let tokens = [one, two, three].map(|answer| match answer {
            Ok(Answer::Granted { token, .. }) => token,
            other => panic!("{number}: {other:?}"),
        });
        assert!(tokens.iter().all(|token| *token == tokens[0]), "{number}: {tokens:?}");
        let released = store.release(&lock, &ask.owner, Duration::ZERO).await.unwrap();
        assert_eq!(released, Released::Released, "{number}");
        assert_eq!(nodes(&path), Vec::<String>::new(), "{number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_try_that_is_repeated_leaves_no_place_in_the_line() {
    // And how many steps the looks before it take.
    for (mine, others, looks) in [
        (ask(1, Intent::Try), ask(2, Intent::Try), 1),
        (permits(1, 1, 1, Intent::Try), permits(2, 1, 1, Intent::Try), 4),
    ] {
        let ((store, path), lock) = (place(), name("lock"));
        // So that there are directories.
        store.acquire(&lock, &mine).await.unwrap();
        let_go(&store, "lock", 1).await;
        let case = async {
            while !leaves_a_try_behind_others(&store, &path, [&mine, &others], looks).await {
                let_go(&store, "lock", 1).await;
                let_go(&store, "lock", 2).await;
            }
        };
        tokio::time::timeout(PATIENCE, case).await.unwrap();
        let busy = store.acquire(&lock, &mine).await.unwrap();
        assert!(matches!(busy, Answer::Busy { position: None, .. }), "{busy:?}");
        assert_eq!(nodes(&path).len(), 1, "{:?}", nodes(&path));
    }
}

/// Leaves a try that saw the name free when it has made a node behind another one's, which came meanwhile. On a busy
/// machine an answer may be there before it is waited for, so that a step is two: then it was not so.
async fn leaves_a_try_behind_others(
    store: &ZookeeperStore,
    path: &str,
    [mine, others]: [&Ask; 2],
    looks: usize,
) -> bool {
    let lock = name("lock");
    let mut call = Box::pin(store.acquire(&lock, mine));
    for _ in 0..looks {
        if step(&mut call).await {
            return false;
        }
    }
    if !matches!(store.acquire(&lock, others).await.unwrap(), Answer::Granted { .. }) {
        return false;
    }
    while nodes(path).len() == 1 {
        if step(&mut call).await {
            return false;
        }
    }
    true
}

/// The answer to a downgrade never came, and a copy of the first ask comes late.
#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_became_a_reader_without_an_answer_is_none_any_more() {
    let ((store, path), lock) = (place(), name("lock"));
    let held = store.acquire(&lock, &rwlock(1, Mode::Exclusive)).await.unwrap();
    let Answer::Granted { token, .. } = held else { panic!("{held:?}") };
    let reads = rwlock(1, Mode::Shared);
    let mut call = Box::pin(store.acquire(&lock, &reads));
    assert!(!step(&mut call).await);
    drop(call);
    until("it reads", async || nodes(&path).iter().all(|node| node.contains("__READ__"))).await;
    let late = store.acquire(&lock, &rwlock(1, Mode::Exclusive)).await;
    assert_eq!(late.unwrap_err().kind(), FaultKind::Unsupported);
    let again = store.acquire(&lock, &reads).await.unwrap();
    assert!(matches!(again, Answer::Granted { token: same, .. } if same == token), "{again:?}");
    assert_eq!(let_go(&store, "lock", 1).await, Released::Released);
    assert_eq!(nodes(&path), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_owner_has_is_not_what_it_asks_for_elsewhere() {
    let (store, path) = place();
    // In another kind, while it is not known what it has.
    let takes = permits(1, 1, 1, WAIT);
    let lock = name("lock");
    store.acquire(&lock, &takes).await.unwrap();
    let_go(&store, "lock", 1).await;
    let mut call = Box::pin(store.acquire(&lock, &takes));
    while nodes(&path).is_empty() {
        assert!(!step(&mut call).await);
    }
    drop(call);
    let refused = store.acquire(&lock, &ask(1, WAIT)).await.unwrap_err();
    assert_eq!(refused.kind(), FaultKind::Unsupported, "{refused:#}");
    let_go(&store, "lock", 1).await;
    nothing_is_left(&path).await;
    // Another name.
    store.acquire(&lock, &takes).await.unwrap();
    let other = store.acquire(&name("other"), &takes).await.unwrap_err();
    assert_eq!(other.kind(), FaultKind::Unsupported, "{other}");
    assert_eq!(let_go(&store, "other", 1).await, Released::NotHeld);
    assert_eq!(nodes(&path).len(), 1);
    assert_eq!(let_go(&store, "lock", 1).await, Released::Released);
}

/// A node of one of several permits is deleted by somebody else.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_lost_in_part_goes_altogether() {
    let ((store, path), lock) = (place(), name("lock"));
    let takes = permits(1, 3, 3, WAIT);
    store.acquire(&lock, &takes).await.unwrap();
    let admin = Client::connect(&quiet_server().address().to_string()).await.unwrap();
    admin.delete(&nodes(&path)[0], None).await.unwrap();
    let renewal = Renewal { name: lock, owner: takes.owner, ttl: takes.ttl };
    let renewed = store.renew(std::slice::from_ref(&renewal)).await;
    assert!(matches!(renewed[..], [Ok(Renewed::Lost)]), "{renewed:?}");
    nothing_is_left(&path).await;
}

/// A store that is dropped says goodbye, whatever is held by it.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_dropped_leaves_nothing() {
    let (store, path) = place();
    store.acquire(&name("lock"), &ask(1, Intent::Try)).await.unwrap();
    store.acquire(&name("lock"), &ask(2, WAIT)).await.unwrap();
    store.acquire(&name("permits"), &permits(3, 2, 3, WAIT)).await.unwrap();
    store.acquire(&name("permits"), &permits(4, 2, 3, WAIT)).await.unwrap();
    // It is watched over by then.
    tokio::time::sleep(Duration::from_millis(300)).await;
    drop(store);
    let began = std::time::Instant::now();
    nothing_is_left(&path).await;
    // Not when its session ends.
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
}

/// Whoever may neither read nor create is told so, and nothing is tried on for it.
#[tokio::test(flavor = "multi_thread")]
async fn who_may_do_nothing_is_told_for_certain() {
    let path = format!("{}-closed", path());
    let address = quiet_server().address();
    let admin = Client::connect(&address.to_string()).await.unwrap();
    admin.auth("digest", b"admin:secret").await.unwrap();
    let closed = CreateMode::Persistent.with_acls(Acls::creator_all());
    admin.create(&path, b"", &CreateMode::Persistent.with_acls(Acls::anyone_all())).await.unwrap();
    admin.create(&format!("{path}/lock"), b"", &closed).await.unwrap();
    let store = store(&format!("zookeeper://{address}{path}?session=10s&tick=500ms"));
    for intent in [WAIT, Intent::Try] {
        let refused = store.acquire(&name("lock"), &ask(1, intent)).await.unwrap_err();
        assert_eq!(refused.kind(), FaultKind::Misconfigured, "{refused:#}");
        assert_eq!(let_go(&store, "lock", 1).await, Released::NotHeld);
    }
}
