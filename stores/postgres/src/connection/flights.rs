//! What was sent over a connection and is not answered yet.

use std::{
    collections::VecDeque,
    future::poll_fn,
    pin::pin,
    sync::{Mutex, MutexGuard, PoisonError},
    task::Poll,
    time::Duration,
};

use tokio::time::Instant;

/// The calls that are under way over one connection. Answers come in the order of sending, so one answers for all
/// that were sent before it.
#[derive(Debug)]
pub(crate) struct InFlightCalls {
    state: Mutex<State>,
    /// Held from when one gets its number until it is sent: otherwise an answer could answer for what is sent after it.
    sending: Mutex<()>,
}

#[derive(Debug)]
struct State {
    next: u64,
    /// How many are not sent yet.
    waiting: usize,
    sent: VecDeque<SentCall>,
    /// When the last one began or was answered.
    used: Instant,
}

#[derive(Debug)]
struct SentCall {
    number: u64,
    at: Instant,
    /// Whether its caller left before the answer.
    is_left: bool,
}

impl InFlightCalls {
    pub(crate) fn new() -> Self {
        let (sent, used) = (VecDeque::new(), Instant::now());
        let state = Mutex::new(State { next: 0, waiting: 0, sent, used });
        Self { state, sending: Mutex::default() }
    }

    pub(crate) fn load(&self) -> usize {
        self.count_and_age().0
    }

    /// How many there are, and for how long the first of them has not been answered.
    pub(crate) fn count_and_age(&self) -> (usize, Duration) {
        let state = self.state();
        let oldest = state.sent.front().map_or(Duration::ZERO, |sent| sent.at.elapsed());
        (state.waiting + state.sent.len(), oldest)
    }

    /// For how long the first of them has not been answered.
    pub(crate) fn oldest(&self) -> Duration {
        self.count_and_age().1
    }

    /// For how long it was not used; nothing while it is.
    pub(crate) fn idle(&self) -> Duration {
        let state = self.state();
        let is_used = state.waiting > 0 || !state.sent.is_empty();
        if is_used { Duration::ZERO } else { state.used.elapsed() }
    }

    /// Whether one has not been answered whose caller has left: nobody would notice an answer that never comes.
    pub(crate) fn has_abandoned(&self) -> bool {
        self.last_abandoned().is_some()
    }

    /// The last of these.
    pub(crate) fn last_abandoned(&self) -> Option<u64> {
        let state = self.state();
        state.sent.iter().rev().find(|sent| sent.is_left).map(|sent| sent.number)
    }

    /// Whether this one and all before it were answered.
    pub(crate) fn is_answered(&self, number: u64) -> bool {
        self.state().sent.front().is_none_or(|sent| sent.number > number)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn begin(&self) -> InFlightCall<'_> {
        let mut state = self.state();
        state.waiting += 1;
        state.used = Instant::now();
        drop(state);
        InFlightCall { flights: self, number: None }
    }
}

/// One call. Dropped after it was sent and before it was answered, it is left.
#[derive(Debug)]
pub(crate) struct InFlightCall<'a> {
    flights: &'a InFlightCalls,
    number: Option<u64>,
}

impl InFlightCall<'_> {
    /// Waits for the answer to what `asked` sends when it is polled for the first time.
    pub(crate) async fn send<T>(&mut self, asked: impl Future<Output = T>) -> T {
        let mut asked = pin!(asked);
        let first = poll_fn(|context| {
            let _alone = self.flights.sending.lock().unwrap_or_else(PoisonError::into_inner);
            self.mark_sent();
            Poll::Ready(asked.as_mut().poll(context))
        });
        match first.await {
            Poll::Ready(done) => done,
            Poll::Pending => asked.await,
        }
    }

    fn mark_sent(&mut self) {
        let mut state = self.flights.state();
        let number = state.next;
        state.next += 1;
        state.waiting = state.waiting.saturating_sub(1);
        state.sent.push_back(SentCall { number, at: Instant::now(), is_left: false });
        drop(state);
        self.number = Some(number);
    }

    /// Its answer is there, or there will be none.
    pub(crate) fn complete(self) {
        let Some(number) = self.number else { return };
        let mut state = self.flights.state();
        state.used = Instant::now();
        while state.sent.front().is_some_and(|sent| sent.number <= number) {
            state.sent.pop_front();
        }
    }
}

impl Drop for InFlightCall<'_> {
    fn drop(&mut self) {
        let mut state = self.flights.state();
        match self.number {
            None => state.waiting = state.waiting.saturating_sub(1),
            Some(number) => {
                state.sent.iter_mut().filter(|sent| sent.number == number).for_each(|sent| {
                    sent.is_left = true;
                });
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn an_answer_answers_for_all_that_was_sent_before() {
        let flights = InFlightCalls::new();
        let mut all: Vec<_> = (0..3).map(|_| flights.begin()).collect();
        assert_eq!((flights.load(), flights.oldest()), (3, Duration::ZERO));
        all.iter_mut().for_each(InFlightCall::mark_sent);
        let (last, middle) = (all.pop().unwrap(), all.pop().unwrap());
        drop(middle);
        assert_eq!(flights.last_abandoned(), Some(1));
        assert!(!flights.is_answered(1));
        last.complete();
        assert!(!flights.has_abandoned() && flights.is_answered(1));
        // Answered by then, it is not left.
        drop(all);
        assert_eq!((flights.load(), flights.last_abandoned()), (0, None));
    }

    #[test]
    fn calls_are_numbered_in_the_order_of_sending() {
        let (flights, order) = (InFlightCalls::new(), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1_000 {
                        let mut flight = flights.begin();
                        let asked = poll_fn(|_| {
                            // Others get to run in between.
                            std::thread::yield_now();
                            let numbered = flights.state().next;
                            order.lock().unwrap().push(numbered);
                            Poll::Ready(())
                        });
                        flight.send(asked).now_or_never().unwrap();
                    }
                });
            }
        });
        let order = order.into_inner().unwrap();
        assert!(order.iter().copied().eq(1..=4_000));
    }

    #[test]
    fn what_was_not_sent_is_not_left() {
        let flights = InFlightCalls::new();
        drop(flights.begin());
        assert_eq!((flights.load(), flights.last_abandoned()), (0, None));
    }
}
