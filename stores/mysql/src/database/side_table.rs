//! A table beside those of the locks is made where it is missing.

use futures_util::future::BoxFuture;
use tenure_core::{Fault, FaultKind};
use tenure_sql::RememberedRefusal;

use crate::{
    connection::{lane::ConnectionPool, session::Session},
    database::Mysql,
    error::{Failure, NO_RIGHTS},
    tables::side_table::SideTable,
};

impl Mysql {
    /// Carries out a call, and once more with the table if that was missing. Where it could not be made, a call that is
    /// to remember so asks nothing for a while.
    pub(super) async fn with_side_table<T, W>(
        &self,
        lane: &ConnectionPool,
        table: &SideTable,
        refusal: Option<&RememberedRefusal>,
        work: W,
    ) -> Result<T, Fault>
    where
        T: Send + 'static,
        W: for<'a> Fn(&'a mut Session) -> BoxFuture<'a, Result<T, Failure>>
            + Clone
            + Send
            + 'static,
    {
        if let Some(fault) = refusal.and_then(RememberedRefusal::recent) {
            return Err(fault);
        }
        let first = self.call_by(lane, false, work.clone()).await.map_err(missing);
        let fault = match first {
            Err(Refused::Missing(fault)) => fault,
            Err(Refused::Fault(fault)) => return Err(fault),
            Ok(done) => return Ok(done),
        };
        let created = self.create_side_table(lane, table, fault).await;
        if let (Some(refusal), Err(fault)) = (refusal, &created)
            && fault.kind() == FaultKind::Misconfigured
        {
            refusal.remember(fault);
        }
        created?;
        self.call_by(lane, false, work).await.map_err(|failure| match missing(failure) {
            Refused::Missing(fault) => self.no_table(table, "is not there for this user", fault),
            Refused::Fault(fault) => fault,
        })
    }

    async fn create_side_table(
        &self,
        lane: &ConnectionPool,
        table: &SideTable,
        fault: Fault,
    ) -> Result<(), Fault> {
        let common = &self.common;
        if !common.options.creates {
            let how = "does not exist, or this user has no rights on it";
            return Err(self.no_table(table, how, fault));
        }
        let create = table.create(&common.options.tables);
        let created = self.call_by(lane, false, move |session| {
            Box::pin(async move { session.create(&create).await })
        });
        let created = created.await.map_err(Failure::fault);
        created.map_err(|fault| match fault.kind() {
            FaultKind::Misconfigured => {
                self.no_table(table, "is not there for this user, who cannot create it", fault)
            }
            _ => fault,
        })
    }

    pub(super) fn no_table(&self, table: &SideTable, how: &str, why: Fault) -> Fault {
        let (tables, SideTable { name, keeps, .. }) = (&self.common.options.tables, table);
        let what = format!("the table {tables}_{name}, which keeps {keeps}, {how}");
        let help = format!(
            "let the owner of the tables run what `tenure schema mysql --schema {tables}` prints, and the grants at its \
             end; locks work without it"
        );
        Fault::new(FaultKind::Misconfigured, what, help).because(why)
    }
}

enum Refused {
    Missing(Fault),
    Fault(Fault),
}

/// Of a table that is not there, a user hears that it has no rights on it, unless it has them on all tables.
fn missing(failure: Failure) -> Refused {
    match failure {
        Failure::NoTables(fault) => Refused::Missing(fault),
        Failure::Fault(fault) if fault.message() == NO_RIGHTS => Refused::Missing(fault),
        failure => Refused::Fault(failure.fault()),
    }
}
