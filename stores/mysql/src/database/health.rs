//! A look at the real database.

use std::collections::BTreeMap;

use tenure_core::{Fault, store::Diagnostic};
use tenure_sql::{CONNECTION, Database, TlsMode};

use crate::{
    connection::open::is_kept,
    database::Mysql,
    tables::{rows::value, schema},
};

/// What is asked of the server. Each has some of them.
const VARIABLES: &str = "show global variables where variable_name in ('version', \
    'innodb_flush_log_at_trx_commit', 'log_bin', 'sync_binlog', 'read_only', 'super_read_only', \
    'innodb_read_only', 'wsrep_on', 'rpl_semi_sync_master_enabled', 'rpl_semi_sync_source_enabled', \
    'rpl_semi_sync_master_wait_point', 'rpl_semi_sync_source_wait_point', \
    'rpl_semi_sync_master_timeout', 'rpl_semi_sync_source_timeout', 'idle_transaction_timeout', \
    'idle_write_transaction_timeout', 'wait_timeout', 'group_replication_group_name', \
    'group_replication_single_primary_mode', 'group_replication_consistency', 'max_allowed_packet', \
    'innodb_doublewrite', 'innodb_flush_method', 'rpl_semi_sync_master_wait_for_slave_count', \
    'rpl_semi_sync_source_wait_for_replica_count')";
const STATUS: &str = "show global status where variable_name in ('wsrep_cluster_size', \
    'rpl_semi_sync_master_clients', 'rpl_semi_sync_source_clients', \
    'rpl_semi_sync_master_status', 'rpl_semi_sync_source_status', \
    'rpl_semi_sync_master_no_tx', 'rpl_semi_sync_source_no_tx', 'innodb_redo_log_enabled')";
/// What a statement with the longest queue of the usual bounds has room in, in bytes.
const MUCH: u64 = 4 * 1024 * 1024;
/// A server that waits for a replica for less than this goes on without one some day, and tells nobody: a day, in
/// milliseconds.
const WAITS: u64 = 24 * 60 * 60 * 1_000;
/// How long a transaction may do nothing before somebody should know, in seconds.
const LONG: u64 = 60;
/// How many are seen, and whether this user has the right to see those of others.
const REPLICAS: &str = "select (select count(*) from information_schema.processlist \
     where command like 'Binlog Dump%'), (select count(*) from information_schema.user_privileges \
     where privilege_type = 'PROCESS' and grantee = concat('''', replace(current_user(), '@', '''@'''), ''''))";

/// What a server says of itself, by small letters.
struct ServerVariables(BTreeMap<String, String>);

impl Mysql {
    pub(crate) async fn look_at_health(&self) -> Result<Vec<Diagnostic>, Fault> {
        if let Err(fault) = self.first_look().await {
            let diagnostic = Diagnostic::failed(CONNECTION, &fault);
            return Ok(vec![diagnostic.touches("S9")]);
        }
        let mut diagnostics = vec![match self.check_renewal_connection().await {
            Ok(()) => Diagnostic::good(CONNECTION, self.connection()),
            // Whatever is held would be lost when its first lease ends.
            Err(fault) => Diagnostic::failed(CONNECTION, &fault).touches("S7"),
        }];
        diagnostics.extend(self.common.options.unprotected());
        diagnostics.push(Diagnostic::good(
            "messages",
            "there are none: while it waits, each process asks at least twenty times a second",
        ));
        match self.server().await {
            Ok(server) => {
                diagnostics.extend(server.diagnostics());
                let seen = self.rows(REPLICAS.to_owned(), Vec::new(), |row| {
                    Ok((value::<i64>(row, 0)?, value::<i64>(row, 1)? > 0))
                });
                diagnostics.push(match seen.await.as_deref() {
                    Ok([(seen, sees_all)]) => server.replicas(*seen, *sees_all),
                    Ok(_) => server.replicas(0, false),
                    Err(fault) => Diagnostic::failed("replicas", fault).touches("S1"),
                });
            }
            Err(fault) => diagnostics.push(Diagnostic::failed("settings", &fault).touches("S1")),
        }
        let rows = self.common.statements.rows.clone();
        let rows = self.rows(rows, Vec::new(), |row| Ok((value(row, 0)?, value(row, 1)?))).await;
        diagnostics.push(match rows.as_deref() {
            Ok([(all, busy)]) => self.tables(*all, *busy),
            Ok(_) => self.tables(0, 0),
            Err(fault) => Diagnostic::failed("tables", fault).touches("S9"),
        });
        Ok(diagnostics)
    }

