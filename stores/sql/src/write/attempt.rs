//! A name is read, decided on and written back, until nobody came between.

use std::time::Duration;

use tenure_core::{
    Fault, FaultKind, LockName,
    proto::queue::{Moment, NameState},
};
use tokio::time::{Instant, sleep};

use crate::{
    Database, Sight, Tells,
    write::{
        decision::{Outcome, Told, corrupt, decided, parted, refusal},
        retry::Contest,
    },
};

/// How one attempt ended.
pub(crate) enum Attempted {
    /// It is written, or there was nothing to write.
    Done,
    /// Nothing was: to be tried again after this pause.
    Again(Duration),
}

/// Reads a name, unless it was seen already, decides, and writes what was decided if nobody came between.
pub(crate) async fn attempt<D: Database + ?Sized>(
    contest: &mut Contest,
    database: &D,
    name: &LockName,
    seen: Option<Box<Sight>>,
    decide: impl FnOnce(&mut NameState, &Moment<'_>) -> (Tells, bool) + Send,
) -> Result<Attempted, Fault> {
    let began = Instant::now();
    let sight = match seen {
        Some(sight) => *sight,
        None => database.read(name).await?,
    };
    let looked = began.elapsed();
    let decided = decided(database, name, &sight, decide)?;
    let (line, is_same) = (&decided.line, decided.is_same);
    if is_same && !contest.has_reserved(line) {
        return Ok(Attempted::Done);
    }
    if let Some(pause) = contest.leaves(line, sight.now)
        && !is_same
        && !decided.is_urgent
    {
        let pause = contest.leave(database, name, &sight, line, (looked, pause)).await;
        return Ok(Attempted::Again(pause));
    }
    let others = contest.others(line, sight.now);
    let row = sight.row.after(decided.state, &others).map_err(|_| corrupt(database, name))?;
    // Where nothing but a turn is given back, it ends by itself, too.
    if database.write(name, &row, &decided.tells).await? || is_same {
        return Ok(Attempted::Done);
    }
    let pause = contest.lost(database, name, &sight, line, began.elapsed()).await;
    // Whoever comes to join the line can wait for those who make it move.
    Ok(Attempted::Again(if decided.is_urgent { pause / 4 } else { pause }))
}

/// Changes the state of a name as `decide` says, which is asked again whenever somebody came between. `seen` is
/// the name as it was seen already, after the call began.
pub(crate) async fn change<D: Database + ?Sized, T: Told + Send>(
    database: &D,
    name: &LockName,
    (limit, yields): (Duration, Duration),
    mut seen: Option<Box<Sight>>,
    decide: impl Fn(&mut NameState, &Moment<'_>) -> Outcome<T> + Send + Sync,
) -> Result<T, Fault> {
    let now = Instant::now();
    let mut contest = Contest::new(now + limit, now + yields);
    while Instant::now() < now + limit {
        let mut answered = None;
        let attempted = attempt(&mut contest, database, name, seen.take(), |state, at| {
            let (answer, rest) = parted(decide(state, at));
            answered = Some(answer);
            rest
        });
        match attempted.await? {
            Attempted::Done => {
                let answered = answered.ok_or_else(|| crowded(name))?;
                return answered.map_err(|refused| refusal(database, &refused));
            }
            Attempted::Again(pause) => sleep(pause).await,
        }
    }
    Err(crowded(name))
}

pub(crate) fn crowded(name: &LockName) -> Fault {
    let what = format!("others changed {:?} each time it was looked at", name.as_str());
    Fault::new(FaultKind::Unreachable, what, "try again")
}
