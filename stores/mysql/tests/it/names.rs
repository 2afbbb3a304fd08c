//! Names are compared by their bytes, whatever the collation of the server.

use std::time::Duration;

use tenure_core::{LockName, Store};

use crate::{
    places::{fresh_url, server},
    support::{name, outside, owner, run, store, take},
};

#[tokio::test(flavor = "multi_thread")]
async fn names_that_a_collation_takes_for_one_are_different_locks() {
    let longest = "é".repeat(LockName::MAX_BYTES / 2);
    let mut names = vec![
        "abc",
        "Abc",
        "ABC",
        "abc ",
        "abc  ",
        " abc",
        "äbc",
        "a\u{308}bc",
        "straße",
        "strasse",
        "😀",
        "😁",
        "a%",
        "a_",
        "ab",
        "a\\",
        "a'",
        "a\"",
        "x\u{10ffff}",
        &longest,
    ];
    let almost = format!("{}e", &longest[..LockName::MAX_BYTES - 2]);
    names.push(&almost);
    let (one, other) = (store(&fresh_url()), store(&fresh_url()));
    for (number, text) in (1..).zip(&names) {
        take(&one, text, owner(number)).await;
    }
    for (number, text) in (1..).zip(&names) {
        let seen = one.inspect(&name(text)).await.unwrap();
        assert_eq!(seen.holders.len(), 1, "{text:?}");
        assert!(take(&one, text, owner(number)).await.as_i64() > 0, "the same hold as before");
    }
    names.sort_unstable();
    let listed = one.list("", 1_000).await.unwrap().names;
    assert_eq!(listed.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), names);
    for (prefix, found) in
        [("a%", 1), ("a_", 1), ("abc", 3), ("x\u{10ffff}", 1), ("é", 2), ("q", 0)]
    {
        assert_eq!(one.list(prefix, 1_000).await.unwrap().names.len(), found, "{prefix:?}");
    }
    assert!(other.list("", 1).await.unwrap().names.is_empty(), "other tables, other locks");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_nobody_of_tenures_wrote_are_told_of_beside_the_others() {
    let url = fresh_url();
    let store = store(&url);
    let tables = url.split("tables=").nth(1).unwrap();
    let mut conn = outside(server()).await;
    take(&store, "good", owner(1)).await;
    run(&mut conn, &format!("create temporary table copy as select * from {tables}_locks")).await;
    for change in
        ["name = 'ctl\x01'", "name = x'ffff02'", "name = x'80'", "name = 'short', owner = x'07'"]
    {
        run(&mut conn, &format!("update copy set {change}")).await;
        run(&mut conn, &format!("insert into {tables}_locks select * from copy")).await;
    }
    let listed = store.list("", 10).await.unwrap();
    assert_eq!(listed.names.len(), 1);
    let missing = listed.missing.join("\n");
    for says in ["ctl\\u{1}", "\"\u{fffd}\u{fffd}\\u{2}\"", "\"\u{fffd}\"", "\"short\""] {
        assert!(missing.contains(says), "{missing}");
    }
    assert_eq!(listed.missing.len(), 4);
    assert_eq!(store.list("g", 10).await.unwrap().names.len(), 1);
    // They do not keep tenure from what is its own to do.
    run(&mut conn, &format!("update {tables}_locks set last_time = 1, expires = 1")).await;
    store.sweep(Duration::from_millis(1)).await.unwrap();
}
