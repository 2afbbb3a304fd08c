//! What other programs tell the holder: to release, or that they break the lock.

use std::sync::Arc;

use tenure_proto::{history::Ending, queue::Identity};

use super::Lease;

impl Lease {
    /// Records a release request. The holder keeps the lease until it releases.
    pub(super) fn note_request(&self, by: Option<&Identity>) {
        let mut state = self.lock();
        if state.hold.ended() {
            return;
        }
        let rare = state.rare.get_or_insert_default();
        let is_first = !std::mem::replace(&mut rare.release_requested, true);
        // The same one is read again and again. Another one has another reason.
        let is_another = by.is_some() && rare.requested_by.as_deref() != by;
        if !is_first && !is_another {
            return;
        }
        if by.is_some() {
            rare.requested_by = by.cloned().map(Arc::new);
        }
        let (news, span, token) = (rare.news.clone(), rare.span.clone(), state.token);
        drop(state);
        news.notify_waiters();
        let observer = &self.context.observer;
        observer.record_release_request(self.name_use().observed(), token, by, span.as_deref());
    }

    /// Records who breaks the lock. Only an answer of the store ends the hold.
    pub(super) fn note_break(&self, by: &Identity) {
        let now = self.context.now();
        let mut state = self.lock();
        let (is_lost, token) = (state.told_lost, state.token);
        let rare = state.rare.get_or_insert_default();
        if !is_lost {
            rare.announced_by = Some((Arc::new(by.clone()), now));
            return;
        }
        if !rare.was_taken || rare.broken_by.is_some() {
            return;
        }
        rare.broken_by = Some(Arc::new(by.clone()));
        self.add_ending(&state, Ending::Broken, now);
        drop(state);
        self.context.observer.log_broken(self.name(), token, by);
    }

    /// Whether the holder of `generation` has a release request, and has not released.
    pub(crate) fn is_release_requested(&self, generation: u32) -> bool {
        let mut state = self.lock();
        let over = state.hold.ended() || state.hold.generation() != generation;
        state.rare.get_or_insert_default().heeds_requests = true;
        !over && state.release_requested()
    }

    /// Who asks the holder of `generation` to release, if they say so.
    pub(crate) fn release_requested_by(&self, generation: u32) -> Option<Arc<Identity>> {
        if !self.is_release_requested(generation) {
            return None;
        }
        self.lock().rare.as_ref()?.requested_by.clone()
    }

    /// Who broke the lock of this hold, if they said so.
    pub(crate) fn broken_by(&self) -> Option<Arc<Identity>> {
        self.lock().broken_by()
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
