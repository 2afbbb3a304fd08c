//! News on its way from a future to the thread that waits for it.

use std::sync::{
    Arc, Mutex, PoisonError,
    mpsc::{Receiver, SyncSender, sync_channel},
};

use tenure_core::Busy;

/// Where an acquisition leaves that the lock is busy.
pub(super) type Post = Box<dyn Fn(&Busy) + Send + Sync>;

/// What reaches the caller's thread.
pub(super) enum Message<T> {
    /// There is news to be fetched.
    News,
    /// The future is done.
    Outcome(T),
}

/// The caller's end: the latest news, and at last the outcome.
pub(super) struct Inbox<T> {
    latest: Arc<Mutex<Option<Busy>>>,
    messages: Receiver<Message<T>>,
}

/// The ends of news, of the outcome, and of the caller. Neither of the first two ever blocks: one
/// message at most says that there is news, and one that all is over.
pub(super) fn channel<T: Send + 'static>() -> (Post, SyncSender<Message<T>>, Inbox<T>) {
    let (sender, messages) = sync_channel(2);
    let latest = Arc::new(Mutex::new(None));
    let (place, ring) = (latest.clone(), sender.clone());
    let post = move |busy: &Busy| {
        let unheard = place.lock().unwrap_or_else(PoisonError::into_inner).replace(busy.clone());
        if unheard.is_none() {
            // A caller that waits no longer does not want it.
            let _ = ring.try_send(Message::News);
        }
    };
    (Box::new(post), sender, Inbox { latest, messages })
}

impl<T> Inbox<T> {
    /// Blocks until the outcome is there, and tells all news until then; nothing if neither will
    /// come.
    pub(super) fn receive(&self, tell: &dyn Fn(&Busy)) -> Option<T> {
        loop {
            match self.messages.recv().ok()? {
                Message::Outcome(outcome) => return Some(outcome),
                Message::News => {
                    let news = self.latest.lock().unwrap_or_else(PoisonError::into_inner).take();
                    news.iter().for_each(tell);
                }
            }
        }
    }
}
