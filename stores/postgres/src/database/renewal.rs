//! The leases of many holds are extended, by another connection where one does not answer.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{Stream, StreamExt, stream::FuturesUnordered};
use tenure_core::{Fault, store::Renewal};
use tokio::time::{Instant, timeout_at};
use tokio_postgres::Row;

use crate::{
    connection::open::Connection,
    database::{
        Postgres,
        query::{Parameters, micros},
    },
    error::{Failure, late},
};

/// How many connections are tried, of which the last is a new one.
const WAYS: usize = 3;
/// The next one is tried after this part of the shortest lease, within these bounds: core waits for a quarter of it.
const PART: u32 = 14;
const GAP: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// The connections that were tried.
type TriedConnections = Mutex<Vec<Arc<Connection>>>;

impl Postgres {
    /// The rows of those that are extended. By whichever way, and however often: the effect is the same.
    pub(crate) async fn extend_leases(&self, holds: &[Renewal]) -> Result<Vec<Row>, Fault> {
        let names: Vec<_> = holds.iter().map(|hold| hold.name.as_str()).collect();
        let owners: Vec<_> = holds.iter().map(|hold| &hold.owner.as_bytes()[..]).collect();
        let ttls: Vec<_> = holds.iter().map(|hold| micros(hold.ttl)).collect();
        let parameters: &Parameters<'_> = &[&names, &owners, &ttls];
        let shortest = holds.iter().map(|hold| hold.ttl).min().unwrap_or_default();
        let gap = (shortest / PART).clamp(GAP.0, GAP.1);
        let until = Instant::now() + self.limit();
        let tried = TriedConnections::default();
        let mut ways = FuturesUnordered::new();
        let mut failure = Failure::Fault(late("the database did not answer", true));
        for way in 1..=WAYS {
            if way > 1 {
                self.common.lanes.preopen_renewal(all(&tried));
            }
            ways.push(self.extended_by(&tried, way == WAYS, parameters, until));
            let next = if way < WAYS { until.min(Instant::now() + gap) } else { until };
            match timeout_at(next, first(&mut ways)).await {
                Ok(Ok(rows)) => return Ok(rows),
                Ok(Err(last)) => failure = last,
                Err(_) => {}
            }
        }
        Err(failure.fault())
    }

    async fn extended_by(
        &self,
        tried: &TriedConnections,
        fresh: bool,
        parameters: &Parameters<'_>,
        until: Instant,
    ) -> Result<Vec<Row>, Failure> {
        let (common, before) = (&self.common, all(tried));
        let taking = async {
            if fresh {
                common.lanes.renewal_connection(&before).await
            } else {
                common.lanes.for_renewal(&before).await
            }
        };
        let taken = timeout_at(until, taking).await;
        let taken = taken.unwrap_or_else(|_| Err(late("the database could not be reached", false)));
        let connection = taken.map_err(Failure::Fault)?;
        tried.lock().unwrap_or_else(PoisonError::into_inner).push(connection.clone());
        connection.run_until(&common.statements.extend, parameters, true, until).await
    }
}

fn all(tried: &TriedConnections) -> Vec<Arc<Connection>> {
    tried.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// What the first comes to that works; the last failure if none does.
async fn first(
    ways: &mut (impl Stream<Item = Result<Vec<Row>, Failure>> + Unpin),
) -> Result<Vec<Row>, Failure> {
    let mut last = Err(Failure::Unprepared);
    while let Some(done) = ways.next().await {
        if done.is_ok() {
            return done;
        }
        last = done;
    }
    last
}
