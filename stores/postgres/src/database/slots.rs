//! Records of slots are read and written.

use tenure_core::{
    Fault, LockName, Owner,
    store::{SlotsWrite, SlotsWritten},
};
use tenure_sql::SlotsSnapshot;
use tokio_postgres::Row;

use crate::{
    database::{
        Postgres,
        query::{Parameters, micros},
    },
    error::NO_TABLES,
    tables::{side_table::SLOTS, statements::Statement},
};

impl Postgres {
    pub(crate) async fn look_at_slots(&self, name: &LockName) -> Result<SlotsSnapshot, Fault> {
        let statement = &self.common.statements.read_slots;
        let row = self.row_of_slots(statement, &[&name.as_str()], false).await?;
        Ok(SlotsSnapshot { now: self.get(&row, 0)?, record: self.get(&row, 1)? })
    }

    pub(crate) async fn replace_slots(
        &self,
        name: &LockName,
        owner: &Owner,
        write: &SlotsWrite,
    ) -> Result<SlotsWritten, Fault> {
        let (owner, keep) = (&owner.as_bytes()[..], micros(write.keep));
        let (record, before) = (write.text.as_bytes(), write.before.as_deref().map(str::as_bytes));
        let parameters: &Parameters<'_> = &[&name.as_str(), &owner, &record, &keep, &before];
        let row = self.row_of_slots(&self.common.statements.write_slots, parameters, true).await?;
        let (written, held): (i64, i64) = (self.get(&row, 0)?, self.get(&row, 1)?);
        Ok(match (written, held) {
            (1.., _) => SlotsWritten::Written,
            (_, 1..) => SlotsWritten::Changed,
            _ => SlotsWritten::NotHeld,
        })
    }

    /// Runs a statement, and once more with the table if that was missing.
    async fn row_of_slots(
        &self,
        statement: &Statement,
        parameters: &Parameters<'_>,
        writes: bool,
    ) -> Result<Row, Fault> {
        match self.row(statement, parameters, writes).await {
            Err(fault) if fault.message() == NO_TABLES => {
                self.create_side_table(self.by(), &SLOTS, fault).await?;
                self.row(statement, parameters, writes).await
            }
            done => done,
        }
    }
}
