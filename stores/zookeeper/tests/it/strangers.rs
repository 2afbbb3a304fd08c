//! Programs that lock by nodes which tenure does not know: such a name is refused, and shown as taken.

use std::time::Duration;

use tenure_core::{AcquireError, FaultKind, Guard, Tenure, store::Severity};
use zookeeper_client::{Acls, Client, CreateMode, CreateOptions};

use crate::support::{PATIENCE, hold, name, path, quiet_server, tenure, until, waiting};

/// As kazoo 2.11 names the nodes of its `Lock` and `WriteLock`, its `ReadLock`, and a permit of its `Semaphore`.
const KAZOO: &str = "7c0f8b9d2f5e4a0c9e6a1b2c3d4e5f60__lock__";
const KAZOO_READER: &str = "7c0f8b9d2f5e4a0c9e6a1b2c3d4e5f60__rlock__";
const KAZOO_PERMIT: &str = "7c0f8b9d2f5e4a0c9e6a1b2c3d4e5f60";

fn with(mode: CreateMode) -> CreateOptions<'static> {
    mode.with_acls(Acls::anyone_all())
}

/// Another program, a fresh base path, and tenure below that.
struct Scene {
    other: Client,
    url: String,
    base: String,
}

impl Scene {
    async fn new() -> Self {
        let (base, server) = (path(), quiet_server().address());
        let url = format!("zookeeper://{server}{base}?session=4s&tick=500ms");
        let other = Client::connect(&server.to_string()).await.unwrap();
        other.mkdir(&format!("{base}/a"), &with(CreateMode::Persistent)).await.unwrap();
        Self { other, url, base }
    }

    /// The other program makes a node below the base path.
    async fn makes(&self, below: &str, mode: CreateMode) -> String {
        let prefix = format!("{}/{below}", self.base);
        let (_, number) = self.other.create(&prefix, b"10.0.0.7", &with(mode)).await.unwrap();
        use CreateMode::{EphemeralSequential, PersistentSequential};
        if matches!(mode, EphemeralSequential | PersistentSequential) {
            format!("{prefix}{number}")
        } else {
            prefix
        }
    }

    async fn deletes(&self, node: &str) {
        self.other.delete(node, None).await.unwrap();
    }

    /// How many nodes there are below one of the base path.
    async fn nodes(&self, below: &str) -> usize {
        self.other.list_children(&format!("{}/{below}", self.base)).await.map_or(0, |all| all.len())
    }
}

fn refusal(granted: Result<Option<Guard>, AcquireError>) -> String {
    match granted {
        Err(error @ AcquireError::Misconfigured(_)) => format!("{error:#}"),
        other => panic!("it is not refused: {other:?}"),
    }
}

