//! A full queue: if the store has just refused contenders of this process because a queue is full, one of the newcomers
//! asks for all of them.
//!
//! Nothing is granted here. A contender is refused only by an answer to a request that began after the contender came.
//! So a thousand contenders that are refused and ask again cause few requests, and do not keep the store from those
//! whose turn it is.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tenure_proto::{
    Timestamp,
    queue::{Answer, Mode},
};
use tokio::sync::Notify;

use crate::{Clock, Fault, FaultKind, driver::timeout_at, name_use::NameUse};

/// How long a full queue is remembered after a refusal.
const REMEMBERED: Duration = Duration::from_secs(1);
/// How long after a refusal the next contender asks. If many processes ask, the one that finds room has taken it before
/// most others ask.
const PAUSE: Duration = Duration::from_millis(25);
/// How long newcomers wait for another one's answer before the next of them asks: its future may not be polled.
const PATIENCE: Duration = Duration::from_millis(100);
/// After this many answers in a row without a refusal, all may ask.
const ROOMY: u32 = 4;
/// How many full queues are remembered.
const MOST: usize = 1_000;

/// What a contender asks for. Only equal requests share an answer.
type QueueKey = (NameUse, Mode);

/// The queues in which a contender of this process was refused a moment ago.
#[derive(Debug, Default)]
pub(crate) struct FullQueues {
    lines: Mutex<HashMap<QueueKey, Arc<FullQueue>>>,
    /// Until when any of them is remembered.
    until: AtomicU64,
}

#[derive(Debug)]
struct FullQueue {
    state: Mutex<State>,
    /// Notifies of each answer.
    answered: Notify,
}

#[derive(Debug)]
struct State {
    /// How many contenders have asked for others, too.
    asked: u64,
    /// The number of the last one that was refused; zero if it asked only for itself.
    refused: u64,
    /// The fault that it received.
    fault: Fault,
    /// Until when the queue is remembered.
    until: Timestamp,
    /// When the next contender asks.
    next: Timestamp,
    /// How many were not refused since the last refusal.
    not_refused: u32,
    /// Whether all ask for themselves again.
    is_over: bool,
}

/// The right to ask for all earlier newcomers. Dropping it passes it on.
#[derive(Debug)]
pub(crate) struct FullQueueProbe {
    line: Arc<FullQueue>,
    number: u64,
    is_answered: bool,
}

impl FullQueues {
    /// Returns when a contender without a position may ask the store: at once if there was no refusal a moment ago.
    ///
    /// # Errors
    /// The fault of another contender that asked after this call began, or the last fault if `give_up` comes first.
    pub(crate) async fn wait_for_turn(
        &self,
        clock: &dyn Clock,
        now: Timestamp,
        wanted: impl FnOnce() -> QueueKey,
        give_up: Timestamp,
    ) -> Result<Option<FullQueueProbe>, Fault> {
        if now.as_nanos() >= self.until.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let line = self.lock().get(&wanted()).cloned();
        match line.filter(|line| now < line.lock().until) {
            // Boxed, because it is rare and large.
            Some(line) => Box::pin(line.wait_for_probe(clock, give_up)).await,
            None => Ok(None),
        }
    }

    /// Records the store's answer, or a missing one, to a contender without a position.
    pub(crate) fn record_answer(
        &self,
        wanted: impl FnOnce() -> QueueKey,
        turn: Option<FullQueueProbe>,
        answer: Option<&Result<Answer, Fault>>,
        clock: &dyn Clock,
    ) {
        let fault = match answer {
            Some(Err(fault)) if fault.kind() == FaultKind::Full => fault,
            _ => return turn.into_iter().for_each(FullQueueProbe::not_refused),
        };
        let now = clock.now();
        let until = now.saturating_add(REMEMBERED);
        self.until.fetch_max(until.as_nanos(), Ordering::Relaxed);
        if let Some(turn) = turn {
            turn.refused(fault, now, until);
        } else {
            self.record_refusal(wanted(), fault, now, until);
        }
    }

    fn record_refusal(&self, wanted: QueueKey, fault: &Fault, now: Timestamp, until: Timestamp) {
        let mut lines = self.lock();
        if let Some(line) = lines.get(&wanted)
            && let mut state = line.lock()
            && !state.is_over
        {
            state.until = until;
            return;
        }
        lines.retain(|_, line| {
            let state = line.lock();
            now < state.until && !state.is_over
        });
        if lines.len() < MOST {
            let state = State {
                asked: 0,
                refused: 0,
                fault: fault.clone(),
                until,
                next: now.saturating_add(PAUSE),
                not_refused: 0,
                is_over: false,
            };
            lines.insert(
                wanted,
                Arc::new(FullQueue { state: state.into(), answered: Notify::new() }),
            );
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<QueueKey, Arc<FullQueue>>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FullQueue {
    async fn wait_for_probe(
        self: Arc<Self>,
        clock: &dyn Clock,
        give_up: Timestamp,
    ) -> Result<Option<FullQueueProbe>, Fault> {
        let came = self.lock().asked;
        loop {
            // Created before the check, so that no later answer is missed.
            let answered = self.answered.notified();
            let until = {
                let mut state = self.lock();
                if state.is_over {
                    return Ok(None);
                }
                let now = clock.now();
                if state.refused > came || now >= give_up {
                    return Err(state.fault.clone());
                }
                if state.next <= now {
                    state.next = now.saturating_add(PATIENCE);
                    state.asked += 1;
                    let number = state.asked;
                    drop(state);
                    return Ok(Some(FullQueueProbe {
                        line: self.clone(),
                        number,
                        is_answered: false,
                    }));
                }
                state.next.min(give_up)
            };
            timeout_at(clock, until, answered).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FullQueueProbe {
    fn refused(mut self, fault: &Fault, now: Timestamp, until: Timestamp) {
        self.is_answered = true;
        let mut state = self.line.lock();
        if state.refused < self.number {
            (state.refused, state.fault) = (self.number, fault.clone());
        }
        (state.until, state.next) = (until, now.saturating_add(PAUSE));
        state.not_refused = 0;
        drop(state);
        self.line.answered.notify_waiters();
    }

    /// The next one may not be refused either, so it asks at once.
    fn not_refused(mut self) {
        let mut state = self.line.lock();
        state.not_refused += 1;
        if state.not_refused >= ROOMY {
            self.is_answered = true;
            state.is_over = true;
            drop(state);
            self.line.answered.notify_waiters();
        }
    }
}

impl Drop for FullQueueProbe {
    fn drop(&mut self) {
        if !self.is_answered {
            self.line.lock().next = Timestamp::ZERO;
            self.line.answered.notify_one();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use tenure_proto::queue::Kind;

    use super::*;
    use crate::{LockName, ManualClock, observe::SeriesId};

    #[test]
    fn what_is_remembered_has_bounds() {
        let (full, clock) = (FullQueues::default(), ManualClock::new());
        let refuse = |number: usize| {
            let name = LockName::new(number.to_string()).unwrap();
            let wanted =
                (NameUse { name, kind: Kind::Mutex, series: SeriesId::default() }, Mode::Exclusive);
            let answer = Err(Fault::new(FaultKind::Full, "many wait", "wait"));
            full.record_answer(|| wanted, None, Some(&answer), &clock);
            full.lock().len()
        };
        for number in 0..MOST {
            assert_eq!(refuse(number), number + 1);
        }
        assert_eq!(refuse(MOST), MOST);
        clock.advance(REMEMBERED);
        assert_eq!(refuse(MOST), 1);
    }
}
