//! Hints: to a waiter that it should ask again, and to holders that they may have been evicted or should release.

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    future::{Future, poll_fn},
    pin::pin,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use tenure_proto::Owner;
use tokio::sync::Notify;

use super::evictions::{Eviction, EvictionListeners, Evictions};
use crate::LockName;

/// Receives a store's hints and passes them to the waiter or the holders that they are for.
///
/// A store keeps one board for each process. It calls [`HintBoard::wake`], [`HintBoard::evicted`] or
/// [`HintBoard::release_requested`] when it receives a message. The board never has more entries than this process has
/// waiters and engines. Cloning is cheap.
#[derive(Clone, Default)]
pub struct HintBoard {
    waiters: Arc<Mutex<BTreeMap<Owner, HintEntry>>>,
    holders: EvictionListeners,
    on_wait: Arc<OnceLock<OnWait>>,
}

/// The function to call when a waiter is about to wait.
type OnWait = Box<dyn Fn() + Send + Sync>;

struct HintEntry {
    name: LockName,
    notify: Arc<Notify>,
}

impl HintBoard {
    /// Makes a board without waiters.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a waiter until the returned value is dropped.
    #[must_use]
    pub fn listen(&self, name: &LockName, owner: &Owner) -> Wakeups {
        let notify = Arc::new(Notify::new());
        let entry = HintEntry { name: name.clone(), notify: notify.clone() };
        self.lock().insert(*owner, entry);
        Wakeups { board: self.clone(), owner: *owner, notify }
    }

    /// Sets a function that is called each time a waiter is about to wait, in the waiter's task. With it, a store can
    /// listen in the runtime in which the waiter is woken. It must be quick. Only the first one counts.
    ///
    /// ```
    /// use std::sync::{Arc, atomic::{AtomicU32, Ordering}};
    /// use tenure_core::{HintBoard, LockName, Owner};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let (board, waits) = (HintBoard::new(), Arc::new(AtomicU32::new(0)));
    /// let counted = waits.clone();
    /// board.on_wait(move || drop(counted.fetch_add(1, Ordering::Relaxed)));
    /// let owner = Owner::from_bytes([1; 16]);
    /// let mut wakeups = board.listen(&LockName::new("a")?, &owner);
    /// board.wake(&owner);
    /// wakeups.next().await;
    /// assert_eq!(waits.load(Ordering::Relaxed), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_wait(&self, on_wait: impl Fn() + Send + Sync + 'static) {
        let _ = self.on_wait.set(Box::new(on_wait));
    }

    /// Wakes one waiter, if it is there.
    pub fn wake(&self, owner: &Owner) {
        if let Some(entry) = self.lock().get(owner) {
            entry.notify.notify_one();
        }
    }

    /// Wakes all waiters for `name`, for stores that do not know which one is next.
    pub fn wake_name(&self, name: &LockName) {
        for entry in self.lock().values().filter(|entry| entry.name == *name) {
            entry.notify.notify_one();
        }
    }

    /// Returns the names that this process waits for.
    #[must_use]
    pub fn awaited_names(&self) -> HashSet<LockName> {
        self.lock().values().map(|entry| entry.name.clone()).collect()
    }

    /// Wakes all waiters, after hints may have been missed.
    pub fn wake_all(&self) {
        for entry in self.lock().values() {
            entry.notify.notify_one();
        }
    }

    /// Returns the messages of this board to the holders of this process, from now on.
    #[must_use]
    pub fn evictions(&self) -> Evictions {
        self.holders.listen()
    }

    /// Notifies all holders of `name` that they may have been evicted.
    pub fn evicted(&self, name: &LockName) {
        self.holders.tell(&Eviction::Of(name.clone()));
    }

    /// Notifies all holders of any name that an eviction may have been missed.
    pub fn evictions_missed(&self) {
        self.holders.tell(&Eviction::Any);
    }

    /// Notifies the holder under `owner` that another program asks it to release.
    ///
    /// A notification can be missed, so a store repeats it from time to time while the hold lasts. Repeating is free: a
    /// holder that has received it ignores it.
    pub fn release_requested(&self, owner: &Owner) {
        self.holders.tell(&Eviction::ReleaseRequested(*owner));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Owner, HintEntry>> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for HintBoard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HintBoard").field("waiters", &self.lock().len()).finish()
    }
}

/// The wake-ups of one waiter. A wake-up that arrives before the waiter waits for it is not missed.
#[derive(Debug)]
pub struct Wakeups {
    board: HintBoard,
    owner: Owner,
    notify: Arc<Notify>,
}

impl Wakeups {
    /// Returns when the waiter should ask again. It may return for no reason, and it may never return: a wake-up is a
    /// hint (promise [S6](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s6-wake-ups-are-hints)).
    ///
    /// # Cancel safety
    /// Cancel-safe: no wake-up is lost.
    pub async fn next(&mut self) {
        let mut notified = pin!(self.notify.notified());
        poll_fn(|context| {
            // At each poll, because it may be polled in another runtime than before.
            if let Some(on_wait) = self.board.on_wait.get() {
                on_wait();
            }
            notified.as_mut().poll(context)
        })
        .await;
    }
}

impl Drop for Wakeups {
    fn drop(&mut self) {
        self.board.lock().remove(&self.owner);
    }
}
