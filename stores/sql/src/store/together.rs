//! Several names in one transaction: all of them are granted, or none is.

use futures_util::future::try_join_all;
use tenure_core::{
    Fault, LockName,
    proto::queue::{Ask, NameState, Together, acquire_together},
    store::check_together,
};
use tokio::time::Instant;

use crate::{
    Database, Row, RowSnapshot, SqlStore,
    row::reservation::Reservation,
    write::{
        decision::{at, corrupt, refusal},
        retry::WriteRetry,
        turn_policy::YIELDS,
    },
};

impl<D: Database + ?Sized> SqlStore<D> {
    pub(crate) async fn ask_together(&self, asks: &[(LockName, Ask)]) -> Result<Together, Fault> {
        check_together(asks)?;
        let database = &*self.0;
        let now = Instant::now();
        let mut retry = WriteRetry::new(now + database.response_timeout(), now + YIELDS);
        loop {
            let seen = try_join_all(asks.iter().map(|(name, _)| database.read(name))).await?;
            let read = self.states(asks, &seen)?;
            let (states, all_reservations): (Vec<_>, Vec<_>) = read.into_iter().unzip();
            let mut names: Vec<(NameState, &Ask)> =
                states.iter().cloned().zip(asks.iter().map(|(_, ask)| ask)).collect();
            // The names were looked at one after the other; the earliest look counts for all.
            let Some(earliest) = seen.iter().min_by_key(|snapshot| snapshot.now) else {
                return Ok(Together::Apart);
            };
            let client = database.client();
            let (answer, wakes) = acquire_together(&mut names, client, &at(earliest, database))
                .map_err(|refused| refusal(database, &refused))?;
            let mut rows: Vec<(LockName, Row)> = Vec::new();
            let mut pause = None;
            for ((((name, _), snapshot), reservations), ((after, _), before)) in
                asks.iter().zip(&seen).zip(&all_reservations).zip(names.into_iter().zip(states))
            {
                // What is there already may not stay, unless it is written by a commit that does.
                if after != before || matches!(answer, Together::Granted(_)) {
                    pause = pause.max(retry.yields_for(reservations, snapshot.now));
                    let others = retry.0.others(reservations, snapshot.now);
                    let row = snapshot
                        .row
                        .next_row(after, &others)
                        .map_err(|_| corrupt(database, name))?;
                    rows.push((name.clone(), row));
                }
            }
            // Whoever locks several rows does it in the same order.
            rows.sort_by(|(one, _), (other, _)| one.cmp(other));
            if rows.is_empty() || !matches!(answer, Together::Granted(_)) && wakes.is_empty() {
                return Ok(answer);
            }
            if pause.is_none() && database.write_all(&rows, &wakes.into()).await? {
                return Ok(answer);
            }
            // One by one each of them gets its turn.
            if !retry.may_retry_several(pause).await {
                return Ok(Together::Apart);
            }
        }
    }

    fn states(
        &self,
        asks: &[(LockName, Ask)],
        seen: &[RowSnapshot],
    ) -> Result<Vec<(NameState, Vec<Reservation>)>, Fault> {
        let states = asks.iter().zip(seen).map(|((name, _), snapshot)| {
            snapshot.row.state_and_reservations(snapshot.floor).map_err(|_| corrupt(&*self.0, name))
        });
        states.collect()
    }
}
