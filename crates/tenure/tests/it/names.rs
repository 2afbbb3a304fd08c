//! Which names are in use, seen without a part in the store.

use std::{fs, path::Path, time::SystemTime};

use tempfile::TempDir;
use tenure::Tenure;

fn url(dir: &Path) -> String {
    format!("file:{}", dir.display())
}

async fn names(url: &str, prefix: &str) -> Vec<String> {
    let names = Tenure::names_in_use(url, prefix).await.unwrap();
    names.iter().map(|name| name.as_str().to_owned()).collect()
}

/// All that is below a directory, with the times of the last change and of the content's.
fn all(dir: &Path) -> Vec<(String, SystemTime, u64)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let about = entry.metadata().unwrap();
        found.push((entry.path().display().to_string(), about.modified().unwrap(), about.len()));
        if about.is_dir() {
            found.extend(all(&entry.path()));
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn a_store_that_is_not_there_has_no_names_and_is_not_made() {
    let dir = TempDir::new().unwrap();
    assert_eq!(names(&url(&dir.path().join("a/locks")), "").await, [""; 0]);
    assert_eq!(names(&url(dir.path()), "").await, [""; 0]);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn names_that_are_held_or_waited_for_are_seen_and_nothing_is_changed() {
    let dir = TempDir::new().unwrap();
    let store = url(&dir.path().join("locks"));
    let tenure = Tenure::open(&store).await.unwrap();
    let held = tenure.mutex("order:7").lock().await.unwrap();
    let other = tenure.mutex("other").lock().await.unwrap();
    tenure.mutex("over").lock().await.unwrap().release().await.unwrap();
    let before = all(dir.path());
    assert_eq!(names(&store, "").await, ["order:7", "other"]);
    assert_eq!(names(&store, "order:").await, ["order:7"]);
    assert_eq!(all(dir.path()), before);
    drop((held, other));
}

#[tokio::test]
async fn a_foreign_directory_is_left_as_it_is_and_a_wrong_url_refused() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("letter"), "x").unwrap();
    assert_eq!(names(&url(dir.path()), "").await, [""; 0]);
    for wrong in ["file:relative", "floppy:/a", "/a/path"] {
        assert!(Tenure::names_in_use(wrong, "").await.is_err(), "{wrong}");
    }
    assert_eq!(names("memory:", "").await, [""; 0]);
}

#[cfg(all(feature = "quorum", feature = "redis"))]
#[tokio::test]
async fn on_servers_nothing_is_written_and_a_quorum_shows_no_names_of_its_own() {
    use tenure_servers::RedisServer;

    let mut servers = [RedisServer::start(), RedisServer::start(), RedisServer::start()];
    for server in &servers {
        assert_eq!(names(&server.url(), "").await, [""; 0]);
        assert_eq!(server.keys(), [""; 0], "not even the number of the format");
    }
    let urls: Vec<_> = servers.iter().map(RedisServer::url).collect();
    let quorum = format!("quorum:{}", urls.join(","));
    let tenure = Tenure::open(&quorum).await.unwrap();
    let held = tenure.mutex("order:7").lock().await.unwrap();
    assert_eq!(names(&quorum, "").await, ["order:7"]);
    servers[0].kill();
    assert_eq!(names(&quorum, "ord").await, ["order:7"], "a majority is enough");
    drop(held);
}
