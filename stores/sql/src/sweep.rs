//! Rows that nobody needs any more are taken away, and no token goes back for it.

use std::{sync::Arc, time::Duration};

use tenure_core::Fault;

use crate::{Database, SqlStore, change::at, random::random_part};

/// How many rows are looked at at once.
const PAGE: usize = 200;
/// For how long nobody has used a name whose row goes.
const AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// How often it is swept, by each process.
const PAUSE: Duration = Duration::from_secs(60 * 60);
/// How soon again while there is more to take away.
const SOON: Duration = Duration::from_secs(3);
/// How soon again once the floor was raised: it has to cover rows for a while.
const COVERED: Duration = Duration::from_secs(150);

/// Sweeps once in a while, for as long as there is a database to sweep.
pub async fn keep_swept<D: Database>(database: impl Fn() -> Option<Arc<D>> + Send + Sync) {
    let mut pause = PAUSE.mul_f64(random_part());
    loop {
        tokio::time::sleep(pause).await;
        let Some(database) = database() else { return };
        pause = match SqlStore::of(database).sweep(AGE).await {
            Ok(swept) if swept.removed > 0 => SOON,
            Ok(swept) if swept.covered > 0 => COVERED,
            // What goes wrong here is no harm; who locks is told of it.
            Ok(_) | Err(_) => PAUSE.mul_f64(0.5 + random_part()),
        };
    }
}

/// What a sweep did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// How many rows were taken away.
    pub removed: usize,
    /// How many are to be taken away once the floor has covered them for a while.
    pub covered: usize,
}

impl<D: Database> SqlStore<D> {
    /// Takes away rows of names that nobody has used for `age`, a page of them.
    ///
    /// First the floor is raised to the last tokens of all of them. A row goes only when the floor has covered it
    /// for a while, so that whoever makes it anew has seen the floor.
    ///
    /// # Errors
    /// A fault of the database. What was not taken away stays.
    ///
    /// # Cancel safety
    /// Cancel-safe: each step leaves tokens rising.
    pub async fn sweep(&self, age: Duration) -> Result<Swept, Fault> {
        let mut swept = Swept::default();
        let mut now = 0;
        for idle in self.0.idle(age, PAGE).await? {
            let Ok(mut state) = idle.sight.row.state(idle.sight.floor) else { continue };
            state.expire(&at(&idle.sight, &*self.0));
            if !state.is_idle() {
                continue;
            }
            if idle.is_covered {
                self.0.remove(&idle.name, idle.sight.row.version).await?;
                swept.removed += 1;
            } else {
                swept.covered += 1;
                now = now.max(idle.sight.now);
            }
        }
        // Each time it is raised, it has to cover everything for a while again. So that is done once for all rows
        // that are old by now, and only when none is left that could go.
        if swept.removed == 0 && swept.covered > 0 {
            let age = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
            self.0.raise_floor(now.saturating_sub(age)).await?;
        }
        Ok(swept)
    }
}
