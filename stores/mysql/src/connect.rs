//! One connection: made, told how our sessions are, and looked at.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use mysql_async::{Conn, Opts, Row, prelude::Queryable};
use tenure_core::{Fault, FaultKind, store::Home};
use tenure_sql::none_of;

use crate::{
    MysqlOptions,
    error::{self, Failure},
    rows::{odd, value},
    schema::{FORMAT, statements},
    session::Session,
    tls::Tls,
};

/// How connections are made.
#[derive(Clone, Debug)]
pub(crate) struct Maker {
    pub(crate) options: Arc<MysqlOptions>,
    pub(crate) home: Arc<Home>,
    pub(crate) tls: Tls,
    /// Whether somebody was told already that a crash of the server forgets locks.
    pub(crate) warned: Arc<AtomicBool>,
    /// Whether each connection looks for the tables.
    pub(crate) looks: bool,
}

/// What a server says of itself.
struct Server {
    version: String,
    is_mariadb: bool,
    flush: i64,
    is_read_only: bool,
}

impl Maker {
    /// A new session, with the first server that takes writes. On the store's own thread.
    pub(crate) async fn make(&self) -> Result<Session, Fault> {
        let servers = &self.options.sql.servers;
        let mut faults = Vec::new();
        for (host, port) in servers {
            match self.make_with(host, *port, servers.len() > 1).await {
                Ok(session) => return Ok(session),
                Err(fault) => faults.push(fault),
            }
        }
        Err(none_of(faults).unwrap_or_else(|| crate::options::SPELLING.wrong("it names no host")))
    }

    async fn make_with(
        &self,
        host: &str,
        port: u16,
        wants_primary: bool,
    ) -> Result<Session, Fault> {
        let server = format!("{host}:{port}");
        let sql = &self.options.sql;
        // A host that is silent leaves time for the others.
        let others = u32::try_from(sql.servers.len()).unwrap_or(u32::MAX);
        let share = if others > 1 { others.saturating_add(1) } else { 1 };
        let connect_timeout = sql.connect_timeout / share;
        let connecting = async {
            let conn = Conn::new(self.driver_options(host, port)).await;
            let conn = conn.map_err(|error| error::of_connecting(&error, &server))?;
            let mut session = Session::new(conn);
            let server = self.introduce(&mut session).await.map_err(Failure::fault)?;
            if wants_primary && server.is_read_only {
                let what = format!("{host}:{port} takes no writes: it is a replica");
                return Err(Fault::new(
                    FaultKind::Unreachable,
                    what,
                    "name the primary in the URL",
                ));
            }
            if self.looks {
                self.check_tables(&mut session).await?;
            }
            Ok(session)
        };
        let made = tokio::time::timeout(connect_timeout, connecting).await;
        made.unwrap_or_else(|_| {
            let what = format!("no connection to {host}:{port} was made in time");
            let cure = "see that the server runs and can be reached";
            Err(Fault::new(FaultKind::Unreachable, what, cure))
        })
    }

    fn driver_options(&self, host: &str, port: u16) -> Opts {
        let sql = &self.options.sql;
        let password = sql.password.as_ref().map(|password| password.0.clone());
        self.tls
            .begin()
            .ip_or_hostname(host)
            .tcp_port(port)
            .user(sql.user.clone())
            .pass(password)
            .db_name(Some(sql.database.clone()))
            // Never by a way that the URL does not name.
            .prefer_socket(false)
            .tcp_keepalive(Some(std::time::Duration::from_secs(10)))
            .connect_attribute("program_name", "tenure")
            .into()
    }

