//! Hosts whose clocks are wrong: each of their processes runs under `faketime`.

use std::process::Command;

/// How far clocks are off, in seconds, in both directions.
pub(crate) const SHIFT: i64 = 30;

/// Fails if there is no `faketime`.
pub(crate) fn require_faketime() {
    let found = Command::new("faketime").arg("--version").output();
    assert!(found.is_ok(), "missing: faketime; install it with: sudo apt-get install faketime");
}

/// The words before a program that shift its clock by so many seconds. Its timers still count what passes.
pub(crate) fn shifted(seconds: i64) -> Vec<String> {
    let shift = format!("{seconds:+}s");
    ["faketime", "--exclude-monotonic", "-f", &shift].map(str::to_owned).to_vec()
}
