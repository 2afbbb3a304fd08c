//! tenure, the guardian and its standby: whichever of them are stopped or killed, the others end the
//! command before the store lets somebody else in.

use std::{
    cell::Cell,
    fmt::Write,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tenure_servers::RedisServer;

use crate::{
    process::{Running, code, send},
    scene::{Scene, text},
};

const FAULTS: [Signal; 2] = [Signal::SIGSTOP, Signal::SIGKILL];
/// So many are watched at a time: most of their time they wait for a lease to end.
const AT_ONCE: usize = 7;
/// A lease whose margins leave a busy machine time to run who is to act.
const OPTIONS: &str = "name --ttl 6s";
/// After the first fault of a try the second comes this much later than in the try before.
const APART: Duration = Duration::from_micros(500);
/// The command, one more of its group, and a job in a group of its own.
const FAMILY: &str =
    "exec bash -c 'sleep 1000 & set -m; sleep 1000 & echo $$ $(jobs -p) > pids; wait'";

/// One of the three that keep a lock and its command together.
#[derive(Clone, Copy, Debug)]
enum Who {
    Tenure,
    Guardian,
    Standby,
}

impl Who {
    fn pid(self, holder: &Running) -> i32 {
        match self {
            Self::Tenure => holder.pid(),
            Self::Guardian => holder.guardian(),
            Self::Standby => holder.standby(),
        }
    }
}

/// Processes that a failed test is not to leave.
struct Leftovers(Vec<i32>);

impl Drop for Leftovers {
    fn drop(&mut self) {
        for pid in &self.0 {
            let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
        }
    }
}

/// Does this to a run, each fault `apart` from the one before, and says what the next holder of the
/// lock sees of its command.
fn seen_after(scene: &Scene, faults: &[(Who, Signal)], apart: Duration) -> String {
    seen_of(scene, &scene.start(OPTIONS, FAMILY), faults, apart)
}

fn seen_of(scene: &Scene, holder: &Running, faults: &[(Who, Signal)], apart: Duration) -> String {
    let family = scene.pids("pids");
    assert_eq!(family.len(), 3);
    let victims: Vec<_> = faults.iter().map(|(who, fault)| (who.pid(holder), *fault)).collect();
    let mut leftovers = Leftovers(family.clone());
    leftovers.0.extend(victims.iter().map(|(pid, _)| *pid));
    let mut look = String::new();
    for pid in &family {
        // One that only waits to be collected does nothing any more.
        write!(
            look,
            "grep -qs '^State:[[:space:]]*[^ZX[:space:]]' /proc/{pid}/status && echo {pid} lives; "
        )
        .unwrap();
    }
    let next = scene.start("name", &format!("{look}echo looked"));
    scene.until_waiting("name", 1);
    for (number, (pid, fault)) in victims.into_iter().enumerate() {
        if number > 0 {
            // This is no wait for anything: it picks the moment of the fault.
            thread::sleep(apart);
        }
        // The second may be gone by then, with the first.
        let _ = kill(Pid::from_raw(pid), fault);
    }
    let output = next.wait();
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

fn nothing_outlives_the_lease_on(scene: impl Fn() -> Scene) {
    use Who::{Guardian, Standby, Tenure};
    let mut rounds = vec![vec![(Guardian, Signal::SIGKILL)], vec![(Tenure, Signal::SIGSTOP)]];
    for (one, other) in [(Tenure, Guardian), (Tenure, Standby), (Guardian, Standby)] {
        for fault in FAULTS {
            rounds.extend(FAULTS.map(|second| vec![(one, fault), (other, second)]));
        }
    }
    let mut seen = Vec::new();
    for some in rounds.chunks(AT_ONCE) {
        thread::scope(|threads| {
            let start = |faults: &'_ Vec<_>| {
                let (scene, faults) = (scene(), faults.clone());
                threads.spawn(move || seen_after(&scene, &faults, Duration::ZERO))
            };
            let started: Vec<_> = some.iter().map(start).collect();
            seen.extend(started.into_iter().map(|round| round.join().unwrap()));
        });
    }
    let wrong: Vec<_> = rounds.iter().zip(&seen).filter(|(_, seen)| *seen != "looked\n").collect();
    assert!(wrong.is_empty(), "outlived: {wrong:#?}");
}

#[test]
fn nothing_of_a_command_outlives_its_lease_whichever_two_fail() {
    nothing_outlives_the_lease_on(Scene::new);
}

#[test]
fn nothing_of_a_command_outlives_its_lease_on_redis_whichever_two_fail() {
    let server = RedisServer::start();
    let next = Cell::new(0);
    nothing_outlives_the_lease_on(|| {
        next.set(next.get() + 1);
        Scene::with_store(&format!("{}?prefix=round{}", server.url(), next.get()))
    });
}

#[test]
fn nothing_of_a_command_outlives_its_lease_if_the_one_that_takes_over_is_stopped_at_work() {
    let first_and_second =
        [[Who::Guardian, Who::Tenure], [Who::Guardian, Who::Standby], [Who::Tenure, Who::Guardian]];
    let tries: Vec<_> =
        (0..AT_ONCE as u32).flat_map(|n| first_and_second.map(|who| (who, APART * n))).collect();
    let mut wrong = Vec::new();
    for some in tries.chunks(AT_ONCE) {
        thread::scope(|threads| {
            let start = |&([first, second], apart): &([Who; 2], Duration)| {
                let faults = [(first, Signal::SIGKILL), (second, Signal::SIGSTOP)];
                let round = threads.spawn(move || seen_after(&Scene::new(), &faults, apart));
                (first, second, apart, round)
            };
            let started: Vec<_> = some.iter().map(start).collect();
            for (first, second, apart, round) in started {
                let seen = round.join().unwrap();
                if seen != "looked\n" {
                    wrong.push((first, second, apart, seen));
                }
            }
        });
    }
    assert!(wrong.is_empty(), "outlived: {wrong:#?}");
}

/// A run whose caller ignores or blocks the end of its children, which is inherited.
fn started_by_one_that(does: &str, scene: &Scene) -> Running {
    let plain = scene.run_command(OPTIONS, FAMILY);
    let mut command = Command::new(plain.get_program());
    let inherited = format!("--{does}-signal=CHLD");
    command.args(["--default-signal", &inherited]).args(plain.get_args().skip(1));
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(scene.path("")).stdin(Stdio::null());
    Running::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()))
}

