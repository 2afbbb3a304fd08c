//! What is typed to end a command, and the script around it.

use std::{fs, io::Read};

use nix::sys::signal::Signal;

use crate::{
    process::{code, is_stopped, lives, send},
    scene::{Scene, eventually},
    screen::Screen,
};

const CONTROL_C: &str = "\x03";
const CONTROL_BACKSLASH: &str = "\x1c";
/// A command that says when it runs, and does not care about signals.
const BARE: &str = "sh -c 'echo > ready; exec sleep 1000'";

/// The shells that run scripts.
const SHELLS: [&str; 3] = ["bash", "dash", "zsh -f"];

/// What a script made of a key: its exit code, and whether it went on behind the command.
#[derive(Debug, PartialEq, Eq)]
struct Made {
    code: String,
    went_on: bool,
}

impl Made {
    fn stopped_by(signal: Signal) -> Self {
        Self { code: (128 + signal as i32).to_string(), went_on: false }
    }
}

/// What a script of `line` makes of `key`, typed when the command says that it runs.
fn made_of(scene: &Scene, shell: &str, line: &str, key: &str) -> Made {
    made_of_when(scene, shell, line, key, || drop(scene.line("ready")))
}

/// What a script of `line` makes of `key`, typed after `ready`.
fn made_of_when(scene: &Scene, shell: &str, line: &str, key: &str, ready: impl FnOnce()) -> Made {
    let mut screen = Screen::new(scene);
    screen.starts_script(scene, shell, line);
    ready();
    screen.types(key);
    let code = screen.code_of_script(scene);
    screen.ends();
    Made { code, went_on: scene.path("next").exists() }
}

/// Asserts that Ctrl-C ends a script of `line` in every shell, and that no lock stays taken.
fn control_c_stops(line: &str) {
    for shell in SHELLS {
        let scene = Scene::new();
        let made = made_of(&scene, shell, line, CONTROL_C);
        assert_eq!(made, Made::stopped_by(Signal::SIGINT), "{shell}: {line}");
        assert_eq!(code(&scene.run("name --no-wait", "true")), 0, "{shell}: {line}");
    }
}

#[test]
fn control_c_stops_the_script_around_the_command() {
    control_c_stops(&format!("$T run name -- {BARE}"));
}

#[test]
fn control_c_stops_a_loop_around_the_command() {
    control_c_stops(&format!("for i in 1 2; do $T run name -- {BARE}; done"));
}

#[test]
fn control_c_stops_all_of_a_pipeline_and_its_script() {
    control_c_stops(&format!("sleep 1000 | $T run name -- {BARE} | cat"));
}

#[test]
fn control_c_stops_the_script_around_a_command_under_two_locks() {
    control_c_stops(&format!("$T run other -- $T run name -- {BARE}"));
}

#[test]
fn control_c_stops_the_script_around_a_leader() {
    control_c_stops(&format!("$T elect name -- {BARE}"));
}

#[test]
fn control_z_stops_the_script_too_and_fg_continues_all_until_control_c() {
    for shell in SHELLS {
        let scene = Scene::new();
        let mut screen = Screen::new(&scene);
        let line = "true | $T run name -- sh -c 'exec < /dev/tty; echo > ready
            while read word; do echo $word > got; done' | cat";
        screen.starts_script(&scene, shell, line);
        scene.line("ready");
        let script = scene.pids("shell")[0];
        screen.types("\x1a");
        eventually("the script is stopped", || is_stopped(script));
        screen.types("echo $? > prompt\n");
        assert_eq!(scene.line("prompt"), "148", "{shell}");
        screen.types("fg\n");
        eventually("the script goes on", || !is_stopped(script));
        screen.types("word\n");
        assert_eq!(scene.line("got"), "word", "{shell}");
        screen.types(CONTROL_C);
        assert_eq!(screen.code_of_script(&scene), "130", "{shell}");
        assert!(!scene.path("next").exists(), "{shell}");
        screen.ends();
    }
}

