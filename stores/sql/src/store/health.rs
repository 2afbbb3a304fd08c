//! What a look at any database brings up: a lock is tried, and the clock and the time of an answer are measured.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tenure_core::{
    Fault,
    store::Diagnostic,
    trial::{self, TrialLock},
};

use crate::{Database, SqlStore};

impl<D: Database + ?Sized> SqlStore<D> {
    /// Looks at what is the same for all databases, once the way there is known to be open.
    pub(crate) async fn try_out(&self) -> Result<Vec<Diagnostic>, Fault> {
        let trial = TrialLock::new()?;
        let name = trial.name();
        let here = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let before = here();
        let there = self.0.read(name).await?.now;
        let after = here();
        let there = Duration::from_micros(u64::try_from(there).unwrap_or_default());
        let begun = Instant::now();
        let tried = self.tried(&trial).await;
        let works = format!("a full cycle of a lock works, in {:.1?}", begun.elapsed());
        let help = "set both by NTP: a clock that jumps ends leases early";
        Ok(vec![
            trial::cycle(&tried, works),
            trial::clock([before, after], there, "S1", help),
            trial::measure_latency(tried.ok(), || self.0.read(name)).await?,
        ])
    }

    async fn tried(&self, trial: &TrialLock) -> Result<Duration, Fault> {
        let outcome = trial.run(self).await?;
        // Nobody uses this name again.
        let seen = self.0.read(trial.name()).await?;
        self.0.raise_floor(seen.row.last_time).await?;
        self.0.remove(trial.name(), seen.row.version).await?;
        Ok(outcome)
    }
}
