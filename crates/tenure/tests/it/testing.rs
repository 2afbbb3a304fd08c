//! What the page on testing shows, run.

#![cfg(all(feature = "macros", feature = "redis"))]

use crate::files;

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
    assert_eq!(
        files::snippets("../../docs/testing.md"),
        SNIPPETS,
        "tests/testing/ has what the page shows"
    );
}
