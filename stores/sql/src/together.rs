//! Several names in one transaction: all of them are granted, or none is.

use futures_util::future::try_join_all;
use tenure_core::{
    Fault, LockName,
    proto::queue::{Ask, NameState, Together, acquire_together},
    store::check_together,
};

use crate::{
    Database, Row, Sight, SqlStore,
    change::{Patience, at, corrupt, refusal},
};

impl<D: Database> SqlStore<D> {
    pub(crate) async fn ask_together(&self, asks: &[(LockName, Ask)]) -> Result<Together, Fault> {
        check_together(asks)?;
        let Some((first, _)) = asks.first() else { return Ok(Together::Apart) };
        let database = &*self.0;
        let mut patience = Patience::new(database.response_timeout());
        loop {
            let seen = try_join_all(asks.iter().map(|(name, _)| database.read(name))).await?;
            let states = self.states(asks, &seen)?;
            let mut names: Vec<(NameState, &Ask)> =
                states.iter().cloned().zip(asks.iter().map(|(_, ask)| ask)).collect();
            // The names were looked at one after the other; the earliest look counts for all.
            let Some(earliest) = seen.iter().min_by_key(|sight| sight.now) else {
                return Ok(Together::Apart);
            };
            let client = database.client();
            let (answer, wakes) = acquire_together(&mut names, client, &at(earliest, database))
                .map_err(|refused| refusal(database, &refused))?;
            let mut rows: Vec<(LockName, Row)> = Vec::new();
            for (((name, _), sight), ((after, _), before)) in
                asks.iter().zip(&seen).zip(names.into_iter().zip(states))
            {
                if after != before {
                    let row = sight.row.after(after).map_err(|_| corrupt(database, name))?;
                    rows.push((name.clone(), row));
                }
            }
            // Whoever locks several rows does it in the same order.
            rows.sort_by(|(one, _), (other, _)| one.cmp(other));
            if rows.is_empty() || !matches!(answer, Together::Granted(_)) && wakes.is_empty() {
                return Ok(answer);
            }
            if database.write_all(&rows, &wakes.into()).await? {
                return Ok(answer);
            }
            patience.again(first).await?;
        }
    }

    fn states(&self, asks: &[(LockName, Ask)], seen: &[Sight]) -> Result<Vec<NameState>, Fault> {
        let states = asks.iter().zip(seen).map(|((name, _), sight)| {
            sight.row.state(sight.floor).map_err(|_| corrupt(&*self.0, name))
        });
        states.collect()
    }
}
