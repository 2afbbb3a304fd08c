use nix::sys::signal::Signal;

use crate::{
    process::{code, lives},
    scene::{Scene, eventually, text},
};

#[test]
fn signals_reach_every_process_of_the_group() {
    let scene = Scene::new();
    for (signal, number) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        // A shell's background job would ignore SIGINT; a pipeline does not.
        let script = "sh -c 'echo $$ > one; exec sleep 1000' | sh -c 'echo $$ > two; exec cat'";
        let run = scene.start("name", script);
        let members = [scene.pids("one")[0], scene.pids("two")[0]];
        run.signal(signal);
        assert_eq!(code(&run.wait()), number, "{signal}");
        assert!(members.iter().all(|pid| !lives(*pid)), "{signal}");
        std::fs::remove_file(scene.path("one")).unwrap();
        std::fs::remove_file(scene.path("two")).unwrap();
    }
}

#[test]
fn a_command_may_handle_a_signal_and_end_as_it_likes() {
    let scene = Scene::new();
    let script = "trap 'echo cleaning; exit 5' TERM; trap 'echo > handled' USR1; echo > ready
        while :; do sleep 0.02; done";
    let run = scene.start("name", script);
    scene.line("ready");
    run.signal(Signal::SIGUSR1);
    // Two signals that are pending at once have no order.
    scene.line("handled");
    run.signal(Signal::SIGTERM);
    let output = run.wait();
    assert_eq!(code(&output), 5);
    assert_eq!(text(&output.stdout), "cleaning\n");
}

#[test]
fn an_interrupted_waiter_leaves_the_queue() {
    let scene = Scene::new();
    let _holder = scene.start("name", "echo > held; exec sleep 1000");
    scene.line("held");
    for (signal, number) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let waiter = scene.start("name", "echo never");
        scene.until_waiting("name", 1);
        waiter.signal(signal);
        let output = waiter.wait();
        assert_eq!((code(&output), text(&output.stdout)), (number, ""));
        assert_eq!(scene.show("name")["waiters"], serde_json::json!([]), "{signal}");
    }
}

#[test]
fn a_killed_waiter_holds_up_nobody() {
    let scene = Scene::new();
    let holder = scene.start("name", "echo > held; until [ -e go ]; do sleep 0.01; done");
    scene.line("held");
    let first = scene.start("name", "echo never");
    scene.until_waiting("name", 1);
    let second = scene.start("name", "echo got in");
    scene.until_waiting("name", 2);
    drop(first);
    std::fs::write(scene.path("go"), "").unwrap();
    assert_eq!(code(&holder.wait()), 0);
    assert_eq!(text(&second.wait().stdout), "got in\n");
}

#[test]
fn what_a_command_leaves_running_ends_before_the_lock_passes() {
    let scene = Scene::new();
    let script = "sh -c 'trap \"\" TERM; echo $$ > stubborn; while :; do sleep 0.01; done' &
        until [ -s stubborn ]; do sleep 0.01; done; exit 6";
    let run = scene.start("name --grace 200ms", script);
    let stubborn = scene.pids("stubborn")[0];
    eventually("another one holds the lock", || code(&scene.run("name --no-wait", "true")) == 0);
    assert!(!lives(stubborn));
    assert_eq!(code(&run.wait()), 6);
}
