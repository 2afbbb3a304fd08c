//! Locks as metrics, as a server of metrics gets them.

use std::{
    collections::BTreeMap,
    fs,
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    process::Stdio,
};

use nix::sys::signal::Signal;
use tenure_servers::RedisServer;

use crate::{
    process::{Running, code, lives, send},
    scene::{PATIENCE, Scene, events, eventually, text},
};

/// An exporter that serves, and where.
struct Exporter {
    running: Running,
    address: String,
    said: std::path::PathBuf,
}

impl Exporter {
    fn start(scene: &Scene, words: &[&str]) -> Self {
        let said = scene.path("said");
        let all = ["export", "--listen", "127.0.0.1:0", "--json"];
        let mut command = scene.tenure(all.iter().chain(words).copied());
        command.stderr(fs::File::create(&said).unwrap()).stdout(Stdio::null());
        let running = Running::start(&mut command);
        let mut address = String::new();
        eventually("it serves", || {
            let text = fs::read_to_string(&said).unwrap();
            let lines = text.lines().filter(|line| line.contains("\"serving\""));
            let mut found = lines.filter_map(|line| {
                let event: serde_json::Value = serde_json::from_str(line).ok()?;
                Some(event["address"].as_str()?.to_owned())
            });
            address = found.next().unwrap_or_default();
            !address.is_empty()
        });
        Self { running, address, said }
    }

    fn events(&self, name: &str) -> usize {
        let said = fs::read(&self.said).unwrap();
        events(&said).iter().filter(|event| event["event"] == name).count()
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// What it answers to these bytes.
    fn answer(&self, request: &[u8]) -> String {
        let mut stream = self.connect();
        // It may refuse what is too long before it is there.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8(answer).unwrap()
    }

    fn get(&self, path: &str) -> String {
        self.answer(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes())
    }

    fn scrape(&self) -> BTreeMap<String, f64> {
        let answer = self.get("/metrics");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.contains("text/plain; version=0.0.4"), "{head}");
        read(body)
    }

    /// Scrapes until this is so.
    fn until(&self, what: &str, mut is_so: impl FnMut(&BTreeMap<String, f64>) -> bool) {
        eventually(what, || is_so(&self.scrape()));
    }
}

/// Each series with its value. Fails for what a reader of the format would refuse.
#[track_caller]
fn read(text: &str) -> BTreeMap<String, f64> {
    let (mut values, mut described) = (BTreeMap::new(), Vec::new());
    for line in text.lines() {
        if let Some(described_as) = line.strip_prefix("# TYPE ") {
            let name = described_as.strip_suffix(" gauge").unwrap().to_owned();
            assert!(!described.contains(&name), "{name} is described twice: {text}");
            described.push(name);
        } else if !line.starts_with('#') {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let name = series.split('{').next().unwrap();
            let is_last = described.last().is_some_and(|last| last == name);
            assert!(is_last || !name.starts_with("tenure_"), "{name} is apart: {text}");
            let value = value.parse().unwrap();
            assert_eq!(values.insert(series.to_owned(), value), None, "{series} twice: {text}");
        }
    }
    values
}

fn value(values: &BTreeMap<String, f64>, series: &str) -> Option<f64> {
    values.get(series).copied()
}

#[test]
fn a_scrape_shows_who_holds_a_lock_and_how_many_wait() {
    let scene = Scene::new();
    let _holder = scene.start("job:a --label root@web3/7", "echo > held; exec sleep 1000");
    scene.line("held");
    let _waiter = scene.start("job:a --label beta", "true");
    scene.until_waiting("job:a", 1);
    let _other = scene.start("other", "echo > other; exec sleep 1000");
    scene.line("other");
    let exporter = Exporter::start(&scene, &["--names", "job:*"]);
    let values = exporter.scrape();
    let of = |name: &str| value(&values, &format!("tenure_lock_{name}{{lock=\"job:a\"}}"));
    assert_eq!((of("held"), of("waiters")), (Some(1.0), Some(1.0)), "{values:?}");
    assert!(of("expires_seconds") <= Some(30.0) && of("expires_seconds") > Some(0.0));
    assert!(of("held_seconds") >= Some(0.0));
    let token: u64 = scene.show("job:a")["holders"][0]["token"].as_str().unwrap().parse().unwrap();
    assert_eq!(of("token"), Some(token as f64));
    let host = scene.show("job:a")["holders"][0]["host"].as_str().unwrap().to_owned();
    let info = format!(
        "tenure_lock_info{{lock=\"job:a\",kind=\"mutex\",holder=\"root@web3/7\",host=\"{host}\"}}"
    );
    assert_eq!(value(&values, &info), Some(1.0), "{values:?}");
    assert_eq!(value(&values, "tenure_export_up"), Some(1.0));
    assert_eq!(value(&values, "tenure_export_names"), Some(1.0));
    let others = values.keys().filter(|series| series.contains("other")).count();
    assert_eq!(others, 0, "{values:?}");
}

