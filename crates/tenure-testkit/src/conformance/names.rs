//! Every name that tenure allows is kept as it is.

use tenure_core::{FaultKind, LockName, proto::queue::Ask};

use super::scene::Scene;

/// Names that a file system, a key space, a pattern or a statement might take for something else.
/// Some are prefixes of others; some look alike.
const HOSTILE: &[&str] = &[
    ".",
    "..",
    "...",
    "/",
    "//",
    "\\",
    "../../etc/passwd",
    "/etc/passwd",
    "a",
    "A",
    "a/",
    "a/b",
    "a//b",
    "a\\b",
    "a%2Fb",
    "%",
    "%00",
    "a b",
    " ",
    "  ",
    "a ",
    " a",
    "~",
    "-",
    "--",
    "-rf",
    "*",
    "?",
    "[a-z]",
    "{a}",
    "{a}b",
    "{}",
    "a{b",
    "a:b",
    "a:b:",
    "a:b:c",
    ":",
    "con",
    "nul",
    "aux.txt",
    "lock",
    "lock.tmp",
    ".lock",
    "'",
    "\"",
    "'; drop table locks; --",
    "$(id)",
    "`id`",
    "$HOME",
    "\u{e9}",
    "e\u{301}",
    "\u{212b}",
    "\u{c5}",
    "ß",
    "SS",
    "ẞ",
    "💥",
    "👩‍👩‍👧",
    "\u{200b}",
    "\u{feff}",
    "\u{202e}",
    "日本語",
    "İ",
    "i",
    "I",
    "ı",
    "0",
    "00",
    "1",
    "true",
    "null",
];

/// Names are compared byte for byte: each of these can be held while all others are.
pub async fn hostile_names_are_kept_apart(scene: Scene) {
    let (client, other) = (scene.client().await, scene.client().await);
    let (mut held, mut names) = (Vec::new(), Vec::new());
    for text in HOSTILE {
        let named = client.on(text);
        let ask = Ask { label: (*text).into(), ..named.tries() };
        if scene.refuses_name(text) {
            let fault = named.ask(&ask).await.err().map(|fault| fault.kind());
            assert_eq!(fault, Some(FaultKind::Misconfigured), "{text}");
            continue;
        }
        names.push(*text);
        named.lock(&ask).await;
        held.push((named, ask));
    }
    for (named, ask) in &held {
        let seen = other.on(named.name().as_str()).inspect().await.holders;
        let labels: Vec<_> = seen.iter().map(|holder| holder.label.as_str()).collect();
        assert_eq!(labels, [&*ask.label]);
    }
    let listing = other.list("", HOSTILE.len() + 1).await;
    names.sort_unstable();
    assert_eq!(listing.names.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), names);
    for (named, ask) in &held {
        named.let_go(&ask.owner).await;
    }
    assert!(other.list("", 1).await.names.is_empty());
}

/// Names of the greatest length, equal up to their last byte, are two names.
pub async fn the_longest_name_works(scene: Scene) {
    let (client, other) = (scene.client().await, scene.client().await);
    let stem = "x".repeat(LockName::MAX_BYTES - 1);
    let slashes = "/".repeat(LockName::MAX_BYTES);
    let wide = "💥".repeat(LockName::MAX_BYTES / 4);
    for text in [format!("{stem}a"), format!("{stem}b"), stem, slashes, wide] {
        client.on(&text).lock(&client.tries()).await;
        other.on(&text).busy(&other.tries()).await;
    }
    assert_eq!(other.list("", 10).await.names.len(), 5);
    assert_eq!(other.list("xx", 10).await.names.len(), 3);
}

/// A prefix is no pattern.
pub async fn a_prefix_is_taken_literally(scene: Scene) {
    let client = scene.client().await;
    for text in ["a*b", "axb", "a?b", "a[b", "a_b", "a%b", "a\\b"] {
        client.on(text).lock(&client.tries()).await;
    }
    for prefix in ["a*", "a?", "a[", "a_", "a%", "a\\"] {
        let listing = client.list(prefix, 10).await;
        let names: Vec<_> = listing.names.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, [format!("{prefix}b")], "prefix {prefix}");
    }
}
