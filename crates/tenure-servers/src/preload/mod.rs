//! Libraries that take the place of a part of the system's, in processes of a test.

mod clock;
mod partition;

pub(crate) use clock::set_clock_behind;
pub(crate) use partition::Partition;

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// Compiles it into `folder`, where it is not there yet.
///
/// # Panics
/// Without a C compiler.
fn library(folder: &Path, name: &str, text: &str) -> PathBuf {
    let source = folder.join(name).with_extension("c");
    let library = source.with_extension("so");
    if !library.exists() {
        let written = std::fs::write(&source, text);
        assert!(written.is_ok(), "cannot write {}", source.display());
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source);
        let compiled = compiler.arg("-ldl").status().is_ok_and(|ended| ended.success());
        assert!(compiled, "no C compiler; install it with: apt-get install gcc libc6-dev");
    }
    library
}
