//! The statements that a lock in a table consists of, by hand over the same driver, and nothing else: no line of
//! waiters, no renewal, no look at how old the answer is.

use tokio_postgres::{Client, Statement};

use super::session::{self, Heard};
use crate::{
    failure::Failure,
    figures::{Lock, Session},
    servers::sql::Bare,
};

/// The columns of tenure's table.
const TABLE: &str = "
    create schema if not exists bare;
    create table if not exists bare.locks (
        name text collate \"C\" primary key,
        version bigint not null,
        last_time bigint not null,
        owner bytea,
        client bytea,
        kind smallint,
        token bigint,
        since bigint,
        expires bigint,
        label text,
        waiting integer not null,
        others bytea
    ) with (fillfactor = 60)";

const GRANT: &str = "
    insert into bare.locks as l
        (name, version, last_time, owner, client, kind, token, since, expires, label, waiting)
    select $1, 1, t.now, $2, $3, 0, t.now << 10, t.now, t.now + 30000000, $4, 0
        from (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now) t
    on conflict (name) do update set version = l.version + 1, last_time = excluded.last_time,
        owner = excluded.owner, client = excluded.client, kind = excluded.kind, token = excluded.token,
        since = excluded.since, expires = excluded.expires, label = excluded.label
    where l.owner is null or l.expires <= excluded.since
    returning token";

const RELEASE: &str = "
    update bare.locks set version = version + 1, owner = null, client = null, kind = null, token = null,
        since = null, expires = null, label = null
    where name = $1 and owner = $2";

const READ: &str = "select version, last_time, others from bare.locks where name = $1";

const WRITE: &str = "
    update bare.locks set version = version + 1, last_time = $3, others = $4 where name = $1 and version = $2";

/// As long as one reader is in tenure's row.
const OTHERS: [u8; 96] = [7; 96];

/// As long as tenure's usual label.
const LABEL: &str = "somehost/1234567";

/// A session with one row.
pub(crate) struct Row {
    client: Client,
    heard: Heard,
    /// Of this session, at the server.
    process: i32,
    name: String,
    owner: [u8; 16],
    grant: Statement,
    release: Statement,
    release_and_tell: Statement,
    read: Statement,
    write: Statement,
}

impl Row {
    /// Whether the row was free, and is now this session's.
    async fn take(&self) -> Result<bool, Failure> {
        let owner = &self.owner[..];
        let granted = self.client.query(&self.grant, &[&self.name, &owner, &owner, &LABEL]).await?;
        Ok(!granted.is_empty())
    }
}

impl Session for Row {
    async fn open(url: &str, name: &str) -> Result<Self, Failure> {
        let (client, heard) = session::open(url).await?;
        let table = format!("begin; select pg_advisory_xact_lock(0); {TABLE}; commit");
        client.batch_execute(&table).await?;
        // From now on it hears who lets go.
        client.batch_execute(&format!("listen bare_{name}")).await?;
        let process = client.query_one("select pg_backend_pid()", &[]).await?.try_get(0)?;
        let mut owner = [1; 16];
        owner[..4].copy_from_slice(&i32::to_be_bytes(process));
        let tell =
            format!("with r as ({RELEASE} returning 1) select pg_notify('bare_' || $1, '') from r");
        Ok(Self {
            grant: client.prepare(GRANT).await?,
            release: client.prepare(RELEASE).await?,
            release_and_tell: client.prepare(&tell).await?,
            read: client.prepare(READ).await?,
            write: client.prepare(WRITE).await?,
            name: name.to_owned(),
            client,
            heard,
            process,
            owner,
        })
    }
}

impl Lock for Row {
    async fn acquire(&mut self) -> Result<(), Failure> {
        loop {
            // What was heard before the row is looked at, says nothing new.
            while self.heard.try_recv().is_ok() {}
            if self.take().await? {
                return Ok(());
            }
            loop {
                let message = self.heard.recv().await.ok_or("the session ended")?;
                if message.process_id() != self.process {
                    break;
                }
            }
        }
    }

    /// In one statement.
    async fn release(&mut self) -> Result<(), Failure> {
        let owner = &self.owner[..];
        match self.client.query(&self.release_and_tell, &[&self.name, &owner]).await?.len() {
            1 => Ok(()),
            _ => Err("the row was not held".into()),
        }
    }

    async fn pair(&mut self) -> Result<(), Failure> {
        let owner = &self.owner[..];
        if !self.take().await? {
            return Err("somebody else has the row".into());
        }
        match self.client.execute(&self.release, &[&self.name, &owner]).await? {
            1 => Ok(()),
            _ => Err("the row was not held".into()),
        }
    }
}

impl Bare for Row {
    async fn change_twice(&mut self) -> Result<(), Failure> {
        for _ in 0..2 {
            let row = self.client.query_one(&self.read, &[&self.name]).await?;
            let (version, time): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
            let others = &OTHERS[..];
            let after = [
                &self.name as &(dyn tokio_postgres::types::ToSql + Sync),
                &version,
                &time,
                &others,
            ];
            if self.client.execute(&self.write, &after).await? != 1 {
                return Err("somebody else wrote the row".into());
            }
        }
        Ok(())
    }
}
