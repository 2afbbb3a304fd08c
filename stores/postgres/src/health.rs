//! A look at the real database.

use std::sync::atomic::Ordering;

use tenure_core::{Fault, store::Finding};
use tenure_sql::{CONNECTION, Database};
use tokio_postgres::Row;

use crate::{database::Postgres, schema};

impl Postgres {
    pub(crate) async fn look_at_health(&self) -> Result<Vec<Finding>, Fault> {
        let common = &self.common;
        if let Err(fault) = self.first_look().await {
            let finding = Finding::failed(CONNECTION, &fault);
            return Ok(vec![finding.touches("S9")]);
        }
        // It is there by now, unless it broke meanwhile.
        let is_direct = self.any().await?.is_direct.load(Ordering::Relaxed);
        let mut findings = vec![Finding::good(CONNECTION, self.connection(is_direct))];
        findings.push(self.pooler(is_direct));
        match self.row(&common.statements.server, &[], false).await {
            Ok(row) => findings.extend(self.server(&row, is_direct)?),
            Err(fault) => findings.push(Finding::failed("settings", &fault).touches("S1")),
        }
        Ok(findings)
    }

    fn connection(&self, is_direct: bool) -> String {
        let options = &self.common.options;
        let tls = if options.sql.tls { "over TLS" } else { "not encrypted" };
        let way = if is_direct { "" } else { ", by a pooler" };
        format!(
            "{} as {}, {tls}{way}; two connections, and at most {} more while calls are in each other's way",
            self.common.location,
            options.sql.user.as_deref().unwrap_or_default(),
            options.sql.connections
        )
    }

    fn pooler(&self, is_direct: bool) -> Finding {
        let common = &self.common;
        let cure =
            "give tenure a URL that leads straight to the server; all else may go by the pooler";
        if !common.options.listens {
            let found = "not waited for, as listen=no says: waiters look ten times a second";
            return Finding::warning("messages", found, "S6", "take listen=no out of the URL");
        }
        if common.listening.get().is_some() && common.is_deaf.load(Ordering::Relaxed) {
            let found = "none come: waiters look ten times a second";
            return Finding::warning("messages", found, "S6", cure);
        }
        if !is_direct {
            let found = "a pooler is in between; behind one that keeps no session no message comes";
            return Finding::warning("messages", found, "S6", cure);
        }
        Finding::good("messages", "waiters are woken by NOTIFY")
    }

    fn server(&self, row: &Row, is_direct: bool) -> Result<Vec<Finding>, Fault> {
        let text = |index| -> Result<String, Fault> {
            Ok(self.get::<Option<String>>(row, index)?.unwrap_or_default())
        };
        let version = text(0)?;
        let major = version.split(['.', ' ']).next().and_then(|major| major.parse::<u32>().ok());
        let mut findings = vec![if major >= Some(12) {
            Finding::good("version", format!("PostgreSQL {version}"))
        } else {
            let found = format!("PostgreSQL {version} is too old");
            Finding::bad("version", found, "S1", "use PostgreSQL 12 or later")
        }];
        findings.push(if text(1)? == "on" && text(2)? == "on" {
            let commits = if is_direct { text(3)? } else { "on in each statement".to_owned() };
            let found = format!("it keeps what it committed; synchronous_commit is {commits}");
            Finding::good("persistence", found)
        } else {
            let found = format!(
                "fsync is {}, full_page_writes {}: a crash forgets locks",
                text(1)?,
                text(2)?
            );
            Finding::bad("persistence", found, "S1", "turn both on")
        });
        let (standbys, names) = (self.get::<i64>(row, 5)?, text(4)?);
        let answering = self.get::<i64>(row, 11)?;
        findings.push(match (standbys, names.is_empty()) {
            (0, true) => Finding::good("replicas", "none that this user sees: no fail-over can lose a lock"),
            (_, false) if answering > 0 => {
                let found = format!("what is committed is on {names} first, unless somebody cancels the wait for it, \
                                     which leaves the call in doubt; {answering} answer");
                Finding::good("replicas", found)
            }
            (_, false) => {
                let found = format!("commits wait for {names}, of which this user sees none that answers: calls may hang");
                let cure = "see that they run; grant this user pg_read_all_stats for a better look";
                Finding::warning("replicas", found, "S9", cure)
            }
            (count, true) => {
                let found = format!("{count}, and none has what is committed for sure: a fail-over can lose the last locks");
                let cure = "set synchronous_standby_names, or wait for the longest ttl before a replica takes over";
                Finding::warning("replicas", found, "S1", cure)
            }
        });
        if self.get::<bool>(row, 6)? {
            let cure = "point the URL to the primary, or name all hosts in it";
            findings.push(Finding::bad(
                "primary",
                "this is a replica, which takes no writes",
                "S9",
                cure,
            ));
        }
        let idle = text(7)?;
        findings.push(if ["", "0"].contains(&idle.as_str()) {
            let found = "idle_in_transaction_session_timeout is 0: a holder that freezes in a transaction keeps what \
                         it locked there";
            let cure = "alter role … set idle_in_transaction_session_timeout, for those who work under locks";
            Finding::warning("transactions", found, "S2", cure)
        } else {
            Finding::good("transactions", format!("one that does nothing ends after {idle}"))
        });
        let used = self.get::<f64>(row, 8)?;
        if used > 0.5 {
            let found = format!("the queue of NOTIFY is full to {:.0} %", used * 100.0);
            let cure = "end the session that has listened in a transaction for long";
            findings.push(Finding::warning("messages", found, "S6", cure));
        }
        let (busy, all) = (self.get::<i64>(row, 9)?, self.get::<i64>(row, 10)?);
        let found = format!(
            "schema {} of format {}: {all} rows, {busy} in use",
            self.common.options.schema,
            schema::FORMAT
        );
        findings.push(Finding::good("tables", found));
        Ok(findings)
    }
}
