//! Names that another library locks too, as far as this process saw.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tenure_core::LockName;
use tokio::time::Instant;

/// How long a name counts as shared after another library was seen to have it.
const REMEMBERED: Duration = Duration::from_secs(600);
/// More are not remembered: tenure's waiters then take them at once.
const MOST: usize = 1_024;

#[derive(Debug, Default)]
pub(crate) struct SharedNames(Mutex<HashMap<LockName, Instant>>);

impl SharedNames {
    /// Another library has this name.
    pub(crate) fn insert(&self, name: &LockName) {
        let (mut names, now) = (self.lock(), Instant::now());
        if names.len() >= MOST {
            names.retain(|_, until| *until > now);
        }
        if names.len() < MOST || names.contains_key(name) {
            names.insert(name.clone(), now + REMEMBERED);
        }
    }

    pub(crate) fn contains(&self, name: &LockName) -> bool {
        self.lock().get(name).is_some_and(|until| *until > Instant::now())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<LockName, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> LockName {
        LockName::new(text).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_is_shared_for_a_while_after_it_was_seen() {
        let names = SharedNames::default();
        names.insert(&name("a"));
        assert!(names.contains(&name("a")) && !names.contains(&name("b")));
        tokio::time::advance(REMEMBERED).await;
        assert!(!names.contains(&name("a")));
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_are_remembered_than_are_worth_it() {
        let names = SharedNames::default();
        (0..=MOST).for_each(|number| names.insert(&name(&number.to_string())));
        assert_eq!(names.lock().len(), MOST);
        assert!(!names.contains(&name(&MOST.to_string())));
        tokio::time::advance(REMEMBERED).await;
        names.insert(&name("a"));
        assert_eq!(names.lock().len(), 1);
    }
}
