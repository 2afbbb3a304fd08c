//! `tenure run --once-per 1s` on ten hosts, judged by what the job did: its lines in a journal, with faults and without,
//! and with wrong clocks. `TENURE_SLOTS=2000` has so many slots, and `TENURE_SLOTS_SEED` repeats what was drawn.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests fail by panics, and print their figures"
)]

mod alternatives;
mod call;
mod clocks;
mod drill;
mod faults;
mod journal;
mod judge;
mod shedlock;

use std::thread::scope;

use tenure_servers::{PostgresServer, RedisServer};

use crate::{
    clocks::{SHIFT, require_faketime},
    drill::Drill,
    faults::Faults,
    judge::{Figures, judge},
};

fn slots(unless_told: u64) -> u64 {
    std::env::var("TENURE_SLOTS").map_or(unless_told, |slots| slots.parse().unwrap())
}

#[test]
fn a_slot_is_run_once_on_redis() {
    once_per_slot("redis", Some(&RedisServer::start().url()));
}

#[test]
fn a_slot_is_run_once_on_postgres() {
    once_per_slot("postgres", Some(&postgres().url()));
}

#[test]
fn a_slot_is_run_once_in_a_directory() {
    once_per_slot("embedded", None);
}

#[test]
fn wrong_clocks_of_hosts_change_no_slot_on_redis() {
    wrong_clocks("redis", &RedisServer::start().url());
}

#[test]
fn wrong_clocks_of_hosts_change_no_slot_on_postgres() {
    wrong_clocks("postgres", &postgres().url());
}

#[test]
#[ignore = "takes its time: scripts/drill slots"]
fn what_other_options_do_to_the_same_job() {
    println!("{}", alternatives::on_redis(&RedisServer::start().url(), slots(5)));
}

#[test]
#[ignore = "takes its time, and needs Java: scripts/drill slots"]
fn what_shedlock_does_to_the_same_job() {
    println!("{}", alternatives::on_postgres(&postgres(), slots(5)));
}

/// With room for the calls of several seconds: so many are there at once where a machine is slow.
fn postgres() -> PostgresServer {
    PostgresServer::with(&["max_connections=300"])
}

/// Without faults and, beside it under another name, with them.
fn once_per_slot(store: &str, url: Option<&str>) {
    let quiet = Drill::new(url, "quiet", slots(5));
    let faulty = Drill { faults: Faults::Some, ..Drill::new(url, "faulty", slots(5)) };
    scope(|scope| {
        let beside = scope.spawn(|| judged(&faulty, &format!("{store}, faults")));
        let figures = judged(&quiet, &format!("{store}, no faults"));
        assert_eq!((figures.repeated, figures.in_vain), (0, 0), "nothing crashed");
        beside.join().unwrap();
    });
}

/// The clocks of half of the hosts are fast, the others' are slow. [`judge`] compares each call with the true time.
fn wrong_clocks(store: &str, url: &str) {
    require_faketime();
    let drill = Drill { shift: Some(SHIFT), ..Drill::new(Some(url), "shifted", slots(3)) };
    judged(&drill, &format!("{store}, clocks 30 s off"));
}

fn judged(drill: &Drill, title: &str) -> Figures {
    let figures = judge(&drill.run());
    println!("{title}: {figures}");
    assert_eq!(figures.wrong, [""; 0], "{title}, seed {}", drill.seed);
    figures
}
