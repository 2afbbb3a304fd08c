//! What a server that restarts still knows.

use tenure_core::store::Diagnostic;

use super::{not_told, setting};
use crate::{
    client::field,
    servers::{NodeRef, Transport},
};

/// When a server with an append-only file writes it to the disk: `appendfsync`, and `no-appendfsync-on-rewrite`.
pub(super) async fn sync(transport: &Transport, node_ref: &NodeRef) -> Option<(String, String)> {
    let sync = setting(transport, node_ref, "appendfsync").await?;
    Some((sync, setting(transport, node_ref, "no-appendfsync-on-rewrite").await?))
}

pub(super) fn persistence(info: Option<&str>, sync: Option<(String, String)>) -> Diagnostic {
    let Some(info) = info else { return not_told("persistence", "+info") };
    let warning = |found: &str, help: &str| {
        let help = format!(
            "{help}, or keep a crashed server down for the longest ttl; tokens rise unless its \
             clock is behind"
        );
        Diagnostic::warning("persistence", found, "S1", help)
    };
    if field(info, "aof_enabled") != Some("1") {
        let found = "a server that restarts has forgotten its locks";
        return warning(found, "set appendonly yes and appendfsync always");
    }
    if field(info, "aof_last_write_status").is_some_and(|status| status != "ok") {
        let found = "its last write to the append-only file failed";
        return Diagnostic::bad("persistence", found, "S1", "see the server's log and its disk");
    }
    // It counts as on from the moment in which that was asked for; until its first file is there nothing is kept.
    let is_made =
        ["aof_rewrite_in_progress", "aof_rewrite_scheduled"].map(|what| field(info, what));
    let is_first = field(info, "aof_base_size") == Some("0");
    if is_first
        && (is_made.contains(&Some("1")) || field(info, "aof_last_bgrewrite_status") == Some("err"))
    {
        let found = "its first append-only file is still being written: a server that restarts has \
                     forgotten its locks";
        return warning(found, "wait until INFO says aof_rewrite_in_progress:0");
    }
    let always = "set appendfsync always";
    match sync.as_ref().map(|(sync, rewrite)| (sync.as_str(), rewrite.as_str())) {
        Some(("always", "no")) => Diagnostic::good(
            "persistence",
            "appendfsync always: a write is on the disk before it is confirmed",
        ),
        Some(("always", _)) => warning(
            "appendfsync always, but not while the append-only file is rewritten: writes \
             confirmed then are lost if the machine crashes",
            "set no-appendfsync-on-rewrite no",
        ),
        Some(("everysec", _)) => warning(
            "appendfsync everysec: a server that restarts may have forgotten the locks of the last second or two",
            always,
        ),
        Some((other, _)) => warning(
            &format!(
                "appendfsync {other}: a machine that restarts may have forgotten the locks of the last half minute or \
                 more"
            ),
            always,
        ),
        None => not_told("persistence", "+config|get"),
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::store::Severity;

    use super::*;

    #[test]
    fn only_a_server_that_writes_first_keeps_what_it_confirmed() {
        let of = |info: &str, sync: Option<(&str, &str)>| {
            let sync = sync.map(|(sync, rewrite)| (sync.to_owned(), rewrite.to_owned()));
            persistence(Some(info), sync)
        };
        let on = "aof_enabled:1\r\naof_last_write_status:ok\r\n";
        assert_eq!(of(on, Some(("always", "no"))).severity, Severity::Good);
        for (sync, says) in [
            (Some(("always", "yes")), "file is rewritten"),
            (Some(("everysec", "no")), "appendfsync everysec"),
            (Some(("no", "no")), "appendfsync no"),
            (None, "does not show this"),
        ] {
            let found = of(on, sync);
            assert_eq!(
                (found.severity, found.promise),
                (Severity::Warning, Some("S1")),
                "{found:?}"
            );
            assert!(found.found.contains(says), "{found:?}");
        }
        let off = of("aof_enabled:0\r\n", Some(("always", "no")));
        assert!(
            off.severity == Severity::Warning && off.found.contains("has forgotten"),
            "{off:?}"
        );
        for first in [
            "aof_rewrite_in_progress:1",
            "aof_rewrite_scheduled:1",
            "aof_last_bgrewrite_status:err",
        ] {
            let found = of(&format!("{on}aof_base_size:0\r\n{first}\r\n"), Some(("always", "no")));
            assert!(
                found.severity == Severity::Warning && found.found.contains("still being written"),
                "{found:?}"
            );
            let later = of(&format!("{on}aof_base_size:88\r\n{first}\r\n"), Some(("always", "no")));
            assert_eq!(later.severity, Severity::Good);
        }
        let failed = of("aof_enabled:1\r\naof_last_write_status:err\r\n", Some(("always", "no")));
        assert_eq!(failed.severity, Severity::Bad);
    }
}
