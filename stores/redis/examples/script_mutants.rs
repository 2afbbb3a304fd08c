//! Breaks the scripts line by line and shows what no test notices.
//!
//! `cargo run -p tenure-redis --features tls,broken-scripts --example script_mutants [--lines] [PART[:LINE]...]`
//! takes the named parts of scripts, or all of them; with `--lines` it leaves out what changes numbers and
//! sums. It builds the tests once; each mutant is a file
//! that they read. It needs many minutes, and prints every mutant as `caught`, `survived` or
//! `no script`, which is one that does not compile.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a tool for developers")]

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

/// What is run against each mutant until something notices it: first what is quick.
const TESTS: [&[&str]; 3] = [
    &[
        "over::",
        "model::",
        "gather::",
        "senseless::",
        "slot_records::",
        "history::",
        "together::a_clock",
        "together::what_is",
        "take_over::a_record",
        "take_over::a_repeat_says",
        "take_over::it_is_shown",
        "take_over::what_was_taken_over_can",
    ],
    &["conformance::plain::"],
    &["refusals::"],
];
/// One that takes longer does not end.
const PATIENCE: Duration = Duration::from_secs(150);

/// Words and what stands in their place in a mutant.
const SWAPS: [(&str, &str); 16] = [
    (" == ", " ~= "),
    (" ~= ", " == "),
    (" < ", " >= "),
    (" > ", " <= "),
    (" <= ", " > "),
    (" >= ", " < "),
    (" and ", " or "),
    (" or ", " and "),
    ("not ", ""),
    (" + ", " - "),
    (" - ", " + "),
    ("math.max", "math.min"),
    ("math.min", "math.max"),
    ("true", "false"),
    ("false", "true"),
    ("redis.call('ZREM'", "redis.call('ZCARD'"),
];

/// So many of them change what is decided.
const LOGIC: usize = 9;

struct Mutant {
    line: usize,
    text: String,
}

fn main() -> ExitCode {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wanted: Vec<_> = std::env::args().skip(1).collect();
    let few = wanted.first().is_some_and(|first| first == "--lines");
    wanted.drain(..usize::from(few));
    let mut parts = Vec::new();
    collect_scripts(&sources, &mut parts);
    parts.sort_unstable();
    let folder = tempfile::tempdir().unwrap();
    // A copy: whoever goes on working meanwhile builds others.
    let tests = folder.path().join("tests");
    fs::copy(built(), &tests).unwrap();
    let (mut caught, mut survived) = (0_u32, 0_u32);
    for (part, file) in parts {
        let text = fs::read_to_string(file).unwrap();
        let lines: Vec<_> = text.lines().collect();
        for mutant in lines.iter().enumerate().flat_map(|(line, text)| mutants(line, text, few)) {
            let at = format!("{part}:{}", mutant.line + 1);
            if !wanted.is_empty() && !wanted.contains(&part) && !wanted.contains(&at) {
                continue;
            }
            let mut broken = lines.clone();
            broken[mutant.line] = &mutant.text;
            let file = folder.path().join(&part).with_extension("lua");
            fs::write(&file, broken.join("\n") + "\n").unwrap();
            let what = match noticed(&tests, folder.path()) {
                Some(true) => {
                    caught += 1;
                    "caught"
                }
                Some(false) => {
                    survived += 1;
                    "survived"
                }
                None => "no script",
            };
            fs::remove_file(file).unwrap();
            println!("{what:9} {at}: {} => {}", lines[mutant.line].trim(), mutant.text.trim());
        }
    }
    println!("{caught} caught, {survived} survived");
    ExitCode::SUCCESS
}

/// The scripts in `folder` and below it, by their names.
fn collect_scripts(folder: &Path, parts: &mut Vec<(String, PathBuf)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_scripts(&path, parts);
        } else if path.extension().is_some_and(|extension| extension == "lua") {
            parts.push((path.file_stem().unwrap().to_string_lossy().into_owned(), path));
        }
    }
}

