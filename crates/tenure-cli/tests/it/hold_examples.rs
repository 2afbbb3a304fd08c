//! The clients of `tenure hold` in examples/hold, which count in one file under one lock.

use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tenure_servers::{PostgresServer, RedisServer};

use crate::{
    process::{Running, children, code},
    scene::{Scene, eventually, text},
};

/// A client is short enough to be copied: its lines without those of the program that counts.
const LONGEST: usize = 60;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hold").canonicalize().unwrap()
}

/// How each language runs its client. Those that are not there are left out.
const LANGUAGES: [(&str, &[&str]); 7] = [
    ("bash", &["bash", "hold.sh"]),
    ("python3", &["python3", "hold.py"]),
    ("node", &["node", "hold.mjs"]),
    ("go", &["go", "run", "hold.go"]),
    ("java", &["java", "Hold.java"]),
    ("ruby", &["ruby", "hold.rb"]),
    ("php", &["php", "hold.php"]),
];

fn is_there(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// `tenure` is found where the tests built it.
fn client(scene: &Scene, words: &[&str]) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(examples()).stdin(Stdio::null());
    let built = Path::new(env!("CARGO_BIN_EXE_tenure")).parent().unwrap();
    let path = env::var_os("PATH").unwrap_or_default();
    let path = [built.to_owned()].into_iter().chain(env::split_paths(&path));
    command.env("PATH", env::join_paths(path).unwrap());
    command.env("TENURE_STORE", scene.store()).env_remove("TENURE_CONFIG");
    command
}

/// All at once, beside `tenure run`. Each refuses to write under a token that is not greater than the last.
fn count_together(scene: &Scene, turns: u64) {
    let counted = scene.path("count");
    fs::write(&counted, "0 0\n").unwrap();
    let (path, turns_word) = (counted.to_str().unwrap().to_owned(), turns.to_string());
    let present: Vec<_> = LANGUAGES.iter().filter(|(name, _)| is_there(name)).collect();
    let mut running = Vec::new();
    for (name, words) in &present {
        let words = [words, &["counter", &*path, &*turns_word][..]].concat();
        let mut command = client(scene, &words);
        running
            .push((*name, Running::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()))));
    }
    let script = format!(
        r#"read -r count seen <"{path}"; [ "$TENURE_TOKEN" -gt "$seen" ] && echo "$((count + 1)) $TENURE_TOKEN" >"{path}""#
    );
    for _ in 0..turns {
        let ran = scene.run("counter", &script);
        assert_eq!(code(&ran), 0, "{ran:?}");
    }
    for (name, running) in running {
        let ended = running.wait();
        assert_eq!(code(&ended), 0, "{name}: {}", text(&ended.stderr));
    }
    let counted = fs::read_to_string(&counted).unwrap();
    let all = (u64::try_from(present.len()).unwrap() + 1) * turns;
    assert_eq!(counted.split(' ').next().unwrap(), all.to_string(), "of {present:?}");
}

/// The answer of this one comes when it is over already: 300 ms late, for 100 ms.
const LATE: &str = r#"#!/usr/bin/env bash
echo '{"event":"acquired","token":"9","token_number":9}'
while read -r word id; do
    if [ "$word" != check ]; then continue; fi
    sleep 0.3
    echo "{\"event\":\"checked\",\"held\":true,\"id\":\"$id\",\"valid_ms\":100}"
done
"#;

/// Only from when it sent a check may a program count.
#[test]
fn no_client_counts_on_an_answer_that_is_over_when_it_comes() {
    let scene = Scene::new();
    let folder = scene.path("late");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("tenure"), LATE).unwrap();
    fs::set_permissions(folder.join("tenure"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([folder].into_iter().chain(env::split_paths(&path))).unwrap();
    let mut running = Vec::new();
    for (name, words) in LANGUAGES.iter().filter(|(name, _)| is_there(name)) {
        let counted = scene.path(name);
        fs::write(&counted, "0 0\n").unwrap();
        let mut command =
            client(&scene, &[words, &["x", counted.to_str().unwrap(), "1"][..]].concat());
        running.push((counted, Running::start(command.env("PATH", &path).stderr(Stdio::piped()))));
    }
    for (counted, running) in running {
        let ended = running.wait();
        assert_eq!(code(&ended), 0, "{}: {}", counted.display(), text(&ended.stderr));
        assert_eq!(fs::read_to_string(&counted).unwrap(), "0 0\n", "{}", counted.display());
    }
}

/// The status and the text of its answer.
fn post(address: &str, name: &str) -> (String, String) {
    let mut server = TcpStream::connect(address).unwrap();
    write!(server, "POST /{name} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    server.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().to_owned();
    (status, answer)
}

#[test]
fn a_web_server_has_one_child_for_all_its_locks() {
    let scene = Scene::new();
    let folder = scene.path("counts");
    fs::create_dir(&folder).unwrap();
    let words = ["node", "server.mjs", "0", folder.to_str().unwrap()];
    let mut command = client(&scene, &words);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let server = Running::of(child);
    let said = output.lines().next().unwrap().unwrap();
    let address = said.strip_prefix("http://").unwrap();
    std::thread::scope(|scope| {
        for number in 0..20 {
            scope.spawn(move || {
                let (status, answer) = post(address, ["a", "b"][number % 2]);
                assert_eq!(status, "200", "{answer}");
            });
        }
    });
    let count = |name| fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(count("a").split(' ').next(), Some("10"));
    assert_eq!(count("b").split(' ').next(), Some("10"));
    // All have one child. Its end ends no request after it.
    let [tenure] = *children(server.pid()) else { panic!("{:?}", children(server.pid())) };
    kill(Pid::from_raw(tenure), Signal::SIGKILL).unwrap();
    eventually("it has another child", || post(address, "a").0 == "200");
    assert_eq!(count("a").split(' ').next(), Some("11"));
    let [other] = *children(server.pid()) else { panic!("{:?}", children(server.pid())) };
    assert_ne!(other, tenure);
}

fn turns() -> u64 {
    env::var("TENURE_TURNS").map_or(3, |turns| turns.parse().unwrap())
}

#[test]
fn programs_in_all_languages_count_together_in_a_directory() {
    count_together(&Scene::new(), turns());
}

#[test]
#[ignore = "takes its time: scripts/drill languages"]
fn programs_in_all_languages_count_together_on_redis() {
    let redis = RedisServer::start();
    count_together(&Scene::with_store(&redis.url()), turns());
}

#[test]
#[ignore = "takes its time: scripts/drill languages"]
fn programs_in_all_languages_count_together_on_postgres() {
    let postgres = PostgresServer::start();
    count_together(&Scene::with_store(&postgres.url()), turns());
}

#[test]
fn each_client_is_short_enough_to_be_copied() {
    for entry in fs::read_dir(examples()).unwrap() {
        let path = entry.unwrap().path();
        let client = fs::read_to_string(&path).unwrap();
        // What follows counts in a file.
        let starts = [
            "\nfunc main()",
            "public static void main",
            "\nlock, path",
            "\nconst [lock",
            "\nimport { readFileSync, writeFileSync } from \"node:fs\";\nimport { createServer }",
            "\n[, $lock",
            "\nfor ((",
        ];
        let end = starts.iter().filter_map(|start| client.find(start)).min().unwrap();
        let lines = client[..end].lines().count();
        assert!(lines <= LONGEST, "{}: {lines} lines", path.display());
    }
}
