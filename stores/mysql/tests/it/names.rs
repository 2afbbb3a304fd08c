//! Names are compared by their bytes, whatever the collation of the server.

use tenure_core::{LockName, Store};

use crate::{
    places::fresh_url,
    support::{name, owner, store, take},
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
