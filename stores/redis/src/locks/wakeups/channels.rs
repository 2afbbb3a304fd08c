//! The channels that waiters of this process listen on, where each lock has one of its own.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tenure_core::LockName;
use tokio::sync::Notify;

/// More waiters look on their own.
const MOST: usize = 1_024;
/// How many names one channel can have: `a` and `{a}` have one.
const NAMES: usize = 4;
/// How long a channel is kept that no waiter needs. Not for long: whoever releases takes each process that hears of it
/// for one that waits.
const KEPT: Duration = Duration::from_secs(1);
/// How long this user does not try again what it may not listen to.
const REFUSED: Duration = Duration::from_secs(30);

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
    names: Vec<LockName>,
    /// When a waiter last needed it.
    needed_at: Instant,
    is_heard: [bool; 2],
    /// How many messages came there.
    messages: u64,
    refused_at: [Option<Instant>; 2],
}

impl LockChannel {
    fn is_refused(&self, kind: SubscriptionKind, now: Instant) -> bool {
        let refused_at = self.refused_at[kind as usize];
        refused_at.is_some_and(|at| now.saturating_duration_since(at) < REFUSED)
    }
}

/// What channels begin with that are announced in the same way: a user may listen to all of them or to none.
fn announced_as(channel: &str) -> &str {
    channel.split(':').next().unwrap_or_default()
}

impl LockChannels {
    pub(crate) fn new(needs_both: bool) -> Self {
        Self { all: Mutex::default(), needs_both, wanted: Default::default() }
    }

    /// A waiter for `name` needs this channel.
    pub(crate) fn want(&self, name: &LockName, channel: String, now: Instant) {
        let mut all = self.lock();
        if let Some(known) = all.get_mut(&channel) {
            known.needed_at = now;
            if known.names.len() < NAMES && !known.names.contains(name) {
                known.names.push(name.clone());
            }
        } else if all.len() < MOST {
            let names = vec![name.clone()];
            let refused_at = [SubscriptionKind::Plain, SubscriptionKind::Sharded].map(|kind| {
                let mut refused = all.iter().filter(|(_, known)| known.is_refused(kind, now));
                let same = refused.find(|(one, _)| announced_as(one) == announced_as(&channel));
                same.and_then(|(_, known)| known.refused_at[kind as usize])
            });
            let (is_heard, messages) = ([false; 2], 0);
            let known = LockChannel { names, needed_at: now, is_heard, messages, refused_at };
            all.insert(channel, known);
            self.wanted.iter().for_each(Notify::notify_one);
        }
    }

    /// Whether a waiter for `name` hears what is said there.
    pub(crate) fn is_heard(&self, name: &LockName, channel: &str) -> bool {
        let all = self.lock();
        let Some(known) = all.get(channel).filter(|known| known.names.contains(name)) else {
            return false;
        };
        let [plain, sharded] = known.is_heard;
        plain && (sharded || !self.needs_both)
    }

    /// How many of those who hear of a release are surely this process. In a cluster its other subscription may be at
    /// another node, which tells nobody here.
    pub(crate) fn subscriptions(&self, name: &LockName, channel: &str) -> u64 {
        let all = self.lock();
        let known = all.get(channel).filter(|known| known.names.contains(name));
        let counted = SubscriptionKind::Sharded as usize * usize::from(self.needs_both);
        known.map_or(0, |known| u64::from(known.is_heard[counted]))
    }

    /// A message came there. Returns the locks whose channel this is; none where it is no lock's.
    pub(crate) fn record_message(&self, channel: &str) -> Vec<LockName> {
        let mut all = self.lock();
        let Some(known) = all.get_mut(channel) else { return Vec::new() };
        known.messages += 1;
        known.names.clone()
    }

    /// How many messages came there, and how many come of one release by this process.
    pub(crate) fn messages(&self, channel: &str) -> (u64, u64) {
        let all = self.lock();
        let Some(known) = all.get(channel) else { return (0, 0) };
        (known.messages, known.is_heard.into_iter().map(u64::from).sum())
    }

    /// Returns when some may be wanted that are not subscribed to in this way.
    pub(crate) async fn wanted(&self, kind: SubscriptionKind) {
        self.wanted[kind as usize].notified().await;
    }

    /// Those that are not subscribed to yet, but for what was refused.
    pub(crate) fn unheard(&self, kind: SubscriptionKind, now: Instant) -> Vec<String> {
        let all = self.lock();
        let unheard = all
            .iter()
            .filter(|(_, known)| !known.is_heard[kind as usize] && !known.is_refused(kind, now));
        unheard.map(|(channel, _)| channel.clone()).collect()
    }

    /// All of them, but for what was refused.
    pub(crate) fn permitted(&self, kind: SubscriptionKind, now: Instant) -> Vec<String> {
        let all = self.lock();
        let permitted = all.iter().filter(|(_, known)| !known.is_refused(kind, now));
        permitted.map(|(channel, _)| channel.clone()).collect()
    }

    /// These are subscribed to: what was said before was not heard, so whoever waits for these locks has to look.
    pub(crate) fn subscribed(&self, kind: SubscriptionKind, channels: &[String]) -> Vec<LockName> {
        let mut all = self.lock();
        let mut names = Vec::new();
        for channel in channels {
            let known = all.get_mut(channel).filter(|known| !known.is_heard[kind as usize]);
            if let Some(known) = known {
                known.is_heard[kind as usize] = true;
                names.extend_from_slice(&known.names);
            }
        }
        names
    }

