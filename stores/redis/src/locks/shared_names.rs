//! Names that another library locks too, as far as this process saw.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tenure_core::{HoldId, LockName};
use tokio::time::Instant;

/// How long a name counts as shared after another library was seen to have it.
const REMEMBERED: Duration = Duration::from_secs(600);
/// More are not remembered: tenure's waiters then take them at once.
const MOST: usize = 1_024;

/// How long a waiter sleeps at most behind a holder of another library, most of which announce no release; and how long
/// where the lock changes hands between two looks.
const LOOKS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(5));

#[derive(Debug, Default)]
pub(crate) struct SharedNames(Mutex<HashMap<LockName, SharedName>>);

#[derive(Debug)]
struct SharedName {
    until: Instant,
    /// Who was last seen to have it.
    holder: Option<HoldId>,
    look: Duration,
}

impl SharedNames {
    /// Another library has this name. Returns how long a waiter sleeps at most before it looks again.
    pub(crate) fn insert(&self, name: &LockName, holder: Option<HoldId>) -> Duration {
        let (mut names, now) = (self.lock(), Instant::now());
        if names.len() >= MOST {
            names.retain(|_, shared| shared.until > now);
        }
        let until = now + REMEMBERED;
        if let Some(known) = names.get_mut(name) {
            if known.holder.is_some() && known.holder != holder {
                known.look = (known.look / 2).max(LOOKS.1);
            }
            (known.until, known.holder) = (until, holder);
            return known.look;
        }
        if names.len() < MOST {
            names.insert(name.clone(), SharedName { until, holder, look: LOOKS.0 });
        }
        LOOKS.0
    }

    /// This process has it: whoever waits next may have more luck.
    pub(crate) fn was_granted(&self, name: &LockName) {
        if let Some(known) = self.lock().get_mut(name) {
            (known.holder, known.look) = (None, LOOKS.0);
        }
    }

    pub(crate) fn contains(&self, name: &LockName) -> bool {
        self.lock().get(name).is_some_and(|shared| shared.until > Instant::now())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<LockName, SharedName>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::Owner;

    use super::*;

    fn name(text: &str) -> LockName {
        LockName::new(text).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_is_shared_for_a_while_after_it_was_seen() {
        let names = SharedNames::default();
        names.insert(&name("a"), None);
        assert!(names.contains(&name("a")) && !names.contains(&name("b")));
        tokio::time::advance(REMEMBERED).await;
        assert!(!names.contains(&name("a")));
    }

    #[tokio::test]
    async fn who_misses_its_chance_looks_more_often() {
        let (names, name) = (SharedNames::default(), name("a"));
        let id = |byte| Some(HoldId::of_owner(&Owner::from_bytes([byte; 16])));
        let look = |millis| Duration::from_millis(millis);
        assert_eq!(names.insert(&name, id(1)), look(50));
        assert_eq!(names.insert(&name, id(1)), look(50), "it still has it");
        assert_eq!(names.insert(&name, id(2)), look(25));
        for byte in 3..9 {
            names.insert(&name, id(byte));
        }
        assert_eq!(names.insert(&name, id(9)), look(5));
        names.was_granted(&name);
        assert_eq!(names.insert(&name, id(1)), look(50));
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_are_remembered_than_are_worth_it() {
        let names = SharedNames::default();
        for number in 0..=MOST {
            names.insert(&name(&number.to_string()), None);
        }
        assert_eq!(names.lock().len(), MOST);
        assert!(!names.contains(&name(&MOST.to_string())));
        tokio::time::advance(REMEMBERED).await;
        names.insert(&name("a"), None);
        assert_eq!(names.lock().len(), 1);
    }
}
