//! The programs of the README, run. Here they keep their locks in memory, to leave this machine alone.

#![cfg(feature = "macros")]
#![allow(clippy::print_stdout, reason = "programs show what happens")]

use std::{fs, path::Path};

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
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = fs::read_to_string(readme).unwrap();
    let shown: Vec<_> = readme
        .split("```rust")
        .skip(1)
        .filter_map(|rest| rest.split_once('\n')?.1.split_once("```"))
        .map(|(program, _)| program.replace(r#"open("")"#, r#"open("memory:")"#))
        .collect();
    assert_eq!(shown, PROGRAMS, "tests/readme/ has what the README shows");
}