    /// This user may not listen in this way to one of these, nor probably where others are announced in the same way.
    pub(crate) fn refused(&self, kind: SubscriptionKind, channels: &[String], now: Instant) {
        let refused: HashSet<_> = channels.iter().map(|channel| announced_as(channel)).collect();
        for (channel, known) in &mut *self.lock() {
            if refused.contains(announced_as(channel)) && !known.is_heard[kind as usize] {
                known.refused_at[kind as usize] = Some(now);
            }
        }
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

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Forgets those that no waiter has needed in a while, and says which these were.
    pub(crate) fn expire(&self, awaited: &HashSet<LockName>, now: Instant) -> Vec<String> {
        let mut gone = Vec::new();
        self.lock().retain(|channel, known| {
            if known.names.iter().any(|name| awaited.contains(name)) {
                known.needed_at = now;
            }
            let stays = now.saturating_duration_since(known.needed_at) < KEPT;
            if !stays {
                gone.push(channel.clone());
            }
            stays
        });
        if !gone.is_empty() {
            // They are subscribed to in both ways.
            self.wanted[SubscriptionKind::Sharded as usize].notify_one();
        }
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

    fn wanted(needs_both: bool) -> (LockChannels, Instant) {
        let (channels, now) = (LockChannels::new(needs_both), Instant::now());
        channels.want(&name("a"), "c:a".into(), now);
        (channels, now)
    }

    #[test]
    fn a_channel_is_heard_from_its_subscription_to_the_end_of_the_connection() {
        let (channels, now) = wanted(false);
        let unheard = || channels.unheard(Plain, now);
        let heard = |text: &str| channels.is_heard(&name(text), "c:a");
        channels.want(&name("a"), "c:a".into(), now);
        assert_eq!((unheard(), heard("a")), (vec!["c:a".to_owned()], false));
        assert_eq!(channels.subscribed(Plain, &["c:a".into(), "c:b".into()]), [name("a")]);
        assert!(channels.subscribed(Plain, &["c:a".into()]).is_empty(), "it was before");
        assert!(heard("a") && unheard().is_empty());
        assert_eq!(channels.subscriptions(&name("a"), "c:a"), 1);
        assert!(!heard("{a}"), "nobody wakes it");
        channels.want(&name("{a}"), "c:a".into(), now);
        assert!(heard("{a}"));
        assert_eq!(channels.messages("c:a"), (0, 1));
        assert_eq!(channels.record_message("c:a"), [name("a"), name("{a}")]);
        assert_eq!(channels.messages("c:a"), (1, 1));
        assert!(channels.record_message("c:b").is_empty());
        channels.disconnected(Plain);
        assert_eq!((unheard(), heard("a")), (vec!["c:a".to_owned()], false));
    }

    #[test]
    fn in_a_cluster_both_subscriptions_are_needed() {
        let (channels, now) = wanted(true);
        let (heard, all) = (|| channels.is_heard(&name("a"), "c:a"), ["c:a".to_owned()]);
        channels.subscribed(Plain, &all);
        assert!(!heard());
        let unheard = |kind| channels.unheard(kind, now);
        assert_eq!((unheard(Plain), unheard(Sharded)), (vec![], all.to_vec()));
        channels.subscribed(Sharded, &all);
        assert!(heard());
        channels.unsubscribed(Sharded, &all);
        assert!(!heard());
    }

    #[test]
    fn what_is_refused_is_tried_again_after_a_while() {
        let (channels, now) = wanted(false);
        channels.want(&name("b"), "c:b".into(), now);
        channels.want(&name("b"), "d:b".into(), now);
        channels.refused(Plain, &["c:a".into()], now);
        assert_eq!(channels.unheard(Plain, now), ["d:b"]);
        assert_eq!(channels.permitted(Plain, now), ["d:b"]);
        channels.want(&name("c"), "c:c".into(), now);
        assert_eq!(channels.unheard(Plain, now), ["d:b"]);
        assert_eq!(channels.unheard(Plain, now + REFUSED).len(), 4);
    }

    #[test]
    fn what_is_refused_in_one_way_is_heard_in_the_other() {
        let (channels, now) = wanted(true);
        let all = ["c:a".to_owned()];
        channels.subscribed(Plain, &all);
        channels.refused(Sharded, &all, now);
        channels.disconnected(Plain);
        assert_eq!(
            (channels.unheard(Plain, now), channels.unheard(Sharded, now)),
            (all.to_vec(), vec![])
        );
        assert!(channels.permitted(Sharded, now).is_empty());
    }

    #[test]
    fn what_nobody_needs_is_forgotten_and_more_than_the_most_are_not_kept() {
        let (channels, now) = wanted(false);
        let (waits, nobody) = (HashSet::from([name("c")]), HashSet::new());
        channels.want(&name("b"), "c:b".into(), now);
        channels.want(&name("c"), "c:c".into(), now);
        channels.want(&name("a"), "c:a".into(), now + KEPT / 2);
        assert_eq!(channels.expire(&waits, now + KEPT), ["c:b"]);
        assert_eq!(channels.record_message("c:a"), [name("a")]);
        assert_eq!(channels.expire(&waits, now + KEPT * 2), ["c:a"]);
        assert!(channels.expire(&nobody, now + KEPT * 5 / 2).is_empty());
        assert_eq!(channels.expire(&nobody, now + KEPT * 3), ["c:c"]);
        assert!(channels.is_empty());
        for number in 0..=MOST {
            channels.want(&name("a"), number.to_string(), now);
        }
        assert_eq!(channels.permitted(Plain, now).len(), MOST);
    }
}
