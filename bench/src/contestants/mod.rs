//! tenure, and what people use instead of it on one machine. Each is used as its users would.

#[cfg(target_os = "linux")]
mod system_calls;

use std::{
    fs::{File, OpenOptions},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use nix::fcntl::{Flock, FlockArg};
use rusqlite::{Connection, params};
use tenure::{Guard, Mutex, Tenure};
use tokio::runtime::Runtime;

#[cfg(target_os = "linux")]
use self::system_calls::SystemCalls;
use crate::failure::Failure;

/// How often a waiter looks at a table, which tells nobody anything.
const POLL: Duration = Duration::from_millis(1);

/// One way to lock, on one name.
pub(crate) trait Contestant {
    /// Waits for the lock and takes it.
    fn acquire(&mut self) -> Result<(), Failure>;

    /// Lets go.
    fn release(&mut self) -> Result<(), Failure>;
}

/// tenure as callers without `async` have it.
struct OursBlocking {
    mutex: tenure::blocking::Mutex,
    held: Option<tenure::blocking::Guard>,
}

impl OursBlocking {
    fn open(dir: &Path) -> Result<Self, Failure> {
        let tenure = tenure::blocking::Tenure::open(url(dir))?;
        Ok(Self { mutex: tenure.mutex("bench"), held: None })
    }
}

impl Contestant for OursBlocking {
    fn acquire(&mut self) -> Result<(), Failure> {
        self.held = Some(self.mutex.lock()?);
        Ok(())
    }

    fn release(&mut self) -> Result<(), Failure> {
        Ok(self.held.take().ok_or("nothing is held")?.release()?)
    }
}

/// Where a child finds the URL of a server.
pub(crate) const URL: &str = "server.url";

/// Opens a contestant whose files are in `dir`.
pub(crate) fn open(who: &str, dir: &Path) -> Result<Box<dyn Contestant>, Failure> {
    Ok(match who {
        "tenure" => Box::new(Ours::open(dir)?),
        "mysql" | "postgres" | "redis" | "zookeeper" => {
            Box::new(Ours::on(&std::fs::read_to_string(dir.join(URL))?)?)
        }
        "blocking" => Box::new(OursBlocking::open(dir)?),
        "flock" => Box::new(FileLock { path: dir.join("flock"), held: None }),
        "flock kept open" => Box::new(OpenFileLock::open(&dir.join("flock kept open"))?),
        "SQLite" => Box::new(Row::open(dir)?),
        #[cfg(target_os = "linux")]
        "system calls" => Box::new(SystemCalls::open(&dir.join("system calls"))?),
        _ => return Err(format!("nobody is called {who}").into()),
    })
}

/// A store of ours through the public API, in the usual runtime.
struct Ours {
    runtime: Runtime,
    mutex: Mutex,
    held: Option<Guard>,
}

impl Ours {
    fn open(dir: &Path) -> Result<Self, Failure> {
        let runtime = runtime()?;
        let mutex = runtime.block_on(open_tenure(dir))?.mutex("bench");
        Ok(Self { runtime, mutex, held: None })
    }
}

impl Ours {
    fn on(url: &str) -> Result<Self, Failure> {
        let runtime = runtime()?;
        let mutex = runtime.block_on(Tenure::open(url))?.mutex("bench");
        Ok(Self { runtime, mutex, held: None })
    }
}

impl Contestant for Ours {
    fn acquire(&mut self) -> Result<(), Failure> {
        self.held = Some(self.runtime.block_on(self.mutex.lock().into_future())?);
        Ok(())
    }

    fn release(&mut self) -> Result<(), Failure> {
        let guard = self.held.take().ok_or("nothing is held")?;
        Ok(self.runtime.block_on(guard.release())?)
    }
}

/// The runtime that most users have.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}

/// The embedded store in `dir`.
pub(crate) async fn open_tenure(dir: &Path) -> Result<Tenure, Failure> {
    Ok(Tenure::open(url(dir)).await?)
}

fn url(dir: &Path) -> String {
    format!("file:{}", dir.join("tenure").display())
}

/// A file under flock(2), opened each time.
struct FileLock {
    path: PathBuf,
    held: Option<Flock<File>>,
}

impl Contestant for FileLock {
    fn acquire(&mut self) -> Result<(), Failure> {
        let file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        self.held = Some(Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, error)| error)?);
        Ok(())
    }

    fn release(&mut self) -> Result<(), Failure> {
        let held = self.held.take().ok_or("nothing is held")?;
        held.unlock().map_err(|(_, error)| error)?;
        Ok(())
    }
}

/// A file under flock(2) that stays open.
struct OpenFileLock {
    /// Nothing while it is held.
    file: Option<File>,
    held: Option<Flock<File>>,
}

impl OpenFileLock {
    fn open(path: &Path) -> Result<Self, Failure> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { file: Some(file), held: None })
    }
}

impl Contestant for OpenFileLock {
    fn acquire(&mut self) -> Result<(), Failure> {
        let file = self.file.take().ok_or("it is held")?;
        self.held = Some(Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, error)| error)?);
        Ok(())
    }

    fn release(&mut self) -> Result<(), Failure> {
        let held = self.held.take().ok_or("nothing is held")?;
        self.file = Some(held.unlock().map_err(|(_, error)| error)?);
        Ok(())
    }
}

#[cfg(target_os = "linux")]
impl Contestant for SystemCalls {
    fn acquire(&mut self) -> Result<(), Failure> {
        self.decide()
    }

    fn release(&mut self) -> Result<(), Failure> {
        self.decide()
    }
}

/// A row with an owner and an end, in a table in WAL mode.
struct Row {
    table: Connection,
    owner: u32,
}

impl Row {
    fn open(dir: &Path) -> Result<Self, Failure> {
        let table = Connection::open(dir.join("sqlite"))?;
        table.busy_timeout(Duration::from_secs(60))?;
        table.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
             CREATE TABLE IF NOT EXISTS locks (name TEXT PRIMARY KEY, owner INTEGER, until INTEGER);",
        )?;
        Ok(Self { table, owner: std::process::id() })
    }
}

impl Contestant for Row {
    fn acquire(&mut self) -> Result<(), Failure> {
        loop {
            let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?;
            let mut take = self.table.prepare_cached(
                "INSERT INTO locks VALUES ('bench', ?1, ?2) ON CONFLICT (name)
                 DO UPDATE SET owner = ?1, until = ?2 WHERE until <= ?3",
            )?;
            if take.execute(params![self.owner, now + 30_000, now])? == 1 {
                return Ok(());
            }
            drop(take);
            std::thread::sleep(POLL);
        }
    }

    fn release(&mut self) -> Result<(), Failure> {
        let mut free = self
            .table
            .prepare_cached("UPDATE locks SET until = 0 WHERE name = 'bench' AND owner = ?1")?;
        free.execute([self.owner])?;
        Ok(())
    }
}
