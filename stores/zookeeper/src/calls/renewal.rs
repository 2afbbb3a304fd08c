//! Renewing: one committed write says that all holds of the session are there.

use tenure_core::{Clock, Fault, Owner, SystemClock, Timestamp, proto::Renewed, store::Renewal};

use crate::{
    client::Error,
    contenders::{entries::Acquisition, layout::LockPath, node::NodePrefix},
    session::BATCH,
    store::Shared,
    validity,
};

/// A hold that is there as far as this process knows.
struct LiveHold {
    at: usize,
    /// Its nodes, all of which have to be there.
    paths: Vec<String>,
    base: NodePrefix,
}

impl Shared {
    pub(crate) async fn renew(&self, holds: &[Renewal]) -> Vec<Result<Renewed, Fault>> {
        let begun = SystemClock.now();
        let mut answers: Vec<_> = holds.iter().map(|_| Ok(Renewed::Lost)).collect();
        let standing = self.live_holds(holds, begun);
        if standing.is_empty() {
            return answers;
        }
        for batch in standing.chunks(BATCH) {
            let renewed = self.renew_batch(holds, batch, begun).await;
            for (hold, standing) in batch.iter().enumerate() {
                if let Some(answer) = answers.get_mut(standing.at) {
                    *answer = match &renewed {
                        Ok(renewed) => renewed.get(hold).cloned().unwrap_or(Ok(Renewed::Lost)),
                        Err(fault) => Err(fault.clone()),
                    };
                }
            }
        }
        answers
    }

    /// Those that are held in the present session and have not ended.
    fn live_holds(&self, holds: &[Renewal], now: Timestamp) -> Vec<LiveHold> {
        let Some(session) = self.sessions.current_session() else { return Vec::new() };
        let held = |at: usize, hold: &Renewal| {
            self.entries.with(&hold.owner, |entry| {
                let held = entry.token.is_some() && !entry.leaving && entry.until > now;
                let same = entry.session == session.number() && entry.name == hold.name;
                let paths = entry.proofs();
                let base = entry.base;
                (held && same && !paths.is_empty()).then_some(LiveHold { at, paths, base })
            })?
        };
        holds.iter().enumerate().filter_map(|(at, hold)| held(at, hold)).collect()
    }

    /// A node of these is gone, so what else there is of them has to go.
    fn mark_lost(&self, owner: &Owner, paths: &[String]) {
        self.entries.change(owner, |entry| {
            if entry.proofs() == paths && !entry.leaving {
                entry.leaving = true;
                entry.until = SystemClock.now();
            }
        });
    }

    async fn renew_batch(
        &self,
        holds: &[Renewal],
        batch: &[LiveHold],
        begun: Timestamp,
    ) -> Result<Vec<Result<Renewed, Fault>>, Fault> {
        let session = self.sessions.get().await?;
        let paths: Vec<_> =
            batch.iter().flat_map(|standing| &standing.paths).map(String::as_str).collect();
        let places: Vec<_> = batch
            .iter()
            .filter_map(|standing| {
                let name = &holds.get(standing.at)?.name;
                Some((LockPath::new(&self.options.base, name), standing.base))
            })
            .collect();
        let (there, others) =
            futures_util::future::join(session.prove(&paths), self.who_waits(&session, &places))
                .await;
        let (there, others) = (there?, others?);
        let mut each = there.into_iter();
        let there = batch.iter().map(|standing| {
            let own: Vec<_> = each.by_ref().take(standing.paths.len()).collect();
            own.iter().all(|is_there| *is_there)
        });
        let there: Vec<_> = there.collect();
        let renewed = batch.iter().zip(there).zip(others).map(|((standing, there), others)| {
            let hold = holds.get(standing.at);
            // A writer that becomes a reader meanwhile has another node, or will have.
            let passes = |entry: &Acquisition| entry.in_doubt || entry.proofs() != standing.paths;
            if !there && hold.and_then(|hold| self.entries.with(&hold.owner, passes)) == Some(true)
            {
                return Err(session.fault(Error::NoNode, false));
            }
            if let (false, Some(hold)) = (there, hold) {
                self.mark_lost(&hold.owner, &standing.paths);
            }
            let renewed = hold.filter(|_| there);
            let renewed = renewed.and_then(|hold| {
                let until = begun.saturating_add(hold.ttl);
                // A session that began meanwhile has none of them.
                self.entries.change(&hold.owner, |entry| {
                    (entry.session == session.number() && !entry.leaving).then(|| {
                        entry.until = entry.until.max(until);
                        let (proven, validity) = (session.proven(), session.validity());
                        let left = validity::left(begun, entry.until, proven, validity);
                        Renewed::Renewed { left, others_waiting: others }
                    })
                })?
            });
            Ok(renewed.unwrap_or(Renewed::Lost))
        });
        Ok(renewed.collect())
    }
}
