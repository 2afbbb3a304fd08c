//! Hints from the server, over a connection that carries nothing else.
//!
//! It is opened when somebody first waits or holds. A hint that is lost costs at most one look, and
//! after every (re)connection every waiter looks and every holder renews: what was said before is not
//! known.

mod channels;
mod sharded;

use std::{
    convert::Infallible,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::future::join3;
use tenure_core::{Fault, HintBoard, LockName, proto::queue::Client};
use tokio::{
    runtime::Handle,
    sync::oneshot,
    task::AbortHandle,
    time::{Interval, MissedTickBehavior},
};

use self::channels::{LockChannels, SubscriptionKind::Plain};
use crate::{
    client::{Connection, Failure, Value, command, error},
    locks::layout::{
        keys::{self, KeySpace},
        redisson::keys::{ChannelKind, channel, slot_of_channel},
        wire,
    },
    options::{Layout, RedisOptions},
    servers::{
        Server, Topology, TopologyClients,
        connect::{ConnectionPurpose, connect},
        keys as server_keys,
    },
};

/// How long a waiter sleeps at most where no queue is kept, although it hears of releases: one may not be announced.
pub(crate) const LOOK: Duration = Duration::from_secs(5);
/// The same for one that does not hear of them yet, or not at all.
pub(crate) const LOOK_UNHEARD: Duration = Duration::from_millis(250);

/// How often a silent connection is tried.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// How often it is seen which channels no waiter needs any more.
const SWEEP: Duration = Duration::from_millis(500);
/// The pauses between attempts to connect.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// How long a connection has to last for the next one to be tried as if it was the first.
const LASTING: Duration = Duration::from_secs(5);
/// How often in a row the channel of evictions has to fail before it counts as refused.
const REFUSALS: u32 = 3;
/// The longest pause of a user who may not listen: somebody has to change that first.
const REFUSED: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct WakeupSubscription {
    pub(crate) board: HintBoard,
    /// How the channel is subscribed to.
    verb: &'static str,
    /// The channel of this process; without queues the one of all who wait.
    pub(crate) channel: String,
    /// That of all evictions.
    pub(crate) evicted: String,
    /// In Redisson's layout those of locks.
    channels: Arc<LockChannels>,
    options: Arc<RedisOptions>,
    route: Arc<Topology>,
    running: Arc<Mutex<Option<AbortHandle>>>,
    /// Whether the server has the subscription, for all that is known.
    is_heard: Arc<AtomicBool>,
}

impl WakeupSubscription {
    pub(crate) fn new(options: Arc<RedisOptions>, route: Arc<Topology>, client: Client) -> Self {
        let of_process = || ("SUBSCRIBE", server_keys::channel(&options.prefix, client.0));
        let (verb, channel) = match options.layout.layout {
            // Locks have channels of their own.
            Layout::Redisson => of_process(),
            _ if options.keeps_queues() => of_process(),
            _ => keys::release_subscription(&options),
        };
        let evicted = keys::eviction_channel(&options.prefix);
        let board = HintBoard::new();
        let (running, is_heard) = Default::default();
        let channels = Arc::new(LockChannels::new(options.deployment.is_cluster()));
        Self { board, verb, channel, evicted, channels, options, route, running, is_heard }
    }

    /// Where a waiter of this process is told that it comes next; empty while nothing is heard there, so that
    /// nobody takes the process for dead.
    pub(crate) fn channel_of_waiters(&self) -> &str {
        if self.hears_all() { &self.channel } else { "" }
    }

    /// Whether this process hears what is said on the channel of all who wait.
    pub(crate) fn hears_all(&self) -> bool {
        self.is_heard.load(Ordering::Acquire)
    }

    /// In Redisson's layout: a waiter needs to hear of releases of the lock with this key.
    pub(crate) fn want(&self, name: &LockName, key: &str, kind: ChannelKind) {
        self.channels.want(name, channel(kind, key), Instant::now());
    }

    /// Whether it hears of them.
    pub(crate) fn hears(&self, name: &LockName, key: &str, kind: ChannelKind) -> bool {
        self.channels.is_heard(name, &channel(kind, key))
    }

    /// How many of those who hear of releases of the lock are this process.
    pub(crate) fn subscriptions(&self, name: &LockName, key: &str, kind: ChannelKind) -> u64 {
        self.channels.subscriptions(name, &channel(kind, key))
    }

    /// How many messages of releases of the lock came, and how many come of one release by this process.
    pub(crate) fn messages(&self, key: &str) -> (u64, u64) {
        let of = |kind| self.channels.messages(&channel(kind, key));
        let (of_lock, of_readers) = (of(ChannelKind::Lock), of(ChannelKind::ReadWrite));
        (of_lock.0 + of_readers.0, of_lock.1.max(of_readers.1))
    }

    /// Sees to it that somebody listens. The task runs in the runtime of the caller, and in
    /// another one's when that has ended.
    pub(crate) fn start(&self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.is_some() {
            return;
        }
        let Ok(runtime) = Handle::try_current() else { return };
        let (end, listener) = (TaskEndGuard(Arc::downgrade(&self.running)), self.listener());
        let task = runtime.spawn(async move {
            let _end = end;
            let (route, board) = (listener.route.clone(), listener.board.clone());
            let moved = || {
                board.wake_all();
                board.evictions_missed();
            };
            let sharded = sharded::keep_subscribed(&listener);
            join3(listener.keep_subscribed(), sharded, route.follow(moved)).await;
        });
        *running = Some(task.abort_handle());
    }

    fn listener(&self) -> Listener {
        Listener {
            options: self.options.clone(),
            route: self.route.clone(),
            clients: TopologyClients::default(),
            verb: self.verb,
            channel: self.channel.clone(),
            evicted: self.evicted.clone(),
            channels: self.channels.clone(),
            board: self.board.clone(),
            is_heard: self.is_heard.clone(),
        }
    }

    /// Whether this user may listen, also to these channels of locks: which cannot be listened to, and why.
    pub(crate) async fn try_out(
        &self,
        of_locks: &[String],
    ) -> Result<(), (Option<&'static str>, Fault)> {
        let listener = self.listener();
        let (connection, _ended) = listener.open().await.map_err(|fault| (None, fault))?;
        match listener.subscribe(&connection, true).await {
            Ok(()) => {}
            Err(Refusal::OfWaking(fault)) => return Err((Some("of turns and evictions"), fault)),
            Err(Refusal::OfEvictions(fault)) => return Err((Some("of evictions"), fault)),
        }
        let failed = |failure| (Some("of releases"), listener.fault(failure));
        for channel in of_locks {
            listener.subscribe_to(&connection, "SUBSCRIBE", channel).await.map_err(failed)?;
            if self.route.cluster().is_some() {
                let there = listener.open_at_slot(channel).await;
                let (connection, _ended) = there.map_err(|fault| (None, fault))?;
                listener.subscribe_to(&connection, "SSUBSCRIBE", channel).await.map_err(failed)?;
            }
        }
        Ok(())
    }
}

impl Drop for WakeupSubscription {
    fn drop(&mut self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = running {
            task.abort();
        }
    }
}

/// Dropped when the task ends, which it does with its runtime.
struct TaskEndGuard(Weak<Mutex<Option<AbortHandle>>>);

impl Drop for TaskEndGuard {
    fn drop(&mut self) {
        if let Some(running) = self.0.upgrade() {
            *running.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}

/// As long as it is there something is heard, also if the task ends with its runtime.
struct ListeningGuard<'a>(&'a AtomicBool);

impl<'a> ListeningGuard<'a> {
    fn at(is_heard: &'a AtomicBool) -> Self {
        is_heard.store(true, Ordering::Release);
        Self(is_heard)
    }
}

impl Drop for ListeningGuard<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// What the task needs.
struct Listener {
    options: Arc<RedisOptions>,
    route: Arc<Topology>,
    clients: TopologyClients,
    verb: &'static str,
    channel: String,
    evicted: String,
    channels: Arc<LockChannels>,
    board: HintBoard,
    is_heard: Arc<AtomicBool>,
}

/// Which channel is not listened to, and why.
enum Refusal {
    OfWaking(Fault),
    OfEvictions(Fault),
}

/// Resolves when the connection has ended.
type ConnectionEnd = oneshot::Receiver<Infallible>;

impl Listener {
    async fn keep_subscribed(&self) {
        let (mut pause, mut all, mut refused) = (PAUSES.0, true, 0);
        // Those of a task that ended with its runtime are gone.
        self.channels.disconnected(Plain);
        loop {
            let longest = match self.open().await {
                Ok((connection, ended)) => match self.subscribe(&connection, all).await {
                    Ok(()) => {
                        let _heard = ListeningGuard::at(&self.is_heard);
                        self.board.wake_all();
                        self.board.evictions_missed();
                        let since = Instant::now();
                        self.hear_until_ended(&connection, ended).await;
                        self.channels.disconnected(Plain);
                        // One that breaks again and again makes everybody look each time.
                        if since.elapsed() >= LASTING {
                            pause = PAUSES.0;
                        }
                        (refused, all) = (0, true);
                        PAUSES.1
                    }
                    // A refusal breaks the connection, as the network does. Who is refused again and
                    // again still has what waiters need.
                    Err(Refusal::OfEvictions(fault)) => {
                        tracing::debug!(store = "redis", fault = %format_args!("{fault:#}"), "no hints of evictions");
                        refused += 1;
                        all = refused < REFUSALS;
                        PAUSES.1
                    }
                    Err(Refusal::OfWaking(fault)) => {
                        log_unavailable(&fault);
                        (refused, all) = (0, true);
                        REFUSED
                    }
                },
                Err(fault) => {
                    log_unavailable(&fault);
                    PAUSES.1
                }
            };
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(longest);
        }
    }

    async fn open(&self) -> Result<(Connection, ConnectionEnd), Fault> {
        self.open_to(&self.route.hearing(&self.clients).await?).await
    }

    /// Opens a connection to the node that has the slot of this channel.
    async fn open_at_slot(&self, channel: &str) -> Result<(Connection, ConnectionEnd), Fault> {
        let node = self.route.find(&self.clients, slot_of_channel(channel)).await?;
        self.open_to(&self.route.server(&self.clients, &node).await?).await
    }

    async fn open_to(&self, server: &Server) -> Result<(Connection, ConnectionEnd), Fault> {
        let (open, ended) = oneshot::channel();
        let (board, evicted) = (self.board.clone(), self.evicted.clone());
        let (options, queues) = (self.options.clone(), self.options.keeps_queues());
        let channels = self.channels.clone();
        let hear = move |data: &[Value]| {
            // Dropped with the connection, and nothing is ever sent.
            let _open: &oneshot::Sender<Infallible> = &open;
            let [channel, said] = data else { return };
            let is_eviction = text(channel) == Some(&evicted);
            let names =
                text(channel).map(|channel| channels.record_message(channel)).unwrap_or_default();
            if !names.is_empty() {
                names.iter().for_each(|name| board.wake_name(name));
                return;
            }
            if is_eviction || !queues {
                let space = KeySpace::of(&options);
                let Some(name) = text(said).and_then(|key| space.name_of(key)) else {
                    return;
                };
                if is_eviction {
                    board.evicted(&name);
                }
                if !queues {
                    board.wake_name(&name);
                }
            } else if let Some(owner) = text(said).and_then(wire::owner_of) {
                board.wake(&owner);
            }
        };
        let purpose = ConnectionPurpose::Hints(Box::new(hear));
        Ok((connect(&self.options, &self.route, server, purpose).await?, ended))
    }

    /// Subscribes to the channel of this process and, if `all`, to that of evictions. A connection over
    /// which one was refused is of no use any more.
    async fn subscribe(&self, connection: &Connection, all: bool) -> Result<(), Refusal> {
        let heard = self.subscribe_to(connection, self.verb, &self.channel).await;
        heard.map_err(|failure| Refusal::OfWaking(self.fault(failure)))?;
        if all {
            let heard = self.subscribe_to(connection, "SUBSCRIBE", &self.evicted).await;
            heard.map_err(|failure| Refusal::OfEvictions(self.fault(failure)))?;
        }
        Ok(())
    }

    /// Hears what is said, there and on the channels that waiters come to need, until the connection has ended, or is
    /// silent when it should not be.
    async fn hear_until_ended(&self, connection: &Connection, mut ended: ConnectionEnd) {
        let (mut heartbeat, mut sweep) = (every(HEARTBEAT), every(SWEEP));
        loop {
            // One by one: a refusal breaks the connection, and does not say of which it is. The others are then subscribed
            // to anew.
            for channel in self.channels.unheard(Plain, Instant::now()) {
                if let Err(failure) = self.subscribe_to(connection, "SUBSCRIBE", &channel).await {
                    if is_refusal(&failure) {
                        self.channels.refused(Plain, &[channel], Instant::now());
                    }
                    log_unavailable(&self.fault(failure));
                    return;
                }
                for name in self.channels.subscribed(Plain, &[channel]) {
                    self.board.wake_name(&name);
                }
            }
            let expired = tokio::select! {
                _ = &mut ended => return,
                () = self.channels.wanted(Plain) => continue,
                _ = heartbeat.tick() => Vec::new(),
                _ = sweep.tick(), if !self.channels.is_empty() => {
                    let expired = self.channels.expire(&self.board.awaited_names(), Instant::now());
                    if expired.is_empty() {
                        continue;
                    }
                    expired
                }
            };
            let tries = |out: &mut Vec<u8>| match expired.as_slice() {
                [] => command(&["PING"], out),
                expired => of_channels("UNSUBSCRIBE", expired, out),
            };
            if connection.call(&tries).await.is_err() {
                return;
            }
        }
    }

    async fn subscribe_to(
        &self,
        connection: &Connection,
        verb: &str,
        channel: &str,
    ) -> Result<(), Failure> {
        // A subscription is told of, not answered; what is answered is the command behind it, unless
        // the subscription is refused.
        let subscribe = |out: &mut Vec<u8>| {
            command(&[verb, channel], out);
            command(&["PING"], out);
        };
        connection.call(&subscribe).await.map(drop)
    }

    fn fault(&self, failure: Failure) -> Fault {
        error::of_command(&self.options.location(), failure)
    }
}

/// Ticks that nothing else that happens puts off.
fn every(period: Duration) -> Interval {
    let mut interval = tokio::time::interval_at(tokio::time::Instant::now() + period, period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

/// Adds a command for several channels, and one that is answered.
fn of_channels(verb: &str, channels: &[String], out: &mut Vec<u8>) {
    let words: Vec<_> = [verb].into_iter().chain(channels.iter().map(String::as_str)).collect();
    command(&words, out);
    command(&["PING"], out);
}

/// Whether this user may not subscribe. Whatever else breaks a connection may be over with the next one.
fn is_refusal(failure: &Failure) -> bool {
    failure.code() == Some("NOPERM")
}

fn log_unavailable(fault: &Fault) {
    tracing::debug!(store = "redis", fault = %format_args!("{fault:#}"), "no hints: waiters ask on their own");
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Bytes(text) => std::str::from_utf8(text).ok(),
        _ => None,
    }
}
