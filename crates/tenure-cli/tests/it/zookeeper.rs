//! What is said of a lock that belongs to a session.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use tenure_servers::ZookeeperServer;

use crate::{
    process::code,
    scene::{Scene, eventually, text},
};

/// The lengths of the sessions that a server has, in milliseconds.
fn sessions(server: &ZookeeperServer) -> Vec<String> {
    let told = server.four_letters("cons");
    let of = |field: &str| field.strip_prefix("to=").map(str::to_owned);
    told.split([',', '(', ')']).filter_map(of).collect()
}

#[test]
fn a_command_holds_by_a_session_as_long_as_its_ttl() {
    let server = ZookeeperServer::start();
    let asked = [
        ("--ttl 4s", "", "4000"),
        ("--ttl 2s", "", "2000"),
        // No more than without a ttl.
        ("--ttl 30s", "", "10000"),
        ("", "", "10000"),
        ("--ttl 4s", "&session=6s", "6000"),
        // 4 s have to be left for a grace of 2 s.
        ("--ttl 4s --grace 2s", "", "5313"),
    ];
    for (number, (options, setting, length)) in asked.into_iter().enumerate() {
        let scene = Scene::with_store(&format!("{}/locks?tick=500ms{setting}", server.url()));
        let running = scene.start(&format!("{number} {options}"), "echo > held; exec sleep 1000");
        scene.line("held");
        assert_eq!(sessions(&server), [length], "{options} {setting}");
        running.signal(Signal::SIGKILL);
        running.wait();
        eventually("its connection is gone", || sessions(&server).is_empty());
    }
    // With its session goes what was killed.
    eventually("the names are free", || !server.four_letters("dump").contains("/locks/"));
}

/// Its lease counts from the last write of its session, and that may be half of it ago.
#[test]
fn a_command_with_a_long_grace_is_not_ended_because_its_lock_was_waited_for() {
    let server = ZookeeperServer::start();
    let scene = Scene::with_store(&format!("{}/locks?session=4s&tick=500ms", server.url()));
    let holds = scene.start("lock", "echo > held; exec sleep 1000");
    scene.line("held");
    let began = Instant::now();
    // Half of what can be counted on are 1,475 ms.
    let waits = scene.start("lock --grace 1450ms", "exec sleep 2");
    eventually("it has waited for long", || began.elapsed() > Duration::from_millis(1_200));
    holds.signal(Signal::SIGTERM);
    holds.wait();
    let output = waits.wait();
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
}

/// The session would be waited for ten minutes.
#[test]
fn ports_that_refuse_are_told_of_at_once_or_within_the_wait() {
    let scene = Scene::with_store("zookeeper://127.0.0.1:1,127.0.0.1:2/locks?session=10m");
    for options in ["lock --no-wait", "lock --wait 1s", "lock --ttl 1s"] {
        let output = scene.start(options, "exit 7").wait();
        let said = text(&output.stderr);
        assert_eq!(code(&output), 125, "{said}");
        assert!(
            said.contains("127.0.0.1:2: it accepts no connection: Connection refused"),
            "{said}"
        );
    }
}

#[test]
fn a_release_after_a_loss_is_said_to_come_with_the_end_of_the_session() {
    let server = ZookeeperServer::start();
    let scene = Scene::with_store(&format!("{}/locks?session=9s&tick=500ms", server.url()));
    let running = scene.start("lock", "echo > held; exec sleep 1000");
    scene.line("held");
    let frozen = server.freeze();
    let output = running.wait();
    drop(frozen);
    assert_eq!(code(&output), 123);
    let said = text(&output.stderr);
    let (lost, released) = said.split_once("lock may stay taken for a while: ").unwrap();
    assert!(lost.contains("lost: lock could not be renewed in time"), "{said}");
    assert!(released.contains("free when the session of this process ends"), "{said}");
    // It was lost, so no later answer releases it.
    assert!(!said.contains("lease ends") && !said.contains("when the store answers"), "{said}");
}

/// With room for passes, 1,024 neighbours would be one token.
#[test]
fn a_bare_token_is_given_shown_and_taken_as_it_is_and_another_form_is_refused() {
    let server = ZookeeperServer::start();
    let scene = |tokens| Scene::with_store(&format!("{}/locks?tick=500ms{tokens}", server.url()));
    let (bare, shifted) = (scene("&tokens=czxid"), scene(""));
    let running = bare.start("lock", "echo $TENURE_TOKEN > token; exec sleep 1000");
    let token: u64 = bare.line("token").parse().unwrap();
    assert!(token < 1024, "the transactions of a new server are few: {token}");
    let shown = &bare.show("lock")["holders"][0]["token"];
    assert_eq!(shown.to_string().trim_matches('"'), token.to_string());

    let output = shifted.run("--no-wait other", "exit 7");
    let said = text(&output.stderr);
    assert_eq!(code(&output), 125, "{said}");
    for says in ["tokens=czxid, as the data of /locks record", "tokens=shifted", "help:"] {
        assert!(said.contains(says), "{said}");
    }
    let other = (token + 1).to_string();
    assert_ne!(code(&bare.output(["break", "lock", "--yes", "--token", &other])), 0);
    assert_eq!(code(&bare.output(["break", "lock", "--yes", "--token", &token.to_string()])), 0);
    assert_eq!(code(&running.wait()), 123);
}
