//! Renewing many holds at once.

use std::time::Duration;

use futures_util::stream::{StreamExt, iter};
use tenure_core::{Fault, proto::Renewed, store::Renewal};

use crate::{Database, Extended, SqlStore, Tells, change::change};

/// How many holds one statement renews at most.
const MOST: usize = 1_000;
/// How many are looked at at once.
const AT_ONCE: usize = 16;

impl<D: Database> SqlStore<D> {
    /// One statement renews all who have their name alone; each of the others is looked at by itself.
    pub(crate) async fn renew_all(&self, holds: &[Renewal]) -> Vec<Result<Renewed, Fault>> {
        let mut answers = Vec::with_capacity(holds.len());
        for part in holds.chunks(MOST) {
            match self.0.extend(part).await {
                Ok(extended) => {
                    let mut all = Vec::with_capacity(part.len());
                    for (hold, extended) in part.iter().zip(extended) {
                        all.push(self.renewed(hold, extended));
                    }
                    answers.extend(iter(all).buffered(AT_ONCE).collect::<Vec<_>>().await);
                }
                Err(fault) => answers.extend(part.iter().map(|_| Err(fault.clone()))),
            }
        }
        answers
    }

    async fn renewed(&self, hold: &Renewal, extended: Option<Extended>) -> Result<Renewed, Fault> {
        if let Some(Extended { left, others_waiting }) = extended {
            let left = Duration::from_micros(u64::try_from(left).unwrap_or_default());
            return Ok(Renewed::Renewed { left, others_waiting });
        }
        change(&*self.0, &hold.name, None, |state, at| {
            Ok((state.renew(&hold.owner, hold.ttl, at), Tells::default()))
        })
        .await
    }
}
