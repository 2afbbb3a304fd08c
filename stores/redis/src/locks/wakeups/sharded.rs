//! In a cluster: what Redisson's clients announce at the node of a lock, which tells the other nodes nothing of it.

use std::{
    collections::{HashMap, HashSet},
    convert::Infallible,
    time::{Duration, Instant},
};

use futures_util::future::select_all;
use tenure_core::Fault;
use tokio::sync::oneshot::{self, error::TryRecvError};

use super::{
    HEARTBEAT, Listener, channels::SubscriptionKind::Sharded, every, is_refusal, log_unavailable,
};
use crate::{
    client::{Connection, command, error},
    locks::layout::redisson::keys::slot_of_channel,
    options::Layout,
    servers::NodeRef,
};

/// The shortest time between two rounds: those who come meanwhile go with one.
const PAUSE: Duration = Duration::from_millis(2);

/// A connection to a node, and what is subscribed to there.
struct NodeSubscription {
    connection: Connection,
    ended: oneshot::Receiver<Infallible>,
    channels: HashSet<String>,
}

/// Keeps what waiters need subscribed to, each at its node. It is asked for again and again, as slots move.
pub(super) async fn keep_subscribed(listener: &Listener) {
    if listener.route.cluster().is_none() || listener.options.layout.layout != Layout::Redisson {
        return;
    }
    // Those of a task that ended with its runtime are gone.
    listener.channels.disconnected(Sharded);
    let mut nodes: HashMap<NodeRef, NodeSubscription> = HashMap::new();
    // Slots move, so all are asked for again at each beat.
    let (mut all, mut heartbeat) = (true, every(HEARTBEAT));
    loop {
        let wanted = by_node(listener).await;
        nodes.retain(|node, open| {
            wanted.contains_key(node) && open.ended.try_recv() == Err(TryRecvError::Empty)
        });
        for (node, channels) in wanted {
            let told = subscribe(listener, &mut nodes, &node, &channels, all).await;
            if let Err(NotSubscribed { fault, is_refusal }) = told {
                log_unavailable(&fault);
                nodes.remove(&node);
                listener.channels.unsubscribed(Sharded, &channels);
                if is_refusal {
                    listener.channels.refused(Sharded, &channels, Instant::now());
                }
                // The slot of one of them may be elsewhere by now.
                let _ = listener.route.ask_anew(&listener.clients).await;
            }
        }
        let one_has_ended = async {
            if nodes.is_empty() {
                return std::future::pending().await;
            }
            let _ = select_all(nodes.values_mut().map(|open| &mut open.ended)).await;
        };
        all = tokio::select! {
            () = listener.channels.wanted(Sharded) => false,
            () = one_has_ended => true,
            _ = heartbeat.tick() => true,
        };
        tokio::time::sleep(PAUSE).await;
    }
}

/// Why nothing is heard at a node, and whether it is because this user may not.
struct NotSubscribed {
    fault: Fault,
    is_refusal: bool,
}

impl From<Fault> for NotSubscribed {
    fn from(fault: Fault) -> Self {
        Self { fault, is_refusal: false }
    }
}

/// All channels, by the nodes that have their slots.
async fn by_node(listener: &Listener) -> HashMap<NodeRef, Vec<String>> {
    let mut by_node: HashMap<_, Vec<_>> = HashMap::new();
    for channel in listener.channels.permitted(Sharded, Instant::now()) {
        match listener.route.find(&listener.clients, slot_of_channel(&channel)).await {
            Ok(node) => by_node.entry(node).or_default().push(channel),
            Err(fault) => {
                log_unavailable(&fault);
                listener.channels.unsubscribed(Sharded, &[channel]);
            }
        }
    }
    by_node
}

async fn subscribe(
    listener: &Listener,
    nodes: &mut HashMap<NodeRef, NodeSubscription>,
    node: &NodeRef,
    channels: &[String],
    all: bool,
) -> Result<(), NotSubscribed> {
    let server = listener.route.server(&listener.clients, node).await?;
    if !nodes.contains_key(node) {
        // What was said until now was not heard.
        listener.channels.unsubscribed(Sharded, channels);
        let (connection, ended) = listener.open_to(&server).await?;
        let open = NodeSubscription { connection, ended, channels: HashSet::new() };
        nodes.insert(node.clone(), open);
    }
    let Some(open) = nodes.get_mut(node) else { return Ok(()) };
    let wanted: HashSet<_> = channels.iter().cloned().collect();
    let mut gone = Vec::new();
    for channel in open.channels.difference(&wanted) {
        // Where the slot has gone elsewhere, the server has unsubscribed it, and answers with an error.
        let there = listener.route.find(&listener.clients, slot_of_channel(channel)).await;
        if there.is_ok_and(|there| there == *node) {
            gone.push(channel);
        }
    }
    let asked: Vec<_> =
        channels.iter().filter(|channel| all || !open.channels.contains(*channel)).collect();
    if gone.is_empty() && asked.is_empty() {
        open.channels = wanted;
        return Ok(());
    }
    // Each is in a slot of its own.
    let row = |out: &mut Vec<u8>| {
        gone.iter().for_each(|channel| command(&["SUNSUBSCRIBE", channel], out));
        asked.iter().for_each(|channel| command(&["SSUBSCRIBE", channel], out));
        command(&["PING"], out);
    };
    let told = open.connection.call(&row).await;
    told.map_err(|failure| {
        let is_refusal = is_refusal(&failure);
        NotSubscribed { fault: error::of_command(&server.place, failure), is_refusal }
    })?;
    open.channels = wanted;
    for name in listener.channels.subscribed(Sharded, channels) {
        listener.board.wake_name(&name);
    }
    Ok(())
}
