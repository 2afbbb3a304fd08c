//! Who is next to have a connection.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

/// Lets in so many at once, in the order in which they came: first those in a hurry.
///
/// Who writes back what it has read is in a hurry: the longer it stands in line, the surer somebody else has written
/// meanwhile, and all was in vain.
#[derive(Clone, Debug)]
pub(crate) struct PrioritySemaphore(Arc<Mutex<CallerQueues>>);

#[derive(Debug)]
struct CallerQueues {
    free: usize,
    hurried: VecDeque<oneshot::Sender<PriorityPermit>>,
    others: VecDeque<oneshot::Sender<PriorityPermit>>,
}

/// Who has it is in. Dropping it lets in the next.
#[derive(Debug)]
pub(crate) struct PriorityPermit(PrioritySemaphore);

impl PrioritySemaphore {
    pub(crate) fn new(most: usize) -> Self {
        let lines = CallerQueues { free: most, hurried: VecDeque::new(), others: VecDeque::new() };
        Self(Arc::new(Mutex::new(lines)))
    }

    /// Who drops this leaves the line.
    pub(crate) async fn acquire_permit(&self, hurries: bool) -> Option<PriorityPermit> {
        let called = {
            let mut lines = self.lines();
            if lines.free > 0 {
                lines.free -= 1;
                return Some(PriorityPermit(self.clone()));
            }
            let (calls, called) = oneshot::channel();
            let line = if hurries { &mut lines.hurried } else { &mut lines.others };
            // Those who left are passed over when their turn comes; this bounds how many there are.
            if line.len() >= 64 && line.len().is_power_of_two() {
                line.retain(|calls| !calls.is_closed());
            }
            line.push_back(calls);
            called
        };
        called.await.ok()
    }

    fn lines(&self) -> MutexGuard<'_, CallerQueues> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<oneshot::Sender<PriorityPermit>> {
        let mut lines = self.lines();
        let next = loop {
            match lines.hurried.pop_front() {
                Some(calls) if calls.is_closed() => {}
                Some(calls) => break Some(calls),
                None => match lines.others.pop_front() {
                    Some(calls) if calls.is_closed() => {}
                    other => break other,
                },
            }
        };
        if next.is_none() {
            lines.free += 1;
        }
        next
    }
}

impl Drop for PriorityPermit {
    fn drop(&mut self) {
        if let Some(next) = self.0.next() {
            // If it has left in this moment, the pass comes back by being dropped, and goes to the one behind.
            let _ = next.send(Self(self.0.clone()));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use super::*;

    #[tokio::test]
    async fn those_in_a_hurry_come_first_and_those_who_left_are_passed_over() {
        let turnstile = PrioritySemaphore::new(1);
        let first = turnstile.acquire_permit(false).await.unwrap();
        let enter = |hurries| {
            let turnstile = turnstile.clone();
            tokio::spawn(async move { turnstile.acquire_permit(hurries).await.unwrap() })
        };
        let mut line = Vec::new();
        for hurries in [false, false, true, true] {
            line.push(enter(hurries));
            tokio::task::yield_now().await;
        }
        line[0].abort();
        line[2].abort();
        tokio::task::yield_now().await;
        drop(first);
        let hurried = line.pop().unwrap().await.unwrap();
        assert!(!line[1].is_finished(), "one at a time");
        drop(hurried);
        drop(line.remove(1).await.unwrap());
        assert_eq!(turnstile.lines().free, 1);
    }
}
