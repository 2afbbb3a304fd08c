//! Slots that change their owner by force: what is in them is lost, and tokens rise all the same.

use std::time::Duration;

use tenure_core::{Tenure, Token};
use tenure_servers::{RedisCluster, RedisServer};

use crate::support::{hold, lock_keys, tenure};

const LONG: Duration = Duration::from_secs(180);

/// The slot of a lock.
async fn slot_of(cluster: &RedisCluster, lock: &str) -> u16 {
    let tenure = tenure(&cluster.url());
    let _held = hold(&tenure, lock, LONG).await;
    let end = format!("lock:{lock}");
    let key = cluster.running().flat_map(lock_keys).find(|key| key.ends_with(&end)).unwrap();
    cluster.slot(&key)
}

/// A client that has talked to every node, so that it has a connection to each.
async fn connected(cluster: &RedisCluster) -> Tenure {
    let tenure = tenure(&cluster.url());
    for number in 0..32 {
        hold(&tenure, &format!("other-{number}"), LONG).await.release().await.unwrap();
    }
    tenure
}

/// What a slot loses when its old owner still has it, so that it does not come back with it.
fn forget(server: &RedisServer, slot: u16) {
    let slot = slot.to_string();
    loop {
        let told = server.command(&["CLUSTER", "GETKEYSINSLOT", &slot, "100"]);
        let tenure_servers::redis::Reply::List(keys) = told else { return };
        for key in &keys {
            let tenure_servers::redis::Reply::Text(key) = key else { continue };
            // A node that has the key and not its slot refuses.
            if matches!(server.command(&["DEL", key]), tenure_servers::redis::Reply::Error(_)) {
                return;
            }
        }
        if keys.is_empty() {
            return;
        }
    }
}

/// Whoever acquires the lock after its slot went to another node has a greater token than all before, at once, and
/// so a resource that compares tokens refuses no write of the rightful holder.
async fn tokens_rise(cluster: &RedisCluster, how: impl Fn(&RedisCluster, u16, usize)) {
    let clients = [connected(cluster).await, connected(cluster).await, connected(cluster).await];
    let slot = slot_of(cluster, "lock").await;
    let mut last: Option<Token> = None;
    let (mut round, mut gave) = (0, Vec::new());
    // From the one with the greatest epoch to that with the least, and so on.
    for to in [2, 0, 2, 1, 0, 1, 2, 0] {
        let from = cluster.owner(slot).unwrap();
        if from != to {
            for server in &cluster.servers {
                // It will come back there.
                forget(server, slot);
            }
            how(cluster, slot, to);
        }
        let new = tenure(&cluster.url());
        for tenure in clients.iter().cycle().skip(round).take(3).chain([&new]) {
            let held = hold(tenure, "lock", LONG).await;
            let token = held.token();
            assert!(
                last.is_none_or(|last| last < token),
                "{last:?}, then {token:?} at {to}, after {gave:?}"
            );
            last = Some(token);
            held.release().await.unwrap();
        }
        gave.push(to);
        round += 1;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_rise_when_a_slot_goes_to_a_node_with_a_lesser_epoch() {
    tokens_rise(&RedisCluster::start(), RedisCluster::reassign_slot).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_rise_when_a_node_takes_a_slot_and_clients_stay_connected() {
    tokens_rise(&RedisCluster::start(), RedisCluster::take_slot).await;
}

/// A failover raises the epoch of one node alone, and what it has goes to one with a lesser one.
#[tokio::test(flavor = "multi_thread")]
async fn tokens_rise_when_a_slot_of_a_new_primary_goes_to_an_old_one() {
    let cluster = RedisCluster::start();
    let client = connected(&cluster).await;
    let slot = slot_of(&cluster, "lock").await;
    let held = hold(&client, "lock", LONG).await;
    let mut last = held.token();
    held.release().await.unwrap();
    let before = cluster.owner(slot).unwrap();
    for _ in 0..2 {
        let now = cluster.fail_over(slot);
        let held = hold(&client, "lock", LONG).await;
        assert!(held.token() > last);
        last = held.token();
        held.release().await.unwrap();
        let to = (before + 1) % 3;
        cluster.reassign_slot(slot, to);
        for tenure in [&client, &tenure(&cluster.url())] {
            let held = hold(tenure, "lock", LONG).await;
            assert!(held.token() > last, "{last:?}, then {:?}", held.token());
            last = held.token();
            held.release().await.unwrap();
        }
        cluster.reassign_slot(slot, now);
    }
}
