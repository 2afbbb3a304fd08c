//! Names that this process released when others heard of it, so that it lets them go first.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tenure_core::LockName;
use tokio::time::Instant;

/// Waiters of another library come later than a process that asks again at once.
const YIELD: Duration = Duration::from_millis(5);
/// How long a name is not yielded again that nobody took meanwhile: who heard of it does not want it.
const IDLE: Duration = Duration::from_millis(250);
/// More are not remembered: whoever asks for another one goes first.
const MOST: usize = 1_024;

#[derive(Debug, Default)]
pub(crate) struct YieldedNames(Mutex<HashMap<LockName, YieldedName>>);

#[derive(Debug)]
struct YieldedName {
    /// Until when this process does not ask for it again.
    until: Instant,
    /// When others may be let go first once more.
    again: Instant,
}

impl YieldedNames {
    /// Others heard that this name was released.
    pub(crate) fn insert(&self, name: &LockName) {
        let (mut names, now) = (self.lock(), Instant::now());
        if names.len() >= MOST {
            names.retain(|_, yielded| yielded.again > now);
        }
        let is_idle = names.get(name).is_some_and(|yielded| yielded.again > now);
        if !is_idle && names.len() < MOST {
            names.insert(name.clone(), YieldedName { until: now + YIELD, again: now + IDLE });
        }
    }

    /// Somebody else has it: whoever heard of the release wanted it.
    pub(crate) fn was_needed(&self, name: &LockName) {
        self.lock().remove(name);
    }

    /// Returns once they could have asked for it.
    pub(crate) async fn let_others_go_first(&self, name: &LockName) {
        let until = self.lock().get(name).map(|yielded| yielded.until);
        if let Some(until) = until {
            tokio::time::sleep_until(until).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<LockName, YieldedName>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> LockName {
        LockName::new(text).unwrap()
    }

    /// How long a release of `a` delays the next ask for this name.
    async fn delay(names: &YieldedNames, text: &str) -> Duration {
        names.insert(&name("a"));
        let began = Instant::now();
        names.let_others_go_first(&name(text)).await;
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_is_yielded_and_others_are_not() {
        let names = YieldedNames::default();
        assert_eq!(delay(&names, "b").await, Duration::ZERO);
        assert_eq!(delay(&names, "a").await, YIELD);
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_that_nobody_took_is_not_yielded_again_at_once() {
        let names = YieldedNames::default();
        assert_eq!(delay(&names, "a").await, YIELD);
        assert_eq!(delay(&names, "a").await, Duration::ZERO);
        tokio::time::advance(IDLE).await;
        assert_eq!(delay(&names, "a").await, YIELD);
        names.was_needed(&name("a"));
        assert_eq!(delay(&names, "a").await, YIELD);
    }
}
