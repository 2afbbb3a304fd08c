//! A release request: somebody asks the holder to let go.

use super::Lease;

impl Lease {
    /// Somebody asks the holder to let go. It keeps the lease until it does.
    pub(super) fn note_request(&self) {
        let mut state = self.lock();
        if state.hold.ended() {
            return;
        }
        let rare = state.rare.get_or_insert_default();
        if std::mem::replace(&mut rare.release_requested, true) {
            return;
        }
        let (news, token) = (rare.news.clone(), state.token);
        drop(state);
        news.notify_waiters();
        self.context.observer.release_requested(self.name(), token);
    }

    /// Whether the holder of `generation` was asked to let go, and did not.
    pub(crate) fn is_release_requested(&self, generation: u32) -> bool {
        let state = self.lock();
        let over = state.hold.ended() || state.hold.generation() != generation;
        !over && state.release_requested()
    }

    /// Returns when the holder of `generation` is asked to let go; never if it did before.
    pub(crate) async fn release_requested(&self, generation: u32) {
        let news = self.lock().rare.get_or_insert_default().news.clone();
        loop {
            let news = news.notified();
            let mut news = std::pin::pin!(news);
            news.as_mut().enable();
            if self.is_release_requested(generation) {
                return;
            }
            news.await;
        }
    }
}
