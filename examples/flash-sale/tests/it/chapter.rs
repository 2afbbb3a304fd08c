//! The chapter shows what was run, and no other figures.

use std::{path::Path, process::Command};

use super::instance::BINARY;

#[test]
fn the_chapter_is_what_its_runs_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let ran = Command::new(BINARY).args(["chapter", "--check"]).current_dir(root).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}
