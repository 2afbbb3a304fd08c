//! Files with secrets, which other users must not read.

use tenure_core::files::NamedFile;

/// What to do if other users may read or write one.
pub(crate) const KEEP_CLOSED: &str =
    "let only its owner read it: chmod 600; in Kubernetes defaultMode: 0400 or 0440";

/// Whether other users may read or write it. In the directory where containers keep their secrets, every user may read.
pub(crate) fn is_open(path: &str, file: &NamedFile) -> bool {
    if is_of_container(path) { file.may_others_write() } else { file.is_open() }
}

fn is_of_container(path: &str) -> bool {
    let below = ["/run/secrets/", "/var/run/secrets/"];
    below.iter().any(|folder| path.starts_with(folder)) && !path.contains("/../")
}
