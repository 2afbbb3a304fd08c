//! No secret is logged, at whatever level and by whatever crate: what a lock is proven by, a handle, a password.

use std::{
    collections::BTreeSet, fmt::Write, fs, path::Path, process::Command, sync::Arc, time::Duration,
};

use base64::{
    Engine,
    prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD},
};
use tenure::Tenure;
use tenure_core::{
    LockName, Owner, Store,
    proto::queue::{Answer, Ask, Intent, Kind, Mode, Order, TakeOver},
    store::Renewal,
};
use tenure_servers::{MariadbServer, PostgresServer, RedisServer, ZookeeperServer};
use tenure_testkit::Random;
use tokio::time::{Instant, sleep};

use crate::overheard;

const PASSWORD: &str = "s3ntinel0fTheLogs";
const TTL: Duration = Duration::from_secs(20);
const PATIENCE: Duration = Duration::from_secs(60);

/// What must not be seen.
#[derive(Default)]
struct Secrets(BTreeSet<String>);

impl Secrets {
    /// The bytes, in each way in which a program may write them.
    fn add(&mut self, bytes: &[u8]) {
        let mut hex = String::new();
        for byte in bytes {
            write!(hex, "{byte:02x}").unwrap();
        }
        let (a, b) = (&hex[..8], &hex[8..12]);
        let dashed = format!("{a}-{b}-{}-{}-{}", &hex[12..16], &hex[16..20], &hex[20..]);
        let decimal: Vec<_> = bytes.iter().map(ToString::to_string).collect();
        self.0.insert(hex.to_uppercase());
        self.0.insert(hex);
        self.0.insert(dashed);
        self.0.insert(decimal.join(", "));
        self.0.insert(decimal.join(","));
        // Alignment moves the ends of it, so what is in the middle is looked for.
        self.0.insert(BASE64_STANDARD_NO_PAD.encode(&bytes[..15]));
        self.0.insert(BASE64_URL_SAFE_NO_PAD.encode(&bytes[..15]));
        // As Rust shows bytes and texts, and as octal, which some loggers of SQL use.
        self.0.insert(bytes.escape_ascii().to_string());
        self.0.insert(format!("{:?}", String::from_utf8_lossy(bytes)).trim_matches('"').to_owned());
    }

    fn text(&mut self, text: &str) {
        self.0.insert(text.to_owned());
    }
}

struct Scene {
    store: Arc<dyn Store>,
    random: Random,
    secrets: Secrets,
}

impl Scene {
    fn owner(&mut self) -> Owner {
        let mut bytes = [0; 16];
        // No letters by chance: these are escaped in each way.
        bytes.fill_with(|| 0x80 | self.random.below(0x80) as u8);
        self.secrets.add(&bytes);
        Owner::from_bytes(bytes)
    }

    fn ask(&mut self, kind: Kind, mode: Mode, intent: Intent) -> Ask {
        let can = self.store.capabilities();
        let order = if can.fifo { Order::Fifo } else { Order::Barging };
        Ask { owner: self.owner(), kind, mode, order, intent, ttl: TTL, label: "me".into() }
    }

    async fn granted(&self, name: &LockName, ask: &Ask) -> bool {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            match self.store.acquire(name, ask).await {
                Ok(Answer::Granted { .. }) => return true,
                Ok(_) if matches!(ask.intent, Intent::Try) => return false,
                _ => sleep(Duration::from_millis(20)).await,
            }
        }
        panic!("{} was never granted", name.as_str());
    }

    async fn release(&self, name: &LockName, owner: &Owner) {
        self.store.release(name, owner, Duration::ZERO).await.unwrap();
    }

    /// What the suite does with each kind, in the order of a lock's life.
    async fn play(&mut self) {
        let name = LockName::new("logged/lock").unwrap();
        let wait = Intent::Wait { position: None };
        let first = self.ask(Kind::Mutex, Mode::Exclusive, Intent::Try);
        assert!(self.granted(&name, &first).await);
        let tries = self.ask(Kind::Mutex, Mode::Exclusive, Intent::Try);
        assert!(!self.granted(&name, &tries).await);
        let waits = self.ask(Kind::Mutex, Mode::Exclusive, wait);
        assert!(!matches!(self.store.acquire(&name, &waits).await, Ok(Answer::Granted { .. })));
        let renewals =
            [&first, &tries].map(|ask| Renewal { name: name.clone(), owner: ask.owner, ttl: TTL });
        for renewed in self.store.for_engine().renew(&renewals).await {
            renewed.unwrap();
        }
        self.store.inspect(&name).await.unwrap();
        self.store.list("logged", 10).await.unwrap();
        self.release(&name, &first.owner).await;
        assert!(self.granted(&name, &waits).await);
        if self.store.capabilities().detach {
            let over = TakeOver {
                from: waits.owner,
                owner: self.owner(),
                kind: Kind::Mutex,
                mode: Mode::Exclusive,
                ttl: TTL,
                label: "me".into(),
                detached: true,
            };
            self.store.take_over(&name, &over).await.unwrap();
        }
        self.store.evict(&name).await.unwrap();
        self.release(&name, &waits.owner).await;
        self.play_others().await;
    }

    async fn play_others(&mut self) {
        let wait = Intent::Wait { position: None };
        let can = self.store.capabilities().clone();
        let permits = Mode::Permits { take: 1, of: 2 };
        for (kind, mode, name) in [
            (Kind::ReadWrite, Mode::Shared, "logged/readers"),
            (Kind::Semaphore, permits, "logged/permits"),
        ] {
            if matches!(mode, Mode::Shared) && !can.shared || mode == permits && !can.permits {
                continue;
            }
            let name = LockName::new(name).unwrap();
            let asks: Vec<_> = (0..2).map(|_| self.ask(kind, mode, wait)).collect();
            for ask in &asks {
                assert!(self.granted(&name, ask).await);
            }
            let other = if kind == Kind::ReadWrite { Mode::Exclusive } else { permits };
            let waits = self.ask(kind, other, wait);
            let _ = self.store.acquire(&name, &waits).await.unwrap();
            let renew = |ask: &Ask| Renewal { name: name.clone(), owner: ask.owner, ttl: TTL };
            let renewals: Vec<_> = asks.iter().map(renew).collect();
            for renewed in self.store.renew(&renewals).await {
                renewed.unwrap();
            }
            for ask in &asks {
                self.release(&name, &ask.owner).await;
            }
            assert!(self.granted(&name, &waits).await);
            self.release(&name, &waits.owner).await;
        }
        if can.together {
            let asks: Vec<_> = ["logged/a", "logged/b"]
                .map(|name| {
                    (
                        LockName::new(name).unwrap(),
                        self.ask(Kind::Mutex, Mode::Exclusive, Intent::Try),
                    )
                })
                .into();
            self.store.acquire_together(&asks).await.unwrap();
            for (name, ask) in &asks {
                self.release(name, &ask.owner).await;
            }
        }
    }
}

