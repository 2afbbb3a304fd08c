//! Primaries that share the slots, and a replica of each.

use std::{
    process::Command,
    thread,
    time::{Duration, Instant},
};

use super::{
    Certificates,
    partition::Side,
    port::free_port,
    redis::{Node, RedisServer, Reply, settings_of_tls},
};

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

    /// Has a client use the cluster's network: among those that go with a server when it is cut off, or with all
    /// others.
    pub fn join(&self, client: &mut Command, cut_off: bool) {
        if let Some(side) = self.side(if cut_off { "cut off" } else { "others" }) {
            side.join(client);
        }
    }

    /// Cuts one server off, with its clients.
    pub fn cut_off(&self, number: usize) {
        let others = |each: &usize| *each != number;
        let (of_it, of_others) =
            (self.ports(|each| each == number), self.ports(|each| each != number));
        for server in (0..self.servers.len()).filter(others).filter_map(|at| self.servers.get(at)) {
            server.part_from(of_it.clone());
        }
        if let Some(server) = self.servers.get(number) {
            server.part_from(of_others.clone());
        }
        if let (Some(with_it), Some(rest)) = (self.side("cut off"), self.side("others")) {
            with_it.part_from(of_others);
            rest.part_from(of_it);
        }
    }

    /// All reach each other again.
    pub fn heal(&self) {
        for server in &self.servers {
            server.part_from([]);
        }
        for side in ["cut off", "others"] {
            if let Some(side) = self.side(side) {
                side.part_from([]);
            }
        }
    }

    fn side(&self, name: &str) -> Option<Side> {
        self.network.as_ref().map(|folder| Side::new(folder.path(), name))
    }

    /// The ports of the servers with these numbers.
    fn ports(&self, of: impl Fn(usize) -> bool) -> Vec<u16> {
        let servers = self.servers.iter().enumerate().filter(|(number, _)| of(*number));
        servers.flat_map(|(_, server)| [server.address().port(), bus(server)]).collect()
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
            done(server, &["CLUSTER", "SET-CONFIG-EPOCH", &(number + 1).to_string()]);
            let (from, to) = (number * SLOTS / COUNT, (number + 1) * SLOTS / COUNT - 1);
            done(server, &["CLUSTER", "ADDSLOTSRANGE", &from.to_string(), &to.to_string()]);
        }
        for server in others {
            first.meet(server);
        }
        cluster.until("all know each other", || {
            cluster.servers.iter().all(|server| nodes(server).len() == 2 * COUNT)
        });
        for (replica, primary) in cluster.servers.iter().skip(COUNT).zip(&cluster.servers) {
            done(replica, &["CLUSTER", "REPLICATE", &id(primary)]);
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
            first.meet(&server);
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
            done(replica, &["CLUSTER", "REPLICATE", &id(primary)]);
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

    /// The number of the server that has a slot, as most that run have it.
    #[must_use]
    pub fn owner(&self, slot: u16) -> Option<usize> {
        self.owner_by(slot, self.running())
    }

    /// The same, as these have it.
    fn owner_by<'a>(
        &self,
        slot: u16,
        asked: impl Iterator<Item = &'a RedisServer>,
    ) -> Option<usize> {
        let told: Vec<_> = asked.filter_map(|server| self.told_owner(server, slot)).collect();
        let count = |number: usize| told.iter().filter(|one| **one == number).count();
        (0..self.servers.len()).find(|number| 2 * count(*number) > told.len())
    }

    /// The slot of a key.
    ///
    /// # Panics
    /// When no server answers.
    #[must_use]
    pub fn slot(&self, key: &str) -> u16 {
        let told = self.running().next().map(|server| server.command(&["CLUSTER", "KEYSLOT", key]));
        number(told).unwrap_or_default()
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
        self.until("a fail-over begins", || {
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
            done(replica, &["CONFIG", "SET", "masterauth", "not the password"]);
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

    /// Opens a slot on its way to another server: what its owner lacks is asked for there.
    pub fn open_slot(&self, slot: u16, to: usize) {
        let (Some(from), Some(to)) = (self.owner(slot), self.servers.get(to)) else { return };
        let Some(from) = self.servers.get(from) else { return };
        let slot = slot.to_string();
        done(to, &["CLUSTER", "SETSLOT", &slot, "IMPORTING", &id(from)]);
        done(from, &["CLUSTER", "SETSLOT", &slot, "MIGRATING", &id(to)]);
    }

    /// Moves all keys of an open slot, or only those that end so.
    pub fn move_keys(&self, slot: u16, to: usize, end: &str) {
        let (Some(from), Some(to)) = (self.owner(slot), self.servers.get(to)) else { return };
        let Some(from) = self.servers.get(from) else { return };
        move_keys_of(from, slot, to, end);
    }

    /// Ends the move of a slot: it is this server's, and all know it.
    pub fn close_slot(&self, slot: u16, to: usize) {
        let Some(owner) = self.servers.get(to).map(id) else { return };
        let slot_text = slot.to_string();
        let receiver = self.servers.get(to).into_iter();
        let tell = |server: &RedisServer| {
            // A replica does not take it.
            let _ = server.command(&["CLUSTER", "SETSLOT", &slot_text, "NODE", &owner]);
        };
        receiver.chain(self.running()).for_each(tell);
        self.until("all know where the slot is", || {
            let elsewhere = |server: &&RedisServer| self.told_owner(server, slot) != Some(to);
            // Who was busy may not have heard.
            self.running().filter(elsewhere).inspect(|server| tell(server)).count() == 0
        });
    }

    /// Moves a slot with all that is in it, whoever uses that meanwhile.
    ///
    /// # Panics
    /// When that does not happen.
    pub fn move_slot(&self, slot: u16, to: usize) {
        let from = self.owner(slot).and_then(|from| self.servers.get(from));
        self.open_slot(slot, to);
        self.until("all keys of the slot are moved", || {
            self.move_keys(slot, to, "");
            from.is_some_and(|from| is_empty(from, slot))
        });
        self.close_slot(slot, to);
    }

    /// Gives a slot to another server by force, which raises its epoch: what is in it is lost.
    ///
    /// # Panics
    /// When that does not happen.
    pub fn take_slot(&self, slot: u16, to: usize) {
        let from = self.owner(slot).and_then(|from| self.servers.get(from));
        let (Some(from), Some(receiver)) = (from, self.servers.get(to)) else { return };
        let slot_text = slot.to_string();
        done(receiver, &["CLUSTER", "SETSLOT", &slot_text, "IMPORTING", &id(from)]);
        done(receiver, &["CLUSTER", "SETSLOT", &slot_text, "NODE", &id(receiver)]);
        self.all_know(slot, to);
    }

    /// The same without raising an epoch: all forget who has the slot, and the other one says that it has it.
    ///
    /// # Panics
    /// When that does not happen.
    pub fn reassign_slot(&self, slot: u16, to: usize) {
        let slot_text = slot.to_string();
        for server in self.running() {
            // Who has heard of it by another one meanwhile has nothing to forget.
            let _ = server.command(&["CLUSTER", "DELSLOTS", &slot_text]);
        }
        if let Some(receiver) = self.servers.get(to) {
            done(receiver, &["CLUSTER", "ADDSLOTS", &slot_text]);
        }
        self.all_know(slot, to);
    }

    fn all_know(&self, slot: u16, owner: usize) {
        self.until("all know where the slot is", || {
            self.running()
                .all(|server| self.told_owner(server, slot) == Some(owner) && is_up(server))
        });
    }

    /// Begins to move a slot, and takes it back when keys that end so have been moved.
    ///
    /// # Panics
    /// When that does not happen.
    pub fn move_slot_in_vain(&self, slot: u16, to: usize, end: &str) {
        let Some(from) = self.owner(slot) else { return };
        let (Some(owner), Some(other)) = (self.servers.get(from), self.servers.get(to)) else {
            return;
        };
        self.open_slot(slot, to);
        self.move_keys(slot, to, end);
        let stable = ["CLUSTER", "SETSLOT", &slot.to_string(), "STABLE"];
        // From here on nothing is created where it does not stay.
        done(owner, &stable);
        self.until("all keys of the slot are back", || {
            move_keys_of(other, slot, owner, "");
            is_empty(other, slot)
        });
        done(other, &stable);
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
                RedisServer::try_as(Node { behind, tls: self.tls, side }, &settings)
            {
                return server;
            }
        }
        panic!("the nodes of a cluster do not start");
    }

    /// The number of the server that has a slot, as this one has it.
    fn told_owner(&self, server: &RedisServer, slot: u16) -> Option<usize> {
        let told = server.command(&["CLUSTER", "SLOTS"]);
        let Reply::List(ranges) = told else { return None };
        let port = ranges.into_iter().find_map(|range| {
            let Reply::List(range) = range else { return None };
            let mut range = range.into_iter();
            let (from, to) = (number(range.next())?, number(range.next())?);
            let Some(Reply::List(primary)) = range.next() else { return None };
            (from..=to).contains(&slot).then(|| number(primary.into_iter().nth(1)))?
        })?;
        self.servers.iter().position(|server| server.address().port() == port)
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

impl RedisServer {
    fn meet(&self, other: &Self) {
        let port = other.address().port().to_string();
        done(self, &["CLUSTER", "MEET", "127.0.0.1", &port, &bus(other).to_string()]);
    }
}

/// Moves keys of a slot that end so.
fn move_keys_of(from: &RedisServer, slot: u16, to: &RedisServer, end: &str) {
    let port = to.address().port().to_string();
    let keys = from.command(&["CLUSTER", "GETKEYSINSLOT", &slot.to_string(), "1000"]);
    let Reply::List(keys) = keys else { return };
    for key in keys {
        if let Reply::Text(key) = key
            && key.ends_with(end)
        {
            let words = ["MIGRATE", "127.0.0.1", &port, "", "0", "5000"];
            done(from, &[&words[..], &["KEYS", &key]].concat());
        }
    }
}

fn is_empty(server: &RedisServer, slot: u16) -> bool {
    let keys = server.command(&["CLUSTER", "GETKEYSINSLOT", &slot.to_string(), "1"]);
    matches!(keys, Reply::List(keys) if keys.is_empty())
}

fn done(server: &RedisServer, words: &[&str]) {
    let told = server.command(words);
    assert_eq!(told, Reply::Text("OK".to_owned()), "{words:?}");
}

/// The port of a node for other nodes.
fn bus(server: &RedisServer) -> u16 {
    number(Some(server.command(&["CONFIG", "GET", "cluster-port"]))).unwrap_or_default()
}

/// The identity of a node.
fn id(server: &RedisServer) -> String {
    text(server.command(&["CLUSTER", "MYID"]))
}

/// Whether a node thinks that the cluster works.
fn is_up(server: &RedisServer) -> bool {
    text(server.command(&["CLUSTER", "INFO"])).contains("cluster_state:ok")
}

/// What a node knows of each.
fn nodes(server: &RedisServer) -> Vec<String> {
    let told = text(server.command(&["CLUSTER", "NODES"]));
    let known = told.lines().filter(|line| !line.contains("handshake"));
    known.map(str::to_owned).collect()
}

/// Whether this is a replica of that one.
fn replicates(server: &RedisServer, of: &str) -> bool {
    nodes(server).iter().any(|line| line.contains("myself,slave") && line.contains(of))
}

/// A text, or the last one of a list.
fn text(told: Reply) -> String {
    match told {
        Reply::Text(text) => text,
        Reply::List(list) => list.into_iter().next_back().map(text).unwrap_or_default(),
        Reply::Nil | Reply::Error(_) => String::new(),
    }
}

fn number(told: Option<Reply>) -> Option<u16> {
    told.and_then(|told| text(told).parse().ok())
}
