//! A primary of a cluster that is cut off alone with its clients.

#![allow(clippy::print_stdout, reason = "a test tells what it did")]

use std::{
    fs,
    process::Stdio,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use tenure::redis::name_in_slot_of;
use tenure_servers::{RedisCluster, RedisServer};

use crate::{
    process::{Running, code},
    scene::{Over, Scene, eventually, text},
};

/// The lock that all want; the others share its slot.
const STOCK: &str = "stock";
/// How many are on each side.
const PROCESSES: usize = 4;

/// Longer than clients may not know of a replica.
const UNKNOWN: Duration = Duration::from_secs(2);

/// Says when it began and ended, and writes its token, unless that is too old.
const WORK: &str = "began=$(date +%s%N); sleep 0.03; ended=$(date +%s%N); exec 9> door; flock 9; \
                    echo $TENURE_TOKEN $began $ended >> rounds; last=$(tail -n 1 tokens); \
                    if [ ${last:-0} -ge $TENURE_TOKEN ]; then echo $TENURE_TOKEN >> refused; exit 0; fi; \
                    echo $TENURE_TOKEN >> tokens";

/// One that held the lock from then until then.
#[derive(Clone, Copy)]
struct Round {
    token: u64,
    began: u64,
    ended: u64,
}

/// What a partition led to.
struct Told {
    /// How often two held the lock at once.
    at_once: usize,
    /// How often one began after another had ended, with a smaller token.
    falls: usize,
    /// How many writes the resource refused.
    refused: usize,
    /// Whether the holder on the side of the server that was cut off had stopped before the next one began.
    stopped_before: bool,
}

struct Drill {
    cluster: RedisCluster,
    scene: Scene,
}

impl Drill {
    fn new(replicas: &str) -> Self {
        let cluster = RedisCluster::to_be_parted();
        let scene = Scene::with_store(&format!("{}{replicas}", cluster.url()));
        for file in ["tokens", "rounds", "refused"] {
            fs::write(scene.path(file), "").unwrap();
        }
        Self { cluster, scene }
    }

    fn start(&self, options: &str, script: &str, cut_off: bool) -> Running {
        let mut command = self.scene.run_command(options, script);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        self.cluster.join(&mut command, cut_off);
        Running::start(&mut command)
    }

    /// The server that has the locks, and their slot.
    fn owner(&self) -> (usize, u16) {
        let end = format!("lock:{STOCK}");
        let mut key = None;
        eventually("it is held", || {
            let mut keys = self.cluster.running().flat_map(RedisServer::keys);
            key = keys.find(|key| key.ends_with(&end));
            key.is_some()
        });
        let slot = self.cluster.slot(&key.unwrap());
        (self.cluster.owner(slot).unwrap(), slot)
    }

    /// Waits until the slot has had the same owner, and that a replica, for longer than clients may not know of it:
    /// a busy machine may have replaced a node before, and what is granted between that and its return is on one
    /// node alone.
    fn steady(&self, mut owner: usize, slot: u16) -> usize {
        let mut since = Instant::now();
        eventually("no node was replaced for a while", || {
            let began = Instant::now();
            self.cluster.settle();
            let now = self.cluster.owner(slot).unwrap_or(owner);
            if now != owner || began.elapsed() > UNKNOWN / 4 {
                println!("a node was replaced before the drill");
                (owner, since) = (now, Instant::now());
            }
            since.elapsed() > UNKNOWN
        });
        owner
    }

    fn lines(&self, file: &str) -> Vec<String> {
        let told = fs::read_to_string(self.scene.path(file)).unwrap();
        // The last line may be half written.
        told.split_inclusive('\n')
            .filter_map(|line| Some(line.strip_suffix('\n')?.to_owned()))
            .collect()
    }

    fn rounds(&self) -> Vec<Round> {
        let round = |line: String| {
            let mut numbers = line.split(' ').map(|number| number.parse().unwrap());
            let mut next = || numbers.next().unwrap();
            Round { token: next(), began: next(), ended: next() }
        };
        let mut rounds: Vec<_> = self.lines("rounds").into_iter().map(round).collect();
        rounds.sort_by_key(|round| round.began);
        rounds
    }

    /// Works until it is over, and says how often.
    fn work(&self, cut_off: bool, over: &AtomicBool) -> usize {
        let mut rounds = 0;
        while !over.load(Ordering::Relaxed) {
            // Who is cut off asks again when all is one.
            let wait = if cut_off { "1s" } else { "60s" };
            let options = format!("{STOCK} --ttl 2s --wait {wait}");
            let output = self.start(&options, WORK, cut_off).wait();
            // A store that is away for a ttl is not waited for any longer.
            let expected: &[i32] = if cut_off { &[0, 123, 124, 125] } else { &[0, 123, 125] };
            assert!(expected.contains(&code(&output)), "{}", text(&output.stderr));
            rounds += usize::from(code(&output) == 0);
        }
        rounds
    }

    fn run(&self) -> Told {
        let kept = name_in_slot_of(STOCK, "kept").unwrap();
        let over = AtomicBool::new(false);
        let stopped_before = std::thread::scope(|threads| {
            let ends = Over(&over);
            let workers: Vec<_> = [false, true]
                .into_iter()
                .flat_map(|cut_off| [cut_off; PROCESSES])
                .map(|cut_off| {
                    threads.spawn({
                        let over = &over;
                        move || self.work(cut_off, over)
                    })
                })
                .collect();
            let (before, slot) = self.owner();
            let alive = "echo $TENURE_TOKEN > first; \
                         while date +%s%N > alive.new; do mv alive.new alive; sleep 0.01; done";
            let holder = self.start(&format!("{kept} --ttl 5s"), alive, true);
            self.scene.line("alive");
            let next = format!("{kept} --ttl 5s --wait 60s");
            let next = self.start(&next, "date +%s%N > next; echo $TENURE_TOKEN > second", false);
            self.scene.until_waiting(kept.as_str(), 1);
            eventually("they work", || self.lines("tokens").len() >= 4 * PROCESSES);

            let before = self.steady(before, slot);
            self.cluster.cut_off(before);
            self.cluster.another_than(before, slot);
            let (since, led) = (self.lines("tokens").len(), Instant::now());
            eventually("they go on", || self.lines("tokens").len() > since);
            println!("the first grant of the new primary came within {:?}", led.elapsed());
            let holder = holder.wait();
            assert_eq!(code(&holder), 123, "{}", text(&holder.stderr));
            assert_eq!(code(&next.wait()), 0);
            self.cluster.heal();
            self.cluster.settle();
            let since = self.lines("tokens").len();
            eventually("all are one", || self.lines("tokens").len() >= since + 4 * PROCESSES);
            drop(ends);
            for worker in workers {
                assert!(worker.join().unwrap() > 0, "one was never granted");
            }
            let number = |file: &str| self.scene.line(file).parse::<u64>().unwrap();
            assert!(number("first") < number("second"), "a token that falls");
            let (alive, next) = (number("alive"), number("next"));
            let told = text(&holder.stderr);
            println!(
                "the holder was last seen at {alive} ns, the next one began at {next} ns: {told}"
            );
            alive < next
        });
        let rounds = self.rounds();
        let (mut at_once, mut falls) = (0, 0);
        for (number, one) in rounds.iter().enumerate() {
            for later in rounds.iter().skip(number + 1) {
                at_once += usize::from(later.began < one.ended);
                falls += usize::from(later.began >= one.ended && one.token > later.token);
            }
        }
        Told { at_once, falls, refused: self.lines("refused").len(), stopped_before }
    }
}

/// Every replica that could be promoted has what was acquired, and nothing is renewed that it lacks.
#[test]
fn a_primary_cut_off_with_its_clients_grants_and_renews_nothing_that_its_replicas_lack() {
    let told = Drill::new("?replicas=all&replica_timeout=500ms").run();
    assert_eq!((told.at_once, told.falls, told.refused), (0, 0, 0), "two held the lock at once");
    assert!(told.stopped_before, "the next one began before the holder had stopped");
}

/// What it acquired and renewed last is lost: two may hold it for the rest of a ttl, and the token of the one that was
/// cut off is the smaller one.
#[test]
fn who_holds_a_lock_at_a_primary_that_was_cut_off_has_a_smaller_token_than_the_next() {
    let told = Drill::new("").run();
    println!(
        "{} times two held the lock at once, {} began late, {} writes were refused; the holder that was cut off \
         stopped {} the next one began",
        told.at_once,
        told.falls,
        told.refused,
        if told.stopped_before { "before" } else { "after" },
    );
}
