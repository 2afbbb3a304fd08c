//! A clock that is behind, for a server.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// What takes the place of the system's.
const SOURCE: &str = include_str!("behind.c");

/// Has `command` run with a time of day that is behind by so many seconds; `folder` keeps what that takes.
///
/// # Panics
/// Without a C compiler.
pub(super) fn set(command: &mut Command, seconds: u32, folder: &Path) {
    command.env("LD_PRELOAD", library(folder)).env("TENURE_BEHIND", seconds.to_string());
}

fn library(folder: &Path) -> PathBuf {
    let (source, library) = (folder.join("behind.c"), folder.join("behind.so"));
    if !library.exists() {
        let written = std::fs::write(&source, SOURCE);
        assert!(written.is_ok(), "cannot write {}", source.display());
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source);
        let compiled = compiler.status().is_ok_and(|ended| ended.success());
        assert!(compiled, "no C compiler; install it with: apt-get install gcc libc6-dev");
    }
    library
}
