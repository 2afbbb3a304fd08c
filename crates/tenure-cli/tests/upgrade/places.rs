//! Stores that both versions use, and the steps from one to the other, as docs/upgrading.md has them.

use std::{process::Command, sync::Arc};

use tenure_servers::{MariadbServer, PostgresServer, RedisCluster, RedisServer, ZookeeperServer};

/// A store.
pub(crate) struct Place {
    pub(crate) store: String,
    pub(crate) url: String,
    /// Whether a lock can stay taken after its process.
    pub(crate) keeps: bool,
    /// Whether it has a queue.
    pub(crate) fair: bool,
    /// Whether histories are kept in it.
    pub(crate) keeps_history: bool,
    /// Whether single locks are to be broken before the steps.
    pub(crate) breaks: bool,
    empties: Box<dyn Fn() + Send + Sync>,
    steps: Box<dyn Fn() + Send + Sync>,
}

impl Place {
    fn new(store: &str, url: String, empties: impl Fn() + Send + Sync + 'static) -> Self {
        let (empties, steps) = (Box::new(empties), Box::new(|| panic!("no steps are told")));
        Self {
            store: store.to_owned(),
            url,
            keeps: true,
            fair: true,
            keeps_history: true,
            breaks: false,
            empties,
            steps,
        }
    }

    /// Nothing is left of anything.
    pub(crate) fn empty(&self) {
        (self.empties)();
    }

    /// What the page says is done when every process of one version ended and before those of the other start.
    pub(crate) fn steps(&self) {
        (self.steps)();
    }
}

pub(crate) fn embedded() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("locks");
    let remove = move || {
        let _folder = &folder;
        if folder.path().join("locks").exists() {
            std::fs::remove_dir_all(folder.path().join("locks")).unwrap();
        }
    };
    let remove = Arc::new(remove);
    let mut place = Place::new("embedded", format!("file:{}", store.display()), {
        let remove = remove.clone();
        move || remove()
    });
    place.steps = Box::new(move || remove());
    place
}

pub(crate) fn redis() -> Place {
    let server = Arc::new(RedisServer::start());
    let url = server.url();
    let steps = server.clone();
    let mut place = Place::new("Redis", url, move || {
        server.command(&["FLUSHALL"]);
    });
    place.steps = Box::new(move || {
        steps.command(&["DEL", "tenure:format"]);
    });
    place.breaks = true;
    place
}

/// What the page names of a quorum at each Redis member.
const OF_A_QUORUM: [&str; 6] = [
    "DEL",
    "tenure:format",
    "tenure:{301}lock:tenure:quorum",
    "tenure:{301}ends:tenure:quorum",
    "tenure:{23d}lock:tenure:quorum:restarted",
    "tenure:{23d}ends:tenure:quorum:restarted",
];

pub(crate) fn quorum() -> Place {
    let servers = Arc::new([(); 3].map(|()| RedisServer::start()));
    let urls = servers.each_ref().map(RedisServer::url).join(",");
    let steps = servers.clone();
    let mut place = Place::new("quorum of three Redis", format!("quorum:{urls}"), move || {
        for server in &*servers {
            server.command(&["FLUSHALL"]);
        }
    });
    place.steps = Box::new(move || {
        for server in &*steps {
            server.command(&OF_A_QUORUM);
        }
    });
    (place.fair, place.keeps_history, place.breaks) = (false, false, true);
    place
}

pub(crate) fn cluster() -> Place {
    let cluster = RedisCluster::start();
    let url = cluster.url();
    Place::new("Redis cluster", url, move || {
        for server in cluster.running() {
            server.command(&["FLUSHALL"]);
        }
    })
}

pub(crate) fn postgres() -> Place {
    let server = PostgresServer::start();
    let url = server.url();
    let drops = {
        let url = url.clone();
        move || {
            let _server = &server;
            let drop = "drop schema if exists tenure cascade";
            done(Command::new("psql").args(["-qd", &url, "-c", drop]));
        }
    };
    let drops = Arc::new(drops);
    let mut place = Place::new("PostgreSQL", url, {
        let drops = drops.clone();
        move || drops()
    });
    place.steps = Box::new(move || drops());
    place
}

pub(crate) fn mariadb() -> Place {
    let server = MariadbServer::start();
    let url = server.url();
    let port = url.rsplit([':', '/']).nth(1).unwrap().to_owned();
    let drops = move || {
        let _server = &server;
        let drop = "drop view if exists tenure_holders; drop table if exists tenure_locks, tenure_meta, \
            tenure_slots, tenure_history";
        let at = ["-h127.0.0.1", "-uroot", "-P", &port, "tenure", "-e", drop];
        done(Command::new("mariadb").args(at));
    };
    let drops = Arc::new(drops);
    let mut place = Place::new("MariaDB", url, {
        let drops = drops.clone();
        move || drops()
    });
    place.steps = Box::new(move || drops());
    place
}

/// Sessions of those who ended are over at once, and nothing else is left.
pub(crate) fn zookeeper() -> Place {
    let server = ZookeeperServer::start();
    let url = server.url();
    let mut place = Place::new("ZooKeeper", url, move || {
        let _server = &server;
    });
    (place.keeps, place.keeps_history) = (false, false);
    place
}

fn done(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
