//! Primaries that share the slots, and a replica of each.

mod network;
mod node;
mod slots;

use std::{
    thread,
    time::{Duration, Instant},
};

use self::node::{expect_ok, id, is_up, meet, nodes, replicates, text};
use super::{NodeOptions, RedisServer, Reply, settings_of_tls};
use crate::{certificates::Certificates, port::free_port};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How many primaries there are, and as many replicas.
const COUNT: usize = 3;
/// How many slots there are.
const SLOTS: usize = 16_384;

/// A cluster of three primaries with a replica each. Dropping it ends them all.
#[derive(Debug)]
pub struct RedisCluster {
    /// The primaries at the beginning, then the replica of each.
    pub servers: Vec<RedisServer>,
    settings: Vec<String>,
    tls: bool,
    /// Keeps what it takes to part the network, where that can be done.
    network: Option<tempfile::TempDir>,
}

impl RedisCluster {
    /// One whose nodes take another for dead after two seconds of silence.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start() -> Self {
        Self::with(&[], 0)
    }

    /// The same with these settings, written as on a command line, and with replicas whose clocks are behind
    /// by so many seconds.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn with(settings: &[&str], replicas_behind: u32) -> Self {
        let settings = settings.iter().map(|&setting| setting.to_owned()).collect();
        Self { servers: Vec::new(), settings, tls: false, network: None }.formed(replicas_behind)
    }

    /// One whose nodes speak TLS with each other and with clients, and plain text too.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn with_tls(certificates: &Certificates) -> Self {
        // The host is the one in the certificate.
        let more = [
            ["--tls-cluster", "yes"],
            ["--tls-replication", "yes"],
            ["--cluster-announce-hostname", "localhost"],
            ["--cluster-preferred-endpoint-type", "hostname"],
        ];
        let more = more.as_flattened().iter().map(|&word| word.to_owned());
        let settings = settings_of_tls(certificates, false).into_iter().chain(more).collect();
        Self { servers: Vec::new(), settings, tls: true, network: None }.formed(0)
    }

    /// One whose network can be parted.
    ///
    /// # Panics
    /// When it does not start, and without a C compiler.
    #[must_use]
    pub fn to_be_parted() -> Self {
        let network = tempfile::tempdir().ok();
        Self { servers: Vec::new(), settings: Vec::new(), tls: false, network }.formed(0)
    }

    fn formed(mut self, replicas_behind: u32) -> Self {
        let cluster = &mut self;
        for number in 0..2 * COUNT {
            let behind = if number < COUNT { 0 } else { replicas_behind };
            cluster.servers.push(cluster.node(behind));
        }
        let [first, others @ ..] = &*cluster.servers else { return self };
        for (number, server) in cluster.servers.iter().take(COUNT).enumerate() {
            // Else all begin with the same, and have to settle that first.
            expect_ok(server, &["CLUSTER", "SET-CONFIG-EPOCH", &(number + 1).to_string()]);
            let (from, to) = (number * SLOTS / COUNT, (number + 1) * SLOTS / COUNT - 1);
            expect_ok(server, &["CLUSTER", "ADDSLOTSRANGE", &from.to_string(), &to.to_string()]);
        }
        for server in others {
            meet(first, server);
        }
        cluster.until("all know each other", || {
            cluster.servers.iter().all(|server| nodes(server).len() == 2 * COUNT)
        });
        for (replica, primary) in cluster.servers.iter().skip(COUNT).zip(&cluster.servers) {
            expect_ok(replica, &["CLUSTER", "REPLICATE", &id(primary)]);
        }
        cluster.settle();
        cluster.until("the replicas get what is written", || cluster.replicate());
        self
    }

    /// Whether the replica of each primary has what that writes now.
    fn replicate(&self) -> bool {
        let (primaries, replicas) = self.servers.split_at(COUNT);
        primaries.iter().zip(replicas).all(|(primary, replica)| {
            // One of them is in a slot of this one.
            let key = (0..SLOTS)
                .map(|number| number.to_string())
                .find(|key| primary.command(&["SET", key, ""]) == Reply::Text("OK".to_owned()));
            if let Some(key) = key {
                primary.command(&["DEL", &key]);
            }
            replica.has_all_of(primary)
        })
    }

    /// The URL of the cluster.
    #[must_use]
    pub fn url(&self) -> String {
        let places: Vec<_> =
            self.servers.iter().map(|server| server.address().to_string()).collect();
        format!("redis-cluster://{}", places.join(","))
    }

    /// The URL of the cluster over TLS, if it speaks that.
    #[must_use]
    pub fn tls_url(&self) -> Option<String> {
        let places: Option<Vec<_>> = self.servers.iter().map(RedisServer::tls_place).collect();
        Some(format!("rediss-cluster://{}", places?.join(",")))
    }

    /// Adds a primary without slots and says its number.
    ///
    /// # Panics
    /// When it does not start.
    pub fn add(&mut self) -> usize {
        let server = self.node(0);
        if let Some(first) = self.servers.iter().find(|server| server.pid().is_some()) {
            meet(first, &server);
        }
        self.servers.push(server);
        self.until("all know the new one", || {
            self.running().all(|server| nodes(server).len() >= self.servers.len())
        });
        self.settle();
        self.servers.len() - 1
    }

    /// Adds another replica to a server, and says its number.
    ///
    /// # Panics
    /// When it does not start.
    pub fn add_replica(&mut self, of: usize) -> usize {
        let added = self.add();
        if let (Some(replica), Some(primary)) = (self.servers.get(added), self.servers.get(of)) {
            expect_ok(replica, &["CLUSTER", "REPLICATE", &id(primary)]);
        }
        self.settle();
        let ids = [added, of].map(|number| self.servers.get(number).map(id).unwrap_or_default());
        // Who takes over from the primary knows of it else only by chance.
        self.until("all know the new replica", || {
            let knows = |line: &String| line.starts_with(&ids[0]) && line.contains(&ids[1]);
            self.running().all(|server| nodes(server).iter().any(knows))
        });
        added
    }

    /// Waits until another server has the slot than this one, which is not asked, and the others take writes.
    ///
    /// # Panics
    /// When that does not happen.
    pub fn another_than(&self, before: usize, slot: u16) -> usize {
        let others = || {
            let others = self.servers.iter().enumerate().filter(|(number, _)| *number != before);
            others.map(|(_, server)| server).filter(|server| server.pid().is_some())
        };
        let mut now = None;
        self.until("another server has the slot", || {
            now = self.owner_by(slot, others()).filter(|number| *number != before);
            now.is_some() && others().all(is_up)
        });
        now.unwrap_or(before)
    }

    /// Makes the replica of the server that has this slot take its place, and waits until it has.
    ///
    /// # Panics
    /// When that does not happen.
    pub fn fail_over(&self, slot: u16) -> usize {
        let before = self.owner(slot).unwrap_or_default();
        let of = self.servers.get(before).map(id).unwrap_or_default();
        self.until("a failover begins", || {
            for replica in self.running().filter(|server| replicates(server, &of)) {
                // One that was asked for a moment ago may have been given up.
                let _ = replica.command(&["CLUSTER", "FAILOVER"]);
            }
            thread::sleep(Duration::from_millis(200));
            self.owner(slot).is_some_and(|now| now != before)
        });
        self.another_than(before, slot)
    }

    /// Replicas get nothing any more of what is written.
    pub fn cut_replicas(&self) {
        for replica in self.servers.iter().skip(COUNT) {
            // They are refused when they come again.
            expect_ok(replica, &["CONFIG", "SET", "masterauth", "not the password"]);
        }
        for primary in self.servers.iter().take(COUNT) {
            let _ = primary.command(&["CLIENT", "KILL", "TYPE", "replica"]);
        }
        self.until("no replica follows", || {
            self.servers.iter().skip(COUNT).all(|replica| {
                text(replica.command(&["INFO", "replication"])).contains("master_link_status:down")
            })
        });
    }

    /// Waits until all that run have all slots and follow each other.
    ///
    /// # Panics
    /// When that does not happen.
    pub fn settle(&self) {
        self.until("the cluster is up", || {
            self.running().all(|server| {
                let role = text(server.command(&["INFO", "replication"]));
                is_up(server)
                    && (role.contains("role:master") || role.contains("master_link_status:up"))
            })
        });
    }

    /// Those whose processes run.
    pub fn running(&self) -> impl Iterator<Item = &RedisServer> {
        self.servers.iter().filter(|server| server.pid().is_some())
    }

    #[allow(clippy::panic, reason = "a test without its servers fails")]
    fn node(&self, behind: u32) -> RedisServer {
        let more: Vec<_> = self.settings.iter().map(String::as_str).collect();
        // Somebody else may take a port between its choice and its use.
        for _ in 0..10 {
            let bus = free_port().to_string();
            let usual =
                ["--save", "", "--repl-diskless-sync-delay", "0", "--cluster-enabled", "yes"];
            let of_nodes = ["--cluster-node-timeout", "2000", "--cluster-port", &bus];
            let settings = [&usual[..], &of_nodes, &more].concat();
            let side = self.side(&format!("node-{bus}"));
            if let Some(server) =
                RedisServer::try_as(NodeOptions { behind, tls: self.tls, side }, &settings)
            {
                return server;
            }
        }
        panic!("the nodes of a cluster do not start");
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
