//! What operators do, on a real store: seen by one process, held by another.

use std::{path::Path, thread, time::Duration};

use futures_executor::block_on;
use tempfile::tempdir;
use tenure::{Error, Tenure, blocking};

const PATIENCE: Duration = Duration::from_secs(60);

fn url(dir: &Path) -> String {
    format!("file:{}", dir.join("locks").display())
}

#[test]
fn locks_of_another_process_are_listed_watched_and_evicted_without_a_runtime() {
    let dir = tempdir().unwrap();
    let (here, there) = block_on(async {
        let here = Tenure::open(url(dir.path())).await?;
        Ok::<_, Error>((here, Tenure::open(url(dir.path())).await?))
    })
    .unwrap();
    block_on(async {
        let mut watcher = here.watch("order:7");
        assert!(!watcher.next().await.unwrap()?.is_held());
        let guard = there.mutex("order:7").label("web-1").lock().await?;
        let seen = watcher.next().await.unwrap()?;
        assert_eq!(seen.holders[0].label, "web-1");
        assert_eq!(here.list("order:").await?.names.len(), 1);
        assert_eq!(here.inspect("order:7").await?.holders[0].id, seen.holders[0].id);
        assert!(!here.health().await?.is_empty());
        assert_eq!(here.evict_seen("order:7", &seen).await?.len(), 1);
        guard.lost().await;
        assert!(!watcher.next().await.unwrap()?.is_held());
        assert!(here.evict_seen("order:7", &seen).await?.is_empty(), "it is gone");
        here.shutdown(PATIENCE).await?;
        assert!(watcher.next().await.is_none());
        Ok::<_, Error>(())
    })
    .unwrap();
}

#[test]
fn a_blocked_watcher_is_told_of_each_change_and_ends_with_the_tenure() {
    let dir = tempdir().unwrap();
    let tenure = blocking::Tenure::open(url(dir.path())).unwrap();
    let mut watcher = tenure.watch("a");
    assert!(!watcher.next().unwrap().unwrap().is_held());
    assert!(watcher.next_within(Duration::from_millis(30)).is_none());
    let guard = tenure.mutex("a").lock().unwrap();
    let seen = watcher.next().unwrap().unwrap();
    let id = seen.holders[0].id.unwrap();
    assert!(tenure.evict("a", id).unwrap().is_some());
    assert!(guard.wait_lost(PATIENCE).is_some());
    drop(guard);
    assert!(!watcher.next().unwrap().unwrap().is_held());
    let ends = thread::spawn(move || watcher.next().is_none());
    tenure.shutdown(PATIENCE).unwrap();
    assert!(ends.join().unwrap());
}
