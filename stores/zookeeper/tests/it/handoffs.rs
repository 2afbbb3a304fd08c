//! What a hand-off costs, and that directories are taken away under our feet.

#![allow(clippy::print_stdout, reason = "a test tells what it measured")]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use tenure_core::{
    Store, Tenure,
    proto::queue::{Answer, Intent},
};
use tenure_servers::ZookeeperServer;
use tenure_testkit::Random;
use tenure_zookeeper::ZookeeperStore;
use tokio::{sync::Barrier, task::JoinSet};
use zookeeper_client::{Client, Error};

use crate::support::{PATIENCE, ask, name, path, store, tenure, until};

/// How many requests a server has received, pings and all.
fn received(server: &ZookeeperServer) -> u64 {
    let told = server.four_letters("mntr");
    let line = told.lines().find_map(|line| line.strip_prefix("zk_packets_received"));
    line.unwrap().trim().parse().unwrap()
}

/// Waits for the lock as core does: by hints, and when told at the latest.
async fn wait_for(store: &ZookeeperStore, lock: &str, owner: u8, in_line: &Barrier) {
    let (lock, ask) = (name(lock), ask(owner, Intent::Wait { position: None }));
    let mut wakeups = store.wakeups(&lock, &ask.owner);
    let mut is_new = true;
    loop {
        match store.acquire(&lock, &ask).await.unwrap() {
            Answer::Granted { .. } => break,
            Answer::Busy { retry_after, .. } => {
                if std::mem::take(&mut is_new) {
                    in_line.wait().await;
                }
                let _ = tokio::time::timeout(retry_after, wakeups.next()).await;
            }
        }
    }
    store.release(&lock, &ask.owner, Duration::ZERO).await.unwrap();
}

/// How many requests each hand-off takes while so many wait.
async fn requests(server: &ZookeeperServer, url: &str, waiters: u8) -> u64 {
    let lock = format!("lock-{waiters}");
    // Each session has a quarter of them.
    let stores: Vec<_> = (0..4).map(|_| store(url)).collect();
    let holder = ask(255, Intent::Wait { position: None });
    let granted = stores[0].acquire(&name(&lock), &holder).await.unwrap();
    assert!(matches!(granted, Answer::Granted { .. }), "{granted:?}");
    let in_line = Arc::new(Barrier::new(usize::from(waiters) + 1));
    let mut waiting = JoinSet::new();
    for (owner, store) in (0..waiters).zip(stores.iter().cycle()) {
        let (store, lock, in_line) = (store.clone(), lock.clone(), in_line.clone());
        waiting.spawn(async move { wait_for(&store, &lock, owner, &in_line).await });
    }
    in_line.wait().await;
    let before = received(server);
    stores[0].release(&name(&lock), &holder.owner, Duration::ZERO).await.unwrap();
    while let Some(served) = waiting.join_next().await {
        served.unwrap();
    }
    (received(server) - before) / u64::from(waiters)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hand_off_takes_as_many_requests_however_many_wait() {
    let server = ZookeeperServer::with(&[("maxSessionTimeout", "120000")]);
    let url = format!("{}{}?session=60s&tick=500ms&response_timeout=20s", server.url(), path());
    let mut counts = BTreeMap::new();
    for waiters in [4, 16, 64] {
        counts.insert(waiters, requests(&server, &url, waiters).await);
    }
    println!("requests of a hand-off by how many wait: {counts:?}");
    // The renewals of four sessions and what they say now and then are in it.
    assert!(counts[&64] <= counts[&4] + 2, "{counts:?}");
}

/// Takes a lock and permits over and over, and notes the tokens in the order of the holds.
async fn contend(tenure: Tenure, seed: u64, tokens: Arc<Mutex<Vec<u64>>>) {
    let mut random = Random::new(seed);
    for _ in 0..12 {
        let guard = tenure.mutex("lock").lock().wait(PATIENCE).await.unwrap();
        tokens.lock().unwrap().push(guard.token().get());
        guard.release().await.unwrap();
        let reads = tenure.rwlock("rwlock").read().wait(PATIENCE).await.unwrap();
        let permit = tenure.semaphore("permits", 2).acquire().wait(PATIENCE).await.unwrap();
        permit.release().await.unwrap();
        reads.release().await.unwrap();
        tokio::time::sleep(Duration::from_millis(random.below(250))).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn directories_that_are_taken_away_under_our_feet_cost_nobody_anything() {
    let quick = ["-Dznode.container.checkIntervalMs=20", "-Dznode.container.maxPerMinute=1000000"];
    let server = ZookeeperServer::with_java(&[], &quick);
    let path = path();
    let url = format!("{}{path}?session=4s&tick=500ms", server.url());
    let tokens = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = JoinSet::new();
    for seed in 0..4 {
        tasks.spawn(contend(tenure(&url), seed, tokens.clone()));
    }
    // Each time it is made it has another transaction.
    let client = Client::connect(&server.address().to_string()).await.unwrap();
    let mut seen = std::collections::BTreeSet::new();
    while !tasks.is_empty() {
        if let Ok(Some(stat)) = client.check_stat(&format!("{path}/lock")).await {
            seen.insert(stat.czxid);
        }
        let pause = Duration::from_millis(5);
        if let Ok(Some(ended)) = tokio::time::timeout(pause, tasks.join_next()).await {
            ended.unwrap();
        }
    }
    println!("the directory was made {} times", seen.len());
    assert!(seen.len() > 3, "it was not taken away under our feet");
    let tokens = tokens.lock().unwrap().clone();
    assert_eq!(tokens.len(), 48);
    assert!(tokens.is_sorted_by(|one, next| one < next), "{tokens:?}");
    until("nothing is left at all", async || {
        matches!(client.list_children(&path).await, Err(Error::NoNode))
    })
    .await;
}