#[test]
fn a_lock_that_is_released_is_gone_from_the_next_scrapes() {
    let scene = Scene::new();
    let exporter = Exporter::start(&scene, &["--names", "*"]);
    let held = "tenure_lock_held{lock=\"a\"}";
    exporter.until("it is not there yet", |values| value(values, held).is_none());
    let holder = scene.start("a", "echo > held; exec sleep 1000");
    exporter.until("it is held", |values| value(values, held) == Some(1.0));
    holder.signal(Signal::SIGTERM);
    exporter.until("it is gone", |values| value(values, held).is_none());
}

#[test]
fn of_many_names_a_hundred_are_exported_and_the_rest_is_counted() {
    let server = RedisServer::start();
    let scene = Scene::with_store(&server.url());
    for chunk in (0..150).collect::<Vec<_>>().chunks(50) {
        let name = |at: &i32| format!("job:{at:03}");
        let all = chunk.iter().map(name).collect::<Vec<_>>().join(",");
        let kept = scene.run(&format!("--all {all} --hold-at-least 1h"), "true");
        assert_eq!(code(&kept), 0, "{}", text(&kept.stderr));
    }
    let output = scene.output(["export", "--names", "job:*", "--names", "nothing", "--once"]);
    assert_eq!((code(&output), text(&output.stderr)), (0, ""));
    let values = read(text(&output.stdout));
    assert_eq!(value(&values, "tenure_export_names"), Some(100.0));
    assert_eq!(value(&values, "tenure_export_names_left_out"), Some(50.0));
    assert_eq!(value(&values, "tenure_export_incomplete"), Some(0.0));
    let held: Vec<_> =
        values.keys().filter(|series| series.starts_with("tenure_lock_held{")).collect();
    assert_eq!(held.len(), 100);
    assert_eq!(held.last().unwrap().as_str(), "tenure_lock_held{lock=\"job:099\"}");
}

#[test]
fn a_store_that_is_away_is_told_and_comes_back() {
    let mut server = RedisServer::start();
    let scene = Scene::with_store(&server.url());
    server.kill();
    let exporter = Exporter::start(&scene, &["--names", "*"]);
    let up = |values: &BTreeMap<String, f64>| value(values, "tenure_export_up").unwrap();
    let values = exporter.scrape();
    assert_eq!(up(&values), 0.0, "it serves although the store was away at the start");
    assert!(!values.keys().any(|series| series.starts_with("tenure_lock_")), "{values:?}");
    server.restart();
    exporter.until("it is up", |values| up(values) == 1.0);
    server.kill();
    exporter.until("it is away", |values| up(values) == 0.0);
    server.restart();
    exporter.until("it is up again", |values| up(values) == 1.0);
    assert!(lives(exporter.running.pid()));
    assert_eq!((exporter.events("export_down"), exporter.events("export_up")), (2, 2));
}

/// The exporter has the directory open that is no longer there.
#[test]
fn a_directory_that_is_deleted_and_made_anew_is_opened_again() {
    let scene = Scene::new();
    let exporter = Exporter::start(&scene, &["--names", "*"]);
    let up = |values: &BTreeMap<String, f64>| value(values, "tenure_export_up").unwrap();
    exporter.until("it is up", |values| up(values) == 1.0);
    let locks = scene.path("locks");
    eventually("the directory is gone", || fs::remove_dir_all(&locks).is_ok() || !locks.exists());
    exporter.until("it is told", |values| up(values) == 0.0);
    exporter.until("it is up again", |values| up(values) == 1.0);
    let _holder = scene.start("a", "echo > held; exec sleep 1000");
    scene.line("held");
    let held = "tenure_lock_held{lock=\"a\"}";
    exporter.until("what is held there is shown", |values| value(values, held) == Some(1.0));
    assert_eq!((exporter.events("export_down"), exporter.events("export_up")), (1, 1));
}

/// A server of metrics gives up after ten seconds, and then shows nothing at all.
#[test]
fn a_store_that_stands_still_does_not_keep_a_scrape() {
    let server = RedisServer::start();
    // The store itself would wait for longer.
    let scene = Scene::with_store(&format!("{}?response_timeout=60s", server.url()));
    let exporter = Exporter::start(&scene, &["--names", "*"]);
    assert_eq!(value(&exporter.scrape(), "tenure_export_up"), Some(1.0));
    let pid = i32::try_from(server.pid().unwrap()).unwrap();
    send(pid, Signal::SIGSTOP);
    exporter.until("it is away", |values| value(values, "tenure_export_up") == Some(0.0));
    let said = fs::read_to_string(&exporter.said).unwrap();
    assert!(said.contains("did not answer within 4s"), "{said}");
    send(pid, Signal::SIGCONT);
    exporter.until("it is up", |values| value(values, "tenure_export_up") == Some(1.0));
}

