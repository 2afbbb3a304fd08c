//! A look at the real database.

use std::collections::BTreeMap;

use tenure_core::{Fault, store::Finding};
use tenure_sql::{CONNECTION, Database};

use crate::{connect::is_kept, database::Mysql, rows::value, schema};

/// What is asked of the server. Each has some of them.
const VARIABLES: &str = "show global variables where variable_name in ('version', \
    'innodb_flush_log_at_trx_commit', 'log_bin', 'sync_binlog', 'read_only', 'super_read_only', \
    'innodb_read_only', 'wsrep_on', 'rpl_semi_sync_master_enabled', 'rpl_semi_sync_source_enabled', \
    'rpl_semi_sync_master_wait_point', 'rpl_semi_sync_source_wait_point', \
    'rpl_semi_sync_master_timeout', 'rpl_semi_sync_source_timeout', 'idle_transaction_timeout', \
    'idle_write_transaction_timeout', 'wait_timeout', 'group_replication_group_name', \
    'group_replication_single_primary_mode', 'max_allowed_packet')";
const STATUS: &str = "show global status where variable_name in ('wsrep_cluster_size', \
    'rpl_semi_sync_master_clients', 'rpl_semi_sync_source_clients', \
    'rpl_semi_sync_master_status', 'rpl_semi_sync_source_status', \
    'rpl_semi_sync_master_no_tx', 'rpl_semi_sync_source_no_tx')";
/// What a statement with the longest queue of the usual bounds has room in, in bytes.
const MUCH: u64 = 4 * 1024 * 1024;
/// A server that waits for a replica for less than this goes on without one some day, and tells nobody: a day, in
/// milliseconds.
const WAITS: u64 = 24 * 60 * 60 * 1_000;
/// How long a transaction may do nothing before somebody should know, in seconds.
const LONG: u64 = 60;
/// Without the right to see those of others, none is seen.
const REPLICAS: &str =
    "select count(*) from information_schema.processlist where command like 'Binlog Dump%'";

/// What a server says of itself, by small letters.
struct Server(BTreeMap<String, String>);

impl Mysql {
    pub(crate) async fn look_at_health(&self) -> Result<Vec<Finding>, Fault> {
        if let Err(fault) = self.first_look().await {
            let finding = Finding::failed(CONNECTION, &fault);
            return Ok(vec![finding.touches("S9")]);
        }
        let mut findings = vec![Finding::good(CONNECTION, self.connection())];
        findings.push(Finding::good(
            "messages",
            "there are none: while somebody waits, each process looks at least twenty times a second",
        ));
        match self.server().await {
            Ok(server) => findings.extend(server.findings()),
            Err(fault) => findings.push(Finding::failed("settings", &fault).touches("S1")),
        }
        let replicas = self.rows(REPLICAS.to_owned(), Vec::new(), |row| value::<i64>(row, 0)).await;
        if let (Ok(server), Ok(replicas)) = (self.server().await, replicas) {
            findings.push(server.replicas(replicas.first().copied().unwrap_or_default()));
        }
        let rows = self.common.statements.rows.clone();
        let rows = self.rows(rows, Vec::new(), |row| Ok((value(row, 0)?, value(row, 1)?))).await;
        findings.push(match rows.as_deref() {
            Ok([(all, busy)]) => self.tables(*all, *busy),
            Ok(_) => self.tables(0, 0),
            Err(fault) => Finding::failed("tables", fault).touches("S9"),
        });
        Ok(findings)
    }

    fn connection(&self) -> String {
        let options = &self.common.options;
        let tls = if options.sql.tls { "over TLS" } else { "not encrypted" };
        format!(
            "{} as {}, {tls}; two connections, and more while calls are in each other's way: at most {} for \
             calls, one for renewals, one for looks and two for what tenure does by itself",
            self.common.location,
            options.sql.user.as_deref().unwrap_or_default(),
            options.sql.connections
        )
    }

    fn tables(&self, all: i64, busy: i64) -> Finding {
        let (tables, format) = (&self.common.options.tables, schema::FORMAT);
        Finding::good(
            "tables",
            format!(
                "{tables}_locks of format {format}, kept by InnoDB: {all} rows, {busy} in use; names are compared \
                 by bytes, times are UTC, and transactions are read committed, whatever the server has by default"
            ),
        )
    }

    async fn server(&self) -> Result<Server, Fault> {
        let mut all = BTreeMap::new();
        for statement in [VARIABLES, STATUS] {
            let rows = self.rows(statement.to_owned(), Vec::new(), |row| {
                let name: String = value(row, 0)?;
                Ok((name.to_ascii_lowercase(), value::<String>(row, 1)?))
            });
            all.extend(rows.await?);
        }
        Ok(Server(all))
    }
}

impl Server {
    fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    fn is_on(&self, name: &str) -> bool {
        ["on", "1"].contains(&self.text(name).to_ascii_lowercase().as_str())
    }

