//! Which changes somebody waits for.

use std::collections::HashMap;

use tokio::sync::{mpsc, oneshot};

use super::{
    calls::{Command, OneshotWatcher, WatchKind, WatchRegistration},
    events::EventType,
    wire::Writer,
};

type WatchSenders = Vec<(u64, oneshot::Sender<EventType>)>;

/// All who wait. There are as many as calls of this process that did not end: what a server says adds none.
#[derive(Default)]
pub(super) struct Watches {
    waiting: HashMap<(WatchKind, String), WatchSenders>,
    /// How many requests are under way that ask for the same.
    asked: HashMap<(WatchKind, String), usize>,
    next: u64,
}

/// As much of a list of paths as one request has.
const BATCH: usize = 128 * 1024;

impl Watches {
    /// A request goes out.
    pub(super) fn record_request(&mut self, kind: WatchKind, path: &str) {
        *self.asked.entry((kind, path.to_owned())).or_default() += 1;
    }

    /// It was answered, or never will be.
    pub(super) fn record_answer(&mut self, kind: WatchKind, path: &str) {
        let key = (kind, path.to_owned());
        if let Some(count) = self.asked.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                self.asked.remove(&key);
            }
        }
    }

    /// The server watches.
    pub(super) fn add(
        &mut self,
        kind: WatchKind,
        path: String,
        forgets: mpsc::WeakSender<Command>,
    ) -> OneshotWatcher {
        let (tells, told) = oneshot::channel();
        let number = self.next;
        self.next += 1;
        self.waiting.entry((kind, path.clone())).or_default().push((number, tells));
        OneshotWatcher { told, watched: Some(WatchRegistration { kind, path, number }), forgets }
    }

    /// One waits no more. What the server need not watch any more.
    pub(super) fn forget(&mut self, watched: WatchRegistration) -> Option<(WatchKind, String)> {
        let WatchRegistration { kind, path, number } = watched;
        let key = (kind, path);
        let waiting = self.waiting.get_mut(&key)?;
        waiting.retain(|(other, _)| *other != number);
        if !waiting.is_empty() {
            return None;
        }
        self.waiting.remove(&key);
        // It would forget what is being asked for as well.
        (!self.asked.contains_key(&key)).then_some(key)
    }

    /// The server says what became of a node. What nobody waits for is not heeded.
    pub(super) fn notify_watchers(&mut self, event: EventType, path: &str) {
        let kinds: &[WatchKind] = match event {
            EventType::NodeCreated | EventType::NodeDataChanged => &[WatchKind::Data],
            EventType::NodeChildrenChanged => &[WatchKind::Child],
            EventType::NodeDeleted => &[WatchKind::Data, WatchKind::Child],
            EventType::Session => &[],
        };
        for &kind in kinds {
            for (_, tells) in self.waiting.remove(&(kind, path.to_owned())).unwrap_or_default() {
                let _ = tells.send(event);
            }
        }
    }

    /// The connection is gone, and with it what was under way.
    pub(super) fn disconnected(&mut self) {
        self.asked.clear();
    }

    /// What another server has to be asked for, as of this transaction.
    pub(super) fn rewatch_requests(&self, last: i64) -> Vec<Writer> {
        let mut requests = Vec::new();
        let mut lists = [Vec::new(), Vec::new()];
        let mut length = 0;
        let mut end = |lists: &mut [Vec<&str>; 2]| {
            let mut body = Writer::default();
            body.long(last);
            let [data, child] = std::mem::take(lists);
            // The second is of nodes that are not there yet.
            for list in [data, Vec::new(), child] {
                body.count(list.len());
                list.into_iter().for_each(|path| body.text(path));
            }
            requests.push(body);
        };
        for (kind, path) in self.waiting.keys() {
            let [data, child] = &mut lists;
            if *kind == WatchKind::Data { data } else { child }.push(&**path);
            length += path.len() + 4;
            if length > BATCH {
                end(&mut lists);
                length = 0;
            }
        }
        if length > 0 {
            end(&mut lists);
        }
        requests
    }
}
