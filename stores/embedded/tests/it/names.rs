//! Every name that a lock can have is safe as the name of a file.

use std::collections::HashSet;

use tenure_core::{LockName, Store};

use crate::support::{files, give_back, name, open, state_files, take};

fn hostile() -> Vec<String> {
    let longest = "ä".repeat(LockName::MAX_BYTES / 2);
    let names = [
        "/",
        "//etc/passwd",
        "../../../../tmp/out",
        "..",
        ".",
        "a/b",
        "a\\b",
        "clock",
        "floor",
        "boots",
        "-rf",
        " ",
        "'",
        "\"",
        "`id`",
        "$(id)",
        "a b",
        "*",
        "?",
        "%2e%2e",
        "~root",
        "🔒",
        "e\u{301}",
        "é",
        "NUL",
        "con",
        "a.lk",
        "a.tmp",
        "{}",
        "\u{202e}gnp",
    ];
    names.into_iter().map(str::to_owned).chain([longest, "x".repeat(LockName::MAX_BYTES)]).collect()
}

#[tokio::test]
async fn hostile_names_stay_inside_the_directory_and_apart() {
    let around = tempfile::tempdir().unwrap();
    let store = tenure_embedded::EmbeddedStore::open(around.path().join("store")).unwrap();
    let mut held = Vec::new();
    for text in hostile() {
        // All are held together, so no two of them are one lock.
        held.push((name(&text), take(&store, &name(&text)).await.0));
    }
    let listing = store.list("", 1_000).await.unwrap();
    let listed: HashSet<_> =
        listing.names.iter().map(|(name, _)| name.as_str().to_owned()).collect();
    assert_eq!(listed, hostile().into_iter().collect());
    for (name, owner) in &held {
        give_back(&store, name, owner).await;
    }
    for path in files(around.path()) {
        let inside = path.strip_prefix(around.path().join("store")).unwrap();
        let text = inside.to_str().unwrap();
        assert!(text.is_ascii() && !text.contains(' ') && text.len() < 100, "{text:?}");
    }
}

#[tokio::test]
async fn a_listing_has_the_prefix_the_order_and_the_limit_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    for text in ["b:2", "a:1", "b:1", "b:3"] {
        take(&store, &name(text)).await;
    }
    let (free, owner) = (name("b:0"), take(&store, &name("b:0")).await.0);
    give_back(&store, &free, &owner).await;
    let listing = store.list("b:", 2).await.unwrap();
    let names: Vec<_> = listing.names.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names, listing.more), (vec!["b:1", "b:2"], true));
    assert!(!store.list("b:", 3).await.unwrap().more);
}

#[tokio::test]
async fn a_listing_waits_for_no_file_of_a_name_that_is_idle() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    for number in 0..20 {
        let idle = name(&format!("idle {number}"));
        let (owner, _) = take(&store, &idle).await;
        give_back(&store, &idle, &owner).await;
    }
    let locked: Vec<_> = state_files(dir.path())
        .into_iter()
        .map(|path| std::fs::File::open(path).unwrap())
        .inspect(|file| file.lock().unwrap())
        .collect();
    assert_eq!(locked.len(), 20);
    take(&store, &name("held")).await;
    let listing = store.list("", 10).await.unwrap();
    assert_eq!((listing.names.len(), listing.missing), (1, vec![]));
}

#[tokio::test]
async fn looking_at_a_name_that_nobody_used_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let before = files(dir.path()).len();
    let unused = name("unused");
    assert!(store.inspect(&unused).await.unwrap().holders.is_empty());
    assert!(store.evict(&unused).await.unwrap().is_empty());
    assert_eq!(files(dir.path()).len(), before);
}
