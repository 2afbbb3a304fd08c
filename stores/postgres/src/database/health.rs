//! A look at the real database.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use tenure_core::{Fault, store::Diagnostic};
use tenure_sql::{CONNECTION, Database, TlsMode};
use tokio_postgres::Row;

use crate::{database::Postgres, tables::schema};

/// How long a message of ours may take to come back, and how often it is looked.
const HEARD: Duration = Duration::from_secs(2);
const LOOKS: Duration = Duration::from_millis(10);

impl Postgres {
    pub(crate) async fn look_at_health(&self) -> Result<Vec<Diagnostic>, Fault> {
        let common = &self.common;
        if let Err(fault) = self.first_look().await {
            let diagnostic = Diagnostic::failed(CONNECTION, &fault);
            return Ok(vec![diagnostic.touches("S9")]);
        }
        // It is there by now, unless it broke meanwhile.
        let is_direct = self.any().await?.is_direct.load(Ordering::Relaxed);
        let mut diagnostics = vec![Diagnostic::good(CONNECTION, self.connection(is_direct))];
        diagnostics.extend(self.common.options.unprotected());
        diagnostics.push(self.pooler(is_direct).await);
        match self.row(&common.statements.server, &[], false).await {
            Ok(row) => diagnostics.extend(self.server(&row, is_direct)?),
            Err(fault) => diagnostics.push(Diagnostic::failed("settings", &fault).touches("S1")),
        }
        Ok(diagnostics)
    }

    fn connection(&self, is_direct: bool) -> String {
        let options = &self.common.options;
        let tls = match options.sql.tls.mode {
            TlsMode::Disable => "not encrypted",
            TlsMode::Prefer => "over TLS if the server has it",
            _ => "over TLS",
        };
        let way = if is_direct { "" } else { ", by a pooler" };
        format!(
            "{} as {}, {tls}{way}; two connections, and at most {} more for concurrent calls",
            self.common.location,
            options.sql.user.as_deref().unwrap_or_default(),
            options.sql.connections
        )
    }

    async fn pooler(&self, is_direct: bool) -> Diagnostic {
        let common = &self.common;
        let help = "give tenure a URL that connects directly to the server; everything else may use the pooler";
        if !common.options.listens {
            let found = "turned off by listen=no: waiters ask ten times a second";
            return Diagnostic::warning("messages", found, "S6", "take listen=no out of the URL");
        }
        if !is_direct {
            let found = "a pooler is in between; if it keeps no sessions, no message arrives: waiters ask ten times a second";
            return Diagnostic::warning("messages", found, "S6", help);
        }
        if !self.await_hello().await {
            let found = format!("none arrived within {HEARD:?}: waiters ask ten times a second");
            let help =
                "check that this user may have two connections, and that the server is not busy";
            return Diagnostic::warning("messages", found, "S6", help);
        }
        Diagnostic::good("messages", "one arrived: waiters are woken by NOTIFY")
    }

    /// Whether a message of ours comes back.
    async fn await_hello(&self) -> bool {
        self.listen();
        let until = Instant::now() + HEARD;
        while self.common.is_deaf.load(Ordering::Relaxed) {
            if Instant::now() >= until {
                return false;
            }
            tokio::time::sleep(LOOKS).await;
        }
        true
    }

    fn server(&self, row: &Row, is_direct: bool) -> Result<Vec<Diagnostic>, Fault> {
        let text = |index| -> Result<String, Fault> {
            Ok(self.get::<Option<String>>(row, index)?.unwrap_or_default())
        };
        let version = text(0)?;
        let major = version.split(['.', ' ']).next().and_then(|major| major.parse::<u32>().ok());
        let mut diagnostics = vec![if major >= Some(12) {
            Diagnostic::good("version", format!("PostgreSQL {version}"))
        } else {
            let found = format!("PostgreSQL {version} is too old");
            Diagnostic::bad("version", found, "S1", "use PostgreSQL 12 or later")
        }];
        diagnostics.push(if text(1)? == "on" && text(2)? == "on" {
            let commits = if is_direct { text(3)? } else { "on in each statement".to_owned() };
            let found = format!("it keeps what it committed; synchronous_commit is {commits}");
            Diagnostic::good("persistence", found)
        } else {
            let found = format!(
                "fsync is {}, full_page_writes {}: a crash forgets locks",
                text(1)?,
                text(2)?
            );
            Diagnostic::bad("persistence", found, "S1", "turn both on")
        });
        let names = text(4)?;
        diagnostics.push(replicas(&ReplicaReport {
            names: &names,
            connected: self.get(row, 5)?,
            answering: self.get(row, 11)?,
            away: self.get(row, 12)?,
        }));
        if self.get::<bool>(row, 6)? {
            let help = "point the URL to the primary, or name all hosts in it";
            diagnostics.push(Diagnostic::bad(
                "primary",
                "this is a replica, which takes no writes",
                "S9",
                help,
            ));
        }
        let idle = text(7)?;
        diagnostics.push(if ["", "0"].contains(&idle.as_str()) {
            let found = "idle_in_transaction_session_timeout is 0: a holder that freezes in a transaction keeps what \
                         it locked there";
            let help = "alter role … set idle_in_transaction_session_timeout, for the users that work under locks";
            Diagnostic::warning("transactions", found, "S2", help)
        } else {
            let found = format!("an idle one of this user ends after {idle}");
            Diagnostic::good("transactions", found)
        });
        let used = self.get::<f64>(row, 8)?;
        if used > 0.5 {
            let found = format!("the queue of NOTIFY is {:.0} % full", used * 100.0);
            let help = "end the session that has been listening in a long transaction";
            diagnostics.push(Diagnostic::warning("messages", found, "S6", help));
        }
        let (busy, all) = (self.get::<i64>(row, 9)?, self.get::<i64>(row, 10)?);
        let found = format!(
            "schema {} of format {}: {all} rows, {busy} in use",
            self.common.options.schema,
            schema::FORMAT
        );
        diagnostics.push(Diagnostic::good("tables", found));
        Ok(diagnostics)
    }
}

