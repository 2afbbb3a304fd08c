//! Evictions: hints that holds may have been taken away, and requests to let one go.

use std::{
    collections::BTreeSet,
    fmt,
    future::poll_fn,
    sync::{Arc, Mutex, PoisonError, Weak},
    task::{Context, Poll, Waker},
};

use crate::{LockName, Owner};

/// How many names, and how many requests, may be told of and not heard yet. What comes beyond that is
/// forgotten: holders learn of an eviction by their next renewal, of a request when it is told again.
const MOST: usize = 1_024;

/// Whose holds may have been taken away, or who is asked to let go.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Eviction {
    /// Those of this name.
    Of(LockName),
    /// Any of this process: what was told may have been missed.
    Any,
    /// Nobody's. Somebody asks the holder under this owner to let go: a *release request*.
    ReleaseRequested(Owner),
}

/// The evictions that one engine is told of (clause 17).
///
/// They are hints (promise [S6](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s6-wake-ups-are-hints)): one may come for no reason, twice or never, and only the answer to a
/// renewal ends a hold. What was told and not heard yet is kept once for each name, up to a bound, and
/// once for each owner of whom a release is requested. A request ends nothing and asks for no renewal.
pub struct Evictions(EvictionSource);

/// Whether what the source with this number tells of is to be told of.
type EvictionFilter = Box<dyn FnMut(usize, &Eviction) -> bool + Send>;

enum EvictionSource {
    Silent,
    Board(Arc<EvictionMailbox>),
    Several(Vec<Evictions>, EvictionFilter),
}

impl Evictions {
    /// Those of a store that never tells of any.
    #[must_use]
    pub fn silent() -> Self {
        Self(EvictionSource::Silent)
    }

    /// Those that several stores tell of, as far as `heeds` wants them. It is asked for each, with the
    /// index of the store among `sources`, and must not block.
    #[must_use]
    pub fn merged(
        sources: Vec<Self>,
        heeds: impl FnMut(usize, &Eviction) -> bool + Send + 'static,
    ) -> Self {
        Self(EvictionSource::Several(sources, Box::new(heeds)))
    }

    /// The next holds that are to be renewed at once, or the next request. It may never return.
    ///
    /// # Cancel safety
    /// Cancel-safe: nothing that was told is lost.
    pub async fn next(&mut self) -> Eviction {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// The same, for those who poll.
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

/// What one listener has been told and has not heard yet.
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
        // First, so that who complies and is evicted for it has been asked by then.
        if let Some(owner) = told.requests.pop_first() {
            return Poll::Ready(Eviction::ReleaseRequested(owner));
        }
        if std::mem::take(&mut told.any) {
            // Each of these is one of them.
            told.names.clear();
            return Poll::Ready(Eviction::Any);
        }
        if let Some(name) = told.names.pop_first() {
            return Poll::Ready(Eviction::Of(name));
        }
        told.waker = Some(context.waker().clone());
        Poll::Pending
    }

    /// Whom to wake, once nothing is locked.
    fn tell(&self, eviction: &Eviction) -> Option<Waker> {
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

/// Those who listen for evictions: one for each engine that uses the store.
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
            if let Some(waker) = mailbox.tell(eviction) {
                waker.wake();
            }
        }
    }
}