    fn connection(&self) -> String {
        let options = &self.common.options;
        let tls = match options.sql.tls.mode {
            TlsMode::Disable => "not encrypted",
            TlsMode::Prefer => "over TLS if the server has it",
            _ => "over TLS",
        };
        format!(
            "{} as {}, {tls}; two connections, and more for concurrent calls: at most {} for \
             calls, one for renewals, one for inspections and two for tenure's own work",
            self.common.location,
            options.sql.user.as_deref().unwrap_or_default(),
            options.sql.connections
        )
    }

    fn tables(&self, all: i64, busy: i64) -> Diagnostic {
        let (tables, format) = (&self.common.options.tables, schema::FORMAT);
        Diagnostic::good(
            "tables",
            format!(
                "{tables}_locks of format {format}, kept by InnoDB: {all} rows, {busy} in use; names are compared \
                 by bytes, times are UTC, and transactions are read committed, whatever the \
                 server's defaults"
            ),
        )
    }

    async fn server(&self) -> Result<ServerVariables, Fault> {
        let mut all = BTreeMap::new();
        for statement in [VARIABLES, STATUS] {
            let rows = self.rows(statement.to_owned(), Vec::new(), |row| {
                let name: String = value(row, 0)?;
                Ok((name.to_ascii_lowercase(), value::<String>(row, 1)?))
            });
            all.extend(rows.await?);
        }
        Ok(ServerVariables(all))
    }
}

impl ServerVariables {
    fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    fn is_on(&self, name: &str) -> bool {
        ["on", "1"].contains(&self.text(name).to_ascii_lowercase().as_str())
    }

    fn diagnostics(&self) -> Vec<Diagnostic> {
        let version = self.text("version");
        let is_mariadb = version.to_ascii_lowercase().contains("mariadb");
        let name = if is_mariadb { "" } else { "MySQL " };
        let mut diagnostics = vec![Diagnostic::good("version", format!("{name}{version}"))];
        diagnostics.push(self.persistence(is_mariadb));
        diagnostics.push(self.transactions(is_mariadb));
        diagnostics.extend(self.packets());
        let help = "set their clocks by NTP, and name the same node first in all URLs";
        if self.is_group() && !self.is_on("group_replication_single_primary_mode") {
            let found = "a group with several primaries: concurrent writes to two of them are reported as conflicts, and each has \
                         its own clock";
            diagnostics.push(Diagnostic::warning("cluster", found, "S1", help));
        }
        if self.is_on("wsrep_on") {
            let found = format!(
                "a Galera cluster of {}: concurrent writes to two nodes are reported as \
                 conflicts, and each has its own clock",
                self.text("wsrep_cluster_size")
            );
            diagnostics.push(Diagnostic::warning("cluster", found, "S1", help));
        }
        if ["read_only", "super_read_only", "innodb_read_only"].iter().any(|name| self.is_on(name))
        {
            let help = "point the URL to the primary, or name all hosts in it";
            let found = "this server is read-only, as replicas are";
            diagnostics.push(Diagnostic::bad("primary", found, "S9", help));
        }
        diagnostics
    }

    /// Whether it is in a group of MySQL's, and has others take over by its rules.
    fn is_group(&self) -> bool {
        !self.text("group_replication_group_name").is_empty()
    }

    fn persistence(&self, is_mariadb: bool) -> Diagnostic {
        let flush = self.text("innodb_flush_log_at_trx_commit");
        if !is_kept(flush.parse().unwrap_or_default(), is_mariadb) {
            let found = format!("innodb_flush_log_at_trx_commit is {flush}: a crash forgets locks");
            return Diagnostic::bad("persistence", found, "S1", "set it to 1");
        }
        let method = self.text("innodb_flush_method").to_ascii_lowercase();
        if ["nosync", "littlesync"].contains(&method.as_str()) {
            let found =
                format!("innodb_flush_method is {method}: a crash of the machine forgets locks");
            return Diagnostic::bad("persistence", found, "S1", "set it to fsync or O_DIRECT");
        }
        if self.text("innodb_redo_log_enabled").eq_ignore_ascii_case("off") {
            let found = "there is no redo log: a crash loses everything";
            let help = "alter instance enable innodb redo_log";
            return Diagnostic::bad("persistence", found, "S1", help);
        }
        let pages = self.text("innodb_doublewrite");
        if ["off", "0", "detect_only"].contains(&pages.to_ascii_lowercase().as_str()) {
            let found = format!(
                "innodb_doublewrite is {pages}: a crash of the machine can damage the tables, unless its disks write \
                 whole pages"
            );
            return Diagnostic::warning("persistence", found, "S1", "turn it on");
        }
        let sync = self.text("sync_binlog");
        // A transaction that the log lacks after a crash is undone.
        if self.is_on("log_bin") && sync != "1" {
            let found = format!("sync_binlog is {sync}: a crash of the machine can forget locks");
            return Diagnostic::warning("persistence", found, "S1", "set it to 1");
        }
        let found =
            format!("it keeps what it committed; innodb_flush_log_at_trx_commit is {flush}");
        Diagnostic::good("persistence", found)
    }

