//! One connection: made, told how our sessions are, and looked at.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tenure_core::{Fault, FaultKind, threads::StoreThread};
use tenure_sql::{Secret, none_of};

use crate::{
    MysqlOptions,
    client::{Conn, Endpoint},
    connection::{
        session::Session,
        settings::{self, session_setup_sql},
        tls::Tls,
    },
    error::{self, Failure},
    tables::rows::{odd, value},
};

/// More than any statement or row of ours has, in bytes.
const MOST_OF_A_PACKET: usize = 64 * 1024 * 1024;

/// How connections are made.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionFactory {
    pub(crate) options: Arc<MysqlOptions>,
    pub(crate) home: Arc<StoreThread>,
    pub(crate) tls: Tls,
    /// Whether somebody was told already that a crash of the server forgets locks.
    pub(crate) warned: Arc<AtomicBool>,
    /// Whether each connection looks for the tables.
    pub(crate) looks: bool,
}

impl ConnectionFactory {
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
        Err(none_of(faults)
            .unwrap_or_else(|| crate::config::url::DIALECT.wrong("it names no host")))
    }

    async fn make_with(
        &self,
        host: &str,
        port: u16,
        wants_primary: bool,
    ) -> Result<Session, Fault> {
        let sql = &self.options.sql;
        // One of several is named by itself.
        let server = if wants_primary { format!("{host}:{port}") } else { self.options.location() };
        // A host that is silent leaves time for the others.
        let others = u32::try_from(sql.servers.len()).unwrap_or(u32::MAX);
        let share = if others > 1 { others.saturating_add(1) } else { 1 };
        let connect_timeout = sql.connect_timeout / share;
        let connecting = async {
            let login = format!("{}@{host}:{port}", sql.user.as_deref().unwrap_or_default());
            let secret = match &sql.password {
                Some(password) => {
                    let location = self.options.location();
                    Some(password.read(&login, &location, connect_timeout).await?)
                }
                None => None,
            };
            let conn = Conn::open(&self.endpoint_of(host, port, secret.as_ref())).await;
            let conn = conn.map_err(|error| {
                let fault = error::of_connecting(&error, &server, self.tls.encryption().is_some());
                match sql.password.as_ref().zip(secret.as_ref()) {
                    Some((password, secret)) if error::refuses_login(&error) => {
                        password.refused(&login, secret, fault)
                    }
                    _ => fault,
                }
            })?;
            // Nobody needs it any more.
            drop(secret);
            if let Some(password) = &sql.password {
                password.accepted(&login);
            }
            let mut session = Session::new(conn);
            let is_read_only =
                self.configure_session(&mut session).await.map_err(Failure::fault)?;
            if wants_primary && is_read_only {
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
            let what = format!("the connection to {server} was not made in time");
            Err(Fault::new(FaultKind::Unreachable, what, tenure_sql::SILENT))
        })
    }

    fn endpoint_of<'a>(
        &'a self,
        host: &'a str,
        port: u16,
        password: Option<&'a Secret>,
    ) -> Endpoint<'a> {
        let sql = &self.options.sql;
        Endpoint {
            host,
            port,
            user: sql.user.as_deref(),
            password: password.map(Secret::expose),
            database: &sql.database,
            encryption: self.tls.encryption(),
            may_be_plain: !sql.tls.is_required(),
            trusts_key: self.options.trusts_key,
        }
    }

    /// Notifications the session how it is to be, and asks the server what it is: whether it is read-only.
    async fn configure_session(&self, session: &mut Session) -> Result<bool, Failure> {
        // Longer than we wait: what nobody waits for any more ends, too.
        let limit = self.options.sql.response_timeout * 2;
        let found = session.run_statements(&session_setup_sql(limit, session.mark)).await?;
        let row = found.first().ok_or_else(odd)?;
        let version: String = value(row, 0)?;
        let is_mariadb = version.to_ascii_lowercase().contains("mariadb");
        check_version(&version, is_mariadb)?;
        session.is_mariadb = is_mariadb;
        session.max_packet = value::<usize>(row, 3)?.min(MOST_OF_A_PACKET);
        // MariaDB alone tells the last, and only where it knows of clusters.
        let is_past_cluster = is_mariadb && value::<Option<i64>>(row, 6)?.unwrap_or_default() != 0;
        let is_past_log = value::<i64>(row, 5)? != 0;
        settings::check(&value::<String>(row, 4)?, is_past_log, is_past_cluster)?;
        let flush = value(row, 1)?;
        // MariaDB's 3 is more than 1.
        if !is_kept(flush, is_mariadb) && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                store = "mysql",
                location = self.options.location(),
                "innodb_flush_log_at_trx_commit is {flush}: a crash of the server forgets the \
                 holders of locks",
            );
        }
        Ok(value::<i64>(row, 2)? != 0)
    }
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
    let help = "use MySQL 8.0 or later, or MariaDB 10.6 or later";
    Err(Fault::new(FaultKind::Misconfigured, what, help))
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
