//! A holder whose server is cut off from its leader goes on to be answered, and must know before anybody else is
//! granted its lock that it has lost it.

#![allow(clippy::print_stdout, reason = "a test tells what it measured")]

use std::{fmt, time::Duration};

use tenure_core::{
    Guard, Store, Tenure, Timestamp,
    proto::queue::{Answer, Intent},
};
use tenure_servers::ZookeeperEnsemble;
use tenure_zookeeper::ZookeeperStore;
use tokio::{task::JoinHandle, time::timeout};
use zookeeper_client::Client;

use crate::support::{
    PATIENCE, ask, ensemble, hold, lost, millis, name, now, path, renewed, store, tenure, until,
    waiting,
};

/// How a member is kept from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Cut,
    /// What it sends does not arrive.
    Mute,
    /// What is sent to it does not arrive.
    Deaf,
    Frozen,
}

/// When that happens to whom has renewed its hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    JustRenewed,
    AboutToRenew,
}

/// How a hold was acquired, and what else its session does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// It is renewed by its watchdog.
    Kept,
    /// It is one of many.
    Among(usize),
    /// Nothing was written for long, and then it was acquired, right before.
    Fresh,
}

/// A hold of a store on the member that fails, and somebody on the others who waits for it.
struct Contest {
    session: u64,
    use_: Use,
    holds: Holds,
    waits: JoinHandle<(Timestamp, Guard)>,
    /// When its node was seen to be gone, by somebody on the other members.
    gone: JoinHandle<Timestamp>,
}

enum Holds {
    Guard(Guard, #[allow(dead_code, reason = "they are held")] Vec<Guard>),
    Until(Timestamp, #[allow(dead_code, reason = "it has the session")] ZookeeperStore),
}

/// What came of it.
struct Margin {
    what: String,
    deadline: Timestamp,
    gone: Timestamp,
    granted: Timestamp,
}

impl fmt::Display for Margin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (gone, granted) =
            (millis(self.deadline, self.gone), millis(self.deadline, self.granted));
        write!(f, "{}: lost {gone} ms before its node was gone, {granted} ms before", self.what)?;
        write!(f, " the next grant")
    }
}

/// Everybody else: on the members that do not fail.
pub(super) struct Others {
    url: String,
    pub(super) tenure: Tenure,
    looks: Client,
    path: String,
}

impl Others {
    pub(super) async fn on(ensemble: &ZookeeperEnsemble, but: usize, path: &str) -> Self {
        let hosts: Vec<_> = (0..3)
            .filter(|member| *member != but)
            .map(|member| ensemble.address_of(member).to_string())
            .collect();
        let hosts = hosts.join(",");
        let url = format!("zookeeper://{hosts}{path}?session=10s&tick=500ms");
        let looks = Client::connector().with_session_timeout(Duration::from_secs(10));
        let looks = looks.connect(&hosts).await.unwrap();
        Self { tenure: tenure(&url), url, looks, path: path.to_owned() }
    }

    /// When the node that holds a lock is gone.
    pub(super) async fn see_gone(&self, lock: &str) -> JoinHandle<Timestamp> {
        let dir = format!("{}/{lock}", self.path);
        let mut watcher = None;
        until("the node can be seen", async || {
            let _ = self.looks.sync("/").await;
            let nodes = self.looks.list_children(&dir).await.unwrap_or_default();
            let first = nodes.into_iter().min_by_key(|node| node[node.len() - 10..].to_owned());
            let Some(first) = first else { return false };
            let looked = self.looks.get_and_watch_data(&format!("{dir}/{first}")).await;
            watcher = looked.ok().map(|(_, _, watcher)| watcher);
            watcher.is_some()
        })
        .await;
        tokio::spawn(async move {
            watcher.unwrap().changed().await;
            now()
        })
    }

    pub(super) fn wait_for(&self, lock: &str) -> JoinHandle<(Timestamp, Guard)> {
        let (tenure, lock) = (self.tenure.clone(), lock.to_owned());
        tokio::spawn(async move {
            let guard = hold(&tenure, &lock).await;
            (now(), guard)
        })
    }
}

/// A holder on a member, and who waits for its lock.
async fn contest(
    ensemble: &ZookeeperEnsemble,
    member: usize,
    others: &Others,
    (session, use_): (u64, Use),
    lock: &str,
) -> Contest {
    let url = ensemble.url_of(member);
    let url = format!("{url}{}?session={session}s&tick=500ms", others.path);
    let holds = match use_ {
        Use::Kept => Holds::Guard(hold(&tenure(&url), lock).await, Vec::new()),
        Use::Among(many) => {
            let tenure = tenure(&url);
            let guard = hold(&tenure, lock).await;
            let mut more = Vec::new();
            for number in 0..many {
                more.push(hold(&tenure, &format!("{lock}-{number}")).await);
            }
            Holds::Guard(guard, more)
        }
        Use::Fresh => {
            let store = store(&url);
            let (deadline, store) = fresh(store, lock).await;
            Holds::Until(deadline, store)
        }
    };
    let gone = others.see_gone(lock).await;
    let waits = others.wait_for(lock);
    Contest { session, use_, holds, waits, gone }
}

