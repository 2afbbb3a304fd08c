//! Candidates of whom one runs its command.

use nix::sys::signal::Signal;

use crate::{
    process::{Running, code, lives, send},
    scene::{Scene, eventually, text},
};

/// Says in the file `$1` who leads with which term, and whether another leader's command lives.
fn leads(who: &str) -> String {
    format!(
        "[ -e pid ] && kill -0 $(cat pid) 2>/dev/null && echo overlap >> overlap; \
         echo $$ > pid; echo {who} $TENURE_TOKEN >> terms; exec sleep 1000"
    )
}

fn elect(scene: &Scene, options: &str, who: &str) -> Running {
    scene.start_as("elect", options, &leads(who))
}

/// The terms so far, with who led: they rise, and no two commands ever ran together.
fn terms(scene: &Scene) -> Vec<(String, u64)> {
    let text = std::fs::read_to_string(scene.path("terms")).unwrap_or_default();
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let terms: Vec<_> = whole
        .map(|line| {
            let (who, term) = line.trim_end().split_once(' ').unwrap();
            (who.to_owned(), term.parse().unwrap())
        })
        .collect();
    assert!(terms.is_sorted_by(|one, next| one.1 < next.1), "{terms:?}");
    assert!(!scene.path("overlap").exists(), "two commands ran together: {terms:?}");
    terms
}

/// Waits until these have led, in this order. Whoever leads for a bounded time may lead again.
fn until_led(scene: &Scene, expected: &[&str]) {
    eventually(&format!("{expected:?} have led"), || {
        let terms = terms(scene);
        let led = |(index, who): (usize, &&str)| terms.get(index).is_some_and(|led| led.0 == *who);
        expected.iter().enumerate().all(led)
    });
}

#[test]
fn a_killed_leader_is_succeeded_with_a_greater_term() {
    let scene = Scene::new();
    let first = elect(&scene, "chief", "first");
    until_led(&scene, &["first"]);
    let second = elect(&scene, "chief", "second");
    scene.until_waiting("chief", 1);
    first.signal(Signal::SIGKILL);
    until_led(&scene, &["first", "second"]);
    drop(second);
}

#[test]
fn a_stopped_leader_loses_its_command_in_time_and_leads_again_later() {
    let scene = Scene::new();
    let first = elect(&scene, "chief --ttl 4s", "first");
    until_led(&scene, &["first"]);
    let old = scene.pids("pid")[0];
    let second = elect(&scene, "chief --ttl 4s", "second");
    scene.until_waiting("chief", 1);
    first.signal(Signal::SIGSTOP);
    until_led(&scene, &["first", "second"]);
    assert!(!lives(old));
    first.signal(Signal::SIGCONT);
    scene.until_waiting("chief", 1);
    second.signal(Signal::SIGKILL);
    until_led(&scene, &["first", "second", "first"]);
}

#[test]
fn a_deposed_leader_ends_its_command_before_it_runs_it_again() {
    let scene = Scene::new();
    let only = elect(&scene, "chief --ttl 9s", "only");
    until_led(&scene, &["only"]);
    assert_eq!(code(&scene.output(["break", "chief", "--yes"])), 0);
    until_led(&scene, &["only", "only"]);
    drop(only);
}

#[test]
fn leaders_that_may_lead_for_a_while_take_turns() {
    let scene = Scene::new();
    let first = elect(&scene, "chief --max-hold 500ms", "first");
    until_led(&scene, &["first"]);
    let second = elect(&scene, "chief --max-hold 500ms", "second");
    eventually("both have led twice", || {
        let terms = terms(&scene);
        ["first", "second"].iter().all(|who| terms.iter().filter(|led| led.0 == *who).count() > 1)
    });
    drop((first, second));
}

#[test]
fn a_command_that_ends_by_itself_ends_the_lead_with_its_code() {
    let scene = Scene::new();
    let done = scene.start_as("elect", "chief", "echo leading; exit 7");
    let output = done.wait();
    assert_eq!((code(&output), text(&output.stdout)), (7, "leading\n"));
    let next = scene.start_as("elect", "chief --no-wait", "exit 0");
    assert_eq!(code(&next.wait()), 0, "it resigned");
}

#[test]
fn a_candidate_that_does_not_wait_says_who_leads() {
    let scene = Scene::new();
    let leader = elect(&scene, "chief --label 10.0.0.7:9000", "first");
    until_led(&scene, &["first"]);
    let output = scene.start_as("elect", "chief --no-wait -v", "true").wait();
    assert_eq!(code(&output), 124);
    assert!(text(&output.stderr).contains("10.0.0.7:9000"), "{}", text(&output.stderr));
    let output = scene.start_as("elect", "chief --wait 50ms", "true").wait();
    assert_eq!(code(&output), 124);
    assert_eq!(scene.show("chief")["holders"][0]["label"], "10.0.0.7:9000");
    drop(leader);
}

#[test]
fn a_signal_withdraws_a_candidate_and_ends_a_leader() {
    let scene = Scene::new();
    let leader = elect(&scene, "chief", "leader");
    until_led(&scene, &["leader"]);
    let candidate = elect(&scene, "chief", "candidate");
    scene.until_waiting("chief", 1);
    candidate.signal(Signal::SIGTERM);
    assert_eq!(code(&candidate.wait()), 143);
    scene.until_waiting("chief", 0);
    leader.signal(Signal::SIGTERM);
    assert_eq!(code(&leader.wait()), 143);
    assert_eq!(terms(&scene).len(), 1);
}

#[test]
fn signals_for_the_command_do_not_withdraw_a_candidate() {
    let scene = Scene::new();
    // It has led once, and so it listens for them.
    let first = elect(&scene, "chief --max-hold 600ms", "first");
    until_led(&scene, &["first"]);
    let second = elect(&scene, "chief", "second");
    scene.until_waiting("chief", 1);
    until_led(&scene, &["first", "second"]);
    scene.until_waiting("chief", 1);
    for signal in [Signal::SIGUSR1, Signal::SIGWINCH, Signal::SIGCONT] {
        first.signal(signal);
    }
    second.signal(Signal::SIGKILL);
    until_led(&scene, &["first", "second", "first"]);
}

#[test]
fn a_store_that_is_not_there_is_an_error_at_once() {
    let scene = Scene::new();
    let output =
        scene.start_as("elect", "chief --ttl 200ms --store redis://127.0.0.1:1", "true").wait();
    assert_eq!(code(&output), 125, "{}", text(&output.stderr));
}

#[test]
fn a_killed_guardian_ends_the_candidate_too() {
    let scene = Scene::new();
    let leader = elect(&scene, "chief", "leader");
    until_led(&scene, &["leader"]);
    send(leader.guardian(), Signal::SIGKILL);
    assert_eq!(code(&leader.wait()), 125);
}
