//! The statements that a lock in a table consists of, by hand over the same driver, and nothing else: no line of
//! waiters, no renewal, no look at how old the answer is.

use std::time::Duration;

use mysql_async::{Conn, Statement, prelude::Queryable};

use super::session;
use crate::{
    failure::Failure,
    figures::{Lock, Session},
    servers::sql::Bare,
};

/// How often who waits tries to take it: as often as tenure looks.
const POLL: Duration = Duration::from_millis(50);

/// The columns of tenure's table.
const TABLE: &str = "
    create table if not exists bare_locks (
        name varbinary(512) not null primary key,
        version bigint not null,
        last_time bigint not null,
        owner varbinary(16),
        client varbinary(16),
        kind smallint,
        token bigint,
        since bigint,
        expires bigint,
        label varchar(256) character set utf8mb4,
        waiting integer not null,
        others longblob
    ) engine = InnoDB row_format = dynamic";

const NOW: &str = "timestampdiff(microsecond, timestamp'1970-01-01 00:00:00', utc_timestamp(6))";

/// Columns are set from left to right, and what is set shows in those behind: who has it and until when is set last,
/// and says until then whether it is free.
fn grant() -> String {
    let values =
        ["version", "last_time", "client", "kind", "token", "since", "label"].map(|column| {
            let value = match column {
                "version" => "version + 1".to_owned(),
                _ => format!("values({column})"),
            };
            format!("{column} = if(owner is null or expires <= {NOW}, {value}, {column})")
        });
    format!(
        "insert into bare_locks \
         (name, version, last_time, owner, client, kind, token, since, expires, label, waiting) \
         values (?, 1, {NOW}, ?, ?, 0, last_insert_id({NOW} * 1024), {NOW}, {NOW} + 30000000, ?, 0) \
         on duplicate key update {}, \
         owner = if(owner is null or expires <= {NOW}, values(owner), owner), \
         expires = if(owner = values(owner), values(expires), expires)",
        values.join(", ")
    )
}

const RELEASE: &str = "
    update bare_locks set version = version + 1, owner = null, client = null, kind = null, token = null,
        since = null, expires = null, label = null
    where name = ? and owner = ?";

const READ: &str = "select version, last_time, others from bare_locks where name = ?";

const WRITE: &str = "
    update bare_locks set version = version + 1, last_time = ?, others = ? where name = ? and version = ?";

/// As long as one reader is in tenure's row.
const OTHERS: [u8; 96] = [7; 96];

/// As long as tenure's usual label.
const LABEL: &str = "somehost/1234567";

/// A session with one row.
pub(crate) struct Row {
    conn: Conn,
    name: String,
    owner: [u8; 16],
    grant: Statement,
    release: Statement,
    read: Statement,
    write: Statement,
}

impl Row {
    /// Whether the row was free, and is now this session's.
    async fn take(&mut self) -> Result<bool, Failure> {
        let owner = &self.owner[..];
        let values = (self.name.as_str(), owner, owner, LABEL);
        self.conn.exec_drop(&self.grant, values).await?;
        // Of a row that is as it was, the server says that none was changed.
        let token = self.conn.last_insert_id();
        Ok(self.conn.affected_rows() > 0 && token.is_some())
    }
}

impl Session for Row {
    async fn open(url: &str, name: &str) -> Result<Self, Failure> {
        let mut conn = session::open(url).await?;
        conn.query_drop(TABLE).await?;
        let mut owner = [1; 16];
        owner[..4].copy_from_slice(&conn.id().to_be_bytes());
        Ok(Self {
            grant: conn.prep(grant()).await?,
            release: conn.prep(RELEASE).await?,
            read: conn.prep(READ).await?,
            write: conn.prep(WRITE).await?,
            name: name.to_owned(),
            conn,
            owner,
        })
    }
}

impl Lock for Row {
    async fn acquire(&mut self) -> Result<(), Failure> {
        while !self.take().await? {
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    async fn release(&mut self) -> Result<(), Failure> {
        self.conn.exec_drop(&self.release, (self.name.as_str(), &self.owner[..])).await?;
        match self.conn.affected_rows() {
            1 => Ok(()),
            _ => Err("the row was not held".into()),
        }
    }
}

impl Bare for Row {
    async fn change_twice(&mut self) -> Result<(), Failure> {
        for _ in 0..2 {
            let row = self.conn.exec_first(&self.read, (self.name.as_str(),)).await?;
            let (version, time, _): (i64, i64, Option<Vec<u8>>) = row.ok_or("there is no row")?;
            let after = (time, &OTHERS[..], self.name.as_str(), version);
            self.conn.exec_drop(&self.write, after).await?;
            if self.conn.affected_rows() != 1 {
                return Err("somebody else wrote the row".into());
            }
        }
        Ok(())
    }
}
