//! What is scraped, and what runs meanwhile.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::PathBuf,
    process::{self, Child, ChildStderr, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;
use tenure_testkit::child::Process;

const PATIENCE: Duration = Duration::from_secs(60);

/// Something that has metrics.
pub(crate) struct Target {
    labels: String,
    source: Source,
}

enum Source {
    Program(Process),
    File(PathBuf),
    Exporter(Exporter),
}

struct Exporter {
    address: String,
    /// So that it has somewhere to write to.
    _said: BufReader<ChildStderr>,
    _running: Running,
}

impl Target {
    /// A program that uses the library in this way.
    pub(crate) fn program(url: &str, work: &str, ttl: Duration) -> Self {
        let mut program = Process::start(&[url, work, &ttl.as_millis().to_string()]);
        assert_eq!(program.says().as_deref(), Some("ready"));
        Self { labels: labels("shop", "web1"), source: Source::Program(program) }
    }

    /// The same on another host.
    pub(crate) fn on(mut self, host: &str) -> Self {
        self.labels = labels("shop", host);
        self
    }

    pub(crate) fn file(path: PathBuf) -> Self {
        Self { labels: labels("node", "h1"), source: Source::File(path) }
    }

    /// `tenure export` of all names.
    pub(crate) fn exporter(command: &Command) -> Self {
        let words = ["export", "--listen", "127.0.0.1:0", "--names", "*", "--json"];
        let mut running = command.start(&words);
        let mut said = BufReader::new(running.0.stderr.take().unwrap());
        let address = said.by_ref().lines().map_while(Result::ok).find_map(|line| {
            let event: serde_json::Value = serde_json::from_str(&line).unwrap();
            (event["event"] == "serving").then(|| event["address"].as_str().unwrap().to_owned())
        });
        let address = address.unwrap_or_else(|| panic!("it does not serve"));
        Self {
            labels: labels("locks", "e1"),
            source: Source::Exporter(Exporter { address, _said: said, _running: running }),
        }
    }

    pub(crate) fn labels(&self) -> &str {
        &self.labels
    }

    /// Its metrics now; `None` if it has none.
    pub(crate) fn scrape(&mut self) -> Option<String> {
        match &mut self.source {
            Source::Program(program) => {
                let mut text = program.asked("scrape");
                while let Some(line) = program.says().filter(|line| line != ".") {
                    text = text + "\n" + &line;
                }
                Some(text + "\n")
            }
            Source::File(path) => fs::read_to_string(path).ok(),
            Source::Exporter(exporter) => {
                let mut stream = TcpStream::connect(&exporter.address).ok()?;
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n").ok()?;
                let mut answer = String::new();
                stream.read_to_string(&mut answer).ok()?;
                Some(answer.split_once("\r\n\r\n")?.1.to_owned())
            }
        }
    }

    /// Sends a signal to a program, as `kill` names it.
    pub(crate) fn signal(&self, signal: &str) {
        let Source::Program(program) = &self.source else { panic!("no program") };
        program.signal(signal);
    }
}

fn labels(job: &str, instance: &str) -> String {
    format!("job=\"{job}\",instance=\"{instance}\"")
}

/// The command `tenure` with a store, and a directory of its own.
pub(crate) struct Command {
    url: String,
    dir: TempDir,
}

/// What ends with this.
pub(crate) struct Running(Child);

impl Command {
    pub(crate) fn new(url: &str) -> Self {
        Self { url: url.to_owned(), dir: tempfile::tempdir().unwrap() }
    }

    /// Where its jobs write their metrics.
    pub(crate) fn metrics(&self) -> PathBuf {
        self.dir.path().join("jobs.prom")
    }

    fn with(&self, words: &[&str]) -> process::Command {
        let mut command = process::Command::new(env!("CARGO_BIN_EXE_tenure"));
        command.args(words).env("TENURE_STORE", &self.url).env("TENURE_CONFIG", "/dev/null");
        command.current_dir(self.dir.path()).stdin(Stdio::null());
        command
    }

    /// Runs it to its end, a good one.
    pub(crate) fn run(&self, words: &[&str]) {
        let ended = self.with(words).output().unwrap();
        assert!(ended.status.success(), "{words:?}: {ended:?}");
    }

    /// Starts it.
    pub(crate) fn start(&self, words: &[&str]) -> Running {
        Running(self.with(words).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// A command that holds a lock.
    pub(crate) fn hold(&self, name: &str) -> Running {
        let running = self.start(&["run", name, "--", "sleep", "1000"]);
        self.until_held(name);
        running
    }

    pub(crate) fn until_held(&self, name: &str) {
        let began = Instant::now();
        loop {
            let shown = self.with(&["show", name, "--json"]).output().unwrap().stdout;
            let shown: serde_json::Value = serde_json::from_slice(&shown).unwrap();
            if shown["holders"].as_array().is_some_and(|holders| !holders.is_empty()) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{name} is not held: {shown}");
        }
    }

    /// Runs the job to its end, whatever that is.
    pub(crate) fn job(&self, command: &[&str]) {
        self.start_job(command).wait();
    }

    /// A job that runs once per slot, with these options.
    pub(crate) fn slot_job(&self, options: &[&str]) {
        let job = ["run", "nightly", "--metrics-file", "jobs.prom"];
        self.start(&[&job, options, &["--", "true"]].concat()).wait();
    }

    pub(crate) fn start_job(&self, command: &[&str]) -> Running {
        let job = ["run", "nightly", "--metrics-file", "jobs.prom", "--"];
        self.start(&[&job, command].concat())
    }
}

impl Running {
    pub(crate) fn wait(&mut self) {
        self.0.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