#[test]
fn control_c_stops_the_script_of_a_handle_and_the_lock_stays_held() {
    let line = format!(
        "$T lock name --for 10m --handle handle; $T run --attach --handle handle -- {BARE}"
    );
    for shell in SHELLS {
        let scene = Scene::new();
        let made = made_of(&scene, shell, &line, CONTROL_C);
        assert_eq!(made, Made::stopped_by(Signal::SIGINT), "{shell}");
        assert_eq!(code(&scene.output(["unlock", "--handle", "handle"])), 0, "{shell}");
    }
}

#[test]
fn control_c_stops_what_was_typed_behind_the_command() {
    let scene = Scene::new();
    let mut screen = Screen::new(&scene);
    screen.types(&format!("$T run name -- {BARE}; echo > next\n"));
    scene.line("ready");
    screen.types(CONTROL_C);
    screen.types("echo $? > code\n");
    assert_eq!(scene.line("code"), "130");
    assert!(!scene.path("next").exists());
    screen.ends();
}

/// bash and zsh let no script be stopped by it.
#[test]
fn control_backslash_does_to_a_script_what_it_does_without_tenure() {
    for shell in SHELLS {
        let without = made_of(&Scene::new(), shell, BARE, CONTROL_BACKSLASH);
        let line = format!("$T run name -- {BARE}");
        assert_eq!(made_of(&Scene::new(), shell, &line, CONTROL_BACKSLASH), without, "{shell}");
        if shell == "dash" {
            assert_eq!(without, Made::stopped_by(Signal::SIGQUIT), "{shell}");
        }
    }
}

#[test]
fn a_key_does_to_the_script_of_a_waiter_what_it_does_without_tenure() {
    let run = &format!("$T run name -- {BARE}");
    let elect = &format!("$T elect name -- {BARE}");
    for shell in SHELLS {
        for waiter in [run, elect, "$T lock name --for 10m"] {
            for key in [CONTROL_C, CONTROL_BACKSLASH] {
                let without = made_of(&Scene::new(), shell, BARE, key);
                let scene = Scene::new();
                let _holder = scene.start("name", "echo > held; exec sleep 1000");
                scene.line("held");
                let made = made_of_when(&scene, shell, waiter, key, || {
                    scene.until_waiting("name", 1);
                });
                assert_eq!(made, without, "{shell}: {waiter}");
                assert!(!scene.path("ready").exists(), "{shell}: {waiter}");
                scene.until_waiting("name", 0);
            }
        }
    }
}

#[test]
fn control_c_stops_the_script_also_between_the_ends_of_command_and_tenure() {
    for shell in SHELLS {
        let scene = Scene::new();
        let mut screen = Screen::new(&scene);
        // tenure cannot say that the command ended: nobody listens, and the pipe is full.
        let fill = "dd if=/dev/zero of=full oflag=nonblock bs=1 count=1000000 2> /dev/null";
        let witness = "sh -c 'trap \"echo > typed; exit\" INT; while :; do sleep 0.02; done'";
        let line = format!(
            "mkfifo full; exec 3<> full
            {witness} | $T run name --json -- sh -c 'echo > ready; {fill}; exit 0' 2> full"
        );
        screen.starts_script(&scene, shell, &line);
        scene.line("ready");
        eventually("the lock is free", || scene.show("name")["holders"] == serde_json::json!([]));
        screen.types(CONTROL_C);
        scene.line("typed");
        let mut full = fs::File::open(scene.path("full")).unwrap();
        full.read_exact(&mut [0; 1 << 16]).unwrap();
        assert_eq!(screen.code_of_script(&scene), "130", "{shell}");
        assert!(!scene.path("next").exists(), "{shell}");
        screen.ends();
    }
}

