//! A semaphore whose takers are killed at random.

#![allow(clippy::print_stdout, reason = "a test tells its figures")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File, OpenOptions},
    io::Write,
    path::Path,
    time::Duration,
};

use nix::sys::signal::Signal;
use tenure::{
    Guard,
    clock::{Clock, SystemClock},
};
use tenure_testkit::Random;

use crate::{
    child::{PATIENCE, Player},
    stores::{Place, length, open},
};

const PERMITS: u32 = 3;
const PROCESSES: usize = 20;
/// How long the permits of the dead may stay out where a store does not notice a death.
const TTL: Duration = Duration::from_millis(800);

fn now() -> u64 {
    SystemClock.now().as_nanos()
}

/// A child: takes one or two permits again and again until there is a file `stop`, and writes down
/// from when until when it counted on them.
pub(crate) async fn take_permits(dir: &Path) {
    let semaphore = open(dir).await.semaphore("permits", PERMITS).ttl(TTL);
    let pid = std::process::id();
    let mut random = Random::new(pid.into());
    let mut log = OpenOptions::new().append(true).create(true).open(dir.join("log")).unwrap();
    while !dir.join("stop").exists() {
        let take = 1 + u32::from(random.happens(250));
        // A server that restarts or a machine under load is not what is tested here.
        let Ok(guard) = semaphore.acquire_many(take).wait(PATIENCE).await else { continue };
        let from = now();
        if write(&mut log, &guard, format_args!("{pid} takes {take} {from}")) {
            tokio::time::sleep(random.length(Duration::ZERO, Duration::from_millis(60))).await;
            write(&mut log, &guard, format_args!("{pid} ends 0 {}", now()));
        }
        guard.release().await.unwrap();
    }
}

/// Writes a line in one piece, if the hold may still be counted on.
fn write(log: &mut File, guard: &Guard, line: std::fmt::Arguments<'_>) -> bool {
    let valid = guard.check().is_ok();
    log.write_all(format!("{line}\n").as_bytes()).unwrap();
    valid
}

/// A change of how many permits are out: when, and by how many.
type Change = (u64, i64);

/// What the log says, with the moments at which processes were killed.
fn changes(log: &str, killed: &BTreeMap<u32, u64>) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut out: BTreeMap<u32, i64> = BTreeMap::new();
    for line in log.lines() {
        let words: Vec<_> = line.split(' ').collect();
        let [pid, what, take, at] = words[..] else { panic!("{line:?}") };
        let (pid, at) = (pid.parse().unwrap(), at.parse().unwrap());
        match what {
            "takes" => {
                let take = take.parse().unwrap();
                out.insert(pid, take);
                changes.push((at, take));
            }
            _ => changes.push((at, -out.remove(&pid).expect("what ends had begun"))),
        }
    }
    // Whoever was killed while it held counted on that until it was killed.
    changes.extend(out.into_iter().map(|(pid, take)| (killed[&pid], -take)));
    changes.sort_unstable();
    changes
}

/// Who holds permits, by the log.
fn holding(log: &str) -> BTreeSet<u32> {
    let mut holding = BTreeSet::new();
    for line in log.lines() {
        let mut words = line.split(' ');
        let pid = words.next().unwrap().parse().unwrap();
        if words.next() == Some("takes") {
            holding.insert(pid)
        } else {
            holding.remove(&pid)
        };
    }
    holding
}

async fn kill_takers_of(place: Place) {
    let dir = place.dir();
    let start = || Player::start("take permits", dir);
    let mut players: Vec<_> = (0..PROCESSES).map(|_| start()).collect();
    let mut random = Random::new(now());
    let log = || whole_lines(&fs::read_to_string(dir.join("log")).unwrap_or_default());
    let mut killed = BTreeMap::new();
    // Where a store does not notice a death, each waiter that died costs a claim window.
    let notices = place.open().await.store().capabilities().notices_death;
    let between_kills = Duration::from_millis(if notices { 150 } else { 500 });
    let until = now() + u64::try_from(length().as_nanos()).unwrap();
    let died_holding = |killed: &BTreeMap<u32, u64>| {
        holding(&log()).into_iter().filter(|pid| killed.contains_key(pid)).count()
    };
    // However slow the machine: some are killed while they hold.
    while now() < until || died_holding(&killed) < 3 {
        tokio::time::sleep(between_kills).await;
        let one = usize::try_from(random.below(PROCESSES as u64)).unwrap();
        let holding = holding(&log());
        let holder = players.iter().position(|player| holding.contains(&player.pid()));
        let victim = &mut players[holder.filter(|_| random.happens(700)).unwrap_or(one)];
        let (pid, at) = (victim.pid(), now());
        victim.signal(Signal::SIGKILL);
        killed.insert(pid, at);
        *victim = start();
    }
    fs::write(dir.join("stop"), "").unwrap();
    players.into_iter().for_each(Player::finish);

    let changes = changes(&log(), &killed);
    let (mut out, mut most) = (0, 0);
    for (at, by) in &changes {
        out += by;
        most = most.max(out);
        assert!(out <= PERMITS.into(), "{out} permits were out at {at}");
    }
    let holds = changes.iter().filter(|(_, by)| *by > 0).count();
    println!("{holds} holds, {} killed, {} of them holding", killed.len(), died_holding(&killed));
    assert_eq!(most, i64::from(PERMITS), "the permits were never all out");
    let semaphore = place.open().await.semaphore("permits", PERMITS);
    let all = semaphore.acquire_many(PERMITS).wait(PATIENCE).await.expect("permits did not return");
    all.release().await.unwrap();
}

/// The log may be read while a line is written.
fn whole_lines(log: &str) -> String {
    log.rsplit_once('\n').map(|(lines, _)| lines.to_owned()).unwrap_or_default()
}

#[tokio::test]
async fn takers_killed_at_random_never_take_more_than_there_are_and_give_all_back() {
    kill_takers_of(Place::embedded()).await;
}

#[cfg(feature = "redis")]
#[tokio::test]
async fn takers_killed_at_random_give_their_permits_back_to_a_redis_server() {
    kill_takers_of(Place::redis()).await;
}