/// Nothing is written for so long that the last write proves nothing, and then a lock is acquired.
async fn fresh(store: ZookeeperStore, lock: &str) -> (Timestamp, ZookeeperStore) {
    let sent = now();
    let answer = store.acquire(&name(lock), &ask(1, Intent::Try)).await.unwrap();
    let Answer::Granted { left, .. } = answer else { panic!("{answer:?}") };
    (sent.saturating_add(left), store)
}

/// What a holder and a waiter see when the member of the holder fails.
async fn drill(
    ensemble: &ZookeeperEnsemble,
    member: usize,
    (fault, moment): (Fault, Moment),
) -> Vec<Margin> {
    let others = Others::on(ensemble, member, &path()).await;
    let mut contests = Vec::new();
    let mut idle = Vec::new();
    for session in [2, 4] {
        let url = ensemble.url_of(member);
        for _ in 0..2 {
            // They begin now, and acquire last.
            let store = store(&format!("{url}{}?session={session}s&tick=500ms", others.path));
            store.inspect(&name("nothing")).await.unwrap();
            idle.push((session, store));
        }
    }
    for (number, what) in [
        (4, Use::Kept),
        (2, Use::Kept),
        (2, Use::Among(20)),
        (4, Use::Among(20)),
        (2, Use::Kept),
        (4, Use::Kept),
    ]
    .into_iter()
    .enumerate()
    {
        let lock = format!("lock-{number}");
        contests.push(contest(ensemble, member, &others, what, &lock).await);
    }
    until("all wait", async || {
        let mut all = true;
        for number in 0..contests.len() {
            all &= waiting(&others.tenure, &format!("lock-{number}")).await == 1;
        }
        all
    })
    .await;
    let Some(Holds::Guard(first, _)) = contests.first().map(|contest| &contest.holds) else {
        panic!("it has no guard")
    };
    renewed(first).await;
    if moment == Moment::AboutToRenew {
        // It renews after a third of what is left.
        tokio::time::sleep(first.remaining() * 3 / 10).await;
    }
    for (number, (session, store)) in idle.into_iter().enumerate() {
        let lock = format!("fresh-{number}");
        let (deadline, store) = fresh(store, &lock).await;
        let holds = Holds::Until(deadline, store);
        let gone = others.see_gone(&lock).await;
        let waits = others.wait_for(&lock);
        contests.push(Contest { session, use_: Use::Fresh, holds, waits, gone });
    }
    let leader = ensemble.leader();
    let frozen = match fault {
        Fault::Cut => {
            ensemble.part(member);
            None
        }
        Fault::Mute => {
            for other in (0..3).filter(|other| *other != member) {
                ensemble.part_one_way(member, other);
            }
            None
        }
        Fault::Deaf => {
            for other in (0..3).filter(|other| *other != member) {
                ensemble.part_one_way(other, member);
            }
            None
        }
        Fault::Frozen => Some(ensemble.freeze(member)),
    };
    let role = if leader == member { "leader" } else { "follower" };
    let mut margins = Vec::new();
    for Contest { session, use_, holds, waits, gone } in contests {
        let (granted, next) = timeout(PATIENCE, waits).await.unwrap().unwrap();
        let gone = timeout(PATIENCE, gone).await.unwrap().unwrap();
        let deadline = match &holds {
            Holds::Guard(guard, _) => {
                assert!(guard.check().is_err(), "{session} s, {use_:?}: two holders");
                assert!(next.token() > guard.token());
                lost(guard).await;
                guard.deadline()
            }
            Holds::Until(deadline, _) => *deadline,
        };
        let what = format!("{fault:?} {role}, {moment:?}, session {session} s, {use_:?}");
        margins.push(Margin { what, deadline, gone, granted });
    }
    drop(frozen);
    ensemble.heal();
    drop(others.url);
    margins
}

fn all_in_time(margins: &[Margin]) {
    margins.iter().for_each(|margin| println!("{margin}"));
    for margin in margins {
        assert!(margin.deadline < margin.granted, "two holders: {margin}");
        assert!(margin.deadline < margin.gone, "held beyond its node: {margin}");
    }
}

/// How often, and with what; more of it where time is given.
async fn drills(of_leader: bool, how: &[(Fault, Moment)]) {
    for &how in how {
        let ensemble = ensemble().await;
        let leader = ensemble.leader();
        let member = if of_leader { leader } else { (leader + 1) % 3 };
        all_in_time(&drill(&ensemble, member, how).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_whose_follower_is_cut_off_is_lost_before_the_next_grant() {
    drills(false, &[(Fault::Cut, Moment::JustRenewed), (Fault::Cut, Moment::AboutToRenew)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_whose_follower_is_cut_off_one_way_is_lost_before_the_next_grant() {
    drills(false, &[(Fault::Mute, Moment::JustRenewed), (Fault::Deaf, Moment::JustRenewed)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_whose_follower_is_frozen_is_lost_before_the_next_grant() {
    drills(false, &[(Fault::Frozen, Moment::JustRenewed)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_whose_leader_is_cut_off_is_lost_before_the_next_grant() {
    drills(true, &[(Fault::Cut, Moment::JustRenewed)]).await;
}
