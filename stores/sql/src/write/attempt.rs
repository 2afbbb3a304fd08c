//! A name is read, decided on and written back, until nobody came between.

use std::time::Duration;

use tenure_core::{
    Fault, FaultKind, LockName,
    proto::queue::{DecisionContext, NameState},
};
use tokio::time::{Instant, sleep};

use crate::{
    Database, Notifications, RowSnapshot,
    write::{
        decision::{DecisionResult, Response, corrupt, decide_on_snapshot, refusal, split_outcome},
        retry::WriteRetry,
    },
};

/// How one attempt ended.
pub(crate) enum AttemptOutcome {
    /// It is written, or there was nothing to write.
    Done,
    /// Nothing was: to be tried again after this pause.
    Again(Duration),
}

/// Reads a name, unless it was seen already, decides, and writes what was decided if nobody came between.
pub(crate) async fn attempt<D: Database + ?Sized>(
    retry: &mut WriteRetry,
    database: &D,
    name: &LockName,
    seen: Option<Box<RowSnapshot>>,
    decide: impl FnOnce(&mut NameState, &DecisionContext<'_>) -> (Notifications, bool) + Send,
) -> Result<AttemptOutcome, Fault> {
    let began = Instant::now();
    let snapshot = match seen {
        Some(snapshot) => *snapshot,
        None => database.read(name).await?,
    };
    let looked = began.elapsed();
    let decided = decide_on_snapshot(database, name, &snapshot, decide)?;
    let (reservations, is_same) = (&decided.reservations, decided.is_same);
    if is_same && !retry.0.has_reserved(reservations) {
        return Ok(AttemptOutcome::Done);
    }
    if let Some(pause) = retry.yields_for(reservations, snapshot.now)
        && !is_same
        && !decided.is_urgent
    {
        let pause =
            retry.after_yield((database, name), reservations, snapshot.now, (looked, pause)).await;
        return Ok(AttemptOutcome::Again(pause));
    }
    let others = retry.0.others(reservations, snapshot.now);
    let row = snapshot.row.next_row(decided.state, &others).map_err(|_| corrupt(database, name))?;
    // Where nothing but a turn is given back, it ends by itself, too.
    if database.write(name, &row, &decided.notifications).await? || is_same {
        return Ok(AttemptOutcome::Done);
    }
    let pause =
        retry.after_loss((database, name), reservations, snapshot.now, began.elapsed()).await;
    // Whoever comes to join the line can wait for those who make it move.
    Ok(AttemptOutcome::Again(if decided.is_urgent { pause / 4 } else { pause }))
}

/// Changes the state of a name as `decide` says, which is asked again whenever somebody came between. `seen` is
/// the name as it was seen already, after the call began.
pub(crate) async fn change<D: Database + ?Sized, T: Response + Send>(
    database: &D,
    name: &LockName,
    (limit, yields): (Duration, Duration),
    mut seen: Option<Box<RowSnapshot>>,
    decide: impl Fn(&mut NameState, &DecisionContext<'_>) -> DecisionResult<T> + Send + Sync,
) -> Result<T, Fault> {
    let now = Instant::now();
    let mut retry = WriteRetry::new(now + limit, now + yields);
    while Instant::now() < now + limit {
        let mut answered = None;
        let attempted = attempt(&mut retry, database, name, seen.take(), |state, at| {
            let (answer, rest) = split_outcome(decide(state, at));
            answered = Some(answer);
            rest
        });
        match attempted.await? {
            AttemptOutcome::Done => {
                let answered = answered.ok_or_else(|| overtaken(name))?;
                return answered.map_err(|refused| refusal(database, &refused));
            }
            AttemptOutcome::Again(pause) => sleep(pause).await,
        }
    }
    Err(overtaken(name))
}

pub(crate) fn overtaken(name: &LockName) -> Fault {
    let what = format!("other clients changed {:?} at each attempt", name.as_str());
    Fault::new(FaultKind::Unreachable, what, "try again")
}
