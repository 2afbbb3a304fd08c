//! Which memory of the database this is.

use sha2::{Digest, Sha256};
use tenure_core::{Fault, Incarnation};

use crate::{
    connection::{open::is_kept, session::Session},
    database::Mysql,
    error::Failure,
    tables::rows::{odd, value},
};

impl Mysql {
    /// The number of the tables with that of the server, and without a log on disk also its start.
    pub(crate) async fn look_at_incarnation(&self) -> Result<Incarnation, Fault> {
        let meta = format!("{}_meta", self.common.options.tables);
        let text =
            self.call(move |session| Box::pin(async move { look(session, &meta).await })).await?;
        let hash = Sha256::digest(text.as_bytes());
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(hash.iter()).for_each(|(byte, of)| *byte = *of);
        Ok(Incarnation::from_bytes(bytes))
    }

    pub(crate) async fn look_at_server(&self) -> Result<String, Fault> {
        let rows = self.rows(NAMES.to_owned(), Vec::new(), |row| {
            Ok(format!("{} {}", value::<String>(row, 0)?, value::<String>(row, 1)?))
        });
        let mut told = rows.await?;
        told.sort_unstable();
        Ok(told.join(", "))
    }
}

/// What tells a server from all others, also from one with a copy of its files. Each has some of them.
const NAMES: &str = "show global variables where variable_name in ('server_uuid', 'server_uid', 'server_id', \
    'hostname', 'port', 'socket', 'pid_file', 'datadir')";

/// Both times are of one statement, so their difference is the start of the server to the second, whatever the clock
/// did since.
async fn look(session: &mut Session, meta: &str) -> Result<String, Failure> {
    // MariaDB has no number of the server. A cluster of Galera has one, and is one memory.
    let (place, server) = if session.is_mariadb {
        let wsrep = "(select variable_value from information_schema.global_status \
                     where variable_name = 'wsrep_cluster_state_uuid')";
        let host = "concat_ws(':', @@hostname, @@port, @@server_id, @@datadir)";
        ("information_schema", format!("coalesce(nullif({wsrep}, ''), {host})"))
    } else {
        ("performance_schema", "@@server_uuid".to_owned())
    };
    let statement = format!(
        "select hex(id), {server}, @@innodb_flush_log_at_trx_commit, \
         cast(unix_timestamp() - (select variable_value from {place}.global_status \
         where variable_name = 'Uptime') as signed) from {meta}"
    );
    let rows = session.rows(&statement, Vec::new()).await?;
    let row = rows.first().ok_or_else(odd)?;
    let (tables, server): (String, String) = (value(row, 0)?, value(row, 1)?);
    if is_kept(value(row, 2)?, session.is_mariadb) {
        return Ok(format!("{tables}/{server}"));
    }
    let start: Option<i64> = value(row, 3)?;
    Ok(format!("{tables}/{server}/{}", start.ok_or_else(odd)?))
}