    fn findings(&self) -> Vec<Finding> {
        let version = self.text("version");
        let is_mariadb = version.to_ascii_lowercase().contains("mariadb");
        let name = if is_mariadb { "" } else { "MySQL " };
        let mut findings = vec![Finding::good("version", format!("{name}{version}"))];
        findings.push(self.persistence(is_mariadb));
        findings.push(self.transactions(is_mariadb));
        findings.extend(self.packets());
        let cure = "set their clocks by NTP, and name the same node first in all URLs";
        if !self.text("group_replication_group_name").is_empty()
            && !self.is_on("group_replication_single_primary_mode")
        {
            let found = "a group with several primaries: who writes to two of them at once is told so, and each has \
                         its own clock";
            findings.push(Finding::warning("cluster", found, "S1", cure));
        }
        if self.is_on("wsrep_on") {
            let found = format!(
                "a Galera cluster of {}: who writes to two nodes at once is told so, and each has its own clock",
                self.text("wsrep_cluster_size")
            );
            findings.push(Finding::warning("cluster", found, "S1", cure));
        }
        if ["read_only", "super_read_only", "innodb_read_only"].iter().any(|name| self.is_on(name))
        {
            let cure = "point the URL to the primary, or name all hosts in it";
            let found = "this server is read-only, as replicas are";
            findings.push(Finding::bad("primary", found, "S9", cure));
        }
        findings
    }

    fn persistence(&self, is_mariadb: bool) -> Finding {
        let flush = self.text("innodb_flush_log_at_trx_commit");
        if !is_kept(flush.parse().unwrap_or_default(), is_mariadb) {
            let found = format!("innodb_flush_log_at_trx_commit is {flush}: a crash forgets locks");
            return Finding::bad("persistence", found, "S1", "set it to 1");
        }
        let sync = self.text("sync_binlog");
        // A transaction that the log lacks after a crash is undone.
        if self.is_on("log_bin") && sync != "1" {
            let found = format!("sync_binlog is {sync}: a crash of the machine can forget locks");
            return Finding::warning("persistence", found, "S1", "set it to 1");
        }
        let found =
            format!("it keeps what it committed; innodb_flush_log_at_trx_commit is {flush}");
        Finding::good("persistence", found)
    }

    /// Whether a long queue fits into one statement.
    fn packets(&self) -> Option<Finding> {
        let most: u64 = self.text("max_allowed_packet").parse().ok()?;
        (most < MUCH).then(|| {
            let found = format!(
                "max_allowed_packet is {most}: the row of a name with many waiters may not fit"
            );
            Finding::warning("packets", found, "S9", "set it to 16M, as servers have it by default")
        })
    }

    /// How long a holder that freezes in a transaction keeps what it has locked there.
    fn transactions(&self, is_mariadb: bool) -> Finding {
        let settings: &[_] = if is_mariadb {
            &["idle_transaction_timeout", "idle_write_transaction_timeout"]
        } else {
            &["wait_timeout"]
        };
        let seconds = |name: &&str| self.text(name).parse::<u64>().ok().filter(|&long| long > 0);
        let shortest = settings.iter().filter_map(seconds).min();
        let shown: Vec<_> =
            settings.iter().map(|name| format!("{name} is {}", self.text(name))).collect();
        let shown = shown.join(", ");
        if shortest.is_some_and(|seconds| seconds <= LONG) {
            return Finding::good("transactions", format!("one that does nothing ends: {shown}"));
        }
        let found =
            format!("{shown}: a holder that freezes in a transaction keeps what it locked there");
        let cure =
            format!("set {} for those who work under locks", settings.first().unwrap_or(&""));
        Finding::warning("transactions", found, "S2", cure)
    }

    fn replicas(&self, seen: i64) -> Finding {
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
                "{seen} seen; semi-synchronous, {state}, {clients} of them, {point}; after {limit} ms without one it \
                 goes on alone and tells nobody, as with {alone} commits so far"
            );
            let waits = limit.parse().is_ok_and(|limit: u64| limit >= WAITS);
            if is_on && clients != "0" && point.eq_ignore_ascii_case("AFTER_SYNC") && waits {
                return Finding::good("replicas", found);
            }
            let cure = format!(
                "use AFTER_SYNC with at least one replica that answers, and a time limit of a day or more: \
                 rpl_semi_sync_{role}_timeout"
            );
            return Finding::warning("replicas", found, "S1", cure);
        }
        if seen == 0 {
            let found = "none that this user sees: no fail-over can lose a lock";
            return Finding::good("replicas", found);
        }
        let found = format!(
            "{seen}, and none has what is committed for sure: a fail-over can lose the last locks"
        );
        let cure = "turn on semi-synchronous replication, or wait for the longest ttl before a replica takes over";
        Finding::warning("replicas", found, "S1", cure)
    }
}
