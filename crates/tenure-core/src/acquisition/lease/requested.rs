//! Release requests: another program asks the holder to release.

use super::Lease;

impl Lease {
    /// Records a release request. The holder keeps the lease until it releases.
    pub(super) fn note_request(&self) {
        let mut state = self.lock();
        if state.hold.ended() {
            return;
        }
        let rare = state.rare.get_or_insert_default();
        if std::mem::replace(&mut rare.release_requested, true) {
            return;
        }
        let (news, span, token) = (rare.news.clone(), rare.span.clone(), state.token);
        drop(state);
        news.notify_waiters();
        let observer = &self.context.observer;
        observer.record_release_request(self.name_use().observed(), token, span.as_deref());
    }

    /// Whether the holder of `generation` has a release request, and has not released.
    pub(crate) fn is_release_requested(&self, generation: u32) -> bool {
        let state = self.lock();
        let over = state.hold.ended() || state.hold.generation() != generation;
        !over && state.release_requested()
    }

    /// Returns when the holder of `generation` receives a release request. Never returns if it releases first.
    pub(crate) async fn wait_for_release_request(&self, generation: u32) {
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
