//! The alerts of ops/prometheus, each in a real outage: what was scraped meanwhile is replayed to Prometheus' own
//! tester, which has to see that alert fire and no other one.
//!
//! An alert takes minutes or hours. The replay stretches time: a second of the drill counts as a minute or an hour, in
//! ages and times of day too.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panics")]

mod child;
mod recording;
mod target;

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use tenure_servers::{RedisServer, ZookeeperServer};

use crate::{
    recording::Recording,
    target::{Command, Target},
};

/// What one second of the drill counts as.
const MINUTE: u32 = 60;
const TEN_MINUTES: u32 = 600;
const HOUR: u32 = 3_600;

const SECOND: Duration = Duration::from_secs(1);
const TENTH: Duration = Duration::from_millis(100);

#[test]
fn a_hold_that_is_taken_away() {
    let server = RedisServer::start();
    let mut recording = Recording::new(TENTH, TEN_MINUTES);
    let command = Command::new(&server.url());
    let mut program = [Target::program(&server.url(), "holds", SECOND * 30)];
    command.until_held("held");
    recording.watch(20, &mut program);
    command.run(&["break", "held", "--yes", "--reason", "a drill"]);
    recording.watch(30, &mut program);
    recording.fires(&["TenureLost"]);
}

#[test]
fn a_job_that_fails() {
    let server = RedisServer::start();
    let mut recording = Recording::new(TENTH, TEN_MINUTES);
    let command = Command::new(&server.url());
    let mut jobs = [Target::file(command.metrics())];
    command.job(&["true"]);
    recording.watch(20, &mut jobs);
    command.job(&["false"]);
    recording.watch(20, &mut jobs);
    recording.fires(&["TenureJobFailed"]);
}

/// Its slot began too long ago for the first host, and another one finishes it.
#[test]
fn a_slot_that_no_host_runs() {
    let server = RedisServer::start();
    let slot = ["--once-per", "366d"];
    for (late, fires) in [(true, &["TenureSlotNotFinished"][..]), (false, &[])] {
        let mut recording = Recording::new(TENTH, TEN_MINUTES);
        let command = Command::new(&server.url());
        let mut jobs = [Target::file(command.metrics())];
        command.slot_job(&[&slot[..], &["--retry-within", "1s"]].concat());
        if !late {
            command.slot_job(&slot);
        }
        recording.watch(40, &mut jobs);
        recording.fires(fires);
    }
}

#[test]
#[ignore = "takes its time: scripts/drill alerts"]
fn nothing_fires_while_all_is_well() {
    nothing_fires(&RedisServer::start().url(), 10_000.0);
}

/// Where a hold counts on less than its ttl.
#[test]
#[ignore = "takes its time: scripts/drill alerts"]
fn nothing_fires_while_all_is_well_on_zookeeper() {
    nothing_fires(&ZookeeperServer::start().url(), 500.0);
}

/// For a while in which so many locks are taken.
fn nothing_fires(url: &str, locks: f64) {
    let mut recording = Recording::new(SECOND, MINUTE);
    let command = Command::new(url);
    let mut targets = [
        Target::program(url, "works", SECOND * 30),
        Target::program(url, "works", SECOND * 30).on("web2"),
        Target::file(command.metrics()),
        Target::exporter(&command),
    ];
    recording.watch(1, &mut targets);
    let before = recording.series_of_programs();
    for _ in 0..5 {
        command.job(&["sleep", "1"]);
        recording.watch(10, &mut targets);
    }
    assert!(recording.sum("tenure_acquired_total") > locks);
    assert_eq!(recording.series_of_programs(), before, "each name makes series");
    recording.fires(&[]);
}

#[test]
#[ignore = "takes its time: scripts/drill alerts"]
fn a_server_that_hangs_for_most_of_a_ttl() {
    let server = RedisServer::start();
    let mut recording = Recording::new(TENTH * 5, MINUTE);
    let mut program = [Target::program(&server.url(), "holds", SECOND * 6)];
    recording.watch(10, &mut program);
    let frozen = server.freeze();
    recording.watch_until("it is at risk", &mut program, |recording| {
        recording.sum("tenure_at_risk_total") > 0.0
    });
    drop(frozen);
    recording.watch(10, &mut program);
    recording.fires(&["TenureAtRisk"]);
}

#[test]
#[ignore = "takes its time: scripts/drill alerts"]
fn a_server_that_hangs_for_a_moment_again_and_again() {
    let server = RedisServer::start();
    let mut recording = Recording::new(TENTH * 3, MINUTE * 10 / 3);
    let mut program = [Target::program(&server.url(), "holds", SECOND * 6)];
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // A renewal is due two seconds after the last one, which ended with a moment. So it waits for a fifth of the
            // ttl: late, but not at risk.
            while !is_over.load(Ordering::Relaxed) {
                std::thread::sleep(TENTH * 18);
                let _frozen = server.freeze();
                std::thread::sleep(TENTH * 14);
            }
        });
        recording.watch(55, &mut program);
        is_over.store(true, Ordering::Relaxed);
    });
    recording.fires(&["TenureMarginLow"]);
}