#[test]
fn scrapes_of_many_at_once_ask_the_store_once_a_second() {
    let server = RedisServer::start();
    let scene = Scene::with_store(&server.url());
    let exporter = Exporter::start(&scene, &["--names", "*"]);
    let texts = || {
        std::thread::scope(|scope| {
            let scrapes: Vec<_> = (0..40).map(|_| scope.spawn(|| exporter.scrape())).collect();
            scrapes.into_iter().map(|it| it.join().unwrap()).collect::<Vec<_>>()
        })
    };
    // How long an answer took is hardly ever the same twice: equal texts are of one answer.
    eventually("most share an answer", || {
        let all = texts();
        let took: std::collections::BTreeSet<_> =
            all.iter().map(|values| values["tenure_export_answer_seconds"].to_bits()).collect();
        took.len() <= 2
    });
}

#[test]
fn a_signal_ends_it_with_its_code() {
    let scene = Scene::new();
    for (signal, expected) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let exporter = Exporter::start(&scene, &["--names", "*"]);
        exporter.scrape();
        exporter.running.signal(signal);
        let Exporter { running, said, .. } = exporter;
        assert_eq!(code(&running.wait()), expected);
        let said = fs::read_to_string(said).unwrap();
        assert!(!said.contains("interrupted"), "it is no failure to be ended: {said}");
    }
    let boots = fs::read_dir(scene.path("locks/boots")).unwrap();
    let members = boots.map(|boot| boot.unwrap().path().join("members"));
    let left: Vec<_> = members.flat_map(|dir| fs::read_dir(dir).unwrap()).collect();
    assert!(left.is_empty(), "left in the store: {left:?}");
}

#[test]
fn what_is_no_scrape_is_refused_and_the_next_one_answered() {
    let scene = Scene::new();
    let exporter = Exporter::start(&scene, &["--names", "*"]);
    let long = format!("GET /metrics HTTP/1.1\r\nA: {}\r\n\r\n", "a".repeat(9_000));
    for (request, status) in [
        (&b"GET /other HTTP/1.1\r\n\r\n"[..], "404"),
        (b"POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", "405"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400"),
        (b"\xff\xfe\0\r\n\r\n", "400"),
        (long.as_bytes(), "431"),
    ] {
        let answer = exporter.answer(request);
        let status = format!("HTTP/1.1 {status} ");
        assert!(answer.starts_with(&status), "{}: {answer}", String::from_utf8_lossy(request));
    }
    let mut gone = exporter.connect();
    gone.write_all(b"GET /met").unwrap();
    gone.shutdown(Shutdown::Write).unwrap();
    let mut rest = Vec::new();
    gone.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty(), "there was no request");
    assert!(exporter.get("/").contains("/metrics"), "the first page says where they are");
    exporter.scrape();
}

/// As many as may read at once say nothing: they lose their turn, and the next one gets its answer.
#[test]
fn readers_that_say_nothing_do_not_keep_others_for_ever() {
    let scene = Scene::new();
    let exporter = Exporter::start(&scene, &["--names", "*"]);
    let silent: Vec<_> = (0..70).map(|_| exporter.connect()).collect();
    assert_eq!(value(&exporter.scrape(), "tenure_export_up"), Some(1.0));
    drop(silent);
}

#[test]
fn a_file_keeps_what_others_wrote_there() {
    let scene = Scene::new();
    let _holder = scene.start("job:a", "echo > held; exec sleep 1000");
    scene.line("held");
    let file = scene.path("locks.prom");
    let others = "# HELP up Whether it is up.\n# TYPE up gauge\nup 1\n\
                  # TYPE tenure_lock_held gauge\ntenure_lock_held{lock=\"gone\"} 1\n";
    fs::write(&file, others).unwrap();
    let export = || scene.output(["export", "--names", "job:*", "--file", "locks.prom"]);
    for _ in 0..2 {
        let output = export();
        assert_eq!((code(&output), text(&output.stdout), text(&output.stderr)), (0, "", ""));
        let written = fs::read_to_string(&file).unwrap();
        let values = read(&written);
        assert_eq!(value(&values, "up"), Some(1.0), "{written}");
        assert_eq!(value(&values, "tenure_lock_held{lock=\"job:a\"}"), Some(1.0));
        assert_eq!(value(&values, "tenure_lock_held{lock=\"gone\"}"), None, "{written}");
        assert!(written.starts_with("# HELP up Whether it is up.\n"), "{written}");
    }
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644);
}