    /// Whether a long queue fits into one statement.
    fn packets(&self) -> Option<Diagnostic> {
        let most: u64 = self.text("max_allowed_packet").parse().ok()?;
        (most < MUCH).then(|| {
            let found = format!(
                "max_allowed_packet is {most}: the row of a name with many waiters may not fit"
            );
            Diagnostic::warning(
                "packets",
                found,
                "S9",
                "set it to 16M, as servers have it by default",
            )
        })
    }

    /// How long a holder that freezes in a transaction keeps what it has locked there.
    fn transactions(&self, is_mariadb: bool) -> Diagnostic {
        let settings: &[_] = if is_mariadb {
            &["idle_transaction_timeout", "idle_write_transaction_timeout"]
        } else {
            &["wait_timeout"]
        };
        let seconds = |name: &&str| self.text(name).parse::<u64>().ok().filter(|&long| long > 0);
        // The second is for those that have written, and counts for them in place of the first.
        let longest = match settings.first().and_then(seconds) {
            Some(first) => settings.iter().filter_map(seconds).max().map(|most| most.max(first)),
            None => None,
        };
        let shown: Vec<_> =
            settings.iter().map(|name| format!("{name} is {}", self.text(name))).collect();
        let shown = shown.join(", ");
        if longest.is_some_and(|seconds| seconds <= LONG) {
            let found =
                format!("an idle one ends, unless its session has another setting: {shown}");
            return Diagnostic::good("transactions", found);
        }
        let found =
            format!("{shown}: a holder that freezes in a transaction keeps what it locked there");
        let help =
            format!("set {} for the users that work under locks", settings.first().unwrap_or(&""));
        Diagnostic::warning("transactions", found, "S2", help)
    }

