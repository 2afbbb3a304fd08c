//! Renewing many holds at once.

use std::{slice, time::Duration};

use futures_util::stream::{StreamExt, iter};
use tenure_core::{
    Fault, FaultKind,
    proto::{
        Renewed,
        queue::{DecisionContext, NameState},
    },
    store::Renewal,
};
use tokio::time::{Instant, sleep, timeout_at};

use crate::{
    Database, ExtendedLease, Notifications, RowSnapshot, SqlStore,
    write::{attempt::change, turn_policy::YIELDS},
};

/// How many holds one statement renews at most.
const MOST: usize = 1_000;
/// How many are looked at at once: all that core asks for by one call, so that those in whose way somebody is hold up
/// none of the others.
const AT_ONCE: usize = 128;
/// The first and the longest pause before a row that was locked is tried again.
const PAUSE: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));

impl<D: Database + ?Sized> SqlStore<D> {
    /// One statement renews all who have their name alone; each of the others is looked at by itself.
    ///
    /// Core waits for a quarter of the shortest ttl, and takes what comes later for no answer at all. So whichever is
    /// not renewed a little earlier is a fault by itself.
    pub(crate) async fn renew_all(&self, holds: &[Renewal]) -> Vec<Result<Renewed, Fault>> {
        let shortest = holds.iter().map(|hold| hold.ttl).min().unwrap_or_default();
        let until = Instant::now() + of_a_call(shortest / 5);
        let mut answers = Vec::with_capacity(holds.len());
        for part in holds.chunks(MOST) {
            match self.0.extend(part).await {
                Ok(extended) => {
                    // Also where that took long they get to try.
                    let until = until.max(Instant::now() + of_a_call(shortest / 20));
                    let mut all = Vec::with_capacity(part.len());
                    for (hold, extended) in part.iter().zip(extended) {
                        all.push(self.renewed(hold, extended, until));
                    }
                    answers.extend(iter(all).buffered(AT_ONCE).collect::<Vec<_>>().await);
                }
                Err(fault) => answers.extend(part.iter().map(|_| Err(fault.clone()))),
            }
        }
        answers
    }

    async fn renewed(
        &self,
        hold: &Renewal,
        extended: Option<ExtendedLease>,
        until: Instant,
    ) -> Result<Renewed, Fault> {
        match extended {
            Some(extended) => Ok(answer(extended)),
            None => timeout_at(until, self.renewed_alone(hold, until)).await.unwrap_or_else(|_| {
                let what = format!("the database did not renew {:?} in time", hold.name.as_str());
                let help = "check that it can be reached, and choose a ttl many times longer than an answer takes";
                Err(Fault::new(FaultKind::InDoubt, what, help))
            }),
        }
    }

    async fn renewed_alone(&self, hold: &Renewal, until: Instant) -> Result<Renewed, Fault> {
        let until = until.min(Instant::now() + self.0.response_timeout());
        let mut pause = PAUSE.0;
        loop {
            let snapshot = self.0.read(&hold.name).await?;
            if !has_alone(&snapshot, hold) {
                let limit = self.0.response_timeout().min(hold.ttl / 5);
                let yields = YIELDS.min(hold.ttl / 8);
                let renew = |state: &mut NameState, at: &DecisionContext<'_>| {
                    Ok((state.renew(&hold.owner, hold.ttl, at), Notifications::default()))
                };
                let seen = Some(Box::new(snapshot));
                return change(&*self.0, &hold.name, (limit, yields), seen, renew).await;
            }
            // Somebody had it locked, which is over soon where that was one of us.
            if Instant::now() + pause >= until {
                let what =
                    format!("another transaction keeps the row of {:?} locked", hold.name.as_str());
                let help = "end the transaction that does: no transaction of tenure stays open";
                return Err(Fault::new(FaultKind::Unreachable, what, help));
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSE.1);
            if let [Some(extended)] = self.0.extend(slice::from_ref(hold)).await?[..] {
                return Ok(answer(extended));
            }
        }
    }
}

fn answer(extended: ExtendedLease) -> Renewed {
    let left = Duration::from_micros(u64::try_from(extended.left).unwrap_or_default());
    Renewed::Renewed { left, others_waiting: extended.others_waiting }
}

/// Whether one statement could have renewed it.
fn has_alone(snapshot: &RowSnapshot, hold: &Renewal) -> bool {
    let sole = snapshot.row.sole.as_ref();
    sole.is_some_and(|sole| sole.owner == *hold.owner.as_bytes() && sole.expires > snapshot.now)
}

/// Within what core gives a call.
fn of_a_call(part: Duration) -> Duration {
    part.clamp(Duration::from_millis(4), Duration::from_secs(4))
}
