use nix::{
    sys::signal::Signal,
    unistd::{Pid, getpgid},
};

use crate::{
    process::{Running, code, full_pipe, lives, send},
    scene::{Scene, eventually, text},
};

/// Two processes of one group, one of which is not the guardian's child.
const FAMILY: &str = "sleep 1000 & echo $$ $! > pids; wait";

#[test]
fn a_killed_tenure_takes_its_command_along_before_the_next_one_starts() {
    const ROUNDS: usize = 100;
    let scene = Scene::new();
    for round in 0..ROUNDS {
        let holder = scene.start("name", FAMILY);
        let pids = scene.pids("pids");
        let check = format!("kill -0 {} || kill -0 {} || echo both gone", pids[0], pids[1]);
        let next = scene.start("name", &check);
        // Half of the rounds the next one waits in the queue already.
        if round % 2 == 0 {
            scene.until_waiting("name", 1);
        }
        holder.signal(Signal::SIGKILL);
        let output = next.wait();
        assert_eq!(text(&output.stdout), "both gone\n", "round {round}");
        assert_eq!(code(&holder.wait()), 1009);
        std::fs::remove_file(scene.path("pids")).unwrap();
    }
    println!("{ROUNDS} of {ROUNDS}: the command was dead before the next one started");
}

#[test]
fn a_frozen_tenure_loses_its_command_in_time_and_says_so_later() {
    let scene = Scene::new();
    let holder = scene.start("name --ttl 600ms", FAMILY);
    let pids = scene.pids("pids");
    holder.signal(Signal::SIGSTOP);
    let check = format!("kill -0 {} || kill -0 {} || echo both gone", pids[0], pids[1]);
    assert_eq!(text(&scene.run("name", &check).stdout), "both gone\n");
    holder.signal(Signal::SIGCONT);
    let output = holder.wait();
    assert_eq!(code(&output), 123, "{}", text(&output.stderr));
}

/// The words about the loss are more than the pipe has room for.
#[test]
fn a_command_whose_lock_is_broken_is_killed_at_once_though_nobody_reads_what_tenure_says() {
    let scene = Scene::new();
    let (_unread, full) = full_pipe();
    let mut command = scene.run_command("name --ttl 10m", FAMILY);
    let holder = Running::start(command.stderr(full));
    let pids = scene.pids("pids");
    assert_eq!(code(&scene.output(["break", "name", "--yes"])), 0);
    eventually("both are gone", || !pids.iter().any(|pid| lives(*pid)));
    drop(holder);
}

#[test]
fn a_command_that_ended_in_time_keeps_its_exit_code_although_tenure_was_frozen() {
    let scene = Scene::new();
    let script = "echo $$ > pids; until [ -e go ]; do sleep 0.01; done; exit 4";
    let holder = scene.start("name --ttl 2s", script);
    let pids = scene.pids("pids");
    holder.signal(Signal::SIGSTOP);
    std::fs::write(scene.path("go"), "").unwrap();
    eventually("the command is gone", || !lives(pids[0]));
    // The next one gets in when the lease has ended.
    assert_eq!(code(&scene.run("name", "true")), 0);
    holder.signal(Signal::SIGCONT);
    assert_eq!(code(&holder.wait()), 4);
}

#[test]
fn a_killed_guardian_takes_the_command_along_and_gives_125() {
    let scene = Scene::new();
    let holder = scene.start("name", FAMILY);
    let pids = scene.pids("pids");
    send(holder.guardian(), Signal::SIGKILL);
    let output = holder.wait();
    assert_eq!(code(&output), 125);
    assert!(text(&output.stderr).contains("guardian"), "{}", text(&output.stderr));
    assert!(pids.iter().all(|pid| !lives(*pid)));
    assert_eq!(code(&scene.run("name --no-wait", "true")), 0, "the lock was released");
}

#[test]
fn a_frozen_guardian_is_replaced_when_the_lock_is_going_to_be_lost() {
    let scene = Scene::new();
    let holder = scene.start("name --max-hold 3s", FAMILY);
    let pids = scene.pids("pids");
    send(holder.guardian(), Signal::SIGSTOP);
    let check = format!("kill -0 {} || kill -0 {} || echo both gone", pids[0], pids[1]);
    assert_eq!(text(&scene.run("name", &check).stdout), "both gone\n");
    assert_eq!(code(&holder.wait()), 123);
}

#[test]
fn the_kernel_ends_the_command_if_tenure_and_guardian_die_together() {
    let scene = Scene::new();
    let holder = scene.start("name", "echo $$ > pids; exec sleep 1000");
    let pids = scene.pids("pids");
    // The guardian cannot act while it is stopped, nor when it is dead.
    let guardian = holder.guardian();
    send(guardian, Signal::SIGSTOP);
    holder.signal(Signal::SIGKILL);
    send(guardian, Signal::SIGKILL);
    eventually("the command is gone", || !lives(pids[0]));
    eventually("the lock is free", || code(&scene.run("name --no-wait", "true")) == 0);
}

