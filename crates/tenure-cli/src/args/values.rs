//! What a word of the command line stands for.

use std::time::Duration;

use tenure::{LockName, proto::Ttl};

use crate::handle;

/// A lock's name, unless it is a handle by mistake: names are shown to everybody.
pub(super) fn name(text: &str) -> Result<LockName, String> {
    if handle::words::is_one(text.as_ref()) {
        return Err("a handle is no name".to_owned());
    }
    LockName::new(text).map_err(|error| error.to_string())
}

/// A length of time.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|error| format!("{error}; write it like 500ms, 30s or \"1m 30s\""))
}

/// How long a detached lock is held: known to be good before the work that it comes after.
pub(super) fn lease(text: &str) -> Result<Duration, String> {
    let length = duration(text)?;
    Ttl::new(length).map(|_| length).map_err(|_| "choose from 10ms to 24h".to_owned())
}
