//! The stores, each on servers of its own.

use std::{
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use tempfile::TempDir;
use tenure_servers::{MariadbServer, PostgresServer, RedisServer, ZookeeperServer, redis::Reply};

/// So that no restart loses what was confirmed.
const DURABLE: [&str; 6] = ["--save", "", "--appendonly", "yes", "--appendfsync", "always"];

/// Of ZooKeeper, as where nobody says otherwise: sessions last from 4 s to 40 s.
const TICK: Duration = Duration::from_secs(2);

/// For how long a server that is restarted is away at least.
const AWAY: Duration = Duration::from_millis(700);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Embedded,
    Redis,
    Zookeeper,
    Postgres,
    Mysql,
    Quorum,
}

impl Kind {
    pub(crate) const ALL: [Self; 6] =
        [Self::Embedded, Self::Redis, Self::Zookeeper, Self::Postgres, Self::Mysql, Self::Quorum];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Redis => "redis",
            Self::Zookeeper => "zookeeper",
            Self::Postgres => "postgres",
            Self::Mysql => "mysql",
            Self::Quorum => "quorum",
        }
    }

    /// For how long a hold of this ttl can be counted on after it was renewed.
    pub(crate) fn counts(self, ttl: Duration) -> Duration {
        match self {
            // docs/stores/zookeeper.md: the session, a fifth and half a tick before it can end.
            Self::Zookeeper => ttl - (ttl / 5 + TICK / 2).max(TICK),
            _ => ttl,
        }
    }

    /// What of each name is there.
    pub(crate) fn things(self) -> &'static str {
        match self {
            Self::Embedded => "files",
            Self::Redis | Self::Quorum => "keys",
            Self::Zookeeper => "znodes",
            Self::Postgres | Self::Mysql => "rows",
        }
    }
}

pub(crate) enum Place {
    Embedded(TempDir),
    Redis(RedisServer),
    Zookeeper(ZookeeperServer),
    Postgres(PostgresServer),
    Mysql(MariadbServer),
    Quorum(Vec<RedisServer>),
}

impl Place {
    pub(crate) fn start(kind: Kind) -> Self {
        match kind {
            Kind::Embedded => Self::Embedded(tempfile::tempdir().unwrap()),
            Kind::Redis => Self::Redis(RedisServer::with(&DURABLE)),
            Kind::Zookeeper => {
                let tick = TICK.as_millis().to_string();
                Self::Zookeeper(ZookeeperServer::with(&[("tickTime", &tick)]))
            }
            Kind::Postgres => Self::Postgres(PostgresServer::start()),
            Kind::Mysql => Self::Mysql(MariadbServer::start()),
            Kind::Quorum => Self::Quorum((0..3).map(|_| RedisServer::with(&DURABLE)).collect()),
        }
    }

    /// A URL for leases of `ttl`.
    pub(crate) fn url(&self, ttl: Duration) -> String {
        match self {
            Self::Embedded(folder) => format!("file:{}", folder.path().join("locks").display()),
            Self::Redis(server) => server.url(),
            Self::Zookeeper(server) => format!("{}?session={}ms", server.url(), ttl.as_millis()),
            Self::Postgres(server) => server.url(),
            Self::Mysql(server) => server.url(),
            Self::Quorum(servers) => {
                let members: Vec<_> = servers.iter().map(RedisServer::url).collect();
                let members = members.join(",");
                format!("quorum:durable_members=yes,member_limit=2s,{members}")
            }
        }
    }

    /// Ends its server, as a crash does, and starts it again; of a quorum one member. Says whether there is one.
    pub(crate) fn restart(&mut self, number: usize) -> bool {
        match self {
            Self::Embedded(_) => return false,
            Self::Redis(server) => restart_redis(server),
            Self::Quorum(servers) => restart_redis(&mut servers[number % 3]),
            Self::Zookeeper(server) => {
                server.kill();
                thread::sleep(AWAY);
                server.restart();
            }
            Self::Postgres(server) => {
                // In turn: told to end, and killed with all of its processes.
                if number.is_multiple_of(2) {
                    server.end()
                } else {
                    server.kill()
                }
                thread::sleep(AWAY);
                server.restart();
            }
            Self::Mysql(server) => {
                server.kill();
                thread::sleep(AWAY);
                server.restart();
            }
        }
        true
    }

    /// Connections of clients, where there is a server.
    pub(crate) fn connections(&self) -> Option<f64> {
        match self {
            Self::Embedded(_) => None,
            Self::Redis(server) => Some(redis_clients(server)),
            Self::Quorum(servers) => Some(servers.iter().map(redis_clients).sum()),
            Self::Zookeeper(server) => monitored(server, "zk_num_alive_connections"),
            Self::Postgres(server) => psql(
                server,
                "select count(*) from pg_stat_activity \
                 where backend_type = 'client backend' and pid <> pg_backend_pid()",
            ),
            Self::Mysql(server) => mariadb(
                server,
                "select count(*) from information_schema.processlist \
                 where user = 'root' and id <> connection_id()",
            ),
        }
    }

    /// Files, keys, rows or znodes.
    pub(crate) fn things(&self) -> Option<f64> {
        match self {
            Self::Embedded(folder) => Some(files(folder.path()) as f64),
            Self::Redis(server) => redis_number(server, &["DBSIZE"]),
            Self::Quorum(servers) => {
                servers.iter().map(|server| redis_number(server, &["DBSIZE"])).sum()
            }
            Self::Zookeeper(server) => monitored(server, "zk_znode_count"),
            Self::Postgres(server) => psql(server, "select count(*) from tenure.locks"),
            Self::Mysql(server) => mariadb(server, "select count(*) from tenure_locks"),
        }
    }
}

fn restart_redis(server: &mut RedisServer) {
    server.kill();
    thread::sleep(AWAY);
    server.restart();
}

fn redis_clients(server: &RedisServer) -> f64 {
    let Reply::Text(clients) = server.command(&["CLIENT", "LIST"]) else { return f64::NAN };
    // Whoever asks is one of them.
    clients.lines().count().saturating_sub(1) as f64
}

fn redis_number(server: &RedisServer, words: &[&str]) -> Option<f64> {
    match server.command(words) {
        Reply::Text(number) => number.parse().ok(),
        _ => None,
    }
}

fn monitored(server: &ZookeeperServer, what: &str) -> Option<f64> {
    let told = server.four_letters("mntr");
    let line = told.lines().find_map(|line| line.strip_prefix(what));
    let number: f64 = line?.trim().parse().ok()?;
    // Whoever asks is one of the connections.
    Some(if what.contains("connections") { number - 1.0 } else { number })
}

fn psql(server: &PostgresServer, query: &str) -> Option<f64> {
    number(Command::new("psql").args([&server.url(), "-Atc", query]))
}

fn mariadb(server: &MariadbServer, query: &str) -> Option<f64> {
    let url = server.url();
    let place = url.split('@').nth(1)?;
    let port = place.split(':').nth(1)?.split('/').next()?;
    let mut command = Command::new("mariadb");
    command.args(["--no-defaults", "--protocol=tcp", "-h127.0.0.1", "-uroot", "-P", port]);
    number(command.args(["tenure", "-BNe", query]))
}

/// What a command answers, or nothing: a server that has just been restarted may still refuse.
fn number(command: &mut Command) -> Option<f64> {
    let told = command.stdin(Stdio::null()).stderr(Stdio::null()).output().unwrap();
    String::from_utf8_lossy(&told.stdout).trim().parse().ok()
}

fn files(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let count = |entry: std::fs::DirEntry| {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) { files(&entry.path()) } else { 1 }
    };
    entries.map(count).sum()
}