#[test]
fn a_renewed_lock_is_held_for_many_ttls() {
    let scene = Scene::new();
    // Long enough for a machine that stands still for seconds.
    let output = scene.run("name --ttl 6s", "sleep 20; echo through");
    assert_eq!((code(&output), text(&output.stdout)), (0, "through\n"));
}

#[test]
fn a_command_told_to_end_has_its_grace() {
    let scene = Scene::new();
    let script = "trap 'sleep 0.1; echo clean; exit 0' TERM; while :; do sleep 0.02; done";
    let output = scene.run("name --max-hold 2s --grace 900ms", script);
    assert_eq!((code(&output), text(&output.stdout)), (123, "clean\n"));
}

#[test]
fn jobs_in_groups_of_their_own_go_too() {
    let scene = Scene::new();
    let script = "exec bash -c 'set -m; sleep 1000 & echo $$ $! > jobs; wait'";
    let holder = scene.start("name", script);
    let jobs = scene.pids("jobs");
    let group = |pid: i32| getpgid(Some(Pid::from_raw(pid))).unwrap();
    assert_ne!(group(jobs[0]), group(jobs[1]), "a shell with job control gives each job a group");
    let check = format!("kill -0 {} || kill -0 {} || echo both gone", jobs[0], jobs[1]);
    let next = scene.start("name", &check);
    scene.until_waiting("name", 1);
    holder.signal(Signal::SIGKILL);
    assert_eq!(text(&next.wait().stdout), "both gone\n");
}

#[test]
fn processes_whose_names_are_cut_within_a_character_go_too() {
    let scene = Scene::new();
    // The kernel keeps 15 bytes of a name, and each of these letters has two.
    tenure_testkit::child::copy_program("/bin/sleep", scene.path("üüüüüüüü"));
    for (end, expected) in [("wait", 1009), ("exit 3", 3)] {
        let script =
            "set -m; ./üüüüüüüü 1000 & set +m; ./üüüüüüüü 1000 & echo $! $(jobs -p) > pids";
        let options = "name --grace 10ms";
        let holder = scene.start(options, &format!("exec bash -c '{script}; {end}'"));
        let pids = scene.pids("pids");
        let check: Vec<_> = pids.iter().map(|pid| format!("kill -0 {pid}")).collect();
        let next = scene.start("name", &format!("{} || echo all gone", check.join(" || ")));
        if expected == 1009 {
            scene.until_waiting("name", 1);
            holder.signal(Signal::SIGKILL);
        }
        assert_eq!(text(&next.wait().stdout), "all gone\n", "{end}");
        assert_eq!(code(&holder.wait()), expected);
        assert!(pids.iter().all(|pid| !lives(*pid)), "{end}");
        std::fs::remove_file(scene.path("pids")).unwrap();
    }
}

#[test]
fn a_command_under_a_second_lock_goes_with_the_first() {
    let scene = Scene::new();
    let inner = format!("{} run inner -- sh -c '{FAMILY}'", env!("CARGO_BIN_EXE_tenure"));
    let holder = scene.start("outer", &inner);
    let pids = scene.pids("pids");
    let check = format!("kill -0 {} || kill -0 {} || echo both gone", pids[0], pids[1]);
    let next = scene.start("outer", &check);
    scene.until_waiting("outer", 1);
    holder.signal(Signal::SIGKILL);
    assert_eq!(text(&next.wait().stdout), "both gone\n");
    assert_eq!(code(&scene.run("inner", "true")), 0);
}

#[test]
fn a_daemon_that_left_the_session_stays() {
    let scene = Scene::new();
    let script = "setsid sh -c 'echo $$ > daemon; exec sleep 1000' >/dev/null 2>&1 & until [ -s daemon ]; do sleep 0.01; done";
    assert_eq!(code(&scene.run("name", script)), 0);
    let daemon = scene.pids("daemon")[0];
    assert!(lives(daemon));
    send(daemon, Signal::SIGKILL);
}

#[test]
fn a_guardian_does_not_react_to_the_signals_of_people_and_terminals() {
    let scene = Scene::new();
    let script = "echo > held; until [ -e go ]; do sleep 0.01; done; exit 3";
    let holder = scene.start("name", script);
    scene.line("held");
    let guardian = holder.guardian();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT] {
        send(guardian, signal);
    }
    std::fs::write(scene.path("go"), "").unwrap();
    assert_eq!(code(&holder.wait()), 3);
}

#[test]
fn no_guardian_and_no_standby_is_left_to_be_collected_by_others() {
    let scene = Scene::new();
    for round in 0..30 {
        let output = scene.run("name", "echo $PPID; sed -n 's/^PPid://p' /proc/$PPID/status");
        for pid in text(&output.stdout).split_whitespace() {
            // Once it is collected nothing has its number.
            let pid = Pid::from_raw(pid.parse().unwrap());
            let gone = nix::sys::signal::kill(pid, None).is_err();
            assert!(gone, "{pid} of {} is still there, round {round}", text(&output.stdout));
        }
        assert_eq!(text(&output.stdout).lines().count(), 2);
    }
}
