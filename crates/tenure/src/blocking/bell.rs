//! What wakes a thread that polls a future.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::Wake,
    time::Instant,
};

/// Rung by the future's waker. Not the thread's own token, which the program may use itself.
#[derive(Debug, Default)]
pub(super) struct Bell {
    rung: Mutex<bool>,
    rings: Condvar,
}

impl Bell {
    /// Blocks until it is rung, also if that was before. Says whether it was by then.
    pub(super) fn wait(&self, until: Option<Instant>) -> bool {
        let mut rung = self.rung();
        while !*rung {
            rung = match until.map(|until| until.saturating_duration_since(Instant::now())) {
                None => self.rings.wait(rung).unwrap_or_else(PoisonError::into_inner),
                Some(left) if left.is_zero() => return false,
                Some(left) => {
                    let waited = self.rings.wait_timeout(rung, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        std::mem::take(&mut *rung)
    }

    fn rung(&self) -> MutexGuard<'_, bool> {
        self.rung.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        *self.rung() = true;
        self.rings.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_ring_is_heard_once_whenever_it_comes() {
        let bell = Arc::new(Bell::default());
        let now = Instant::now();
        assert!(!bell.wait(Some(now)));
        bell.wake_by_ref();
        assert!(bell.wait(None) && !bell.wait(Some(now)));
        std::thread::scope(|scope| {
            scope.spawn(|| bell.wake_by_ref());
            assert!(bell.wait(Some(now + Duration::from_secs(60))));
        });
    }
}
