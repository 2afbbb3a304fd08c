//! Records of slots are read and written, and the table for them is made where it is missing.

use tenure_core::{
    Fault, FaultKind, LockName, Owner,
    store::{SlotsWrite, SlotsWritten},
};
use tenure_sql::SlotsSnapshot;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_postgres::Row;

use crate::{
    connection::open::{PAUSE, lock_wait},
    database::{
        Postgres,
        query::{Parameters, micros},
    },
    error::{Failure, NO_TABLES, late},
    tables::statements::Statement,
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
                self.create_slots(fault).await?;
                self.row(statement, parameters, writes).await
            }
            done => done,
        }
    }

    async fn create_slots(&self, missing: Fault) -> Result<(), Fault> {
        if !self.common.options.creates {
            return Err(self.no_slots("does not exist", missing));
        }
        let until = Instant::now() + self.limit();
        // Of those that make tables at once each waits for all before it. With less time left, the server would still
        // wait when nobody does here.
        let last = until - lock_wait(&self.common.options).mul_f64(1.2);
        loop {
            let connection = self.any().await?;
            let created = connection.create_slots(&self.common.options.schema);
            return match timeout_at(until, created).await {
                Ok(Err(Failure::Crossed)) if Instant::now() < last => {
                    sleep(PAUSE).await;
                    continue;
                }
                Ok(done) => done.map_err(|failure| match failure.fault() {
                    fault if fault.kind() == FaultKind::Misconfigured => {
                        self.no_slots("does not exist, and this user cannot create it", fault)
                    }
                    fault => fault,
                }),
                Err(_) => {
                    // What is behind it over the same connection would wait, too.
                    connection.retire();
                    Err(late("the database did not answer", false))
                }
            };
        }
    }

    fn no_slots(&self, how: &str, why: Fault) -> Fault {
        let schema = &self.common.options.schema;
        let what = format!("the table {schema}.slots, which keeps what ran in which slot, {how}");
        let help = format!(
            "let the owner of the tables run what `tenure schema postgres --schema {schema}` prints, and the grants at \
             its end; locks work without it"
        );
        Fault::new(FaultKind::Misconfigured, what, help).because(why)
    }
}
