//! What went wrong in Curator's recipes and could in ours, provoked on real servers.

use std::time::Duration;

use tenure_core::{Guard, Tenure};
use tenure_servers::ZookeeperServer;
use tenure_testkit::fault::{Proxy, Weather};

use crate::support::{PATIENCE, quiet_server, until};

use super::{
    program::Curator,
    raw::Raw,
    scene::{SESSION, Scene},
};

/// Nothing passes, and no new connection either.
const CUT_OFF: Weather = Weather {
    delay: Duration::ZERO,
    requests_swallowed: true,
    replies_swallowed: true,
    refuses: true,
    cut_after_requests: 0,
    cut_after_replies: 0,
};

/// No answer comes any more to what is sent.
pub(super) const UNANSWERED: Weather =
    Weather { requests_swallowed: false, refuses: false, ..CUT_OFF };

/// A scene at a proxy, and the same beside it.
pub(super) fn behind_a_proxy(server: &ZookeeperServer) -> (Proxy, Scene, Scene) {
    let proxy = Proxy::start(server.address(), 1).unwrap();
    let scene = Scene::at(&proxy.address().to_string());
    let beside = scene.by(&server.address().to_string());
    (proxy, scene, beside)
}

/// Asks for a mutex, and waits long, also for a server that is away.
fn locks(tenure: &Tenure) -> tokio::task::JoinHandle<Guard> {
    let lock = tenure.mutex("lock").ttl(Duration::from_secs(60));
    tokio::spawn(async move { lock.lock().wait(PATIENCE * 2).await.unwrap() })
}

/// A server that is started anew gives all sessions their whole length again, also those that their clients have
/// given up: their nodes stand there for a while, as if somebody had them. What is granted has to be a node of
/// the session that there is.
async fn is_of_a_session_that_lives(raw: &Raw, dir: &str, old: i64, guard: &Guard) {
    let nodes = raw.look(dir).await;
    let first = &nodes[0];
    assert_eq!(
        first.czxid,
        guard.token().time(),
        "granted on another node than the first: {nodes:?}"
    );
    assert_ne!(first.owner, old, "granted on a node of the session before");
    guard.check().unwrap();
}

/// CURATOR-604: who waits, and whose session ends meanwhile, is granted the lock by its old node, which goes
/// right after.
#[tokio::test]
async fn a_node_of_the_session_before_grants_nothing() {
    let mut server = ZookeeperServer::start();
    let scene = Scene::on(&server).with_session(Duration::from_secs(2));
    let (dir, tenure) = (scene.path("lock"), scene.tenure());
    let raw = Raw::with_session(&server.address().to_string(), Duration::from_secs(2)).await;
    let holder = raw.stands(&dir, "lock-").await;
    let waits = locks(&tenure);
    until("it waits", async || raw.list(&dir).await.len() == 2).await;
    let old = raw.look(&dir).await[1].owner;
    server.kill();
    raw.expires().await;
    server.restart();
    let raw = scene.raw().await;
    raw.delete(&holder).await;
    let guard = waits.await.unwrap();
    is_of_a_session_that_lives(&raw, &dir, old, &guard).await;
}

/// CURATOR-498: the answer to a create is lost together with the session, and the node that was made is found
/// again by its name and taken for one's own.
#[tokio::test]
async fn a_node_made_without_an_answer_in_the_session_before_grants_nothing() {
    let mut server = ZookeeperServer::start();
    let (proxy, scene, beside) = behind_a_proxy(&server);
    let scene = scene.with_session(Duration::from_secs(2));
    let (dir, tenure) = (scene.path("lock"), scene.tenure());
    // So that there are a session, and the folder.
    tenure.mutex("lock").lock().await.unwrap().release().await.unwrap();
    let raw = Raw::with_session(&server.address().to_string(), Duration::from_secs(2)).await;
    proxy.set(UNANSWERED);
    let waits = locks(&tenure);
    until("the node is made", async || raw.list(&dir).await.len() == 1).await;
    let old = raw.look(&dir).await[0].owner;
    server.kill();
    proxy.set(CUT_OFF);
    proxy.cut();
    raw.expires().await;
    server.restart();
    proxy.set(Weather::default());
    let guard = waits.await.unwrap();
    is_of_a_session_that_lives(&beside.raw().await, &dir, old, &guard).await;
}

/// The other half of it: in the same session the node is found again, and no second one is made.
#[tokio::test]
async fn a_node_made_without_an_answer_is_found_again() {
    let (proxy, scene, beside) = behind_a_proxy(quiet_server());
    let scene = scene.with_session(Duration::from_secs(10));
    let (dir, tenure) = (scene.path("lock"), scene.tenure());
    tenure.mutex("lock").lock().await.unwrap().release().await.unwrap();
    let raw = beside.raw().await;
    proxy.set(UNANSWERED);
    let waits = locks(&tenure);
    until("the node is made", async || raw.list(&dir).await.len() == 1).await;
    let made = raw.look(&dir).await;
    proxy.set(Weather::default());
    proxy.cut();
    let guard = waits.await.unwrap();
    assert_eq!((guard.token().time(), raw.look(&dir).await), (made[0].czxid, made));
    guard.release().await.unwrap();
}

