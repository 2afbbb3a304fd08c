//! A page of rows is looked at, and those that nobody needs any more are taken away.

use std::time::Duration;

use tenure_core::{Fault, LockName};
use tenure_sql::{IdleRow, SweepCursor, SweepPage};
use tokio_postgres::Row;

use crate::{
    database::{
        Postgres,
        query::{Parameters, Requester, micros},
    },
    tables::statements::Statement,
};

impl Postgres {
    pub(crate) async fn run_sweep(
        &self,
        statement: &Statement,
        parameters: &Parameters<'_>,
        writes: bool,
    ) -> Result<Vec<Row>, Fault> {
        self.common.lanes.run(Requester::Sweeper, statement, parameters, writes, self.limit()).await
    }

    /// What is behind the mark.
    pub(crate) async fn look_at_page(&self, age: Duration) -> Result<SweepPage, Fault> {
        let rows = self.run_sweep(&self.common.statements.page, &[&micros(age)], false).await?;
        let first = rows.first().ok_or_else(|| self.odd())?;
        let text = |index| -> Result<Option<Vec<u8>>, Fault> {
            Ok(self.get::<Option<&str>>(first, index)?.map(|text| text.as_bytes().to_vec()))
        };
        let number = |index| self.get::<Option<i64>>(first, index);
        let mark = SweepCursor {
            version: number(0)?.unwrap_or_default(),
            at: text(1)?.unwrap_or_default(),
            reached: number(2)?.unwrap_or_default(),
        };
        let idle = rows.iter().filter_map(|row| {
            // What makes no sense is not surely ours to remove.
            let (name, snapshot) = (self.name(row, 5).ok()?, self.snapshot(row, 6).ok()?);
            Some(self.get(row, 23).map(|has_others| IdleRow { name, snapshot, has_others }))
        });
        let idle = idle.collect::<Result<_, Fault>>()?;
        let (raised, end) = (self.get(first, 3)?, text(4)?);
        Ok(SweepPage {
            now: self.get(first, 6)?,
            floor: self.get(first, 7)?,
            raised,
            mark,
            end,
            idle,
        })
    }

    /// Moves the mark, and takes away these rows, unless they have changed or somebody has locked them.
    pub(crate) async fn take_rows_away(
        &self,
        mark: &SweepCursor,
        rows: &[(LockName, i64)],
    ) -> Result<Option<usize>, Fault> {
        let at = std::str::from_utf8(&mark.at).map_err(|_| self.odd())?;
        let (names, versions): (Vec<_>, Vec<_>) =
            rows.iter().map(|(name, version)| (name.as_str(), *version)).unzip();
        let parameters: &Parameters<'_> = &[&mark.version, &at, &mark.reached, &names, &versions];
        let rows = self.run_sweep(&self.common.statements.take_away, parameters, true).await?;
        let row = rows.first().ok_or_else(|| self.odd())?;
        let is_moved = self.get::<i64>(row, 0)? > 0;
        let went = usize::try_from(self.get::<i64>(row, 1)?).unwrap_or_default();
        Ok(is_moved.then_some(went))
    }
}
