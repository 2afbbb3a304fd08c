use std::{
    fs,
    io::{Read, Write},
    os::unix::fs::FileExt,
    process::{Command, Stdio},
};

use nix::sys::signal::Signal;

use crate::{
    process::{Running, code, program},
    scene::{Scene, events, text},
};

#[test]
fn stdin_stdout_and_stderr_pass_untouched() {
    let scene = Scene::new();
    let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let mut command = scene.tenure(["run", "name", "--", "tee", "/dev/stderr"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let sent = bytes.clone();
    let writer = std::thread::spawn(move || stdin.write_all(&sent).unwrap());
    let mut stderr = child.stderr.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut all = Vec::new();
        stderr.read_to_end(&mut all).unwrap();
        all
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!(code(&output), 0);
    assert!(output.stdout == bytes && reader.join().unwrap() == bytes);
}

#[test]
fn a_file_as_stdin_is_shared_not_read_ahead() {
    let scene = Scene::new();
    let path = scene.path("input");
    fs::File::create(&path).unwrap().write_all_at(b"first\nsecond\n", 0).unwrap();
    let script = format!(
        "exec < {}; {} run name -- sh -c 'read a; echo got $a'; read b; echo left $b",
        path.display(),
        env!("CARGO_BIN_EXE_tenure"),
    );
    let output =
        Command::new("bash").args(["-c", &script]).env("TENURE_STORE", scene.store()).output();
    assert_eq!(text(&output.unwrap().stdout), "got first\nleft second\n");
}

#[test]
fn the_command_is_told_name_token_and_kind_of_store() {
    let scene = Scene::new();
    let script = "echo $TENURE_NAME $TENURE_STORE_KIND $TENURE_TOKEN";
    let tokens: Vec<u64> = (0..3)
        .map(|_| {
            let output = scene.run("order:pay:42", script);
            let words: Vec<_> = text(&output.stdout).split_whitespace().collect();
            assert_eq!(words[..2], ["order:pay:42", "file"]);
            words[2].parse().unwrap()
        })
        .collect();
    assert!(tokens.is_sorted_by(|a, b| a < b), "tokens rise: {tokens:?}");
}

#[test]
fn the_command_has_the_descriptors_and_signals_that_it_has_without_tenure() {
    let scene = Scene::new();
    let descriptors = ["ls", "/proc/self/fd"];
    // A shell in between would clear what is blocked.
    let signals = ["grep", "-E", "Sig(Blk|Ign|Cgt)", "/proc/self/status"];
    for look in [&descriptors[..], &signals] {
        let with = scene.output(["run", "name", "--"].iter().chain(look).copied());
        let mut without = program(look[0]);
        let without = without.args(&look[1..]).stdin(Stdio::null()).output().unwrap();
        assert_eq!(text(&with.stdout), text(&without.stdout));
        assert!(!with.stdout.is_empty());
    }
}

#[test]
fn what_the_caller_ignores_stays_ignored() {
    let scene = Scene::new();
    for signal in ["HUP", "INT", "QUIT"] {
        let script = format!("kill -{signal} $$; kill -{signal} $PPID; echo alive");
        let output = ignoring(signal, &scene.run_command("name", &script)).output();
        assert_eq!(text(&output.unwrap().stdout), "alive\n", "{signal}");
    }
}

#[test]
fn what_the_caller_ignores_stays_ignored_whatever_the_program_is_called() {
    let scene = Scene::new();
    // The kernel keeps 15 bytes of a name, and each of these letters has two.
    let renamed = scene.path("üüüüüüüü");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tenure"), &renamed).unwrap();
    let script = "echo > ready; until [ -e end ]; do sleep 0.01; done; echo through";
    let plain = scene.run_command("name", script);
    let mut command = program(renamed.to_str().unwrap());
    command.args(plain.get_args().skip(3)).current_dir(scene.path(""));
    command.env("TENURE_STORE", scene.store());
    let run = Running::start(ignoring("HUP", &command).stdout(Stdio::piped()));
    scene.line("ready");
    run.signal(Signal::SIGHUP);
    fs::write(scene.path("end"), "").unwrap();
    let output = run.wait();
    assert_eq!((code(&output), text(&output.stdout)), (0, "through\n"));
}

#[test]
fn what_the_caller_ignores_ends_no_wait_and_does_not_reach_the_command() {
    let scene = Scene::new();
    let holder = scene.start("name", "echo > held; until [ -e go ]; do sleep 0.01; done");
    scene.line("held");
    let script = "echo > ready; until [ -e end ]; do sleep 0.01; done; echo through";
    let mut command = ignoring("HUP INT QUIT", &scene.run_command("name", script));
    let waiter = Running::start(command.stdout(Stdio::piped()));
    let ignored = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT];
    scene.until_waiting("name", 1);
    ignored.iter().for_each(|signal| waiter.signal(*signal));
    fs::write(scene.path("go"), "").unwrap();
    assert_eq!(code(&holder.wait()), 0);
    scene.line("ready");
    ignored.iter().for_each(|signal| waiter.signal(*signal));
    fs::write(scene.path("end"), "").unwrap();
    let output = waiter.wait();
    assert_eq!((code(&output), text(&output.stdout)), (0, "through\n"));
}

/// The same command, started by a shell that ignores these signals, as for a job in the background.
fn ignoring(signals: &str, command: &Command) -> Command {
    let mut shell = program("sh");
    // What stands before the program restores the signals, which is not wanted here. The shell has a
    // session of its own by now.
    let words: Vec<_> = command.get_args().skip(2).collect();
    shell.arg("-c").arg(format!("trap '' {signals}; exec \"$@\"")).arg("sh").args(words);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.stdin(Stdio::null()).current_dir(command.get_current_dir().unwrap());
    shell
}

#[test]
fn tenure_says_nothing_unless_asked_to() {
    let scene = Scene::new();
    let output = scene.run("name", "echo out; echo err >&2");
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("out\n", "err\n"));
}

#[test]
fn with_v_it_says_where_the_locks_are() {
    let scene = Scene::new();
    let output = scene.run("name -v", "echo out");
    let place = scene.path("locks");
    assert_eq!(text(&output.stdout), "out\n");
    assert!(text(&output.stderr).contains(place.to_str().unwrap()), "{}", text(&output.stderr));
}

#[test]
fn events_are_json_lines_with_tokens_as_strings() {
    let scene = Scene::new();
    let output = scene.run("name --json", "echo $TENURE_TOKEN; exit 3");
    let said = events(&output.stderr);
    let kinds: Vec<_> = said.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["store", "acquired", "ended", "released"]);
    assert_eq!(said[1]["token"].as_str().unwrap(), text(&output.stdout).trim());
    assert!(said[1]["waited_ms"].is_u64());
    assert_eq!(said[2]["exit_code"], 3);
}

#[test]
fn a_command_of_bytes_that_are_no_text_arrives_as_it_is() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let scene = Scene::new();
    let mut command = scene.tenure(["run", "name", "--", "printf", "%s"]);
    let output = command.arg(OsStr::from_bytes(b"a\xff\nb")).output().unwrap();
    assert_eq!(output.stdout, b"a\xff\nb");
}