/// All that can be done to one line.
fn mutants(line: usize, text: &str, few: bool) -> Vec<Mutant> {
    let code = text.trim();
    if code.is_empty() || code.starts_with("--") {
        return Vec::new();
    }
    let mut all = Vec::new();
    let mut add = |text: String| all.push(Mutant { line, text });
    // A whole statement, or a guard: without it.
    let opens = ["local", "if", "for", "while", "end", "else", "elseif", "function", "return"];
    let verb = code.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or("");
    let guard = code.starts_with("if ") && code.ends_with(" end");
    let balanced = code.matches('(').count() == code.matches(')').count();
    let ends = !code.ends_with(',') && !code.ends_with("and") && !code.ends_with("or");
    if guard || !opens.contains(&verb) && verb != "and" && verb != "or" && balanced && ends {
        add(String::new());
    }
    let swaps = if few { &SWAPS[..LOGIC] } else { &SWAPS[..] };
    for (word, other) in swaps {
        // A line that goes on with `and` begins with it.
        let padded = format!(" {text} ");
        for (at, _) in padded.match_indices(*word) {
            let swapped = [&padded[..at], other, &padded[at + word.len()..]].concat();
            add(swapped);
        }
    }
    let numbers = if few { Vec::new() } else { numbers(text) };
    for (at, number) in numbers {
        let more = number.parse::<u64>().unwrap() + 1;
        add([&text[..at], &more.to_string(), &text[at + number.len()..]].concat());
    }
    all
}

/// Numbers outside of words and of texts.
fn numbers(text: &str) -> Vec<(usize, &str)> {
    let (mut all, mut quoted, mut start) = (Vec::new(), false, None);
    let mut before = ' ';
    for (at, letter) in text.char_indices().chain([(text.len(), ' ')]) {
        if letter == '\'' {
            quoted = !quoted;
        }
        if letter.is_ascii_digit() && !quoted {
            if start.is_none() && !before.is_alphanumeric() && before != '_' {
                start = Some(at);
            }
        } else if let Some(start) = start.take() {
            all.push((start, &text[start..at]));
        }
        before = letter;
    }
    all
}

/// Builds the tests, and says where they are.
fn built() -> PathBuf {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut build = Command::new(cargo);
    build.args(["test", "-p", "tenure-redis", "--features", "tls,broken-scripts"]);
    let output = build.args(["--test", "it", "--no-run"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let path = said.rsplit_once('(').and_then(|(_, rest)| rest.split_once(')'));
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path.unwrap().0)
}

/// Whether a test fails with the scripts of this folder; `None` when they do not compile.
fn noticed(tests: &Path, folder: &Path) -> Option<bool> {
    for group in TESTS {
        let mut run = Command::new(tests);
        run.args(group).args(["--nocapture", "--test-threads", "6"]);
        run.env("TENURE_BROKEN_SCRIPTS", folder).env("RUST_BACKTRACE", "0");
        // What servers leave that are killed goes with the folder.
        run.env("TMPDIR", folder);
        run.current_dir(env!("CARGO_MANIFEST_DIR"));
        // Both together, in their order: what a test says, and how it ended.
        let (reader, writer) = std::io::pipe().unwrap();
        run.stdin(Stdio::null()).stdout(writer.try_clone().unwrap()).stderr(writer);
        let mut process = run.spawn().unwrap();
        drop(run);
        let (sender, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(reader).lines().map_while(Result::ok);
            lines.for_each(|line| drop(sender.send(line)));
        });
        let until = Instant::now() + PATIENCE;
        let verdict = loop {
            let left = until.saturating_duration_since(Instant::now());
            match lines.recv_timeout(left) {
                Ok(line) if line.contains("Error compiling script") => break Some(None),
                Ok(line) if line.contains("panicked at") || line.ends_with("FAILED") => {
                    // The next lines may say that it was no script at all.
                    let rest = || lines.recv_timeout(Duration::from_millis(200)).ok();
                    let rest = std::iter::from_fn(rest).take(20).collect::<String>();
                    let compiles = !(line + &rest).contains("Error compiling script");
                    break Some(compiles.then_some(true));
                }
                Ok(_) => {}
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break None,
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => break Some(Some(true)),
            }
        };
        if verdict.is_some() {
            stop(&mut process);
        }
        let _ = process.wait();
        if let Some(verdict) = verdict {
            return verdict;
        }
    }
    Some(false)
}

/// Ends the tests and the servers that they started.
fn stop(process: &mut std::process::Child) {
    // One that stands still starts no more of them.
    let _ = Command::new("kill").args(["-STOP", &process.id().to_string()]).status();
    let children = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let folder = entry.ok()?.path();
        let number = folder.file_name()?.to_str()?.parse::<u32>().ok()?;
        let stat = fs::read_to_string(folder.join("stat")).ok()?;
        let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse::<u32>().ok()?;
        (parent == process.id()).then_some(number)
    });
    let children: Vec<_> = children.map(|number| number.to_string()).collect();
    let _ = process.kill();
    if !children.is_empty() {
        // Some may have ended by themselves.
        let _ = Command::new("kill").arg("-9").args(children).stderr(Stdio::null()).status();
    }
}
