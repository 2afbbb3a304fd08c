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

/// The channels, and which of them the server has a subscription to.
#[derive(Debug, Default)]
pub(crate) struct LockChannels {
    all: Mutex<HashMap<String, LockChannel>>,
    /// Some are to be subscribed to.
    pub(crate) wanted: Notify,
}

#[derive(Debug)]
struct LockChannel {
    name: LockName,
    asked_for: Instant,
    is_heard: bool,
}

impl LockChannels {
    /// A waiter for `name` needs this channel.
    pub(crate) fn want(&self, name: &LockName, channel: String, now: Instant) {
        let mut all = self.lock();
        if let Some(known) = all.get_mut(&channel) {
            known.asked_for = now;
        } else if all.len() < MOST {
            let name = name.clone();
            all.insert(channel, LockChannel { name, asked_for: now, is_heard: false });
            self.wanted.notify_one();
        }
    }

    /// Whether what is said there is heard.
    pub(crate) fn is_heard(&self, channel: &str) -> bool {
        self.lock().get(channel).is_some_and(|known| known.is_heard)
    }

    /// The lock whose channel this is.
    pub(crate) fn name_of(&self, channel: &str) -> Option<LockName> {
        self.lock().get(channel).map(|known| known.name.clone())
    }

    /// Those that are not subscribed to yet.
    pub(crate) fn unheard(&self) -> Vec<String> {
        let all = self.lock();
        all.iter()
            .filter(|(_, known)| !known.is_heard)
            .map(|(channel, _)| channel.clone())
            .collect()
    }

    /// These are subscribed to: what was said before was not heard, so whoever waits for these locks has to look.
    pub(crate) fn subscribed(&self, channels: &[String]) -> Vec<LockName> {
        let mut all = self.lock();
        let mut names = Vec::new();
        for channel in channels {
            if let Some(known) = all.get_mut(channel) {
                known.is_heard = true;
                names.push(known.name.clone());
            }
        }
        names
    }

    /// The connection is gone, and all subscriptions with it.
    pub(crate) fn disconnected(&self) {
        self.lock().values_mut().for_each(|known| known.is_heard = false);
    }

    /// Forgets those that no waiter has asked for in a while, and says which of them are subscribed to.
    pub(crate) fn expire(&self, now: Instant) -> Vec<String> {
        let mut gone = Vec::new();
        self.lock().retain(|channel, known| {
            let stays = now.saturating_duration_since(known.asked_for) < KEPT;
            if !stays && known.is_heard {
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
    use super::*;

    fn name(text: &str) -> LockName {
        LockName::new(text).unwrap()
    }

    #[test]
    fn a_channel_is_heard_from_its_subscription_to_the_end_of_the_connection() {
        let (channels, now) = (LockChannels::default(), Instant::now());
        channels.want(&name("a"), "c:a".into(), now);
        channels.want(&name("a"), "c:a".into(), now);
        assert_eq!((channels.unheard(), channels.is_heard("c:a")), (vec!["c:a".to_owned()], false));
        assert_eq!(channels.subscribed(&["c:a".into(), "c:b".into()]), [name("a")]);
        assert!(channels.is_heard("c:a") && channels.unheard().is_empty());
        assert_eq!((channels.name_of("c:a"), channels.name_of("c:b")), (Some(name("a")), None));
        channels.disconnected();
        assert_eq!((channels.unheard(), channels.is_heard("c:a")), (vec!["c:a".to_owned()], false));
    }

    #[test]
    fn what_nobody_asks_for_is_forgotten_and_more_than_the_most_are_not_kept() {
        let (channels, now) = (LockChannels::default(), Instant::now());
        channels.want(&name("a"), "c:a".into(), now);
        channels.want(&name("b"), "c:b".into(), now);
        channels.subscribed(&["c:a".into()]);
        channels.want(&name("a"), "c:a".into(), now + KEPT / 2);
        assert!(channels.expire(now + KEPT).is_empty());
        assert_eq!((channels.name_of("c:a"), channels.name_of("c:b")), (Some(name("a")), None));
        assert_eq!(channels.expire(now + KEPT * 2), ["c:a"]);
        for number in 0..=MOST {
            channels.want(&name("a"), number.to_string(), now);
        }
        assert_eq!(channels.unheard().len(), MOST);
    }
}
