//! The programs of the README, run. Here they keep their locks in memory, to leave this machine alone.

#![cfg(feature = "macros")]
#![allow(clippy::print_stdout, reason = "programs show what happens")]

use crate::files;

/// Each in a module of its own, for each has a `main`.
macro_rules! programs {
    ($($name:ident: $file:literal),+) => {
        $(mod $name {
            include!(concat!("../readme/", $file));

            #[test]
            fn runs() {
                main().unwrap();
            }
        })+

        const PROGRAMS: &[&str] = &[$(include_str!(concat!("../readme/", $file))),+];
    };
}

programs!(guard: "guard.rs", locked: "locked.rs");

#[test]
fn every_program_of_the_readme_is_run() {
    let shown = files::snippets("../../README.md").into_iter();
    let shown: Vec<_> =
        shown.map(|program| program.replace(r#"open("file:")"#, r#"open("memory:")"#)).collect();
    assert_eq!(shown, PROGRAMS, "tests/readme/ has what the README shows");
}