#[test]
fn nothing_of_a_command_outlives_its_lease_if_the_caller_ignores_the_end_of_its_children() {
    for fault in FAULTS {
        let scene = Scene::new();
        let holder = started_by_one_that("ignore", &scene);
        let faults = [(Who::Guardian, Signal::SIGKILL), (Who::Tenure, fault)];
        assert_eq!(seen_of(&scene, &holder, &faults, Duration::ZERO), "looked\n", "{fault:#}");
    }
}

#[test]
fn the_end_of_a_child_is_heard_if_the_caller_blocks_that() {
    let scene = Scene::new();
    let holder = started_by_one_that("block", &scene);
    scene.pids("pids");
    let status = std::fs::read_to_string(format!("/proc/{}/status", holder.pid())).unwrap();
    let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap();
    let blocked = u64::from_str_radix(blocked.trim(), 16).unwrap();
    assert_eq!(blocked & (1 << (Signal::SIGCHLD as i32 - 1)), 0, "{blocked:x}");
}

#[test]
fn a_stopped_standby_holds_up_no_command_that_ends() {
    let scene = Scene::new();
    let holder = scene.start("name", "echo > held; until [ -e go ]; do sleep 0.01; done; exit 3");
    scene.line("held");
    let standby = holder.standby();
    let _leftovers = Leftovers(vec![standby]);
    send(standby, Signal::SIGSTOP);
    std::fs::write(scene.path("go"), "").unwrap();
    assert_eq!(code(&holder.wait()), 3);
    assert_eq!(code(&scene.run("name --no-wait", "true")), 0, "the lock was released");
}