/// The command ends well, and then tenure dies of the key.
#[test]
fn control_c_behind_the_end_of_the_command_is_in_its_metrics() {
    let scene = Scene::new();
    let mut screen = Screen::new(&scene);
    // As above, tenure waits to say that the command ended.
    let fill = "dd if=/dev/zero of=full oflag=nonblock bs=1 count=1000000 2> /dev/null";
    let witness = "sh -c 'trap \"echo > typed; exit\" INT; while :; do sleep 0.02; done'";
    let options = "--json --metrics-file jobs.prom";
    let line = format!(
        "mkfifo full; exec 3<> full
        {witness} | $T run name {options} -- sh -c 'echo > ready; {fill}; exit 0' 2> full"
    );
    screen.starts_script(&scene, "bash", &line);
    scene.line("ready");
    eventually("the lock is free", || scene.show("name")["holders"] == serde_json::json!([]));
    screen.types(CONTROL_C);
    scene.line("typed");
    let mut full = fs::File::open(scene.path("full")).unwrap();
    full.read_exact(&mut [0; 1 << 16]).unwrap();
    assert_eq!(screen.code_of_script(&scene), "130");
    let metrics = fs::read_to_string(scene.path("jobs.prom")).unwrap();
    for code in ["last_attempt_exit_code", "last_exit_code"] {
        let line = format!("tenure_run_{code}{{lock=\"name\"}} 130\n");
        assert!(metrics.contains(&line), "{metrics}");
    }
    assert!(
        metrics.contains("last_success_timestamp_seconds{"),
        "the command ended well: {metrics}"
    );
    screen.ends();
}

#[test]
fn the_script_goes_on_when_the_command_handles_the_key_itself() {
    for shell in SHELLS {
        let scene = Scene::new();
        let mut screen = Screen::new(&scene);
        let command = "sh -c 'trap \"exit 9\" INT; echo > ready; while :; do sleep 0.02; done'";
        let then = "echo $? > own; read word; echo $word > got";
        screen.starts_script(&scene, shell, &format!("$T run name -- {command}; {then}"));
        scene.line("ready");
        screen.types(CONTROL_C);
        assert_eq!(scene.line("own"), "9", "{shell}");
        // The script has the terminal again.
        screen.types("word\n");
        assert_eq!(scene.line("got"), "word", "{shell}");
        assert_eq!(screen.code_of_script(&scene), "0", "{shell}");
        assert!(scene.path("next").exists(), "{shell}");
        screen.ends();
    }
}

#[test]
fn a_command_that_ignores_control_c_keeps_the_lock_until_it_ends() {
    for shell in SHELLS {
        let scene = Scene::new();
        let mut screen = Screen::new(&scene);
        let command = "sh -c 'trap \"\" INT; echo $$ > pid
            until [ -e go ]; do read word; echo $word > got; done'";
        screen.starts_script(&scene, shell, &format!("$T run name -- {command}"));
        let command = scene.pids("pid")[0];
        screen.types(CONTROL_C);
        // The key was dealt with before.
        screen.types("word\n");
        assert_eq!(scene.line("got"), "word", "{shell}");
        assert!(lives(command), "{shell}");
        assert_eq!(code(&scene.run("name --no-wait", "true")), 124, "{shell}");
        fs::write(scene.path("go"), "").unwrap();
        screen.types("word\n");
        assert_eq!(screen.code_of_script(&scene), "0", "{shell}");
        assert!(scene.path("next").exists(), "{shell}");
        screen.ends();
    }
}

#[test]
fn what_was_sent_to_tenure_and_not_typed_does_not_stop_the_script() {
    for shell in SHELLS {
        let scene = Scene::new();
        let mut screen = Screen::new(&scene);
        let line = "sh -c 'echo $$ > tenure
            exec $T run name -- sh -c \"echo > ready; exec sleep 1000\"'; echo $? > own";
        screen.starts_script(&scene, shell, line);
        scene.line("ready");
        send(scene.pids("tenure")[0], Signal::SIGINT);
        assert_eq!(scene.line("own"), "130", "{shell}");
        assert_eq!(screen.code_of_script(&scene), "0", "{shell}");
        assert!(scene.path("next").exists(), "{shell}");
        screen.ends();
    }
}

#[test]
fn a_script_is_told_of_a_lost_lock_also_if_the_command_dies_of_a_key() {
    for shell in SHELLS {
        let scene = Scene::new();
        let mut screen = Screen::new(&scene);
        // It is sent SIGTERM as the hold is over.
        let command =
            "bash -c 'trap \"trap - INT; kill -INT \\$\\$\" TERM; while :; do sleep 0.02; done'";
        let line = format!("$T run name --max-hold 1s --grace 400ms -- {command}; echo $? > own");
        screen.starts_script(&scene, shell, &line);
        assert_eq!(scene.line("own"), "123", "{shell}");
        assert_eq!(screen.code_of_script(&scene), "0", "{shell}");
        assert!(scene.path("next").exists(), "{shell}");
        screen.ends();
    }
}
