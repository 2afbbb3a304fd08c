//! Acquiring the lock that a command runs under.

use tenure::{AcquireError, Guard, LockName, Tenure};

use super::waiting::Waiting;
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

/// Acquires the lock as planned.
pub(crate) async fn acquire(
    tenure: &Tenure,
    name: &LockName,
    plan: &Plan,
    voice: &Voice,
) -> Result<Guard, Failure> {
    let busy = |what| Failure::Busy { what, code: plan.busy_exit_code };
    if plan.patience == Patience::None {
        let trying = match plan.kind {
            Kind::Mutex => tenure.mutex(name.as_str()).try_lock(),
            Kind::Reader => tenure.rwlock(name.as_str()).try_read(),
            Kind::Permits { take, of } => {
                tenure.semaphore(name.as_str(), of).try_acquire_many(take)
            }
        };
        let guard = as_planned!(trying, plan).await.map_err(|error| refused(error, busy))?;
        return match guard {
            Some(guard) => Ok(guard),
            None => Err(busy(who_has_it(tenure, name).await)),
        };
    }
    let locking = match plan.kind {
        Kind::Mutex => tenure.mutex(name.as_str()).lock(),
        Kind::Reader => tenure.rwlock(name.as_str()).read(),
        Kind::Permits { take, of } => tenure.semaphore(name.as_str(), of).acquire_many(take),
    };
    let waiting = Waiting::new(voice, name.as_str());
    let mut lock = as_planned!(locking, plan).on_busy(move |seen| waiting.busy(seen));
    if let Patience::For(wait) = plan.patience {
        lock = lock.wait(wait);
    }
    lock.await.map_err(|error| refused(error, busy))
}

fn refused(error: AcquireError, busy: impl FnOnce(String) -> Failure) -> Failure {
    match error {
        AcquireError::TimedOut(_) => busy(error.to_string()),
        AcquireError::Setting(_) | AcquireError::Name(_) => Failure::Usage(error.to_string()),
        _ => Failure::failed(error),
    }
}

/// Why the lock was not free, as far as can be told a moment later.
async fn who_has_it(tenure: &Tenure, name: &LockName) -> String {
    let seen = tenure.store().inspect(name).await.unwrap_or_default();
    let who = seen.holders.first().map(|holder| human::holder(holder, human::now()));
    let who = who.unwrap_or_else(|| "others come first".into());
    format!("lock {name:?} in {} is busy: {who}", tenure.store().location())
}
