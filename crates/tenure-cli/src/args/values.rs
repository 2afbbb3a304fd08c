//! What a word of the command line stands for.

use std::{net::SocketAddr, time::Duration};

use tenure::{LockName, Token, history::Retention, inspect::HoldId};
use tenure_core::{NamePattern, proto::Ttl};
use tenure_url::ValueError;

use crate::handle;

/// A lock's name, unless it is a handle by mistake: names are shown to everybody.
pub(super) fn name(text: &str) -> Result<LockName, String> {
    if handle::words::is_one(text.as_ref()) {
        return Err("this is a handle, not a name".to_owned());
    }
    LockName::new(text).map_err(|error| error.to_string())
}

/// One of several names with commas between them: a space beside a comma is hardly meant as a part of it.
pub(super) fn one_of_several(text: &str) -> Result<LockName, String> {
    let trimmed = text.trim();
    if trimmed.len() != text.len() && !trimmed.is_empty() {
        return Err(format!(
            "the name {text:?} begins or ends with a space; write no space beside the commas: {trimmed:?}"
        ));
    }
    name(text)
}

/// A fencing token.
pub(super) fn token(text: &str) -> Result<Token, String> {
    text.parse().map_err(|_| "a token is a number above zero, as tenure show prints it".to_owned())
}

/// Which hold is meant.
pub(super) fn hold(text: &str) -> Result<HoldId, String> {
    text.parse()
        .map_err(|_| "an id is 16 hexadecimal digits, as tenure show --json prints it".to_owned())
}

/// Names that are meant together, of which there can be one.
pub(super) fn pattern(text: &str) -> Result<NamePattern, String> {
    if handle::words::is_one(text.as_ref()) {
        return Err("this is a handle, not a pattern of names".to_owned());
    }
    // The shortest name that matches.
    let shortest = text.replace('*', "");
    if text.is_empty() || !shortest.is_empty() {
        LockName::new(shortest).map_err(|error| format!("no name matches: {error}"))?;
    }
    Ok(NamePattern::new(text))
}

/// Where to listen.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "write an IP address and a port, such as 127.0.0.1:9464 or [::1]:9464".to_owned()
    })
}

/// How much of a history is kept.
pub(super) fn retention(text: &str) -> Result<Retention, String> {
    tenure_url::retention(text)
}

/// A length of time.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    tenure_url::duration(text).map_err(|error| match error {
        ValueError::MissingUnit => {
            let number = text.trim();
            format!(
                "{number} has no unit; write {number}s for seconds or {number}ms for milliseconds"
            )
        }
        error => format!("it {error:#}; {}", error.help()),
    })
}

/// How long a detached lock is held: known to be good before the work that it comes after.
pub(super) fn lease(text: &str) -> Result<Duration, String> {
    let length = duration(text)?;
    Ttl::new(length).map(|_| length).map_err(|_| "choose from 10ms to 24h".to_owned())
}

/// How long a round of a measurement takes.
pub(super) fn round(text: &str) -> Result<Duration, String> {
    let length = duration(text)?;
    let bounds = Duration::from_millis(10)..=Duration::from_secs(60);
    if bounds.contains(&length) { Ok(length) } else { Err("choose from 10ms to 60s".to_owned()) }
}
