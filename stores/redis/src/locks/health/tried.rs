//! A lock that is tried, as this very user, and how long its answers take.

use std::time::Duration;

use tenure_core::{
    Fault, LockName,
    proto::queue::{Ask, Intent, Kind, Mode, Order},
    store::Diagnostic,
    trial::{self, TrialLock},
};

use super::ProbeContext;
use crate::{
    locks::layout::{
        keys::{Key, KeySpace},
        redisson::keys::{ChannelKind, channel, counter, slot_of_channel},
    },
    options::{Layout, RedisOptions},
    servers::{
        NodeRef, TopologyClients,
        cluster::{ClusterMap, Node, written},
    },
};

/// Everything that a lock does, at each primary, and what a renewal took, at the longest.
pub(super) async fn full_cycle(probe: &ProbeContext<'_>) -> (Diagnostic, Option<Duration>) {
    let tried = try_everywhere(probe).await;
    let works = tried.as_ref().map_or("", |(works, _)| works);
    (trial::cycle(&tried, works), tried.ok().map(|(_, took)| took))
}

async fn try_everywhere(probe: &ProbeContext<'_>) -> Result<(String, Duration), Fault> {
    let works = "a full cycle of a lock works";
    let Some(cluster) = probe.transport.route.cluster() else {
        let took = run(probe, &NodeRef::Only, &TrialLock::new()?).await?;
        return Ok((works.to_owned(), took));
    };
    // Each node has users of its own. Which of them there are was asked on the way here.
    let map = cluster.map();
    let (mut took, mut untried) = (Duration::ZERO, Vec::new());
    for node in map.nodes() {
        match trial_at(&probe.transport.options, &map, node)? {
            Some(trial) => {
                let node_ref = NodeRef::Node(node.place.clone());
                took = took.max(run(probe, &node_ref, &trial).await?);
            }
            // It has few slots.
            None => untried.push(written(&node.place)),
        }
    }
    let tried = map.nodes().len() - untried.len();
    let mut found = format!("{works} on {tried} of {} primaries", map.nodes().len());
    if !untried.is_empty() {
        found.push_str(&format!(
            "; not tried on {}, for which no name was found",
            untried.join(", ")
        ));
    }
    Ok((found, took))
}

/// Runs it at this node, and leaves nothing behind: a counter of Redisson's would stay for ever.
async fn run(
    probe: &ProbeContext<'_>,
    node_ref: &NodeRef,
    trial: &TrialLock,
) -> Result<Duration, Fault> {
    let mut ran = trial.run(probe.store).await;
    let options = &probe.transport.options;
    if options.layout.layout == Layout::Redisson && probe.store.capabilities().shared && ran.is_ok()
    {
        // A reader needs rights to keys that a mutex has not.
        ran = read(probe, trial).await.and(ran);
    }
    if options.layout.fenced_tokens {
        let key = KeySpace::of(options).keys(trial.name()).text(Key::Lock);
        probe.transport.send(node_ref, &["DEL", &counter(&key)]).await?;
    }
    ran
}

async fn read(probe: &ProbeContext<'_>, trial: &TrialLock) -> Result<(), Fault> {
    let ask = Ask {
        owner: trial.owner(),
        kind: Kind::ReadWrite,
        mode: Mode::Shared,
        order: Order::Barging,
        intent: Intent::Try,
        ttl: Duration::from_secs(10),
        label: "tenure doctor".into(),
    };
    probe.store.acquire(trial.name(), &ask).await?;
    probe.store.release(trial.name(), &ask.owner, Duration::ZERO).await.map(drop)
}

/// Whether this user tells others, and hears what they say.
pub(super) async fn hints(probe: &ProbeContext<'_>) -> Diagnostic {
    let none = |found: String| {
        let found = format!(
            "{found}: waiters ask on their own, and an evicted holder learns of it at its next \
             renewal"
        );
        let help = "give the user the channels, +publish and +subscribe of the ACL line in the docs of the Redis store; locks do not need them";
        Diagnostic::warning("hints", found, "S6", help)
    };
    let of_locks = match lock_channels(probe) {
        Ok(channels) => channels,
        Err(fault) => return none(format!("no message is tried ({})", fault.message_and_cause())),
    };
    if let Err(fault) = publish(probe, &of_locks).await {
        return none(format!("no message is sent ({})", fault.message_and_cause()));
    }
    match probe.watch.try_out(&of_locks).await {
        Ok(()) => {
            Diagnostic::good("hints", "this user may subscribe: a release wakes the next waiter")
        }
        Err((None, fault)) => {
            none(format!("no message arrives now ({})", fault.message_and_cause()))
        }
        Err((Some(of), fault)) => {
            none(format!("no message {of} arrives ({})", fault.message_and_cause()))
        }
    }
}

async fn publish(probe: &ProbeContext<'_>, of_locks: &[String]) -> Result<(), Fault> {
    let transport = probe.transport;
    for node_ref in transport.node_refs().await? {
        transport.send(&node_ref, &["PUBLISH", &probe.watch.channel, ""]).await?;
        for channel in of_locks {
            // As Redisson announces a release.
            transport.send(&node_ref, &["PUBLISH", channel, "0"]).await?;
        }
    }
    if transport.route.cluster().is_some() {
        let clients = TopologyClients::default();
        for channel in of_locks {
            let node = transport.route.find(&clients, slot_of_channel(channel)).await?;
            transport.send(&node, &["SPUBLISH", channel, "0"]).await?;
        }
    }
    Ok(())
}

/// In Redisson's layout: channels of locks, in a cluster of one at each primary.
fn lock_channels(probe: &ProbeContext<'_>) -> Result<Vec<String>, Fault> {
    let options = &probe.transport.options;
    if options.layout.layout != Layout::Redisson {
        return Ok(Vec::new());
    }
    let mut keys = Vec::new();
    match probe.transport.route.cluster() {
        None => keys.push(format!("{}tenure-doctor", options.layout.key_prefix)),
        Some(cluster) => {
            let map = cluster.map();
            for node in map.nodes() {
                if let Some(trial) = trial_at(options, &map, node)? {
                    keys.push(KeySpace::of(options).keys(trial.name()).text(Key::Lock));
                }
            }
        }
    }
    let both = |key| [ChannelKind::Lock, ChannelKind::ReadWrite].map(|kind| channel(kind, key));
    Ok(keys.iter().flat_map(|key| both(key)).collect())
}

/// A lock to try at this node, if a name of one is found.
fn trial_at(
    options: &RedisOptions,
    map: &ClusterMap,
    node: &Node,
) -> Result<Option<TrialLock>, Fault> {
    TrialLock::where_name(|name: &LockName| {
        let slot = KeySpace::of(options).keys(name).tag.slot();
        map.owner(slot).is_some_and(|owner| owner.place == node.place)
    })
}
