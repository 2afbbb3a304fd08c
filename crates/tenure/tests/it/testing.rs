//! What the page on testing shows, run.

#![cfg(all(feature = "macros", feature = "redis"))]

use std::{fs, path::Path};

/// Each in a module of its own, as it would be a file of its own.
macro_rules! snippets {
    ($($name:ident),+ $(,)?) => {
        $(mod $name {
            include!(concat!("../testing/", stringify!($name), ".rs"));
        })+

        const SNIPPETS: &[&str] = &[$(include_str!(concat!("../testing/", stringify!($name), ".rs"))),+];
    };
}

snippets!(shared, paused, by_hand, away, locked, real);

#[test]
fn every_snippet_of_the_page_is_run() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/testing.md");
    let page = fs::read_to_string(page).unwrap();
    let shown: Vec<_> = page
        .split("```rust")
        .skip(1)
        .filter_map(|rest| rest.split_once('\n')?.1.split_once("```"))
        .map(|(snippet, _)| snippet)
        .collect();
    assert_eq!(shown, SNIPPETS, "tests/testing/ has what the page shows");
}
