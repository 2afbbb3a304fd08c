//! What the tabulator key does in real shells.

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use nix::sys::signal::Signal;
use tenure_servers::RedisServer;

use crate::{
    process::{Running, code, lives, program, send},
    scene::{Scene, eventually, text},
};

/// A shell with the completions of tenure, on a terminal of its own.
struct Keys<'s> {
    scene: &'s Scene,
    shell: Child,
}

impl<'s> Keys<'s> {
    fn new(scene: &'s Scene, shell: &str) -> Self {
        let script = scene.output(["completions", shell]);
        assert_eq!(code(&script), 0);
        fs::create_dir_all(scene.path("functions")).unwrap();
        fs::write(scene.path("functions/_tenure"), script.stdout).unwrap();
        let (line, begin) = match shell {
            "bash" => ("bash --norc --noprofile -i", "source functions/_tenure\n"),
            "zsh" => (
                "zsh -f -i",
                "fpath=($PWD/functions $fpath); autoload -U compinit; compinit -u -D\n",
            ),
            _ => ("fish --no-config -i", "source functions/_tenure\n"),
        };
        let mut command = program("script");
        let bin = Path::new(env!("CARGO_BIN_EXE_tenure")).parent().unwrap();
        let (bin, own) = (bin.display(), scene.path(""));
        let path = format!("{bin}:{}:{}", own.display(), std::env::var("PATH").unwrap());
        command.args(["-qfec", line, "/dev/null"]).current_dir(scene.path("")).env("PATH", path);
        command.env("TENURE_STORE", scene.store()).env("XDG_CONFIG_HOME", scene.path("config"));
        command.env("PS1", "").env("TERM", "xterm").env("HOME", scene.path(""));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut keys = Self { scene, shell: command.spawn().unwrap() };
        keys.types(begin);
        keys.types("echo > ready\n");
        scene.line("ready");
        keys
    }

