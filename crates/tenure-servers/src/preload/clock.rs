//! A clock that is behind, for a server.

use std::{path::Path, process::Command};

use super::library;

/// What takes the place of the system's.
const SOURCE: &str = include_str!("clock.c");

/// Has `command` run with a time of day that is behind by so many seconds; `folder` keeps what that takes.
///
/// # Panics
/// Without a C compiler.
pub(crate) fn set_clock_behind(command: &mut Command, seconds: u32, folder: &Path) {
    let library = library(folder, "behind", SOURCE);
    command.env("LD_PRELOAD", library).env("TENURE_BEHIND", seconds.to_string());
}
