use std::{
    path::Path,
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::Value;

fn peers(arguments: &[&str]) -> String {
    let program = env!("CARGO_BIN_EXE_tenure-bench");
    let done = Command::new(program).arg("peers").args(arguments).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

fn run(dir: &Path, arguments: &[&str]) -> (Value, String) {
    let json = dir.join("run.json");
    let mut all = vec!["--quick", "--json", json.to_str().unwrap()];
    all.extend(arguments);
    let told = peers(&all);
    (serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap(), told)
}

#[test]
fn tenure_alone_is_measured_on_a_server_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let (run, told) =
        run(dir.path(), &["--only", "tenure", "--works", "pair-16,commands,handoff,hot-4x16"]);
    let results = run["results"].as_array().unwrap();
    // Three of tenure at five works, and the message beside the hand-off.
    assert_eq!(results.len(), 16, "{run}");
    for result in results {
        assert_eq!(result["troubles"], Value::Array(Vec::new()), "{result}");
        assert_eq!(result["rounds"].as_array().unwrap().len(), 1, "{result}");
    }
    let of = |work: &str, key: &str| {
        let found = results.iter().find(|each| each["work"] == work && each["who"] == "tenure");
        found.unwrap()["rounds"][0][key].as_f64().unwrap()
    };
    assert!(of("pair-16", "per_second") > 0.0);
    assert_eq!(of("pair-16", "errors"), 0.0);
    assert!((1.5..2.5).contains(&of("commands", "sent")), "a call to acquire, and one to release");
    assert_eq!(of("hot-4x16", "hung"), 0.0);
    assert!(told.contains("| **tenure** |"), "{told}");
}

#[test]
fn who_cannot_be_measured_is_told_and_not_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("run.json");
    let program = env!("CARGO_BIN_EXE_tenure-bench");
    // Nowhere to find Go, and a server by its whole path.
    let server = Command::new("sh").args(["-c", "command -v redis-server"]).output().unwrap();
    let done = Command::new(program)
        .args(["peers", "--quick", "--only", "redsync", "--works", "pair-16", "--json"])
        .arg(&json)
        .arg("--server")
        .arg(String::from_utf8(server.stdout).unwrap().trim())
        .env("PATH", dir.path())
        .env("CARGO_TARGET_DIR", dir.path())
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let told = String::from_utf8(done.stdout).unwrap();
    assert!(told.contains("| redsync | not installed: go cannot be run"), "{told}");
    let run: Value = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    assert!(run["contestants"][0]["missing"].as_str().unwrap().contains("go"), "{run}");
}

#[test]
fn a_killed_holder_is_measured_until_the_next_grant() {
    let dir = tempfile::tempdir().unwrap();
    let (run, told) = run(dir.path(), &["--only", "tenure embedded", "--works", "file-kill"]);
    let seconds = run["results"][0]["rounds"][0]["seconds"].as_f64().unwrap();
    // Else it was the ttl that ended.
    assert!(seconds < 20.0, "{told}");
}

/// The servers that work in a folder below this one; they call themselves by their ports.
#[cfg(target_os = "linux")]
fn servers_below(folder: &Path) -> usize {
    let of = |entry: std::io::Result<std::fs::DirEntry>| {
        let process = entry.ok()?.path();
        let called = std::fs::read_to_string(process.join("comm")).ok()?;
        let works_in = std::fs::read_link(process.join("cwd")).ok()?;
        Some(called.starts_with("redis-server") && works_in.starts_with(folder))
    };
    std::fs::read_dir("/proc").unwrap().filter_map(of).filter(|ours| *ours).count()
}

/// Whether a contestant is at work that this process started.
#[cfg(target_os = "linux")]
fn plays_for(starter: u32) -> bool {
    let of = |entry: std::io::Result<std::fs::DirEntry>| {
        let process = entry.ok()?.path();
        let words = std::fs::read(process.join("cmdline")).ok()?;
        let told = std::fs::read_to_string(process.join("status")).ok()?;
        let parent =
            told.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim() == starter.to_string();
        Some(parent && words.windows(5).any(|word| word == b"work="))
    };
    std::fs::read_dir("/proc").unwrap().filter_map(of).any(|ours| ours)
}

#[test]
#[cfg(target_os = "linux")]
fn whoever_stops_it_leaves_nothing_running() {
    let dir = tempfile::tempdir().unwrap();
    // Long enough to be stopped midway.
    let mut running = Command::new(env!("CARGO_BIN_EXE_tenure-bench"))
        .args(["peers", "--only", "tenure", "--works", "pair-16", "--rounds", "100", "--json"])
        .arg(dir.path().join("run.json"))
        .env("TMPDIR", dir.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while !plays_for(running.id()) {
        assert!(Instant::now() < until, "nobody was started");
        sleep(Duration::from_millis(5));
    }
    assert_eq!(servers_below(dir.path()), 1);
    running.kill().unwrap();
    running.wait().unwrap();
    while servers_below(dir.path()) > 0 {
        assert!(Instant::now() < until, "a server was left behind");
        sleep(Duration::from_millis(5));
    }
}
