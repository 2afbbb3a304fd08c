//! Evictions: hints that holds may have been evicted, and requests to release one.

use std::{
    collections::BTreeSet,
    fmt,
    future::poll_fn,
    sync::{Arc, Mutex, PoisonError, Weak},
    task::{Context, Poll, Waker},
};

use crate::{LockName, Owner};

/// The maximum number of names, and of requests, that have arrived but were not read. Later ones are dropped: holders
/// learn of an eviction at their next renewal, and of a request when it is repeated.
const MOST: usize = 1_024;

/// The holds that may have been evicted, or the holder that should release.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Eviction {
    /// The holds of this name.
    Of(LockName),
    /// All holds of this process: messages may have been missed.
    Any,
    /// No hold. Another program asks the holder under this owner to release: a *release request*.
    ReleaseRequested(Owner),
}

/// The evictions that one engine receives (clause 17).
///
/// They are hints (promise
/// [S6](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s6-wake-ups-are-hints)): one may arrive for no
/// reason, twice or never, and only the answer to a renewal ends a hold. Messages that were not read yet are kept once
/// for each name, up to a limit, and once for each owner of a release request. A request ends nothing and needs no
/// renewal.
pub struct Evictions(EvictionSource);

/// Whether a message from the source with this number is passed on.
type EvictionFilter = Box<dyn FnMut(usize, &Eviction) -> bool + Send>;

enum EvictionSource {
    Silent,
    Board(Arc<EvictionMailbox>),
    Several(Vec<Evictions>, EvictionFilter),
}

impl Evictions {
    /// The evictions of a store that never reports any.
    #[must_use]
    pub fn silent() -> Self {
        Self(EvictionSource::Silent)
    }

    /// Merges the evictions of several stores, and passes on those for which `heeds` returns `true`. It is called for
    /// each one, with the index of the store among `sources`, and must not block.
    #[must_use]
    pub fn merged(
        sources: Vec<Self>,
        heeds: impl FnMut(usize, &Eviction) -> bool + Send + 'static,
    ) -> Self {
        Self(EvictionSource::Several(sources, Box::new(heeds)))
    }

    /// Returns the next holds that are to be renewed at once, or the next request. It may never return.
    ///
    /// # Cancel safety
    /// Cancel-safe: no message is lost.
    pub async fn next(&mut self) -> Eviction {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// Polls for the same as [`Evictions::next`] returns.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Eviction> {
        match &mut self.0 {
            EvictionSource::Silent => Poll::Pending,
            EvictionSource::Board(mailbox) => mailbox.poll_next(context),
            EvictionSource::Several(sources, heeds) => {
                for (index, source) in sources.iter_mut().enumerate() {
                    while let Poll::Ready(eviction) = source.poll_next(context) {
                        if heeds(index, &eviction) {
                            return Poll::Ready(eviction);
                        }
                    }
                }
                Poll::Pending
            }
        }
    }
}

impl fmt::Debug for Evictions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Evictions").finish_non_exhaustive()
    }
}

/// The messages that one listener has received and not read yet.
#[derive(Default)]
struct EvictionMailbox(Mutex<MailboxState>);

#[derive(Default)]
struct MailboxState {
    names: BTreeSet<LockName>,
    requests: BTreeSet<Owner>,
    any: bool,
    waker: Option<Waker>,
}

impl EvictionMailbox {
    fn poll_next(&self, context: &Context<'_>) -> Poll<Eviction> {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Requests first, so that a holder that is evicted after it complied has already received
        // its request.
        if let Some(owner) = told.requests.pop_first() {
            return Poll::Ready(Eviction::ReleaseRequested(owner));
        }
        if std::mem::take(&mut told.any) {
            // These are included in it.
            told.names.clear();
            return Poll::Ready(Eviction::Any);
        }
        if let Some(name) = told.names.pop_first() {
            return Poll::Ready(Eviction::Of(name));
        }
        told.waker = Some(context.waker().clone());
        Poll::Pending
    }

    /// The task to wake, once nothing is locked.
    fn push_eviction(&self, eviction: &Eviction) -> Option<Waker> {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match eviction {
            Eviction::Any => told.any = true,
            Eviction::Of(name) if told.names.len() < MOST => {
                told.names.insert(name.clone());
            }
            Eviction::ReleaseRequested(owner) if told.requests.len() < MOST => {
                told.requests.insert(*owner);
            }
            Eviction::Of(_) | Eviction::ReleaseRequested(_) => {}
        }
        told.waker.take()
    }
}

/// The listeners for evictions: one for each engine that uses the store.
#[derive(Clone, Default)]
pub(super) struct EvictionListeners(Arc<Mutex<Vec<Weak<EvictionMailbox>>>>);

impl EvictionListeners {
    pub(super) fn listen(&self) -> Evictions {
        let mailbox = Arc::new(EvictionMailbox::default());
        let mut listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| listener.strong_count() > 0);
        listeners.push(Arc::downgrade(&mailbox));
        Evictions(EvictionSource::Board(mailbox))
    }

    pub(super) fn tell(&self, eviction: &Eviction) {
        let listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let there: Vec<_> = listeners.iter().filter_map(Weak::upgrade).collect();
        drop(listeners);
        for mailbox in there {
            if let Some(waker) = mailbox.push_eviction(eviction) {
                waker.wake();
            }
        }
    }
}
