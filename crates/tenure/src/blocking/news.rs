//! News on its way from a future to the thread that waits for it.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    mpsc::{Receiver, SyncSender, sync_channel},
};

use tenure_core::{Busy, Fault};

/// Is called with news while its caller waits.
type Callback<T> = Arc<dyn Fn(&T) + Send + Sync>;

/// The callbacks of a wait.
#[derive(Clone, Default)]
pub(super) struct WaitListener {
    /// For each answer that the lock is busy.
    pub(super) on_busy: Option<Callback<Busy>>,
    /// For an unreachable store.
    pub(super) on_unreachable: Option<Callback<Fault>>,
}

impl WaitListener {
    pub(super) fn has_callbacks(&self) -> bool {
        self.on_busy.is_some() || self.on_unreachable.is_some()
    }

    fn call_back(&self, news: PendingNotifications) {
        if let (Some(busy), Some(tell)) = (news.busy, &self.on_busy) {
            tell(&busy);
        }
        if let (Some(fault), Some(tell)) = (news.away, &self.on_unreachable) {
            tell(&fault);
        }
    }
}

/// News that the caller has not received yet.
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
    pub(super) fn send_busy(&self, busy: &Busy) {
        // A store that reports other contenders is reachable again.
        self.post_notification(|unheard| {
            *unheard = PendingNotifications { busy: Some(busy.clone()), away: None }
        });
    }

    pub(super) fn send_unreachable(&self, fault: &Fault) {
        self.post_notification(|unheard| unheard.away = Some(fault.clone()));
    }

    fn post_notification(&self, news: impl FnOnce(&mut PendingNotifications)) {
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

/// Makes the sender of news, the sender of the outcome, and the caller's receiver. Neither sender ever blocks: at most
/// one message announces news, and one the outcome.
pub(super) fn channel<T: Send + 'static>()
-> (NotificationSender, SyncSender<Message<T>>, NotificationReceiver<T>) {
    let (sender, messages) = sync_channel(2);
    let unheard = Arc::new(Mutex::default());
    let ring = sender.clone();
    // A caller that no longer waits does not need it.
    let ring = Arc::new(move || drop(ring.try_send(Message::News)));
    (
        NotificationSender { unheard: unheard.clone(), ring },
        sender,
        NotificationReceiver { unheard, messages },
    )
}

impl<T> NotificationReceiver<T> {
    /// Blocks until the outcome arrives, and passes on all news until then. `None` if neither will arrive.
    pub(super) fn receive(&self, listener: &WaitListener) -> Option<T> {
        loop {
            match self.messages.recv().ok()? {
                Message::Outcome(outcome) => return Some(outcome),
                Message::News => {
                    let news = std::mem::take(&mut *lock(&self.unheard));
                    listener.call_back(news);
                }
            }
        }
    }
}

fn lock(news: &Mutex<PendingNotifications>) -> MutexGuard<'_, PendingNotifications> {
    news.lock().unwrap_or_else(PoisonError::into_inner)
}
