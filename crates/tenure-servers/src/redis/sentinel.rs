//! A primary, its replicas, and the sentinels that watch over them.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::{RedisServer, Reply};
use crate::port::free_port;

/// The name by which the sentinels know the servers.
const SERVICE: &str = "mymaster";
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How many there are of each.
const COUNT: usize = 3;

/// Three servers, of which one is the primary, and three sentinels. Dropping it ends them all.
#[derive(Debug)]
pub struct SentinelService {
    /// The servers; the first is the primary at the beginning.
    pub servers: Vec<RedisServer>,
    /// The sentinels.
    pub sentinels: Vec<RedisServer>,
}

impl SentinelService {
    /// One whose sentinels take a server for dead after half a second of silence.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start() -> Self {
        Self::with(&[], &[], "")
    }

    /// One whose replicas' clocks are behind the primary's by so many seconds.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn with_replicas_behind(seconds: u32) -> Self {
        Self::starting(seconds, &[], &[], "")
    }

    /// The same with these settings of the servers and of the sentinels, written as on a command line, and
    /// these lines in the file of the sentinels, where `{service}` is the name of the service.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn with(of_servers: &[&str], of_sentinels: &[&str], lines: &str) -> Self {
        Self::starting(0, of_servers, of_sentinels, lines)
    }

    #[allow(clippy::panic, reason = "a test without its servers fails")]
    fn starting(behind: u32, of_servers: &[&str], of_sentinels: &[&str], lines: &str) -> Self {
        let start = |behind, more: &[&str]| {
            // Else a primary that has been asked for a copy waits for more who ask.
            let usual = ["--save", "", "--repl-diskless-sync-delay", "0"];
            RedisServer::behind(behind, &[&usual[..], of_servers, more].concat())
        };
        let primary = start(0, &[]);
        let port = primary.address().port().to_string();
        let mut servers = vec![primary];
        for _ in 1..COUNT {
            servers.push(start(behind, &["--replicaof", "127.0.0.1", &port]));
        }
        // Somebody else may take a port between its choice and its use.
        for _ in 0..10 {
            if let Some(sentinels) = sentinels(&servers, of_sentinels, lines) {
                let service = Self { servers, sentinels };
                service.until("all know each other", || {
                    service.sentinels.iter().all(|sentinel| knows_all(sentinel, &service))
                });
                service.until("the replicas get what is written", || service.replicate());
                return service;
            }
        }
        panic!("the sentinels do not start");
    }

    /// The URL of the service.
    #[must_use]
    pub fn url(&self) -> String {
        let places: Vec<_> =
            self.sentinels.iter().map(|sentinel| sentinel.address().to_string()).collect();
        format!("redis-sentinel://{}/0?service={SERVICE}", places.join(","))
    }

    /// The number of the primary, as a majority of the sentinels that answer has it.
    #[must_use]
    pub fn primary(&self) -> Option<usize> {
        let named = |sentinel: &RedisServer| {
            let fields = about(sentinel)?;
            let port: u16 = value(&fields, "port")?.parse().ok()?;
            self.servers.iter().position(|server| server.address().port() == port)
        };
        let running = self.sentinels.iter().filter(|sentinel| sentinel.pid().is_some());
        let named: Vec<_> = running.filter_map(named).collect();
        let count = |number: usize| named.iter().filter(|one| **one == number).count();
        (0..self.servers.len()).find(|number| count(*number) > COUNT / 2)
    }

    /// Makes the sentinels choose another primary, and waits until it is one.
    ///
    /// # Panics
    /// When that does not happen.
    pub fn fail_over(&self) -> usize {
        let before = self.primary();
        self.until("a failover begins", || {
            let [sentinel, ..] = &*self.sentinels else { return false };
            let told = sentinel.command(&["SENTINEL", "FAILOVER", SERVICE]);
            // One may have just ended.
            told == Reply::Text("OK".to_owned())
        });
        self.another_than(before)
    }

    /// Waits until another server is the primary than this one.
    ///
    /// # Panics
    /// When that does not happen.
    pub fn another_than(&self, before: Option<usize>) -> usize {
        let mut now = None;
        self.until("another server is the primary", || {
            now = self.primary().filter(|number| Some(*number) != before);
            now.is_some_and(|number| self.servers.get(number).is_some_and(says_that_it_is_primary))
        });
        now.unwrap_or_default()
    }

    /// Whether the replicas of the first server have what it writes now.
    fn replicate(&self) -> bool {
        let [primary, replicas @ ..] = &*self.servers else { return true };
        primary.command(&["PUBLISH", "nobody", ""]);
        replicas.iter().all(|replica| replica.has_all_of(primary))
    }

    /// # Panics
    /// When it does not come true.
    fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let since = Instant::now();
        while !is_so() {
            assert!(since.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Three that know each other and the servers from the beginning, so that nobody has to wait for their
/// greetings; nothing if a port was taken.
fn sentinels(servers: &[RedisServer], settings: &[&str], lines: &str) -> Option<Vec<RedisServer>> {
    let ports: Vec<_> = (0..COUNT).map(|_| free_port()).collect();
    let id = |number: usize| format!("{:040x}", number + 1);
    let mut sentinels = Vec::new();
    for (number, port) in ports.iter().enumerate() {
        let [primary, replicas @ ..] = servers else { return None };
        let mut file = format!(
            "sentinel myid {}\nsentinel monitor {SERVICE} 127.0.0.1 {} 2\n\
             sentinel down-after-milliseconds {SERVICE} 500\n\
             sentinel failover-timeout {SERVICE} 2000\nsentinel parallel-syncs {SERVICE} 2\n{}\n",
            id(number),
            primary.address().port(),
            lines.replace("{service}", SERVICE),
        );
        for replica in replicas {
            let port = replica.address().port();
            file.push_str(&format!("sentinel known-replica {SERVICE} 127.0.0.1 {port}\n"));
        }
        for (other, port) in ports.iter().enumerate().filter(|(other, _)| *other != number) {
            let id = id(other);
            file.push_str(&format!("sentinel known-sentinel {SERVICE} 127.0.0.1 {port} {id}\n"));
        }
        let settings = [&["--sentinel"], settings].concat();
        sentinels.push(RedisServer::with_file(*port, &settings, &file)?);
    }
    Some(sentinels)
}

/// What a sentinel says of the service: names and values, in turn.
fn about(sentinel: &RedisServer) -> Option<Vec<String>> {
    let Reply::List(fields) = sentinel.command(&["SENTINEL", "MASTER", SERVICE]) else {
        return None;
    };
    let text = |field| if let Reply::Text(text) = field { text } else { String::new() };
    Some(fields.into_iter().map(text).collect())
}

fn value<'a>(fields: &'a [String], name: &str) -> Option<&'a str> {
    let pairs = fields.chunks_exact(2);
    let found = pairs.filter_map(|pair| if let [key, is] = pair { Some((key, is)) } else { None });
    found.filter(|(key, _)| *key == name).map(|(_, is)| is.as_str()).next()
}

fn knows_all(sentinel: &RedisServer, service: &SentinelService) -> bool {
    let Some(fields) = about(sentinel) else { return false };
    let is = |name, number: usize| value(&fields, name) == Some(number.to_string().as_str());
    value(&fields, "flags") == Some("master")
        && is("num-other-sentinels", COUNT - 1)
        && is("num-slaves", COUNT - 1)
        && service.servers.iter().skip(1).all(|replica| {
            matches!(replica.command(&["INFO", "replication"]), Reply::Text(told)
                if told.contains("master_link_status:up"))
        })
}

fn says_that_it_is_primary(server: &RedisServer) -> bool {
    matches!(server.command(&["INFO", "replication"]), Reply::Text(told)
        if told.contains("role:master"))
}
