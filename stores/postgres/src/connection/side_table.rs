//! A table beside those of the locks, made while others use the connection.

use std::sync::atomic::Ordering;

use crate::{
    connection::open::{CREATION, Connection, MADE_MEANWHILE},
    error::{self, Failure},
    tables::side_table::SideTable,
};

impl Connection {
    /// Makes the table. One at a time, however many begin at once.
    ///
    /// All of it is one message, which is a transaction by itself: where it fails it leaves none open, in which what
    /// was sent behind it would fail, too.
    pub(crate) async fn create_side_table(
        &self,
        table: &SideTable,
        schema: &str,
    ) -> Result<(), Failure> {
        let turn = if self.is_direct.load(Ordering::Relaxed) {
            None
        } else {
            let Some(turn) = self.lock_session().await else {
                return Err(Failure::Crossed);
            };
            Some(turn)
        };
        let all = format!("select pg_advisory_xact_lock({CREATION}); {}", table.create(schema));
        let asked = self.client.batch_execute(&all);
        let made = if let Some(turn) = turn {
            let made = self.await_completion(None, asked).await.result;
            turn.end(false);
            made
        } else {
            asked.await
        };
        match made {
            // Whoever waited for another one to make it may still believe that it is not there.
            Err(error) if error.code().is_some_and(|code| MADE_MEANWHILE.contains(code)) => Ok(()),
            made => made.map_err(|error| error::of_statement(error, false)),
        }
    }
}
