//! The channels that waiters of this process listen on, where each lock has one of its own.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tenure_core::LockName;
use tokio::sync::Notify;

/// More waiters look on their own.
const MOST: usize = 1_024;
/// How long a channel is kept that no waiter asked for: each asks more often.
const KEPT: Duration = Duration::from_secs(30);

/// How a channel is subscribed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubscriptionKind {
    /// By `SUBSCRIBE`, at any node.
    Plain,
    /// By `SSUBSCRIBE`, at the node of the channel's slot.
    Sharded,
}

/// The channels, and which of them are subscribed to.
#[derive(Debug)]
pub(crate) struct LockChannels {
    all: Mutex<HashMap<String, LockChannel>>,
    /// Whether nothing is missed only if both subscriptions are there.
    needs_both: bool,
    /// Some are to be subscribed to, by each kind.
    wanted: [Notify; 2],
}

#[derive(Debug)]
struct LockChannel {
    name: LockName,
    asked_for: Instant,
    is_heard: [bool; 2],
}

impl LockChannels {
    pub(crate) fn new(needs_both: bool) -> Self {
        Self { all: Mutex::default(), needs_both, wanted: Default::default() }
    }

    /// A waiter for `name` needs this channel.
    pub(crate) fn want(&self, name: &LockName, channel: String, now: Instant) {
        let mut all = self.lock();
        if let Some(known) = all.get_mut(&channel) {
            known.asked_for = now;
        } else if all.len() < MOST {
            let name = name.clone();
            all.insert(channel, LockChannel { name, asked_for: now, is_heard: [false; 2] });
            self.wanted.iter().for_each(Notify::notify_one);
        }
    }

    /// Whether what is said there is heard.
    pub(crate) fn is_heard(&self, channel: &str) -> bool {
        let all = self.lock();
        let [plain, sharded] = all.get(channel).map(|known| known.is_heard).unwrap_or_default();
        plain && (sharded || !self.needs_both)
    }

    /// The lock whose channel this is.
    pub(crate) fn name_of(&self, channel: &str) -> Option<LockName> {
        self.lock().get(channel).map(|known| known.name.clone())
    }

    /// Returns when some may be wanted that are not subscribed to in this way.
    pub(crate) async fn wanted(&self, kind: SubscriptionKind) {
        self.wanted[kind as usize].notified().await;
    }

    /// Those that are not subscribed to yet.
    pub(crate) fn unheard(&self, kind: SubscriptionKind) -> Vec<String> {
        let all = self.lock();
        let unheard = all.iter().filter(|(_, known)| !known.is_heard[kind as usize]);
        unheard.map(|(channel, _)| channel.clone()).collect()
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    /// These are subscribed to: what was said before was not heard, so whoever waits for these locks has to look.
    pub(crate) fn subscribed(&self, kind: SubscriptionKind, channels: &[String]) -> Vec<LockName> {
        let mut all = self.lock();
        let mut names = Vec::new();
        for channel in channels {
            let known = all.get_mut(channel).filter(|known| !known.is_heard[kind as usize]);
            if let Some(known) = known {
                known.is_heard[kind as usize] = true;
                names.push(known.name.clone());
            }
        }
        names
    }

    /// These are subscribed to no longer.
    pub(crate) fn unsubscribed(&self, kind: SubscriptionKind, channels: &[String]) {
        let mut all = self.lock();
        for channel in channels {
            if let Some(known) = all.get_mut(channel) {
                known.is_heard[kind as usize] = false;
            }
        }
    }

    /// The connection is gone, and all subscriptions of this kind with it.
    pub(crate) fn disconnected(&self, kind: SubscriptionKind) {
        self.lock().values_mut().for_each(|known| known.is_heard[kind as usize] = false);
    }

    /// Forgets those that no waiter has asked for in a while, and says which these were.
    pub(crate) fn expire(&self, now: Instant) -> Vec<String> {
        let mut gone = Vec::new();
        self.lock().retain(|channel, known| {
            let stays = now.saturating_duration_since(known.asked_for) < KEPT;
            if !stays {
                gone.push(channel.clone());
            }
            stays
        });
        gone
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, LockChannel>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        SubscriptionKind::{Plain, Sharded},
        *,
    };

    fn name(text: &str) -> LockName {
        LockName::new(text).unwrap()
    }

    #[test]
    fn a_channel_is_heard_from_its_subscription_to_the_end_of_the_connection() {
        let (channels, now) = (LockChannels::new(false), Instant::now());
        let unheard = || channels.unheard(Plain);
        channels.want(&name("a"), "c:a".into(), now);
        channels.want(&name("a"), "c:a".into(), now);
        assert_eq!((unheard(), channels.is_heard("c:a")), (vec!["c:a".to_owned()], false));
        assert_eq!(channels.subscribed(Plain, &["c:a".into(), "c:b".into()]), [name("a")]);
        assert!(channels.subscribed(Plain, &["c:a".into()]).is_empty(), "it was before");
        assert!(channels.is_heard("c:a") && unheard().is_empty());
        assert_eq!((channels.name_of("c:a"), channels.name_of("c:b")), (Some(name("a")), None));
        channels.disconnected(Plain);
        assert_eq!((unheard(), channels.is_heard("c:a")), (vec!["c:a".to_owned()], false));
    }

    #[test]
    fn in_a_cluster_both_subscriptions_are_needed() {
        let (channels, all) = (LockChannels::new(true), ["c:a".to_owned()]);
        channels.want(&name("a"), "c:a".into(), Instant::now());
        channels.subscribed(Plain, &all);
        assert!(!channels.is_heard("c:a"));
        assert_eq!((channels.unheard(Plain), channels.unheard(Sharded)), (vec![], all.to_vec()));
        channels.subscribed(Sharded, &all);
        assert!(channels.is_heard("c:a"));
        channels.unsubscribed(Sharded, &all);
        assert!(!channels.is_heard("c:a"));
    }

    #[test]
    fn what_nobody_asks_for_is_forgotten_and_more_than_the_most_are_not_kept() {
        let (channels, now) = (LockChannels::new(false), Instant::now());
        channels.want(&name("a"), "c:a".into(), now);
        channels.want(&name("b"), "c:b".into(), now);
        channels.subscribed(Plain, &["c:a".into()]);
        channels.want(&name("a"), "c:a".into(), now + KEPT / 2);
        assert_eq!(channels.expire(now + KEPT), ["c:b"]);
        assert_eq!((channels.name_of("c:a"), channels.name_of("c:b")), (Some(name("a")), None));
        assert_eq!(channels.expire(now + KEPT * 2), ["c:a"]);
        for number in 0..=MOST {
            channels.want(&name("a"), number.to_string(), now);
        }
        assert_eq!(channels.unheard(Plain).len(), MOST);
    }
}
