//! The spans of acquisitions and holds.

use tenure_proto::{LostReason, Token};
use tracing::{Span, field::Empty, info_span};

use super::{
    SeriesId, StoreTelemetry,
    series::{error_word, reason_word},
};
use crate::{AcquireError, LockName};

/// What spans say of a store, by the names of OpenTelemetry where it has one.
#[derive(Debug)]
pub(super) struct StoreFields {
    pub(super) kind: &'static str,
    pub(super) db_system: Option<&'static str>,
    pub(super) address: Option<String>,
    pub(super) port: Option<u16>,
}

impl StoreFields {
    pub(super) fn new(kind: &'static str, db_system: Option<&'static str>, location: &str) -> Self {
        let (address, port) = server(location).unzip();
        Self { kind, db_system, address, port: port.flatten() }
    }
}

/// The server of a URL: its host and port, or all of them if there are several.
fn server(location: &str) -> Option<(String, Option<u16>)> {
    let (scheme, rest) = location.split_once("://")?;
    if scheme.contains(':') {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    let hosts = authority.rsplit_once('@').map_or(authority, |(_, hosts)| hosts);
    if hosts.is_empty() {
        return None;
    }
    let single =
        hosts.rsplit_once(':').filter(|(host, _)| !hosts.contains(',') && !host.is_empty());
    let single = single.and_then(|(host, port)| Some((host.to_owned(), Some(port.parse().ok()?))));
    Some(single.unwrap_or_else(|| (hosts.to_owned(), None)))
}

/// The span of an acquisition. If it is dropped without an outcome, the acquisition was cancelled.
pub(crate) struct AcquisitionSpan {
    span: Span,
    ended: bool,
}

impl AcquisitionSpan {
    pub(crate) fn span(&self) -> &Span {
        &self.span
    }

    /// Records how the acquisition ended.
    pub(crate) fn end(&mut self, outcome: &'static str, token: Option<Token>) {
        self.ended = true;
        self.span.record("tenure.outcome", outcome);
        if let Some(token) = token {
            self.span.record("tenure.token", tracing::field::display(token));
        }
    }

    /// Records how the acquisition ended: with a token, or without one because the lock was busy, or with an error.
    pub(crate) fn end_with(&mut self, result: Result<Option<Token>, &AcquireError>) {
        match result {
            Ok(token @ Some(_)) => self.end("acquired", token),
            Ok(None) => self.end("busy", None),
            Err(AcquireError::TimedOut(_)) => self.end("timed_out", None),
            Err(error) => {
                self.end("failed", None);
                self.span.record("error.type", failure_word(error));
                self.span.record("otel.status_code", "ERROR");
            }
        }
    }
}

impl Drop for AcquisitionSpan {
    fn drop(&mut self) {
        // A second panic would end the process.
        if !self.ended && !std::thread::panicking() {
            self.span.record("tenure.outcome", "cancelled");
        }
    }
}

impl StoreTelemetry {
    /// The span of an acquisition of `name`, whose kind is called `kind`.
    pub(crate) fn acquisition_span(&self, kind: &'static str, name: &LockName) -> AcquisitionSpan {
        let store = &self.shared.fields;
        let span = info_span!(
            "tenure.acquire",
            tenure.lock.name = %name,
            tenure.lock.kind = kind,
            tenure.store = store.kind,
            db.system.name = store.db_system,
            server.address = store.address,
            server.port = store.port,
            tenure.token = Empty,
            tenure.outcome = Empty,
            error.type = Empty,
            otel.status_code = Empty,
        );
        AcquisitionSpan { span, ended: false }
    }

    /// The span of a hold of `name`, which the holder's span contains. `None` if it would be disabled.
    pub(crate) fn hold_span(
        &self,
        holder: Option<&Span>,
        series: SeriesId,
        name: &LockName,
        token: Token,
    ) -> Option<Span> {
        let store = &self.shared.fields;
        let span = info_span!(
            parent: holder.and_then(Span::id),
            "tenure.hold",
            tenure.lock.name = %name,
            tenure.lock.kind = series.kind().as_str(),
            tenure.store = store.kind,
            db.system.name = store.db_system,
            server.address = store.address,
            server.port = store.port,
            tenure.token = %token,
            tenure.outcome = Empty,
            error.type = Empty,
            otel.status_code = Empty,
        );
        (!span.is_disabled()).then_some(span)
    }
}

/// The error as a word: the kind of fault, if the store failed.
fn failure_word(error: &AcquireError) -> &'static str {
    match error {
        AcquireError::TooManyHolds { .. } => "too_many_holds",
        AcquireError::ShutDown { .. } => "shut_down",
        _ => error.fault().map_or("misconfigured", |fault| error_word(fault.kind())),
    }
}

/// Records that the hold of this span was lost.
pub(super) fn lose_hold(span: &Span, reason: LostReason) {
    span.record("tenure.outcome", "lost");
    span.record("error.type", reason_word(reason));
    span.record("otel.status_code", "ERROR");
}

#[cfg(test)]
mod tests {
    use super::server;

    #[test]
    fn the_server_of_a_url_is_its_host_without_user_and_path() {
        let one = |host: &str, port| Some((host.to_owned(), port));
        for (location, expected) in [
            ("redis://h:6379/0", one("h", Some(6379))),
            ("rediss://user@[::1]:7000/0?x=a@b:1", one("[::1]", Some(7000))),
            ("postgres://db.internal/shop", one("db.internal", None)),
            ("zookeeper://a:2181,b:2181/locks", one("a:2181,b:2181", None)),
            ("file:/srv/locks", None),
            ("memory:", None),
            ("redis+unix:///run/redis.sock", None),
            ("quorum:redis://a:1,redis://b:2", None),
        ] {
            assert_eq!(server(location), expected, "{location}");
        }
    }
}