#[test]
#[ignore = "takes its time: scripts/drill alerts"]
fn a_server_that_is_down() {
    let mut server = RedisServer::start();
    let mut recording = Recording::new(SECOND, MINUTE);
    let mut program = [Target::program(&server.url(), "tries", SECOND * 6)];
    recording.watch(5, &mut program);
    server.kill();
    recording.watch(8, &mut program);
    recording.fires(&["TenureStoreAway"]);
}

#[test]
#[ignore = "takes its time: scripts/drill alerts"]
fn a_program_that_gets_too_little_cpu_time() {
    let server = RedisServer::start();
    let mut recording = Recording::new(SECOND, MINUTE / 2);
    let mut program = [Target::program(&server.url(), "holds", SECOND * 20)];
    recording.watch(2, &mut program);
    // It runs for 2.1 of four seconds. A renewal is due 6.7 s after the last one, which came when it could run again: so it
    // is 1.3 s late.
    recording.watch_and(60, &mut program, |program| {
        program[0].signal("-STOP");
        std::thread::sleep(TENTH * 19);
        program[0].signal("-CONT");
        std::thread::sleep(TENTH * 16);
    });
    recording.fires(&["TenureEngineLate"]);
}

#[test]
#[ignore = "takes its time: scripts/drill alerts"]
fn a_wait_that_lasts() {
    let server = RedisServer::start();
    let mut recording = Recording::new(SECOND, MINUTE);
    let _holder = Command::new(&server.url()).hold("held");
    let mut program = [Target::program(&server.url(), "waits", SECOND * 6)];
    recording.watch(12, &mut program);
    recording.fires(&["TenureWaitingLong"]);
}

#[test]
#[ignore = "takes its time: scripts/drill alerts"]
fn a_hold_that_lasts() {
    let server = RedisServer::start();
    let mut recording = Recording::new(TENTH, TEN_MINUTES);
    let mut program = [Target::program(&server.url(), "holds", SECOND * 30)];
    recording.watch(100, &mut program);
    recording.fires(&["TenureStuckHold"]);
}

#[test]
#[ignore = "takes its time: scripts/drill alerts"]
fn candidates_without_a_leader_that_is_seen() {
    let server = RedisServer::start();
    let mut recording = Recording::new(SECOND, MINUTE);
    let leader = Command::new(&server.url());
    let _leader = leader.start(&["elect", "chief", "--", "sleep", "1000"]);
    leader.until_held("chief");
    let mut program = [Target::program(&server.url(), "campaigns", SECOND * 6)];
    recording.watch(10, &mut program);
    recording.fires(&["TenureLeaderless"]);
}

#[test]
#[ignore = "takes its time: scripts/drill alerts"]
fn a_job_that_is_not_started_again() {
    let server = RedisServer::start();
    let mut recording = Recording::new(TENTH, HOUR);
    let command = Command::new(&server.url());
    command.job(&["true"]);
    recording.watch(290, &mut [Target::file(command.metrics())]);
    recording.fires(&["TenureJobDidNotRun"]);
}

#[test]
#[ignore = "takes its time: scripts/drill alerts"]
fn a_job_that_loses_its_lock() {
    let server = RedisServer::start();
    let mut recording = Recording::new(TENTH, TEN_MINUTES);
    let command = Command::new(&server.url());
    let mut jobs = [Target::file(command.metrics())];
    let mut runs = command.start_job(&["sleep", "1000"]);
    command.until_held("nightly");
    recording.watch(5, &mut jobs);
    command.run(&["break", "nightly", "--yes", "--reason", "a drill"]);
    runs.wait();
    recording.watch(10, &mut jobs);
    recording.fires(&["TenureJobLost"]);
}

#[test]
#[ignore = "takes its time: scripts/drill alerts"]
fn a_job_that_runs_on() {
    let server = RedisServer::start();
    let mut recording = Recording::new(TENTH, HOUR);
    let command = Command::new(&server.url());
    let _runs = command.start_job(&["sleep", "1000"]);
    command.until_held("nightly");
    recording.watch(30, &mut [Target::file(command.metrics())]);
    recording.fires(&["TenureJobRunsLong"]);
}

#[test]
#[ignore = "takes its time: scripts/drill alerts"]
fn an_exporter_whose_store_is_away() {
    let mut server = RedisServer::start();
    let mut recording = Recording::new(SECOND, MINUTE);
    let command = Command::new(&server.url());
    let mut exporter = [Target::exporter(&command)];
    recording.watch(3, &mut exporter);
    server.kill();
    recording.watch(15, &mut exporter);
    recording.fires(&["TenureExportDown"]);
}

#[test]
#[ignore = "takes its time: scripts/drill alerts"]
fn a_lock_that_is_held_while_others_wait() {
    let server = RedisServer::start();
    let mut recording = Recording::new(TENTH * 5, TEN_MINUTES);
    let command = Command::new(&server.url());
    let _holder = command.hold("held");
    let _waiter = command.start(&["run", "held", "--", "true"]);
    recording.watch(24, &mut [Target::exporter(&command)]);
    recording.fires(&["TenureLockStuck"]);
}