    fn replicas(&self, seen: i64, sees_all: bool) -> Diagnostic {
        let semi = ["master", "source"]
            .iter()
            .find(|role| self.is_on(&format!("rpl_semi_sync_{role}_enabled")));
        if let Some(role) = semi {
            let of = |what| self.text(&format!("rpl_semi_sync_{role}_{what}"));
            let (clients, point, limit, alone) =
                (of("clients"), of("wait_point"), of("timeout"), of("no_tx"));
            let is_on = self.is_on(&format!("rpl_semi_sync_{role}_status"));
            let state = if is_on { "on" } else { "given up for now" };
            let found = format!(
                "{seen} seen; semi-synchronous, {state}, {clients} of them, {point}; after \
                 {limit} ms without one it silently continues alone, as with {alone} commits so far"
            );
            let waits = limit.parse().is_ok_and(|limit: u64| limit >= WAITS);
            // MariaDB waits for one, whatever there are.
            let needed = ["wait_for_slave_count", "wait_for_replica_count"]
                .into_iter()
                .find_map(|what| of(what).parse().ok())
                .unwrap_or(1);
            let clients = clients.parse::<i64>().unwrap_or_default();
            if !is_on || clients == 0 || !point.eq_ignore_ascii_case("AFTER_SYNC") || !waits {
                let help = format!(
                    "use AFTER_SYNC with at least one replica that answers, and a time limit of a day or more: \
                     rpl_semi_sync_{role}_timeout"
                );
                return Diagnostic::warning("replicas", found, "S1", help);
            }
            if seen.max(clients) > needed {
                let found = format!(
                    "{found}; a commit waits for {needed}: a failover to another one can lose locks"
                );
                let help = "let commits wait for each that may take over, or wait for the longest ttl before one does";
                return Diagnostic::warning("replicas", found, "S1", help);
            }
            return Diagnostic::good("replicas", found);
        }
        let wait = "wait for the longest ttl before a replica takes over";
        if seen == 0 && !sees_all {
            let found = "not checked: this user may not see them";
            let help = format!("give it process to have this checked; if there are any, {wait}");
            return Diagnostic::warning("replicas", found, "S1", help);
        }
        if seen == 0 && self.is_group() {
            // What the group has accepted, a new primary may not have carried out yet.
            let consistency = self.text("group_replication_consistency");
            let found =
                format!("those of a group, whose group_replication_consistency is {consistency}");
            if ["before_on_primary_failover", "after", "before_and_after"]
                .contains(&consistency.to_ascii_lowercase().as_str())
            {
                return Diagnostic::good("replicas", found);
            }
            let help = "set it to BEFORE_ON_PRIMARY_FAILOVER, so that a new primary has what was committed before it grants";
            return Diagnostic::warning("replicas", found, "S1", help);
        }
        if seen == 0 && self.is_on("wsrep_on") {
            let found = "the other nodes of the cluster have what is committed, and no other replica is connected";
            return Diagnostic::good("replicas", found);
        }
        if seen == 0 {
            let found = "no replica is connected; tenure does not see one that is down for now, or a copy by other means";
            return Diagnostic::good("replicas", found);
        }
        let found = format!(
            "{seen}, and none is sure to have every commit: a failover can lose the last locks"
        );
        let help = format!("turn on semi-synchronous replication, or {wait}");
        Diagnostic::warning("replicas", found, "S1", help)
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::store::Severity;

    use super::*;

    fn server(told: &[(&str, &str)]) -> ServerVariables {
        ServerVariables(
            told.iter().map(|(name, is)| ((*name).to_owned(), (*is).to_owned())).collect(),
        )
    }

    #[test]
    fn what_can_be_lost_by_a_crash_is_warned_of() {
        let kept = [("innodb_flush_log_at_trx_commit", "1"), ("innodb_doublewrite", "ON")];
        assert_eq!(server(&kept).persistence(true).severity, Severity::Good);
        for (name, is, severity) in [
            ("innodb_flush_log_at_trx_commit", "2", Severity::Bad),
            ("innodb_flush_method", "nosync", Severity::Bad),
            ("innodb_redo_log_enabled", "OFF", Severity::Bad),
            ("innodb_doublewrite", "OFF", Severity::Warning),
            ("innodb_doublewrite", "DETECT_ONLY", Severity::Warning),
        ] {
            let mut told = kept.to_vec();
            told.push((name, is));
            let found = server(&told).persistence(true);
            assert!(found.severity == severity && found.found.contains("crash"), "{found:?}");
        }
    }

    #[test]
    fn replicas_that_may_lack_something_or_are_not_seen_are_warned_of() {
        let alone = server(&[]);
        assert_eq!(alone.replicas(0, true).severity, Severity::Good);
        let blind = alone.replicas(0, false);
        assert!(
            blind.severity == Severity::Warning && blind.found.contains("not checked"),
            "{blind:?}"
        );
        assert_eq!(alone.replicas(1, true).severity, Severity::Warning);
        assert_eq!(server(&[("wsrep_on", "ON")]).replicas(0, true).severity, Severity::Good);
        for (consistency, severity) in [
            ("EVENTUAL", Severity::Warning),
            ("BEFORE", Severity::Warning),
            ("BEFORE_ON_PRIMARY_FAILOVER", Severity::Good),
        ] {
            let group = [
                ("group_replication_group_name", "g"),
                ("group_replication_consistency", consistency),
            ];
            assert_eq!(server(&group).replicas(0, true).severity, severity, "{consistency}");
        }
    }

    #[test]
    fn commits_have_to_wait_for_each_replica() {
        let mut semi = vec![
            ("rpl_semi_sync_source_enabled", "ON"),
            ("rpl_semi_sync_source_status", "ON"),
            ("rpl_semi_sync_source_clients", "1"),
            ("rpl_semi_sync_source_wait_point", "AFTER_SYNC"),
            ("rpl_semi_sync_source_timeout", "86400000"),
        ];
        assert_eq!(server(&semi).replicas(1, true).severity, Severity::Good);
        let other = server(&semi).replicas(2, true);
        assert!(
            other.severity == Severity::Warning && other.found.contains("waits for 1"),
            "{other:?}"
        );
        semi[2].1 = "2";
        assert_eq!(server(&semi).replicas(0, false).severity, Severity::Warning);
        semi.push(("rpl_semi_sync_source_wait_for_replica_count", "2"));
        assert_eq!(server(&semi).replicas(2, true).severity, Severity::Good);
    }
}
