//! Histories are read and added to, over a connection of their own.
//!
//! What is sent over one connection is answered in its order. So a history that is slow, as its table is locked or long,
//! would hold up whatever is sent behind it.

use tenure_core::{Fault, FaultKind, LockName, store::HistoryWrite};
use tenure_sql::{Database, HistorySnapshot};
use tokio_postgres::Row;

use crate::{
    database::{
        Postgres,
        query::{Parameters, Requester, micros},
    },
    error::{Failure, NO_RIGHTS, NO_TABLES, REFUSED},
    tables::{history::SWEPT, side_table::HISTORY, statements::Statement},
};

/// Of a table with which the server does not do what we ask.
const NOT_OURS: &str = "is not there for this user, or is not one that tenure made";

impl Postgres {
    pub(crate) async fn look_at_history(&self, name: &LockName) -> Result<HistorySnapshot, Fault> {
        let statement = &self.common.statements.read_history;
        let rows = match self.run_history(statement, &[&name.as_str()], false).await {
            // Nobody has added anything, and whoever only looks makes nothing.
            Err(fault) if fault.message() == NO_TABLES => {
                let now = self.read(name).await?.now;
                return Ok(HistorySnapshot { now, events: Vec::new() });
            }
            rows => rows.map_err(|fault| self.unusable(fault))?,
        };
        let now = self.get(rows.first().ok_or_else(|| self.odd())?, 0)?;
        let event = |row| Some((self.get::<Option<i64>>(row, 1).transpose()?, row));
        let events = rows.iter().filter_map(event).map(|(at, row)| Ok((at?, self.get(row, 2)?)));
        Ok(HistorySnapshot { now, events: events.collect::<Result<_, Fault>>()? })
    }

    pub(crate) async fn write_history(
        &self,
        name: &LockName,
        write: &HistoryWrite,
    ) -> Result<(), Fault> {
        // To make the table takes a lock for which those wait who open a store.
        if let Some(fault) = self.common.history_refusal.recent() {
            return Err(fault);
        }
        let (texts, ages): (Vec<_>, Vec<_>) =
            write.events.iter().map(|(text, ago)| (text.as_bytes(), micros(*ago))).unzip();
        let most = i64::from(write.retention.most_events());
        let others = most.saturating_sub(i64::try_from(texts.len()).unwrap_or(i64::MAX));
        let time = micros(write.retention.time());
        let parameters: &Parameters<'_> = &[&name.as_str(), &texts, &ages, &time, &others];
        let statement = &self.common.statements.add_history;
        let done = match self.run_history(statement, parameters, true).await {
            Err(fault) if fault.message() == NO_TABLES => {
                self.create_history(fault).await?;
                self.run_history(statement, parameters, true).await
            }
            done => done,
        };
        let rows = done.map_err(|fault| self.unusable(fault))?;
        let row = rows.first().ok_or_else(|| self.odd())?;
        let (added, is_ours): (i64, bool) = (self.get(row, 0)?, self.get(row, 1)?);
        if !is_ours {
            let what = "its columns are those of another program";
            let why = Fault::new(FaultKind::Misconfigured, what, "rename it");
            return Err(self.no_table(&HISTORY, NOT_OURS, why));
        }
        if usize::try_from(added) != Ok(texts.len()) {
            return Err(Failure::Crossed.fault());
        }
        Ok(())
    }

    /// Takes away a few events whose time is over, and returns whether there may be more.
    pub(crate) async fn sweep_histories(&self) -> Result<bool, Fault> {
        // First without the table: to find that it is not there is an error for the server's log.
        let found = self.run_sweep(&self.common.statements.has_history, &[], false).await?;
        if !self.get::<bool>(found.first().ok_or_else(|| self.odd())?, 0)? {
            return Ok(false);
        }
        let rows = self.run_history(&self.common.statements.sweep_history, &[], true).await?;
        let went: i64 = self.get(rows.first().ok_or_else(|| self.odd())?, 0)?;
        Ok(went >= i64::from(SWEPT))
    }

    async fn create_history(&self, missing: Fault) -> Result<(), Fault> {
        let created = self.create_side_table(Requester::History, &HISTORY, missing).await;
        if let Err(fault) = &created
            && fault.kind() == FaultKind::Misconfigured
        {
            self.common.history_refusal.remember(fault);
        }
        created
    }

    async fn run_history(
        &self,
        statement: &Statement,
        parameters: &Parameters<'_>,
        writes: bool,
    ) -> Result<Vec<Row>, Fault> {
        let lanes = &self.common.lanes;
        lanes.run(Requester::History, statement, parameters, writes, self.limit()).await
    }

    /// What the server says of the table itself names it.
    fn unusable(&self, fault: Fault) -> Fault {
        let is_of_table = fault.kind() == FaultKind::Misconfigured
            && [NO_TABLES, NO_RIGHTS, REFUSED].contains(&fault.message());
        if !is_of_table {
            return fault;
        }
        self.no_table(&HISTORY, NOT_OURS, fault)
    }
}
