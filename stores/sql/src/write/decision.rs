//! What is decided on a name that was read, and what is said where it makes no sense.

use tenure_core::{
    Fault, FaultKind, LockName,
    proto::{
        Renewed,
        queue::{
            Answer, Contender, DecisionContext, NameState, Presence, QueueError, Raised, Released,
            TakenOver,
        },
    },
};

use crate::{
    Database, Notifications, RowSnapshot,
    row::{moment, reservation::Reservation},
};

pub(crate) type DecisionResult<T> = Result<(T, Notifications), QueueError>;

/// What a caller is told.
pub(crate) trait Response {
    /// Whether it may count on what is there by now. If this call has not written it, an earlier one has, of whose
    /// commit nobody knows whether it stays: so it is written once more, by a commit that does.
    fn needs_own_commit(&self) -> bool {
        false
    }
}

impl Response for Answer {
    fn needs_own_commit(&self) -> bool {
        matches!(self, Self::Granted { .. })
    }
}

impl Response for TakenOver {
    fn needs_own_commit(&self) -> bool {
        matches!(self, Self::Granted(_))
    }
}

impl Response for Raised {
    fn needs_own_commit(&self) -> bool {
        matches!(self, Self::Raised)
    }
}

impl Response for Released {}
impl Response for Renewed {}
impl Response for () {}
impl Response for Vec<Contender> {}

/// What becomes of a name by what was decided on it.
pub(crate) struct Decision {
    pub(crate) state: NameState,
    /// Whether nothing is to be written. What time alone has changed, it changes for the next one, too.
    pub(crate) is_same: bool,
    /// Whether a hold begins or ends while somebody waits for that: an offer does not last for ever, and nobody else
    /// comes in before.
    pub(crate) is_urgent: bool,
    pub(crate) reservations: Vec<Reservation>,
    pub(crate) notifications: Notifications,
}

/// Decides on a name that was seen: whom to tell, and whether what is told has to be there for certain.
pub(crate) fn decide_on_snapshot<D: Database + ?Sized>(
    database: &D,
    name: &LockName,
    snapshot: &RowSnapshot,
    decide: impl FnOnce(&mut NameState, &DecisionContext<'_>) -> (Notifications, bool),
) -> Result<Decision, Fault> {
    let read = snapshot.row.state_and_reservations(snapshot.floor);
    let (mut before, reservations) = read.map_err(|_| corrupt(database, name))?;
    let mut state = before.clone();
    let at = at(snapshot, database);
    let (notifications, needs_own_commit) = decide(&mut state, &at);
    before.expire(&at);
    let is_same = state == before && notifications.is_empty() && !needs_own_commit;
    let holds =
        |state: &NameState| state.holders.iter().map(|holder| holder.owner).collect::<Vec<_>>();
    let is_waited_for = before.waiters.iter().any(|waiter| waiter.presence != Presence::Absent);
    let is_urgent = is_waited_for && holds(&before) != holds(&state);
    Ok(Decision { state, is_same, is_urgent, reservations, notifications })
}

/// What was decided, apart from whom to tell and whether it has to be there for certain. A refusal changes nothing.
pub(crate) fn split_outcome<T: Response>(
    outcome: DecisionResult<T>,
) -> (Result<T, QueueError>, (Notifications, bool)) {
    match outcome {
        Ok((answer, notifications)) => {
            let needs_own_commit = answer.needs_own_commit();
            (Ok(answer), (notifications, needs_own_commit))
        }
        Err(refused) => (Err(refused), (Notifications::default(), false)),
    }
}

/// What is decided on the name as it was seen, if nothing is to be written for that.
pub(crate) fn decide_unwritten<D: Database + ?Sized, T: Response>(
    database: &D,
    name: &LockName,
    snapshot: &RowSnapshot,
    decide: impl FnOnce(&mut NameState, &DecisionContext<'_>) -> DecisionResult<T>,
) -> Result<Option<T>, Fault> {
    let mut answered = None;
    let decided = decide_on_snapshot(database, name, snapshot, |state, at| {
        let (answer, rest) = split_outcome(decide(state, at));
        answered = Some(answer);
        rest
    })?;
    let answered = answered.filter(|_| decided.is_same);
    answered.transpose().map_err(|refused| refusal(database, &refused))
}

/// What a decision is told of the world. No database notices the death of a process.
pub(crate) fn at<'a, D: Database + ?Sized>(
    snapshot: &RowSnapshot,
    database: &'a D,
) -> DecisionContext<'a> {
    let wall = u64::try_from(snapshot.now).unwrap_or_default();
    DecisionContext {
        now: moment(snapshot.now),
        wall,
        limits: database.limits(),
        alive: &|_| true,
        reachable: &|_| true,
    }
}

pub(crate) fn corrupt<D: Database + ?Sized>(database: &D, name: &LockName) -> Fault {
    let what = corrupt_row_message(database, name.as_str());
    let help = "inspect it, and delete it once the lock has no holder; tokens then begin at the server's time";
    Fault::new(FaultKind::Corrupt, what, help)
}

/// What is said of a row under this name that nobody of tenure's can have written.
pub(crate) fn corrupt_row_message<D: Database + ?Sized>(database: &D, name: &str) -> String {
    format!(
        "the row of {name:?} in {} makes no sense; another program may have written it",
        database.location()
    )
}

pub(crate) fn refusal<D: Database + ?Sized>(database: &D, refused: &QueueError) -> Fault {
    let (kind, help) = match refused {
        QueueError::Full { .. } => (FaultKind::Full, "try again later, or allow more waiters"),
        QueueError::OtherMode => (FaultKind::Unsupported, "release it first"),
        QueueError::OtherKind { .. } => (FaultKind::Misconfigured, "choose another name"),
        QueueError::Permits { .. } => {
            (FaultKind::Misconfigured, "ask for at least one, and for at most all of them")
        }
        QueueError::Clock(_) => (FaultKind::Misconfigured, "set the clock of the server"),
    };
    Fault::new(kind, format!("{refused:#} ({})", database.location()), help)
}