/// What was held the last time would be taken for what is.
#[test]
fn a_store_that_is_away_is_told_in_the_file_and_by_the_exit_code() {
    let scene = Scene::with_store("redis://:s3ntinel@127.0.0.1:1");
    let file = scene.path("locks.prom");
    fs::write(&file, "up 1\ntenure_lock_held{lock=\"a\"} 1\ntenure_export_up 1\n").unwrap();
    let output = scene.output(["export", "--names", "*", "--file", "locks.prom"]);
    let said = text(&output.stderr);
    assert_eq!((code(&output), text(&output.stdout)), (125, ""), "{said}");
    assert!(said.contains("127.0.0.1:1") && !said.contains("s3ntinel"), "{said}");
    let values = read(&fs::read_to_string(&file).unwrap());
    assert_eq!(value(&values, "up"), Some(1.0));
    assert_eq!(value(&values, "tenure_export_up"), Some(0.0));
    assert_eq!(value(&values, "tenure_lock_held{lock=\"a\"}"), None);

    let output = scene.output(["export", "--names", "*", "--once"]);
    assert_eq!((code(&output), text(&output.stdout)), (125, ""));
}

#[test]
fn hostile_names_and_labels_are_read_as_they_are() {
    let scene = Scene::new();
    for (name, label) in
        [("a\"} 9", "x\u{1b}[2J\"} 1"), ("back\\slash", "two\nlines"), ("a\u{202e}b", "{}")]
    {
        let kept = ["run", name, "--label", label, "--hold-at-least", "1h", "--", "true"];
        let kept = scene.output(kept);
        assert_eq!(code(&kept), 0, "{name:?}: {}", text(&kept.stderr));
    }
    let exporter = Exporter::start(&scene, &["--names", "*"]);
    let values = exporter.scrape();
    for held in ["a\\\"} 9", "back\\\\slash", "a\\\\u{202e}b"] {
        let series = format!("tenure_lock_held{{lock=\"{held}\"}}");
        assert_eq!(value(&values, &series), Some(1.0), "{series}: {values:?}");
    }
    assert_eq!(value(&values, "tenure_export_names"), Some(3.0));
    assert_eq!(values.keys().filter(|it| it.starts_with("tenure_lock_info{")).count(), 3);
    assert!(!values.keys().any(|it| it.chars().any(char::is_control)), "{values:?}");
}

#[test]
fn holders_of_permits_with_one_label_make_one_series() {
    let scene = Scene::new();
    let holders: Vec<_> = ["one", "two"]
        .iter()
        .map(|word| {
            let script = format!("echo > {word}; exec sleep 1000");
            scene.start("uploads --permits 3 --label same", &script)
        })
        .collect();
    scene.line("one");
    scene.line("two");
    let output = scene.output(["export", "--names", "uploads", "--once"]);
    let values = read(text(&output.stdout));
    assert_eq!(value(&values, "tenure_lock_held{lock=\"uploads\"}"), Some(2.0));
    drop(holders);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let scene = Scene::new();
    for (words, says) in [
        (&[][..], "write --names 'job:*'"),
        (&["--names", ""], "cannot be empty"),
        (&["--names", "a\nb*"], "control characters"),
        (&["--names", "a", "--listen", "localhost"], "127.0.0.1:9464"),
        (&["--names", "a", "--once", "--file", "x"], "cannot be used with"),
        (&["--names", "a", "--once", "--listen", "127.0.0.1:0"], "cannot be used with"),
        (&["--names", "a", "--store", "floppy:/a"], "floppy"),
    ] {
        let refused = scene.output(["export"].iter().chain(words).copied());
        let said = text(&refused.stderr);
        assert_eq!((code(&refused), text(&refused.stdout)), (2, ""), "{words:?}: {said}");
        assert!(said.contains(says), "{words:?}: {said}");
    }
    let many: Vec<_> = (0..17).flat_map(|_| ["--names", "a"]).collect();
    let refused = scene.output(["export", "--once"].into_iter().chain(many));
    assert_eq!(code(&refused), 2);
    assert!(text(&refused.stderr).contains("at most 16"), "{}", text(&refused.stderr));
    let refused = scene.output(["export", "--names", "a", "--file", "missing/locks.prom"]);
    assert_eq!(code(&refused), 125, "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("missing/locks.prom"), "{}", text(&refused.stderr));
}

#[test]
fn a_port_that_is_taken_is_told() {
    let scene = Scene::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let refused = scene.output(["export", "--names", "*", "--listen", &address]);
    let said = text(&refused.stderr);
    assert_eq!(code(&refused), 125, "{said}");
    assert!(said.contains(&address) && said.contains("choose another address"), "{said}");
}
