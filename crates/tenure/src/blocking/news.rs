//! News on its way from a future to the thread that waits for it.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    mpsc::{Receiver, SyncSender, sync_channel},
};

use tenure_core::{Busy, Fault};

/// Is told of something while its caller waits.
type Callback<T> = Arc<dyn Fn(&T) + Send + Sync>;

/// Who wants to know what a wait is for.
#[derive(Clone, Default)]
pub(super) struct WaitListener {
    /// That the lock is busy.
    pub(super) on_busy: Option<Callback<Busy>>,
    /// That the store is away.
    pub(super) on_unreachable: Option<Callback<Fault>>,
}

impl WaitListener {
    pub(super) fn is_somebody(&self) -> bool {
        self.on_busy.is_some() || self.on_unreachable.is_some()
    }

    fn hear(&self, news: PendingNotifications) {
        if let (Some(busy), Some(tell)) = (news.busy, &self.on_busy) {
            tell(&busy);
        }
        if let (Some(fault), Some(tell)) = (news.away, &self.on_unreachable) {
            tell(&fault);
        }
    }
}

/// What was not heard yet.
#[derive(Default)]
struct PendingNotifications {
    busy: Option<Busy>,
    away: Option<Fault>,
}

/// Where an acquisition leaves news.
#[derive(Clone)]
pub(super) struct NotificationSender {
    unheard: Arc<Mutex<PendingNotifications>>,
    ring: Arc<dyn Fn() + Send + Sync>,
}

impl NotificationSender {
    pub(super) fn busy(&self, busy: &Busy) {
        // Who says that others are in the way is there again.
        self.leave(|unheard| {
            *unheard = PendingNotifications { busy: Some(busy.clone()), away: None }
        });
    }

    pub(super) fn away(&self, fault: &Fault) {
        self.leave(|unheard| unheard.away = Some(fault.clone()));
    }

    fn leave(&self, news: impl FnOnce(&mut PendingNotifications)) {
        let mut unheard = lock(&self.unheard);
        let rung = unheard.busy.is_some() || unheard.away.is_some();
        news(&mut unheard);
        drop(unheard);
        if !rung {
            (self.ring)();
        }
    }
}

/// What reaches the caller's thread.
pub(super) enum Message<T> {
    /// There is news to be fetched.
    News,
    /// The future is done.
    Outcome(T),
}

/// The caller's end: the latest news, and at last the outcome.
pub(super) struct NotificationReceiver<T> {
    unheard: Arc<Mutex<PendingNotifications>>,
    messages: Receiver<Message<T>>,
}

/// The ends of news, of the outcome, and of the caller. Neither of the first two ever blocks: one
/// message at most says that there is news, and one that all is over.
pub(super) fn channel<T: Send + 'static>()
-> (NotificationSender, SyncSender<Message<T>>, NotificationReceiver<T>) {
    let (sender, messages) = sync_channel(2);
    let unheard = Arc::new(Mutex::default());
    let ring = sender.clone();
    // A caller that waits no longer does not want it.
    let ring = Arc::new(move || drop(ring.try_send(Message::News)));
    (
        NotificationSender { unheard: unheard.clone(), ring },
        sender,
        NotificationReceiver { unheard, messages },
    )
}

impl<T> NotificationReceiver<T> {
    /// Blocks until the outcome is there, and tells all news until then; nothing if neither will
    /// come.
    pub(super) fn receive(&self, listener: &WaitListener) -> Option<T> {
        loop {
            match self.messages.recv().ok()? {
                Message::Outcome(outcome) => return Some(outcome),
                Message::News => {
                    let news = std::mem::take(&mut *lock(&self.unheard));
                    listener.hear(news);
                }
            }
        }
    }
}

fn lock(news: &Mutex<PendingNotifications>) -> MutexGuard<'_, PendingNotifications> {
    news.lock().unwrap_or_else(PoisonError::into_inner)
}