    /// Tells the session how it is to be, and asks the server what it is.
    async fn introduce(&self, session: &mut Session) -> Result<Server, Failure> {
        let server = server(session).await?;
        check_version(&server.version, server.is_mariadb)?;
        session.is_mariadb = server.is_mariadb;
        // Longer than we wait: what nobody waits for any more ends, too.
        let limit = self.options.sql.response_timeout * 2;
        let seconds = limit.as_secs().max(1);
        let mut settings = format!(
            "set session autocommit = 1, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', \
             innodb_lock_wait_timeout = 1, lock_wait_timeout = {seconds}"
        );
        if server.is_mariadb {
            settings += &format!(", max_statement_time = {seconds}");
        } else {
            // With too little to plan with, MySQL would look at all rows, and wait for each that somebody locked.
            settings += ", range_optimizer_max_mem_size = 0";
        }
        session.say(&settings).await?;
        session.say("set session transaction isolation level read committed").await?;
        // MariaDB's 3 is more than 1.
        if !is_kept(server.flush, server.is_mariadb) && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                store = "mysql",
                location = self.options.location(),
                "innodb_flush_log_at_trx_commit is {}: a crash of the server forgets who holds a lock",
                server.flush
            );
        }
        Ok(server)
    }

    async fn check_tables(&self, session: &mut Session) -> Result<(), Fault> {
        let tables = &self.options.tables;
        let look = format!(
            "select format, (select count(*) from {tables}_locks where false) from {tables}_meta"
        );
        let mut found = session.rows(&look, Vec::new()).await;
        let is_missing = match &found {
            Ok(rows) => rows.is_empty(),
            Err(failure) => matches!(failure, Failure::NoTables(_)),
        };
        if is_missing && self.options.creates {
            self.create(session).await?;
            found = session.rows(&look, Vec::new()).await;
        }
        let found = found.map_err(Failure::fault)?;
        let Some(row) = found.first() else {
            let what = format!("the table {tables}_meta is empty");
            let cure = "fill it as `tenure schema mysql` says";
            return Err(Fault::new(FaultKind::Misconfigured, what, cure));
        };
        let format: i64 = value(row, 0)?;
        if format != FORMAT {
            let what = format!(
                "the tables {tables}_… have format {format}, and this version knows {FORMAT}"
            );
            let cure = "use a version of tenure that knows it, or other tables: tables= in the URL";
            return Err(Fault::new(FaultKind::Misconfigured, what, cure));
        }
        self.check_make(session).await
    }

    /// Whether each name has one row at most, names are compared by their bytes, and what is committed is kept. Tables
    /// made by hand, or restored without their indexes, may lack that.
    async fn check_make(&self, session: &mut Session) -> Result<(), Fault> {
        let tables = &self.options.tables;
        let of = |table: &str| {
            format!("where table_schema = database() and table_name = '{tables}_{table}'")
        };
        let (locks, meta) = (of("locks"), of("meta"));
        let make = format!(
            "select (select engine from information_schema.tables {locks}), \
             (select engine from information_schema.tables {meta}), \
             (select group_concat(lower(column_name), coalesce(sub_part, '')) \
             from information_schema.statistics {locks} and index_name = 'PRIMARY'), \
             (select lower(data_type) from information_schema.columns {locks} and column_name = 'name')"
        );
        let found = session.rows(&make, Vec::new()).await.map_err(Failure::fault)?;
        let row = found.first().ok_or_else(odd)?;
        let text = |index| -> Result<String, Fault> {
            Ok(value::<Option<String>>(row, index)?.unwrap_or_default())
        };
        for (table, engine) in [("locks", text(0)?), ("meta", text(1)?)] {
            if !engine.eq_ignore_ascii_case("InnoDB") {
                let what = format!("the table {tables}_{table} is kept by {engine}");
                let cure = "alter table … engine = InnoDB: no other keeps what it committed";
                return Err(Fault::new(FaultKind::Misconfigured, what, cure));
            }
        }
        let (key, kind) = (text(2)?, text(3)?);
        let (what, cure) = if key != "name" {
            let what =
                "has another primary key than name, so a name can have two rows, and two holders";
            (what, "alter table … add primary key (name)")
        } else if kind != "varbinary" {
            let what = "does not compare names by their bytes, so two names can be one lock";
            (what, "make the column name varbinary(512)")
        } else {
            return Ok(());
        };
        let cure =
            format!("{cure}, as `tenure schema mysql` has it, or name other tables: tables=");
        Err(Fault::new(FaultKind::Misconfigured, format!("the table {tables}_locks {what}"), cure))
    }

    /// However many begin at once: what is there stays as it is.
    async fn create(&self, session: &mut Session) -> Result<(), Fault> {
        let [locks, meta, first, view] = statements(&self.options.tables);
        for statement in [locks, meta, first] {
            session.say(&statement).await.map_err(|failure| {
                let fault = failure.fault();
                if fault.kind() != FaultKind::Misconfigured {
                    return fault;
                }
                let what =
                    format!("this user cannot make the tables {}_…", self.options.tables);
                let cure = "let their owner run what `tenure schema mysql` prints, and grant this user what it says";
                Fault::new(FaultKind::Misconfigured, what, cure).because(fault.to_string())
            })?;
        }
        // Only people look at it, and not everybody may make one.
        let _ = session.say(&view).await;
        Ok(())
    }
}

async fn server(session: &mut Session) -> Result<Server, Failure> {
    let look = "select version(), @@innodb_flush_log_at_trx_commit, @@read_only";
    let found: Result<Option<Row>, _> = session.conn.query_first(look).await;
    let found = found.map_err(|error| error::of_statement(error, false))?;
    let Some(row) = found else { return Err(odd().into()) };
    let version: String = value(&row, 0)?;
    let is_mariadb = version.to_ascii_lowercase().contains("mariadb");
    let is_read_only = value::<i64>(&row, 2)? != 0;
    Ok(Server { version, is_mariadb, flush: value(&row, 1)?, is_read_only })
}

/// Whether what is committed is on disk.
pub(crate) fn is_kept(flush: i64, is_mariadb: bool) -> bool {
    flush == 1 || is_mariadb && flush == 3
}

/// The first two numbers of a version.
fn numbers(version: &str) -> (u32, u32) {
    let mut numbers = version.split(|sign: char| !sign.is_ascii_digit());
    let mut next = || numbers.next().and_then(|number| number.parse().ok()).unwrap_or_default();
    (next(), next())
}

fn check_version(version: &str, is_mariadb: bool) -> Result<(), Fault> {
    let (least, name) = if is_mariadb { ((10, 6), "MariaDB") } else { ((8, 0), "MySQL") };
    if numbers(version) >= least {
        return Ok(());
    }
    let what = format!("{name} {version} is too old");
    let cure = "use MySQL 8.0 or later, or MariaDB 10.6 or later";
    Err(Fault::new(FaultKind::Misconfigured, what, cure))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_versions_are_refused() {
        for (version, is_mariadb, works) in [
            ("8.0.36", false, true),
            ("8.4.0-1", false, true),
            ("9.1.0", false, true),
            ("5.7.44-log", false, false),
            ("10.11.19-MariaDB-0+deb12u1", true, true),
            ("11.4.2-MariaDB", true, true),
            ("10.5.8-MariaDB", true, false),
        ] {
            assert_eq!(check_version(version, is_mariadb).is_ok(), works, "{version}");
        }
    }
}