/// The same of a server that does not let anybody in who does not prove the password.
async fn keeps_its_password(url: &str, seed: u64) {
    let wrong = url.replace(PASSWORD, "wrong");
    assert!(wrong != url && Tenure::open(&wrong).await.is_err(), "{wrong} is let in");
    keeps_its_secrets(url, seed).await;
}

/// Plays all that a store does, by hand and as programs do, and looks for secrets in what was logged meanwhile.
async fn keeps_its_secrets(url: &str, seed: u64) {
    overheard::listen();
    overheard::take();
    let tenure = Tenure::open(url).await.unwrap();
    let (store, random) = (tenure.store().clone(), Random::new(seed));
    let mut scene = Scene { store, random, secrets: Secrets::default() };
    scene.play().await;
    let ttl = Duration::from_secs(3);
    let held = tenure.mutex("logged/held").lock().ttl(ttl).await.unwrap();
    let first = held.deadline();
    let until = Instant::now() + PATIENCE;
    while held.deadline() == first && Instant::now() < until {
        sleep(Duration::from_millis(50)).await;
    }
    if tenure.store().capabilities().detach {
        let detached = held.detach().lease(TTL).await.unwrap();
        let handle = detached.handle.expose();
        let hex = handle.split(':').nth(6).unwrap();
        let bytes = (0..16).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap());
        scene.secrets.add(&bytes.collect::<Vec<_>>());
        scene.secrets.text(&handle);
        let attached = tenure.attach(&detached.handle).await.unwrap();
        attached.release().await.unwrap();
    } else {
        held.release().await.unwrap();
    }
    tenure.store().health().await.unwrap();
    drop(tenure);
    scene.secrets.text(PASSWORD);
    let logged = overheard::take();
    assert!(logged.contains("logged/held"), "nothing was heard: {logged}");
    for secret in &scene.secrets.0 {
        let seen = logged.find(secret.as_str());
        let around = seen.map(|at| {
            let (from, to) = (at.saturating_sub(300), (at + 200).min(logged.len()));
            String::from_utf8_lossy(&logged.as_bytes()[from..to]).into_owned()
        });
        assert!(around.is_none(), "{secret} was logged: {}", around.unwrap_or_default());
    }
}

/// It lets in whoever proves the password, and nobody else.
fn postgres_with_a_password() -> PostgresServer {
    let mut server = PostgresServer::start();
    let text = format!("alter role postgres password '{PASSWORD}'");
    let told = Command::new("psql").args([&server.url(), "-c", &text]).output().unwrap();
    assert!(told.status.success(), "{told:?}");
    let hba = server.folder().join("data/pg_hba.conf");
    let trusting = fs::read_to_string(&hba).unwrap();
    fs::write(&hba, trusting.replace("trust", "scram-sha-256")).unwrap();
    server.end();
    server.restart();
    server
}

/// A user who has one.
fn mariadb_with_a_password(folder: &Path) -> MariadbServer {
    let first = folder.join("first.sql");
    let text = format!(
        "create database if not exists tenure;\ncreate user me identified by '{PASSWORD}';\n\
         grant all on *.* to me;\n"
    );
    fs::write(&first, text).unwrap();
    MariadbServer::start_with(&[&format!("--init-file={}", first.display())])
}

/// One after the other: they all hear the same.
#[tokio::test(flavor = "multi_thread")]
async fn no_store_and_no_driver_logs_what_proves_a_hold_a_handle_or_a_password() {
    let folder = tempfile::tempdir().unwrap();
    keeps_its_secrets(&format!("file:{}", folder.path().join("one").display()), 1).await;

    let postgres = postgres_with_a_password();
    keeps_its_password(&postgres.url().replace('@', &format!(":{PASSWORD}@")), 2).await;

    let mariadb = mariadb_with_a_password(folder.path());
    keeps_its_password(&mariadb.url().replace("root@", &format!("me:{PASSWORD}@")), 3).await;

    let redis = RedisServer::with(&["--requirepass", PASSWORD]);
    keeps_its_password(&redis.url().replace("://", &format!("://:{PASSWORD}@")), 4).await;

    let zookeeper = ZookeeperServer::start();
    let url = zookeeper.url().replace("://", &format!("://me:{PASSWORD}@"));
    keeps_its_secrets(&url, 5).await;

    let members: Vec<_> =
        ["a", "b", "c"].map(|name| format!("file:{}", folder.path().join(name).display())).into();
    keeps_its_secrets(&format!("quorum:{}", members.join(",")), 6).await;
}
