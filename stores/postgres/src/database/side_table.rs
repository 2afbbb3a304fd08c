//! A table beside those of the locks is made where it is missing.

use tenure_core::{Fault, FaultKind};
use tokio::time::{Instant, sleep, timeout_at};

use crate::{
    connection::open::{PAUSE, lock_wait},
    database::{Postgres, query::Requester},
    error::{Failure, late},
    tables::side_table::SideTable,
};

impl Postgres {
    /// Makes a table that was missing, over a connection of whoever needs it.
    pub(super) async fn create_side_table(
        &self,
        by: Requester,
        table: &SideTable,
        missing: Fault,
    ) -> Result<(), Fault> {
        let common = &self.common;
        if !common.options.creates {
            return Err(self.no_table(table, "does not exist", missing));
        }
        let until = Instant::now() + self.limit();
        // Of those that make tables at once each waits for all before it. With less time left, the server would still
        // wait when nobody does here.
        let last = until - lock_wait(&common.options).mul_f64(1.2);
        loop {
            let connection = common.lanes.take(by, until).await?;
            let created = connection.create_side_table(table, &common.options.schema);
            return match timeout_at(until, created).await {
                Ok(Err(Failure::Crossed)) if Instant::now() < last => {
                    sleep(PAUSE).await;
                    continue;
                }
                Ok(done) => done.map_err(|failure| match failure.fault() {
                    fault if fault.kind() == FaultKind::Misconfigured => {
                        let how = "does not exist, and this user cannot create it";
                        self.no_table(table, how, fault)
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

    pub(super) fn no_table(&self, table: &SideTable, how: &str, why: Fault) -> Fault {
        let (schema, SideTable { name, keeps, .. }) = (&self.common.options.schema, table);
        let what = format!("the table {schema}.{name}, which keeps {keeps}, {how}");
        let help = format!(
            "let the owner of the tables run what `tenure schema postgres --schema {schema}` prints, and the grants at \
             its end; locks work without it"
        );
        Fault::new(FaultKind::Misconfigured, what, help).because(why)
    }
}
