//! Kazoo's and go-zookeeper's own locks beside the store, on a real server.

mod kazoo;
mod mixed;
mod program;

use std::{fs, path::Path, time::Duration};

use tempfile::tempdir;
use tenure_core::{AcquireError, Tenure};

use self::program::{Library, Peer};
use crate::support::{PATIENCE, hold, path, quiet_server, tenure, times_out};

const NAME: &str = "stock:42";
const SESSION: Duration = Duration::from_secs(4);

/// How often each process takes the lock.
const TURNS: usize = 25;

/// A base path that nobody else has.
struct Scene {
    base: String,
}

impl Scene {
    fn new() -> Self {
        Self { base: path() }
    }

    fn ours_with(&self, settings: &str) -> Tenure {
        let (server, base) = (quiet_server().address(), &self.base);
        let session = SESSION.as_millis();
        tenure(&format!("zookeeper://{server}{base}?session={session}ms&tick=500ms{settings}"))
    }

    fn beside(&self, library: Library) -> Tenure {
        self.ours_with(library.settings())
    }

    fn theirs(&self, library: Library) -> Peer {
        let server = quiet_server().address().to_string();
        Peer::start(library, &server, SESSION, &self.path())
    }

    /// The path of the lock, as the other side writes it.
    fn path(&self) -> String {
        format!("{}/{NAME}", self.base)
    }
}

async fn count(tenure: Tenure, file: &Path) {
    for _ in 0..TURNS {
        let guard = hold(&tenure, NAME).await;
        let number: usize = fs::read_to_string(file).unwrap().parse().unwrap();
        fs::write(file, (number + 1).to_string()).unwrap();
        guard.release().await.unwrap();
    }
}

async fn no_increment_is_lost(library: Library) {
    let (scene, folder) = (Scene::new(), tempdir().unwrap());
    let file = folder.path().join("counter");
    fs::write(&file, "0").unwrap();
    let mut peers = [(); 2].map(|()| scene.theirs(library));
    for peer in &mut peers {
        peer.tell(&format!("count {TURNS} {}", file.display())).await;
    }
    let [one, other] = [(); 2].map(|()| scene.beside(library));
    tokio::join!(count(one, &file), count(other, &file));
    for peer in &mut peers {
        peer.says("done").await;
    }
    assert_eq!(fs::read_to_string(file).unwrap(), (4 * TURNS).to_string());
}

async fn each_waits_for_the_other_and_is_woken(library: Library) {
    let scene = Scene::new();
    let (tenure, mut peer) = (scene.beside(library), scene.theirs(library));
    peer.tell("hold").await;
    peer.says_held().await;
    assert!(tenure.mutex(NAME).try_lock().await.unwrap().is_none());
    let wait = Duration::from_millis(200);
    let busy = times_out(async || tenure.mutex(NAME).lock().wait(wait).await.unwrap_err()).await;
    assert_eq!(busy.holder.unwrap().label, library.label());
    peer.tell("release").await;
    peer.says("released").await;
    let guard = hold(&tenure, NAME).await;
    peer.tell("hold").await;
    // Longer than a session: it is renewed, and they see that.
    tokio::time::sleep(SESSION + SESSION / 4).await;
    guard.check().unwrap();
    guard.release().await.unwrap();
    peer.says_held().await;
    // A killed one frees the lock when its session ends.
    peer.kill().await;
    hold(&tenure, NAME).await.release().await.unwrap();
}

async fn an_operator_takes_the_lock_of_the_hold_that_was_seen(library: Library) {
    let scene = Scene::new();
    let (tenure, mut peer) = (scene.beside(library), scene.theirs(library));
    peer.tell("hold").await;
    let czxid = peer.says_held().await;
    let seen = tenure.inspect(NAME).await.unwrap();
    assert_eq!(seen.holders[0].label, library.label());
    assert_eq!(seen.holders[0].token.unwrap().time(), czxid);
    let listed = tenure.list("stock:").await.unwrap().names;
    assert_eq!(listed.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), [NAME]);
    assert_eq!(tenure.evict_seen(NAME, &seen).await.unwrap().len(), 1);
    peer.tell("release").await;
    peer.says("lost").await;
    // What another one holds by now stays.
    peer.tell("hold").await;
    peer.says_held().await;
    assert!(tenure.evict_seen(NAME, &seen).await.unwrap().is_empty());
    peer.tell("release").await;
    peer.says("released").await;
}

/// A resource that compares what each side fences by, as the page says, refuses neither.
async fn tokens_of_both_sides_rise(library: Library) {
    for (settings, theirs) in [("", 1024), ("&tokens=czxid", 1)] {
        let scene = Scene::new();
        let tenure = scene.ours_with(&format!("{}{settings}", library.settings()));
        let mut peer = scene.theirs(library);
        let mut last = 0;
        for _ in 0..3 {
            let guard = hold(&tenure, NAME).await;
            let token = guard.token().get();
            assert!(token > last, "{settings}: {token} after {last}");
            guard.release().await.unwrap();
            peer.tell("hold").await;
            last = peer.says_held().await * theirs;
            assert!(last > token, "{settings}: {last} after {token}");
            let seen = tenure.inspect(NAME).await.unwrap().holders[0].token.unwrap();
            assert_eq!(seen.get(), last);
            peer.tell("release").await;
            peer.says("released").await;
        }
    }
}

macro_rules! peers {
    ($($module:ident: $library:ident;)+) => {$(
        mod $module {
            use super::Library;

            #[tokio::test(flavor = "multi_thread")]
            async fn no_increment_is_lost() {
                super::no_increment_is_lost(Library::$library).await;
            }

            #[tokio::test]
            async fn each_waits_for_the_other_and_is_woken() {
                super::each_waits_for_the_other_and_is_woken(Library::$library).await;
            }

            #[tokio::test]
            async fn an_operator_takes_the_lock_of_the_hold_that_was_seen() {
                super::an_operator_takes_the_lock_of_the_hold_that_was_seen(Library::$library).await;
            }

            #[tokio::test]
            async fn tokens_of_both_sides_rise() {
                super::tokens_of_both_sides_rise(Library::$library).await;
            }
        }
    )+};
}

peers! {
    kazoo_lock: KazooLock;
    kazoo_curator: KazooCurator;
    go_zookeeper: GoZookeeper;
}

/// What is waited for at most.
async fn acquired(granted: impl IntoFuture<Output = Result<tenure_core::Guard, AcquireError>>) {
    let guard = tokio::time::timeout(PATIENCE, granted.into_future()).await.unwrap().unwrap();
    guard.release().await.unwrap();
}
