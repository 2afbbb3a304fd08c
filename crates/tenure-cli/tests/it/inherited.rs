//! What tenure inherits from its caller: blocked signals, closed files, a umask.

use std::{
    ffi::OsStr,
    fs,
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    process::{Command, Output, Stdio},
};

use nix::sys::signal::Signal;

use crate::{
    process::{Running, code, lives},
    scene::{Scene, eventually, text},
};

const BLOCKED: [Signal; 8] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGCHLD,
    Signal::SIGTSTP,
    Signal::SIGUSR1,
    Signal::SIGALRM,
];

/// The same command as a caller starts it that blocks signals.
fn deaf(command: &Command) -> Command {
    let blocked: Vec<_> = BLOCKED.iter().map(|signal| signal.as_str()).collect();
    let (block, all) = (format!("--block-signal={}", blocked.join(",")), "--default-signal");
    let mut args = command.get_args();
    assert_eq!((command.get_program(), args.next().unwrap()), ("env".as_ref(), all.as_ref()));
    started_by(command, "env", [all.as_ref(), block.as_ref()].into_iter().chain(args))
}

/// The same command with other words.
fn started_by<'a>(
    command: &'a Command,
    program: &str,
    words: impl IntoIterator<Item = &'a OsStr>,
) -> Command {
    let mut started = Command::new(program);
    started.args(words);
    if let Some(dir) = command.get_current_dir() {
        started.current_dir(dir);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => started.env(name, value),
            None => started.env_remove(name),
        };
    }
    started
}

fn start(command: &mut Command) -> Running {
    Running::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()))
}

#[test]
fn a_waiting_tenure_ends_by_a_signal_that_its_caller_blocks() {
    for command in ["run", "elect"] {
        let scene = Scene::new();
        let _holder = scene.start_as(command, "name", "echo > held; exec sleep 1000");
        scene.line("held");
        for (signal, number) in [
            (Signal::SIGINT, 130),
            (Signal::SIGTERM, 143),
            (Signal::SIGHUP, 129),
            (Signal::SIGQUIT, 131),
        ] {
            let waiter = start(&mut deaf(&scene.command(command, "name", "echo never")));
            scene.until_waiting("name", 1);
            waiter.signal(signal);
            let output = waiter.wait();
            assert_eq!((code(&output), text(&output.stdout)), (number, ""), "{command} {signal}");
        }
    }
}

#[test]
fn a_running_tenure_passes_on_what_its_caller_blocks() {
    for command in ["run", "elect"] {
        let scene = Scene::new();
        for (signal, number) in [
            (Signal::SIGINT, 130),
            (Signal::SIGTERM, 143),
            (Signal::SIGHUP, 129),
            (Signal::SIGUSR1, 138),
        ] {
            let script = "echo $$ > it; for n in $(seq 2000); do sleep 0.02; done";
            let run = start(&mut deaf(&scene.command(command, "name", script)));
            let it = scene.pids("it")[0];
            run.signal(signal);
            assert_eq!(code(&run.wait()), number, "{command} {signal}");
            assert!(!lives(it), "{command} {signal}");
            fs::remove_file(scene.path("it")).unwrap();
        }
    }
}

#[test]
fn a_command_hears_what_ends_and_stops_it_and_blocks_what_else_its_caller_blocks() {
    let blocked_by = |output: &Output| {
        let set = text(&output.stdout).trim().strip_prefix("SigBlk:").unwrap().trim().to_owned();
        u64::from_str_radix(&set, 16).unwrap()
    };
    let scene = Scene::new();
    let mut expected = 0;
    for kept in [Signal::SIGUSR1, Signal::SIGALRM] {
        expected |= 1 << (kept as i32 - 1);
    }
    for command in ["run", "elect"] {
        // Not by a shell: some block nothing, whatever they were started to block.
        let look = [command, "name", "--", "grep", "SigBlk", "/proc/self/status"];
        let mut command = scene.tenure(look);
        assert_eq!(blocked_by(&command.output().unwrap()), 0);
        let output = deaf(&command).output().unwrap();
        assert_eq!(blocked_by(&output), expected);
    }
}

#[test]
fn a_tenure_that_only_looks_ends_by_a_signal_that_its_caller_blocks() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let scene = Scene::with_store(&format!("redis://{}", silent.local_addr().unwrap()));
    let looks = start(&mut deaf(&scene.tenure(["ls"])));
    // It asks, and gets no answer.
    let (_asking, _) = silent.accept().unwrap();
    looks.signal(Signal::SIGTERM);
    assert_eq!(code(&looks.wait()), 1000 + Signal::SIGTERM as i32);
}

/// `tenure run name -- sh -c SCRIPT`, started by a shell that does this before.
fn after(scene: &Scene, before: &str, script: &str) -> Output {
    let run = scene.run_command("name", script);
    let before = format!("{before}; exec \"$@\"");
    let words = ["-c", &before, "sh"].map(OsStr::new).into_iter().chain([run.get_program()]);
    started_by(&run, "sh", words.chain(run.get_args())).output().unwrap()
}

#[test]
fn closed_files_are_no_others() {
    let scene = Scene::new();
    // Where a file of tenure's had one of these numbers, the command would write into it.
    let script =
        "readlink /proc/$$/fd/0 /proc/$$/fd/2 > fds; echo nothing; echo nothing >&2; exit 3";
    assert_eq!(code(&after(&scene, "exec <&- >&- 2>&-", script)), 3);
    assert_eq!(scene.line("fds"), "/dev/null\n/dev/null");
    assert_eq!(code(&scene.run("name", "exit 4")), 4);
}

#[test]
fn a_umask_is_the_commands_and_takes_nothing_from_tenure() {
    for umask in ["0177", "0777", "0027"] {
        let scene = Scene::new();
        let output = after(&scene, &format!("umask {umask}"), "umask");
        assert_eq!((code(&output), text(&output.stdout).trim()), (0, umask));
        // What it made can be used, also by who is not root.
        let mode = fs::metadata(scene.path("locks")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{umask}");
        eventually("it is free", || code(&scene.run("name --no-wait", "true")) == 0);
    }
}
