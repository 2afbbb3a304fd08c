//! Acquiring the lock that a command runs under.

use std::time::Duration;

use tenure::{AcquireError, Guard, LockName, Tenure};

use super::{held::Held, waiting::Waiting};
use crate::{
    exit::Failure,
    output::{Voice, human},
    settings::{Kind, Patience, Plan},
};

/// An acquisition with what was asked for besides its kind and its wait.
macro_rules! as_planned {
    ($acquisition:expr, $plan:expr) => {{
        let mut acquisition = $acquisition.ttl($plan.ttl);
        if let Some(longest) = $plan.max_hold {
            acquisition = acquisition.max_hold(longest);
        }
        if let Some(least) = $plan.hold_at_least {
            acquisition = acquisition.hold_at_least(least);
        }
        if let Some(label) = &$plan.label {
            acquisition = acquisition.label(label);
        }
        if $plan.fair { acquisition.fair() } else { acquisition }
    }};
}

/// Acquires what the command runs under, as planned.
pub(crate) async fn acquire(
    tenure: &Tenure,
    names: &[&LockName],
    plan: &Plan,
    voice: &Voice,
) -> Result<Held, Failure> {
    let busy = |what| Failure::Busy { what, code: plan.busy_exit_code };
    let held = match (plan.kind, names) {
        (Kind::All, _) => all(tenure, names, plan, voice).await,
        (Kind::Candidate, [name]) => candidate(tenure, name, plan, voice).await,
        (_, [name]) => one(tenure, name, plan, voice).await,
        _ => return Err(Failure::Usage("one name is needed".to_owned())),
    };
    match held.map_err(|error| refused(error, busy))? {
        Some(held) => Ok(held),
        None => Err(busy(who_has_one(tenure, names).await)),
    }
}

/// One lock; nothing if it is busy and not waited for.
async fn one(
    tenure: &Tenure,
    name: &LockName,
    plan: &Plan,
    voice: &Voice,
) -> Result<Option<Held>, AcquireError> {
    let name = name.as_str();
    let (mutex, rwlock) = (tenure.mutex(name), tenure.rwlock(name));
    if plan.patience == Patience::None {
        let trying = match plan.kind {
            Kind::Mutex | Kind::All | Kind::Candidate => mutex.try_lock(),
            Kind::Reader => rwlock.try_read(),
            Kind::Permits { take, of } => tenure.semaphore(name, of).try_acquire_many(take),
        };
        return Ok(as_planned!(trying, plan).await?.map(Held::One));
    }
    let locking = match plan.kind {
        Kind::Mutex | Kind::All | Kind::Candidate => mutex.lock(),
        Kind::Reader => rwlock.read(),
        Kind::Permits { take, of } => tenure.semaphore(name, of).acquire_many(take),
    };
    let waiting = Waiting::new(voice, name);
    let mut lock = as_planned!(locking, plan).on_busy(move |seen| waiting.busy(seen));
    if let Patience::For(wait) = plan.patience {
        lock = lock.wait(wait);
    }
    lock.await.map(|guard| Some(Held::One(guard)))
}

/// All locks together; nothing if one is busy and not waited for.
async fn all(
    tenure: &Tenure,
    names: &[&LockName],
    plan: &Plan,
    voice: &Voice,
) -> Result<Option<Held>, AcquireError> {
    let all = tenure.all(names.iter().map(|name| name.as_str()));
    if plan.patience == Patience::None {
        return Ok(as_planned!(all.try_lock(), plan).await?.map(Held::All));
    }
    let waiting = Waiting::new(voice, &together(names.iter().copied()));
    let mut lock = as_planned!(all.lock(), plan).on_busy(move |seen| waiting.busy(seen));
    if let Patience::For(wait) = plan.patience {
        lock = lock.wait(wait);
    }
    lock.await.map(|guard| Some(Held::All(guard)))
}

/// The lead of an election; nothing if somebody else has it and it is not waited for.
async fn candidate(
    tenure: &Tenure,
    name: &LockName,
    plan: &Plan,
    voice: &Voice,
) -> Result<Option<Held>, AcquireError> {
    let election = as_planned!(tenure.election(name.as_str()), plan);
    if plan.patience == Patience::None {
        let lead = election.try_campaign().await?;
        return Ok(lead.map(|lead| Held::One(Guard::from(lead))));
    }
    let waiting = Waiting::new(voice, name.as_str());
    let mut campaign = election.campaign().on_busy(move |seen| waiting.busy(seen));
    if let Patience::For(wait) = plan.patience {
        campaign = campaign.wait(wait);
    }
    Ok(Some(Held::One(Guard::from(campaign.await?))))
}

/// What several locks are called where one name is expected.
pub(crate) fn together<'a>(names: impl Iterator<Item = &'a LockName>) -> String {
    names.map(LockName::as_str).collect::<Vec<_>>().join(",")
}

fn refused(error: AcquireError, busy: impl FnOnce(String) -> Failure) -> Failure {
    match error {
        AcquireError::TimedOut(_) => busy(error.to_string()),
        AcquireError::Setting(_) | AcquireError::Name(_) | AcquireError::Names { .. } => {
            Failure::Usage(error.to_string())
        }
        AcquireError::InDoubt(_) | AcquireError::Unreachable(_) => Failure::Away(error.to_string()),
        _ => Failure::failed(error),
    }
}

/// How long giving back may take before somebody is named.
const GIVEN_BACK: Duration = Duration::from_secs(1);

/// Why one of the locks was not free, as far as can be told a moment later.
async fn who_has_one(tenure: &Tenure, names: &[&LockName]) -> String {
    if names.len() > 1 {
        // Those that were free are given back first: else this process would be named for them.
        let _ = tenure.shutdown(GIVEN_BACK).await;
    }
    let location = tenure.store().location();
    for name in names {
        let seen = tenure.store().inspect(name).await.unwrap_or_default();
        if let Some(holder) = seen.holders.first() {
            let who = human::holder(holder, human::now());
            return format!("lock {name:?} in {location} is busy: {who}");
        }
    }
    format!("lock {:?} in {location} is busy: others come first", together(names.iter().copied()))
}