    fn types(&mut self, keys: &str) {
        self.shell.stdin.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    /// The words of the line that `keys` become, as the shell reads them.
    fn words(&mut self, keys: &str) -> Vec<String> {
        let place = self.scene.path("words");
        let _ = fs::remove_file(&place);
        // Ctrl-A goes to the beginning: what is completed is a line of tenure, and what is run is not.
        self.types(&format!("{keys}\u{1}say \n"));
        let mut words = String::new();
        eventually(&format!("{keys:?} is run"), || {
            words = fs::read_to_string(&place).unwrap_or_default();
            words.ends_with("\n.\n")
        });
        words.trim_end_matches("\n.\n").lines().map(str::to_owned).collect()
    }

    /// Ends the shell, and gives all that it showed.
    fn ends(mut self) -> String {
        self.types("\nexit\n");
        let output = self.shell.wait_with_output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// Puts a program into the scene that writes its words down.
fn with_say(scene: &Scene) {
    use std::os::unix::fs::PermissionsExt;

    let say = scene.path("say");
    fs::write(&say, "#!/bin/sh\nprintf '%s\\n' \"$@\" . > words.new; mv words.new words\n")
        .unwrap();
    fs::set_permissions(&say, fs::Permissions::from_mode(0o755)).unwrap();
}

const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// `tenure complete-names -- WORDS…`, as a script calls it.
fn asked(scene: &Scene, words: &[&str]) -> Output {
    scene.output(["complete-names", "--", "tenure"].into_iter().chain(words.iter().copied()))
}

fn lines(output: &Output) -> Vec<&str> {
    assert_eq!(text(&output.stderr), "");
    text(&output.stdout).lines().collect()
}

fn hold<'n>(scene: &Scene, names: impl IntoIterator<Item = &'n str>) -> Vec<Running> {
    let hold = |name| {
        let script = "echo > held; exec sleep 1000";
        let mut command = scene.tenure(["run", name, "--", "sh", "-c", script]);
        let held = Running::start(&mut command);
        scene.line("held");
        fs::remove_file(scene.path("held")).unwrap();
        held
    };
    names.into_iter().map(hold).collect()
}

#[test]
fn a_shell_completes_names_of_locks_however_they_are_written() {
    let scene = Scene::new();
    with_say(&scene);
    fs::write(scene.path("deploy-a-file"), "").unwrap();
    fs::create_dir_all(scene.path("config/tenure")).unwrap();
    let file = format!("[stores]\nours = '{}'\n", scene.store());
    fs::write(scene.path("config/tenure/config.toml"), file).unwrap();
    let _held = hold(&scene, ["deploy:shop:eu", "a b$c", "queue"]);
    for shell in SHELLS {
        let mut keys = Keys::new(&scene, shell);
        for (typed, becomes) in [
            ("show qu\t", "show queue"),
            ("show deploy:sh\t", "show deploy:shop:eu"),
            ("break deploy:shop:\t", "break deploy:shop:eu"),
            ("show --exit-code 'qu\t", "show --exit-code queue"),
            ("run a\t", "run a b$c"),
            // Nothing is taken from what nobody has.
            ("show none\t", "show none"),
            ("run --all x,none\t", "run --all x,none"),
            ("run --all x,deploy:s\t", "run --all x,deploy:shop:eu"),
            ("show --store ou\tqu\t", "show --store ours queue"),
            ("show --store=ou\t", "show --store=ours"),
            ("show --exit\t", "show --exit-code"),
            ("run queue -- cat deploy-a\t", "run queue -- cat deploy-a-file"),
            ("run --all x,y -- ./deploy-a\t", "run --all x,y -- ./deploy-a-file"),
        ] {
            let words = keys.words(&format!("tenure {typed}"));
            assert_eq!(words.join(" "), format!("tenure {becomes}"), "{shell}: {typed:?}");
        }
        let seen = keys.ends();
        assert!(!seen.contains("error"), "{shell}: {seen}");
    }
}

#[test]
fn nobody_is_asked_where_no_name_belongs() {
    let scene = Scene::new();
    let _held = hold(&scene, ["name"]);
    for words in [&["run", "name", "--", "n"][..], &["show", "--ex"], &["unlock", ""], &["s"]] {
        let output = asked(&scene, words);
        assert_eq!((code(&output), lines(&output)), (1, vec![]), "{words:?}");
    }
    for words in [&["show", "n"][..], &["break", ""], &["run", "--all", "x,n"]] {
        let output = asked(&scene, words);
        assert_eq!((code(&output), lines(&output).len()), (0, 1), "{words:?}");
    }
}

#[test]
fn stores_of_the_file_are_known_and_looked_into() {
    let scene = Scene::new();
    let other = Scene::new();
    let _held = hold(&other, ["there"]);
    fs::create_dir_all(scene.path("config/tenure")).unwrap();
    let file = format!("[stores]\nours = '{}'\nothers = 'redis://:${{NO}}@h'\n", other.store());
    fs::write(scene.path("config/tenure/config.toml"), file).unwrap();
    assert_eq!(lines(&asked(&scene, &["show", "--store", "o"])), ["others", "ours"]);
    assert_eq!(lines(&asked(&scene, &["show", "--store=ou"])), ["ours"]);
    assert_eq!(lines(&asked(&scene, &["show", "--store", "ours", ""])), ["there"]);
    assert_eq!(lines(&asked(&scene, &["show", ""])), [""; 0]);
}

#[test]
fn to_ask_for_names_makes_no_store_and_shows_no_error() {
    let scene = Scene::new();
    assert_eq!(lines(&asked(&scene, &["show", ""])), [""; 0]);
    assert!(!scene.path("locks").exists());
    for store in ["floppy:/a", "file:relative", "redis://127.0.0.1:1", "nowhere"] {
        let output = asked(&scene, &["show", "--store", store, ""]);
        assert_eq!((code(&output), lines(&output)), (0, vec![]), "{store}");
    }
    fs::create_dir_all(scene.path("config/tenure")).unwrap();
    fs::write(scene.path("config/tenure/config.toml"), "no toml").unwrap();
    assert_eq!(lines(&asked(&scene, &["show", ""])), [""; 0]);

    let server = RedisServer::start();
    assert_eq!(lines(&asked(&scene, &["show", "--store", &server.url(), ""])), [""; 0]);
    assert_eq!(server.keys(), [""; 0]);
}

#[test]
fn a_store_that_stands_still_keeps_nobody_waiting() {
    let server = RedisServer::start();
    let scene = Scene::with_store(&server.url());
    let held = hold(&scene, ["name"]);
    // Longer than this test waits for anything.
    let patient = format!("{}?connect_timeout=60s&response_timeout=60s", server.url());
    assert_eq!(lines(&asked(&scene, &["show", "--store", &patient, ""])), ["name"]);
    let pid = i32::try_from(server.pid().unwrap()).unwrap();
    send(pid, Signal::SIGSTOP);
    let mut command = scene.tenure(["complete-names", "--", "tenure", "show", ""]);
    let asking = Running::start(command.env("TENURE_STORE", patient).stdout(Stdio::piped()));
    eventually("it gives up", || !lives(asking.pid()));
    let output = asking.wait();
    assert_eq!((code(&output), text(&output.stdout)), (0, ""));
    send(pid, Signal::SIGCONT);
    drop(held);
}

#[test]
fn the_scripts_make_sense_to_their_shells() {
    let scene = Scene::new();
    for shell in SHELLS {
        let script = scene.output(["completions", shell]).stdout;
        fs::write(scene.path("script"), script).unwrap();
        let check = Command::new(shell).arg("-n").arg(scene.path("script")).output().unwrap();
        assert!(check.status.success(), "{shell}: {}", text(&check.stderr));
        assert_eq!(text(&check.stderr), "", "{shell}");
    }
}