/// CURATOR-462: who gives up while the connection is broken leaves its permit behind, for as long as its session
/// lives.
#[tokio::test]
async fn who_gives_up_without_a_connection_leaves_no_permit_behind() {
    let (proxy, scene, beside) = behind_a_proxy(quiet_server());
    let scene = scene.with_session(Duration::from_secs(10));
    let (path, tenure) = (scene.path("lock"), scene.tenure());
    let (raw, leases) = (beside.raw().await, format!("{}/leases", scene.path("lock")));
    // By its session is seen that it is not by its end that nodes go.
    let other = tenure.mutex("other").ttl(Duration::from_secs(60)).lock().await.unwrap();
    let holder = raw.stands(&leases, "lease-").await;
    let semaphore = tenure.semaphore("lock", 1);
    let waits = tokio::spawn(async move { semaphore.acquire().await });
    until("its permit is there, one too many", async || raw.list(&leases).await.len() == 2).await;
    proxy.set(CUT_OFF);
    proxy.cut();
    waits.abort();
    assert!(waits.await.unwrap_err().is_cancelled());
    proxy.set(Weather::default());
    until("both its nodes are gone", async || raw.contenders(&path).await == 1).await;
    assert_eq!(raw.look(&scene.path("other")).await[0].czxid, other.token().time());
    raw.delete(&holder).await;
    let mut peer = beside.peer(Curator::Five, &["try", "semaphore", &path, "20000", "1"]);
    peer.says_this("held").await;
}

/// CURATOR-595: permits of a session that ended stay taken, or their holder is not told.
#[tokio::test]
async fn permits_of_a_session_that_ended_are_lost_and_free() {
    let (proxy, scene, beside) = behind_a_proxy(quiet_server());
    let (path, tenure) = (scene.path("lock"), scene.tenure());
    let semaphore = tenure.semaphore("lock", 2).ttl(Duration::from_secs(60));
    let both = semaphore.acquire_many(2).await.unwrap();
    let mut peer = beside.peer(Curator::Five, &["hold", "semaphore", &path, "2"]);
    until("a JVM waits for a permit", async || beside.raw().await.contenders(&path).await == 4)
        .await;
    proxy.set(CUT_OFF);
    proxy.cut();
    tokio::time::timeout(PATIENCE, both.lost()).await.unwrap();
    assert!(both.check().is_err());
    let taken = peer.says_held().await;
    proxy.set(Weather::default());
    // One is left of two.
    let one = semaphore.acquire().wait(PATIENCE).await.unwrap();
    assert!(one.token().time() > taken.czxid);
    assert!(semaphore.try_acquire().await.unwrap().is_none());
    assert_eq!(beside.raw().await.contenders(&path).await, 2);
}

/// CURATOR-486: a release whose delete fails is not repeated, and the lock stays taken for as long as the session
/// lives.
#[tokio::test]
async fn a_release_that_did_not_arrive_is_repeated_in_the_same_session() {
    let (proxy, scene, beside) = behind_a_proxy(quiet_server());
    let scene = scene.with_session(Duration::from_secs(10));
    let tenure = scene.tenure();
    let lock = |name| tenure.mutex(name).ttl(Duration::from_secs(60)).lock();
    let (guard, other) = (lock("lock").await.unwrap(), lock("other").await.unwrap());
    let mut peer = beside.hold(Curator::Five, "mutex", "lock");
    let raw = beside.raw().await;
    until("a JVM waits", async || raw.list(&scene.path("lock")).await.len() == 2).await;
    proxy.set(CUT_OFF);
    assert!(guard.release().await.is_err());
    proxy.cut();
    proxy.set(Weather::default());
    peer.says_held().await;
    assert_eq!(raw.look(&scene.path("other")).await[0].czxid, other.token().time());
    other.check().unwrap();
}

/// A node that somebody took away and an answer that tells of it late are no hold either.
#[tokio::test]
async fn a_waiter_whose_node_is_taken_away_asks_anew() {
    let scene = Scene::new().with_session(SESSION);
    let (dir, tenure, raw) = (scene.path("lock"), scene.tenure(), scene.raw().await);
    let holder = raw.stands(&dir, "lock-").await;
    let waits = locks(&tenure);
    until("it waits", async || raw.list(&dir).await.len() == 2).await;
    let taken = raw.look(&dir).await[1].clone();
    raw.delete(&format!("{dir}/{}", taken.name)).await;
    raw.delete(&holder).await;
    let guard = waits.await.unwrap();
    assert!(guard.token().time() > taken.czxid);
    assert_eq!(raw.look(&dir).await[0].czxid, guard.token().time());
}