/// What is told of replicas.
struct ReplicaReport<'a> {
    /// Those that commits wait for, as the server has it.
    names: &'a str,
    connected: i64,
    /// Of those that commits wait for, as far as this user is told.
    answering: i64,
    /// Slots of replicas that are not connected.
    away: i64,
}

/// For how many replicas a commit waits.
fn needed(names: &str) -> i64 {
    let first = names.split('(').next().filter(|first| first.len() < names.len());
    let number = first.and_then(|first| first.split_ascii_whitespace().last());
    match number.and_then(|number| number.parse().ok()) {
        Some(number) => number,
        None if names.trim().is_empty() => 0,
        None => 1,
    }
}

fn replicas(told: &ReplicaReport<'_>) -> Diagnostic {
    let &ReplicaReport { names, connected, answering, away } = told;
    let what = "replicas";
    let needed = needed(names);
    let wait = "or wait for the longest ttl before a replica takes over";
    if needed > 0 && answering == 0 {
        let found = format!(
            "commits wait for {names}, but this user sees none of them answer: calls may hang"
        );
        let help = "check that they run; grant this user pg_read_all_stats to see more";
        return Diagnostic::warning(what, found, "S9", help);
    }
    if needed == 0 && connected > 0 {
        let found = format!(
            "{connected}, and none is sure to have every commit: a failover can lose the last \
             locks"
        );
        return Diagnostic::warning(
            what,
            found,
            "S1",
            format!("set synchronous_standby_names, {wait}"),
        );
    }
    if connected.saturating_add(away) > needed {
        let found = format!(
            "{connected} connected, and {away} slots wait for more; a commit waits for {needed} \
             of them: a failover to another one can lose the last locks"
        );
        let help = format!(
            "let commits wait for each that may take over (synchronous_standby_names), drop the slots of those that \
             are gone, {wait}"
        );
        return Diagnostic::warning(what, found, "S1", help);
    }
    if needed == 0 {
        let found = "no replica is connected, and no slot waits for one; tenure does not see a copy fed by files";
        return Diagnostic::good(what, found);
    }
    let found = format!(
        "a commit waits for {names}, unless someone cancels the wait, which leaves the call in \
         doubt; {answering} answer"
    );
    Diagnostic::good(what, found)
}

#[cfg(test)]
mod tests {
    use tenure_core::store::Severity;

    use super::*;

    #[test]
    fn for_how_many_replicas_commits_wait_is_read() {
        for (names, number) in [
            ("", 0),
            ("*", 1),
            ("a, b", 1),
            ("FIRST 2 (a, b, c)", 2),
            ("any 3 (*)", 3),
            ("2 (a, b)", 2),
            ("ANY 1(a,b)", 1),
            ("\"odd 2 \", b", 1),
        ] {
            assert_eq!(needed(names), number, "{names}");
        }
    }

    #[test]
    fn replicas_that_may_lack_something_are_warned_of() {
        let of = |names, connected, answering, away| {
            replicas(&ReplicaReport { names, connected, answering, away }).severity
        };
        assert_eq!(of("", 0, 0, 0), Severity::Good);
        assert_eq!(of("a", 1, 1, 0), Severity::Good);
        assert_eq!(of("FIRST 2 (a, b)", 2, 2, 0), Severity::Good);
        for (names, connected, answering, away) in [
            ("", 1, 0, 0),
            ("", 0, 0, 1),
            ("a", 1, 0, 0),
            ("a", 2, 1, 0),
            ("a", 1, 1, 1),
            ("ANY 1 (a, b)", 2, 2, 0),
        ] {
            assert_eq!(of(names, connected, answering, away), Severity::Warning, "{names}");
        }
    }
}
