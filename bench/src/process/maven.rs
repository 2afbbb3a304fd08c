//! Programs in Java that take part, built by Maven.

use std::{
    fs::{File, create_dir_all},
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::failure::Failure;

/// Builds the program in a folder of this repository, with this version of what it measures, into a folder below
/// `target`: `classes` and `lib` in it. An error says why not.
pub(crate) fn build(program: &str, what: &str, version: &str) -> Result<PathBuf, Failure> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    create_dir_all(target.join("tmp"))?;
    let target = target.canonicalize()?;
    // Maven's own repository is not made for several at once: the tests of stores take the same lock.
    let one = File::create(target.join("tmp/curator.lock"))?;
    one.lock()?;
    let folder = target.join(format!("{what}-{version}"));
    // What was fetched once needs no network.
    let maven = |offline: bool| -> Result<(), Failure> {
        let mut maven = Command::new("mvn");
        maven.args(offline.then_some("-o")).args(["-q", "-B", "-f"]).arg(root.join(program));
        maven.arg(format!("-D{what}.version={version}"));
        maven.arg(format!("-DbuildDirectory={}", folder.display())).arg("compile");
        let told = maven.stdin(Stdio::null()).output();
        let told = told.map_err(|error| format!("mvn cannot be run: {error:#}"))?;
        let said = String::from_utf8_lossy(&told.stdout);
        let line = said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        if told.status.success() { Ok(()) } else { Err(format!("mvn failed: {line}").into()) }
    };
    maven(true).or_else(|_| maven(false))?;
    Ok(folder)
}

/// The version of Java that runs them.
pub(crate) fn java() -> String {
    let told = Command::new("java").arg("-version").output();
    let told = told.map(|told| String::from_utf8_lossy(&told.stderr).into_owned());
    let told = told.unwrap_or_default();
    told.split('"').nth(1).unwrap_or("of an unknown version").to_owned()
}