/// What each kind of lock, asked for with and without waiting, says of the name `a`.
async fn refusals(tenure: &Tenure) -> Vec<String> {
    let (mutex, rwlock, semaphore) =
        (tenure.mutex("a"), tenure.rwlock("a"), tenure.semaphore("a", 2));
    vec![
        refusal(mutex.try_lock().await),
        refusal(mutex.lock().wait(PATIENCE).await.map(Some)),
        refusal(rwlock.try_read().await),
        refusal(rwlock.read().wait(PATIENCE).await.map(Some)),
        refusal(rwlock.write().wait(PATIENCE).await.map(|guard| panic!("{guard:?}"))),
        refusal(semaphore.try_acquire().await),
        refusal(semaphore.acquire().wait(PATIENCE).await.map(Some)),
        refusal(
            tenure.election("a").try_campaign().await.map(|led| led.map(|led| panic!("{led:?}"))),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_another_program_uses_is_refused_and_shown_with_what_is_there() {
    use CreateMode::{Ephemeral, EphemeralSequential, Persistent, PersistentSequential};
    for (below, mode, whose) in [
        (format!("a/{KAZOO}"), EphemeralSequential, "of kazoo"),
        (format!("a/{KAZOO_READER}"), EphemeralSequential, "of kazoo"),
        (format!("a/{KAZOO_PERMIT}"), Ephemeral, "of kazoo"),
        (format!("a/leases/{KAZOO_PERMIT}"), Ephemeral, "of kazoo"),
        (format!("a/locks/{KAZOO}"), EphemeralSequential, "of kazoo"),
        // The recipe of ZooKeeper's own distribution, and whatever else there may be.
        ("a/x-94091823-".to_owned(), EphemeralSequential, "does not know"),
        ("a/x-".to_owned(), PersistentSequential, "does not know"),
        ("a/owner".to_owned(), Ephemeral, "does not know"),
    ] {
        let scene = Scene::new().await;
        let tenure = tenure(&scene.url);
        for dir in ["locks", "leases"].iter().filter(|dir| below.contains(**dir)) {
            scene.makes(&format!("a/{dir}"), Persistent).await;
        }
        let node = scene.makes(&below, mode).await;
        for said in refusals(&tenure).await {
            for says in [&node, whose, "another program", "base path", "\"a\""] {
                assert!(said.contains(says), "{said}");
            }
        }
        let dir = below.rsplit_once('/').unwrap().0;
        assert_eq!(scene.nodes(dir).await, 1, "something of tenure's stays in the line");
        let seen = tenure.store().inspect(&name("a")).await.unwrap();
        let [holder] = &seen.holders[..] else { panic!("{seen:?}") };
        assert!(holder.label.contains(&node) && holder.label.contains("10.0.0.7"), "{holder:?}");
        let listed = tenure.store().list("", 9).await.unwrap();
        assert_eq!(listed.names, [(name("a"), seen)]);
        let found = tenure.store().health().await.unwrap();
        let found = found.iter().find(|diagnostic| diagnostic.what == "other programs").unwrap();
        assert_eq!((found.severity, found.promise), (Severity::Bad, Some("S1")), "{found:?}");
        assert!(found.found.contains(&node) && found.help.is_some(), "{found:?}");
        let fault = tenure.store().evict(&name("a")).await.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
        // It is there still, and once it is gone the name is as any other.
        scene.deletes(&node).await;
        drop(tenure.mutex("a").try_lock().await.unwrap().unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_is_a_single_node_is_shown_as_taken() {
    let scene = Scene::new().await;
    let node = scene.makes("b", CreateMode::Ephemeral).await;
    let tenure = tenure(&scene.url);
    tenure.mutex("b").try_lock().await.unwrap_err();
    let seen = tenure.store().inspect(&name("b")).await.unwrap();
    assert!(seen.holders.len() == 1 && seen.holders[0].label.contains(&node), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_comes_while_one_waits_is_seen_before_the_grant() {
    let scene = Scene::new().await;
    let (first, second) = (tenure(&scene.url), tenure(&scene.url));
    for permits in [false, true] {
        let holder = match permits {
            false => hold(&first, "a").await,
            true => first.semaphore("a", 1).acquire().await.unwrap(),
        };
        let waits = second.clone();
        let waiter = tokio::spawn(async move {
            match permits {
                false => waits.mutex("a").lock().wait(PATIENCE).await,
                true => waits.semaphore("a", 1).acquire().wait(PATIENCE).await,
            }
        });
        until("one waits", async || waiting(&second, "a").await == 1).await;
        let node = scene.makes(&format!("a/{KAZOO}"), CreateMode::EphemeralSequential).await;
        holder.release().await.unwrap();
        let said = refusal(waiter.await.unwrap().map(Some));
        assert!(said.contains(&node), "{said}");
        scene.deletes(&node).await;
        until("nothing is left", async || {
            let seen = second.store().inspect(&name("a")).await.unwrap();
            seen.holders.is_empty() && seen.waiters.is_empty()
        })
        .await;
    }
}

/// A program that heeds every node that was there before its own, as tenure does.
#[tokio::test(flavor = "multi_thread")]
async fn of_two_that_come_at_once_never_both_have_the_name() {
    let scene = Scene::new().await;
    let tenure = tenure(&scene.url);
    // A session begins.
    tenure.mutex("b").try_lock().await.unwrap();
    let (mut granted, mut passed) = (0, 0);
    for round in 0..300 {
        let lock = tenure.mutex("a");
        let other = async {
            // Sooner and later than the calls of the other one.
            for _ in 0..round % 7 {
                scene.nodes("a").await;
            }
            let node = scene.makes(&format!("a/{KAZOO}"), CreateMode::EphemeralSequential).await;
            let alone = scene.nodes("a").await == 1;
            (node, alone)
        };
        let (ours, (node, alone)) = if round % 2 == 0 {
            tokio::join!(lock.try_lock(), other)
        } else {
            let asks = async { lock.lock().wait(Duration::from_secs(1)).await.map(Some) };
            tokio::join!(asks, other)
        };
        let ours = match ours {
            Ok(ours) => ours,
            Err(AcquireError::Misconfigured(_)) => None,
            Err(error) => panic!("{error:#}"),
        };
        assert!(!(ours.is_some() && alone), "both have it in round {round}");
        granted += u32::from(ours.is_some());
        passed += u32::from(alone);
        scene.deletes(&node).await;
        if let Some(guard) = ours {
            guard.release().await.unwrap();
        }
    }
    assert!(granted > 0 && passed > 0, "{granted} and {passed}: they never met");
}

#[tokio::test(flavor = "multi_thread")]
async fn directories_are_no_locks_of_others() {
    let scene = Scene::new().await;
    let above = tenure(&scene.url);
    // Another base path below a lock, with its probes, its locks and its look at the servers.
    let below = tenure(&scene.url.replace(&scene.base, &format!("{}/a", scene.base)));
    let _held = hold(&below, "n-0000000001").await;
    below.store().health().await.unwrap();
    // Directories of others, as they stay there when they are empty.
    scene.makes("a/old", CreateMode::Persistent).await;
    scene.makes("a/old/x-", CreateMode::EphemeralSequential).await;
    scene.makes("a/note", CreateMode::Persistent).await;
    scene.makes("a/empty", CreateMode::Container).await;
    for _ in 0..20 {
        hold(&above, "a").await.release().await.unwrap();
        above.rwlock("a").read().await.unwrap().release().await.unwrap();
        above.semaphore("a", 2).acquire().await.unwrap().release().await.unwrap();
    }
    let seen = above.store().inspect(&name("a")).await.unwrap();
    assert!(seen.holders.is_empty(), "{seen:?}");
    let found = above.store().health().await.unwrap();
    let found = found.iter().find(|diagnostic| diagnostic.what == "other programs").unwrap();
    assert_eq!(found.severity, Severity::Good, "{found:?}");
}
