//! Names that this process released when others heard of it, so that it lets them go first.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tenure_core::LockName;
use tokio::time::Instant;

/// Waiters of another library come later than a process that asks again at once.
const YIELD: Duration = Duration::from_millis(5);
/// More are not remembered: whoever asks for another one goes first.
const MOST: usize = 1_024;

/// Until when this process does not ask for a name again.
#[derive(Debug, Default)]
pub(crate) struct YieldedNames(Mutex<HashMap<LockName, Instant>>);

impl YieldedNames {
    /// Others heard that this name was released.
    pub(crate) fn insert(&self, name: &LockName) {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if names.len() >= MOST {
            names.retain(|_, until| *until > now);
        }
        if names.len() < MOST {
            names.insert(name.clone(), now + YIELD);
        }
    }

    /// Returns once they could have asked for it.
    pub(crate) async fn let_others_go_first(&self, name: &LockName) {
        let until = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        if let Some(until) = until {
            tokio::time::sleep_until(until).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_name_is_yielded_once_and_others_are_not() {
        let (names, began) = (YieldedNames::default(), Instant::now());
        let name = |text: &str| LockName::new(text).unwrap();
        names.insert(&name("a"));
        names.let_others_go_first(&name("b")).await;
        assert_eq!(began.elapsed(), Duration::ZERO);
        names.let_others_go_first(&name("a")).await;
        assert_eq!(began.elapsed(), YIELD);
        names.let_others_go_first(&name("a")).await;
        assert_eq!(began.elapsed(), YIELD);
    }
}
