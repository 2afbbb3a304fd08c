//! Names that this process released when others heard of it, so that it lets them go first.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tenure_core::LockName;
use tokio::time::Instant;

/// For how long a name is left to others, who come later than a process that asks again at once. While nobody is seen
/// to come, the next one is taken: they may be far away.
const YIELDS: [Duration; 3] =
    [Duration::from_millis(5), Duration::from_millis(10), Duration::from_millis(25)];
/// How long a name is not yielded after all of these in vain: whoever heard of it does not want it, or is too far away.
const IDLE: Duration = Duration::from_millis(100);
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
    /// Which of [`YIELDS`] it was last left for.
    step: usize,
    /// How many of them in a row nobody was seen to use.
    in_vain: usize,
    /// Whether somebody else was met since the last one.
    is_needed: bool,
    /// How many messages there are of its releases if nobody else releases it.
    messages: u64,
}

impl YieldedName {
    fn new(now: Instant, messages: u64) -> Self {
        let (step, in_vain, is_needed) = (0, 1, false);
        Self { until: now + YIELDS[0], again: now, step, in_vain, is_needed, messages }
    }

    /// It is released once more, after this many messages of releases.
    fn yield_again(&mut self, now: Instant, heard: u64) {
        if std::mem::take(&mut self.is_needed) || heard > self.messages {
            self.in_vain = 0;
            // Perhaps a shorter time is enough.
            self.step = self.step.saturating_sub(1);
        } else if self.again > now {
            return;
        } else {
            self.step = (self.step + 1) % YIELDS.len();
        }
        self.in_vain += 1;
        self.until = now + YIELDS[self.step];
        let pause = if self.in_vain.is_multiple_of(YIELDS.len()) { IDLE } else { Duration::ZERO };
        self.again = self.until + pause;
    }
}

impl YieldedNames {
    /// Others heard that this name was released. Until then this process had heard of so many releases of it by
    /// anybody, and hears of this one as often as `own` says.
    pub(crate) fn insert(&self, name: &LockName, heard: u64, own: u64) {
        let (mut names, now) = (self.lock(), Instant::now());
        if names.len() >= MOST {
            names.retain(|_, yielded| yielded.again > now);
        }
        if let Some(known) = names.get_mut(name) {
            known.yield_again(now, heard);
            known.messages = heard + own;
        } else if names.len() < MOST {
            names.insert(name.clone(), YieldedName::new(now, heard + own));
        }
    }

    /// Somebody else has it: whoever heard of the release wanted it.
    pub(crate) fn was_needed(&self, name: &LockName) {
        if let Some(known) = self.lock().get_mut(name) {
            known.is_needed = true;
        }
    }

    /// For how long it is left to them yet, unless somebody has had it meanwhile: by now there are so many messages of
    /// releases.
    pub(crate) fn left(&self, name: &LockName, heard: u64) -> Option<Duration> {
        let names = self.lock();
        let yielded = names.get(name).filter(|yielded| heard <= yielded.messages)?;
        let left = yielded.until.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
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

    /// How long a release of `a` delays the next ask for this name, if this process hears of no releases.
    async fn delay(names: &YieldedNames, text: &str) -> Duration {
        delay_after(names, text, 0).await
    }

    /// The same after so many messages, if it hears of its own releases.
    async fn delay_after(names: &YieldedNames, text: &str, heard: u64) -> Duration {
        names.insert(&name("a"), heard, 1);
        let left = names.left(&name(text), heard).unwrap_or_default();
        tokio::time::advance(left).await;
        assert_eq!(names.left(&name(text), heard), None);
        left
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_is_left_to_others_until_one_has_had_it() {
        let names = YieldedNames::default();
        names.insert(&name("a"), 4, 1);
        assert_eq!(names.left(&name("a"), 5), Some(YIELDS[0]), "that one is of this process");
        assert_eq!(names.left(&name("a"), 6), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_is_yielded_and_others_are_not() {
        let names = YieldedNames::default();
        assert_eq!(delay(&names, "b").await, Duration::ZERO);
        assert_eq!(delay(&names, "a").await, YIELDS[1]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_that_nobody_takes_is_yielded_for_longer_and_then_not_for_a_while() {
        let names = YieldedNames::default();
        for _ in 0..2 {
            for length in YIELDS {
                assert_eq!(delay(&names, "a").await, length);
            }
            assert_eq!(delay(&names, "a").await, Duration::ZERO);
            tokio::time::advance(IDLE).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_that_others_take_is_yielded_each_time() {
        let names = YieldedNames::default();
        for _ in 0..9 {
            assert_eq!(delay(&names, "a").await, YIELDS[0]);
            names.was_needed(&name("a"));
        }
        assert_eq!(delay(&names, "a").await, YIELDS[0]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_hold_that_is_over_before_this_process_asks_is_known_by_its_message() {
        let names = YieldedNames::default();
        for release in 0..9 {
            assert_eq!(delay_after(&names, "a", release * 2).await, YIELDS[0]);
        }
        // Those of this process alone.
        assert_eq!(delay_after(&names, "a", 17).await, YIELDS[1]);
        assert_eq!(delay_after(&names, "a", 18).await, YIELDS[2]);
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_far_away_gets_every_second_turn() {
        let names = YieldedNames::default();
        assert_eq!(delay(&names, "a").await, YIELDS[0]);
        assert_eq!(delay(&names, "a").await, YIELDS[1]);
        for _ in 0..9 {
            assert_eq!(delay(&names, "a").await, YIELDS[2]);
            names.was_needed(&name("a"));
            assert_eq!(delay(&names, "a").await, YIELDS[1]);
        }
        // It has left, and somebody near has come.
        names.was_needed(&name("a"));
        assert_eq!(delay(&names, "a").await, YIELDS[0]);
        names.was_needed(&name("a"));
        assert_eq!(delay(&names, "a").await, YIELDS[0]);
    }

    #[tokio::test(start_paused = true)]
    async fn somebody_who_comes_after_all_is_let_go_first_at_once() {
        let names = YieldedNames::default();
        for length in YIELDS {
            assert_eq!(delay(&names, "a").await, length);
        }
        names.was_needed(&name("a"));
        assert_eq!(delay(&names, "a").await, YIELDS[1]);
    }
}
