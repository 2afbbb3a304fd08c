//! The program of the README, run. Here it keeps its locks in memory, to leave this machine alone.

#![allow(clippy::print_stdout, reason = "programs show what happens")]

use crate::files;

mod program {
    include!("../readme/guard.rs");

    #[test]
    fn runs() {
        main().unwrap();
    }
}

#[test]
fn the_program_of_the_readme_is_run() {
    let shown = files::snippets("../../README.md").into_iter();
    let shown: Vec<_> =
        shown.map(|program| program.replace(r#"open("file:")"#, r#"open("memory:")"#)).collect();
    assert_eq!(
        shown,
        [include_str!("../readme/guard.rs")],
        "tests/readme/ has what the README shows"
    );
}
