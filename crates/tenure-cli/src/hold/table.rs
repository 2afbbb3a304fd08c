//! The holds of one process, by name.

use std::{collections::HashMap, sync::Arc};

use nix::sys::signal::Signal;
use tokio::{
    sync::{
        mpsc::{self, error::TrySendError},
        watch,
    },
    task::{Id, JoinSet},
};

use super::task::{EndReason, HoldOutcome, HoldTask, Message};
use crate::exit::Failure;

/// How many there may be at once.
pub(crate) const MOST: usize = 10_000;
/// How many messages wait for a hold: a check more is refused.
pub(crate) const MESSAGES: usize = 64;

/// The name of a hold. One that is alone has none.
pub(crate) type HoldName = Option<Arc<str>>;

/// The holds that there are, and the waits for more.
#[derive(Default)]
pub(crate) struct Table {
    holds: HashMap<HoldName, Handle>,
    running: JoinSet<(HoldName, HoldOutcome)>,
    /// What is left to be said of those that were lost.
    reports: JoinSet<()>,
    is_unsettled: bool,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    Passed,
    NoHold,
    Full,
}

struct Handle {
    task: Id,
    messages: mpsc::Sender<Message>,
    end: watch::Sender<Option<EndReason>>,
}

impl Table {
    /// Whether there is room for one with this name; why not.
    pub(crate) fn check_room(&self, name: &HoldName) -> Result<(), String> {
        if self.holds.contains_key(name) {
            let name = name.as_deref().unwrap_or_default();
            return Err(format!("there is a hold called {name:?} already"));
        }
        if self.holds.len() >= MOST {
            return Err(format!(
                "there are {MOST} holds already; release some, or start another process"
            ));
        }
        Ok(())
    }

    /// Begins a hold.
    pub(crate) fn begin(
        &mut self,
        name: HoldName,
        task: impl FnOnce(mpsc::Receiver<Message>, watch::Receiver<Option<EndReason>>) -> HoldTask,
    ) {
        let (messages, received) = mpsc::channel(MESSAGES);
        let (end, ended) = watch::channel(None);
        let task = task(received, ended);
        let key = name.clone();
        let task = self.running.spawn(async move { (name, task.run().await) }).id();
        self.holds.insert(key, Handle { task, messages, end });
    }

    /// Passes a check on. Says whether there is such a hold, and it takes any more.
    pub(crate) fn message(&self, name: &HoldName, message: Message) -> Delivery {
        let Some(handle) = self.holds.get(name) else { return Delivery::NoHold };
        match handle.messages.try_send(message) {
            Err(TrySendError::Full(_)) => Delivery::Full,
            // It has just ended.
            Err(TrySendError::Closed(_)) => Delivery::NoHold,
            Ok(()) => Delivery::Passed,
        }
    }

    /// Releases a hold, or gives up the wait for it. Says whether there is such a hold.
    pub(crate) fn release(&self, name: &HoldName) -> bool {
        let Some(handle) = self.holds.get(name) else { return false };
        handle.end(EndReason::Released);
        true
    }

    pub(crate) fn end_all(&self, reason: EndReason) {
        self.holds.values().for_each(|handle| handle.end(reason));
    }

    /// Tells all of a signal: it ends those that wait.
    pub(crate) fn signal_all(&self, signal: Signal) {
        for handle in self.holds.values() {
            let _ = handle.messages.try_send(Message::Signal(signal));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.holds.is_empty()
    }

    /// The next one that is over; none if there is none. Cancel-safe.
    pub(crate) async fn next_ended(&mut self) -> Option<(HoldName, HoldOutcome)> {
        let ended = match self.running.join_next().await? {
            Ok(ended) => ended,
            Err(error) => {
                let of_task = |handle: &Handle| handle.task == error.id();
                let name = self.holds.iter().find(|(_, handle)| of_task(handle))?.0.clone();
                let why = (
                    "tenure itself panicked, so the lock is released",
                    "report it with the lines above",
                );
                (name, HoldOutcome::Failed(Failure::failed(why)))
            }
        };
        self.holds.remove(&ended.0);
        let (name, mut outcome) = ended;
        self.is_unsettled |= matches!(outcome, HoldOutcome::InDoubt | HoldOutcome::GivenUp { .. });
        if let HoldOutcome::Lost(reports) = &mut outcome
            && let Some(reports) = reports.take()
        {
            self.reports.spawn(reports.tell());
        }
        // Those that have ended.
        while self.reports.try_join_next().is_some() {}
        Some((name, outcome))
    }

    /// Waits until all is said.
    pub(crate) async fn settle(&mut self) {
        while self.reports.join_next().await.is_some() {}
    }

    /// Whether one ended of which the store may still have something.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.is_unsettled
    }
}

impl Handle {
    /// What is more urgent stays.
    fn end(&self, reason: EndReason) {
        self.end.send_if_modified(|end| {
            let is_new = *end < Some(reason);
            if is_new {
                *end = Some(reason);
            }
            is_new
        });
    }
}
