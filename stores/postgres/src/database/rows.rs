//! From rows of the server to ours.

use tenure_core::{Fault, FaultKind, LockName, Token};
use tenure_sql::{NextWaiter, RowSnapshot, SoleHolder};
use tokio_postgres::{Row, types::FromSql};

use crate::database::Postgres;

impl Postgres {
    pub(crate) fn get<'a, T: FromSql<'a>>(&self, row: &'a Row, index: usize) -> Result<T, Fault> {
        row.try_get(index).map_err(|error| self.odd().because(error))
    }

    pub(crate) fn odd(&self) -> Fault {
        let what = format!("the answer of {} makes no sense", self.common.location);
        Fault::new(FaultKind::InDoubt, what, "check that its tables are tenure's")
    }

    /// What stands behind the first `skip` columns.
    pub(crate) fn snapshot(&self, row: &Row, skip: usize) -> Result<RowSnapshot, Fault> {
        let version: Option<i64> = self.get(row, skip + 2)?;
        let now = self.get(row, skip)?;
        let floor = self.get::<Option<i64>>(row, skip + 1)?.ok_or_else(|| self.odd())?;
        let Some(version) = version else {
            return Ok(RowSnapshot { now, floor, ..RowSnapshot::default() });
        };
        let bytes = |index| -> Result<[u8; 16], Fault> {
            self.get::<&[u8]>(row, index)?.try_into().map_err(|_| self.odd())
        };
        let owner: Option<&[u8]> = self.get(row, skip + 4)?;
        let sole = match owner {
            None => None,
            Some(_) => Some(SoleHolder {
                owner: bytes(skip + 4)?,
                client: bytes(skip + 5)?,
                kind: self.get(row, skip + 6)?,
                token: self.get(row, skip + 7)?,
                since: self.get(row, skip + 8)?,
                expires: self.get(row, skip + 9)?,
                label: self.get::<Option<String>>(row, skip + 10)?.unwrap_or_default(),
            }),
        };
        let next = match self.get::<Option<&[u8]>>(row, skip + 13)? {
            None => None,
            Some(_) => Some(NextWaiter {
                owner: bytes(skip + 13)?,
                client: bytes(skip + 14)?,
                is_last: self.get(row, skip + 15)?,
                until: self.get(row, skip + 16)?,
            }),
        };
        let row = tenure_sql::Row {
            version,
            last_time: self.get(row, skip + 3)?,
            sole,
            waiting: self.get(row, skip + 11)?,
            others: self.get(row, skip + 12)?,
            next,
        };
        Ok(RowSnapshot { now, floor, row })
    }

    pub(crate) fn token(&self, row: &Row) -> Result<Token, Fault> {
        let token = u64::try_from(self.get::<i64>(row, 0)?).ok().and_then(Token::from_raw);
        token.ok_or_else(|| self.odd())
    }

    pub(crate) fn name(&self, row: &Row, index: usize) -> Result<LockName, Fault> {
        LockName::new(self.get::<&str>(row, index)?).map_err(|_| self.odd())
    }
}
