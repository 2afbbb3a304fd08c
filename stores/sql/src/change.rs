//! A name is read, decided on and written back, until nobody came between.

use std::time::Duration;

use tenure_core::{
    Clock, Fault, FaultKind, LockName, SystemClock,
    proto::queue::{Moment, NameState, QueueError},
};

use crate::{Database, Sight, Tells, row::moment};

/// How often it is tried again. Each time somebody else has got further.
const TRIES: u32 = 100;
/// The longest pause between two tries.
const PAUSE: Duration = Duration::from_millis(20);

pub(crate) type Outcome<T> = Result<(T, Tells), QueueError>;

/// Changes the state of a name as `decide` says, which is asked again whenever somebody came between. `first` is
/// the name as it was seen already.
pub(crate) async fn change<D: Database, T>(
    database: &D,
    name: &LockName,
    first: Option<Sight>,
    decide: impl Fn(&mut NameState, &Moment<'_>) -> Outcome<T> + Send + Sync,
) -> Result<T, Fault>
where
    T: Send,
{
    let mut patience = Patience::new(database.response_timeout());
    let mut seen = first;
    loop {
        let sight = match seen.take() {
            Some(sight) => sight,
            None => database.read(name).await?,
        };
        let (state, (answer, tells)) = decided(database, name, &sight, &decide)?;
        let before = expired(database, name, &sight)?;
        // What time alone has changed, it changes for the next one, too.
        if state == before && tells.is_empty() {
            return Ok(answer);
        }
        let row = sight.row.after(state).map_err(|_| corrupt(database, name))?;
        if database.write(name, &row, &tells).await? {
            return Ok(answer);
        }
        patience.again(name).await?;
    }
}

/// What was decided on a name that was seen so.
fn decided<D: Database, T>(
    database: &D,
    name: &LockName,
    sight: &Sight,
    decide: &(impl Fn(&mut NameState, &Moment<'_>) -> Outcome<T> + Send + Sync),
) -> Result<(NameState, (T, Tells)), Fault> {
    let mut state = sight.row.state(sight.floor).map_err(|_| corrupt(database, name))?;
    let at = at(sight, database);
    let outcome = decide(&mut state, &at).map_err(|refused| refusal(database, &refused))?;
    Ok((state, outcome))
}

fn expired<D: Database>(database: &D, name: &LockName, sight: &Sight) -> Result<NameState, Fault> {
    let mut state = sight.row.state(sight.floor).map_err(|_| corrupt(database, name))?;
    state.expire(&at(sight, database));
    Ok(state)
}

/// What a decision is told of the world. No database notices the death of a process.
pub(crate) fn at<'a, D: Database>(sight: &Sight, database: &'a D) -> Moment<'a> {
    let wall = u64::try_from(sight.now).unwrap_or_default();
    Moment { now: moment(sight.now), wall, limits: database.limits(), alive: &|_| true }
}

pub(crate) fn corrupt<D: Database>(database: &D, name: &LockName) -> Fault {
    let what = format!(
        "the row of {:?} in {} makes no sense; somebody else may have written it",
        name.as_str(),
        database.location()
    );
    let cure = "look at it, and take it away once nobody holds the lock; tokens begin at the server's time then";
    Fault::new(FaultKind::Corrupt, what, cure)
}

pub(crate) fn refusal<D: Database>(database: &D, refused: &QueueError) -> Fault {
    let (kind, cure) = match refused {
        QueueError::Full { .. } => (FaultKind::Full, "try again later, or allow more waiters"),
        QueueError::OtherMode => (FaultKind::Unsupported, "let go of it first"),
        QueueError::OtherKind { .. } => (FaultKind::Misconfigured, "choose another name"),
        QueueError::Permits { .. } => {
            (FaultKind::Misconfigured, "ask for at least one, and for at most all of them")
        }
        QueueError::Clock(_) => (FaultKind::Misconfigured, "set the clock of the server"),
    };
    Fault::new(kind, format!("{refused} ({})", database.location()), cure)
}

/// How long it is tried again.
pub(crate) struct Patience {
    until: tenure_core::Timestamp,
    tries: u32,
}

impl Patience {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { until: SystemClock.now().saturating_add(limit), tries: 0 }
    }

    /// Waits a little, ever longer and never twice the same for two who met.
    pub(crate) async fn again(&mut self, name: &LockName) -> Result<(), Fault> {
        self.tries += 1;
        if self.tries >= TRIES || SystemClock.now() >= self.until {
            let what = format!("others changed {:?} each time it was looked at", name.as_str());
            return Err(Fault::new(FaultKind::Unreachable, what, "try again"));
        }
        if self.tries > 1 {
            let longest = PAUSE.min(Duration::from_millis(1) * self.tries);
            tokio::time::sleep(longest.mul_f64(random_part())).await;
        }
        Ok(())
    }
}

/// From zero to one.
pub(crate) fn random_part() -> f64 {
    getrandom::u32().map_or(0.5, |number| f64::from(number) / f64::from(u32::MAX))
}
