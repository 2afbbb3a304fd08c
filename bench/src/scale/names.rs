//! Ever new names, each locked once: how quickly they are made, what is left of them, and how it goes away.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Write, stdout},
    net::TcpStream,
    os::unix::fs::MetadataExt,
    path::Path,
    thread::sleep,
    time::{Duration, Instant, SystemTime},
};

use clap::Args;
use tenure::Tenure;
use tokio::{runtime::Runtime, task::JoinSet};

use crate::{
    contestants::runtime,
    failure::Failure,
    process::memory::resident,
    servers::place::{Place, Store},
};

/// How much later it is made to be.
const LATER: Duration = Duration::from_secs(3_600);
/// How long what ends by itself may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// Locks ever new names once each, and tells how quickly, and what is left of them.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Redis, or the embedded store; both unless one is named.
    stores: Vec<Store>,
    /// So many names.
    #[arg(long, default_value_t = 1_000_000)]
    count: usize,
    /// By so many tasks.
    #[arg(long, default_value_t = 256)]
    tasks: usize,
    /// The speed is told of so many at a time.
    #[arg(long, default_value_t = 50_000)]
    batch: usize,
    /// Where the store's files are made; a temporary directory if nothing is said.
    #[arg(long)]
    dir: Option<std::path::PathBuf>,
}

pub(crate) fn main(arguments: &Arguments) -> Result<(), Failure> {
    let dir = match &arguments.dir {
        Some(parent) => tempfile::tempdir_in(parent)?,
        None => tempfile::tempdir()?,
    };
    let both = vec![Store::Redis, Store::Embedded];
    let stores = if arguments.stores.is_empty() { &both } else { &arguments.stores };
    for &store in stores {
        let place = Place::start(store, dir.path())?;
        match &place {
            Place::Redis(server) => on_redis(arguments, &place, server)?,
            Place::Embedded(folder) => embedded(arguments, &place, folder.path())?,
            _ => return Err("say redis or embedded: others are not looked into".into()),
        }
    }
    Ok(())
}

fn tell(what: impl std::fmt::Display) -> Result<(), Failure> {
    Ok(writeln!(stdout(), "{what}")?)
}

/// Locks names, and says how many a second of each batch.
struct Maker {
    runtime: Runtime,
    tenure: Tenure,
    tasks: usize,
    batch: usize,
    made: usize,
}

impl Maker {
    fn open(arguments: &Arguments, place: &Place) -> Result<Self, Failure> {
        let runtime = runtime()?;
        let tenure = runtime.block_on(Tenure::open(place.url()))?;
        let &Arguments { tasks, batch, .. } = arguments;
        Ok(Self { runtime, tenure, tasks, batch, made: 0 })
    }

    /// Makes a batch: how many a second.
    fn batch(&mut self) -> Result<f64, Failure> {
        let (first, began) = (self.made, Instant::now());
        self.made += self.batch;
        let (last, tasks) = (self.made, self.tasks);
        self.runtime.block_on(async {
            let mut all = JoinSet::new();
            for task in 0..tasks {
                let tenure = self.tenure.clone();
                all.spawn(async move {
                    for number in (first + task..last).step_by(tasks) {
                        let mutex = tenure.mutex(format!("name-{number}"));
                        mutex.lock().await?.release().await?;
                    }
                    Ok::<_, Failure>(())
                });
            }
            while let Some(ended) = all.join_next().await {
                ended??;
            }
            Ok::<_, Failure>(())
        })?;
        Ok(self.batch as f64 / began.elapsed().as_secs_f64())
    }

    /// Makes all of them: the speed of the first batch, of the slowest and of the last.
    fn all(&mut self, count: usize) -> Result<(), Failure> {
        let began = Instant::now();
        let mut speeds = Vec::new();
        while self.made < count {
            speeds.push(self.batch()?);
        }
        let slowest = speeds.iter().copied().fold(f64::INFINITY, f64::min);
        let at = |speed: Option<&f64>| speed.copied().unwrap_or(f64::NAN);
        tell(format_args!(
            "{} names in {:.0} s; a second: {:.0} the first {}, {:.0} the last, {slowest:.0} the slowest; this process \
             has {:.1} MiB",
            self.made,
            began.elapsed().as_secs_f64(),
            at(speeds.first()),
            self.batch,
            at(speeds.last()),
            resident()? / f64::from(1 << 20)
        ))
    }
}

fn on_redis(
    arguments: &Arguments,
    place: &Place,
    server: &crate::servers::redis::Server,
) -> Result<(), Failure> {
    tell("Redis")?;
    let mut redis = Asking(BufReader::new(server.connect()?));
    let mut maker = Maker::open(arguments, place)?;
    tell(format_args!("before: {} keys, {} bytes", redis.keys()?, redis.memory()?))?;
    maker.all(arguments.count)?;
    let (keys, memory) = (redis.keys()?, redis.memory()?);
    tell(format_args!("at once: {keys} keys, {memory} bytes"))?;
    let (longest, endless) = redis.ends()?;
    tell(format_args!(
        "{endless} of these keys end never, the last of the others in {:.1} s",
        longest / 1e3
    ))?;
    let began = Instant::now();
    let mut left = keys;
    while left > endless && began.elapsed().as_secs_f64() * 1e3 < longest + 2_000.0 {
        sleep(Duration::from_secs(1));
        left = redis.keys()?;
    }
    tell(format_args!(
        "after {:.0} s, and so an hour later: {left} keys, {} bytes",
        began.elapsed().as_secs_f64(),
        redis.memory()?
    ))
}

/// A connection for questions.
struct Asking(BufReader<TcpStream>);

impl Asking {
    fn line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }

    fn number(&mut self) -> Result<i64, Failure> {
        Ok(self.line()?.trim_start_matches([':', '$', '*']).parse()?)
    }

    fn keys(&mut self) -> Result<i64, Failure> {
        self.0.get_mut().write_all(b"DBSIZE\r\n")?;
        self.number()
    }

    fn memory(&mut self) -> Result<u64, Failure> {
        self.0.get_mut().write_all(b"INFO memory\r\n")?;
        let mut used = None;
        let length = self.number()?;
        let mut seen = 0;
        while seen < length + 2 {
            let mut line = String::new();
            seen += i64::try_from(self.0.read_line(&mut line)?)?;
            if let Some(number) = line.trim_end().strip_prefix("used_memory:") {
                used = Some(number.parse()?);
            }
        }
        Ok(used.ok_or("the server does not tell its memory")?)
    }

    /// How long the last of those that end by themselves lasts, in milliseconds, and how many do not end.
    fn ends(&mut self) -> Result<(f64, i64), Failure> {
        let (mut cursor, mut longest, mut endless) = ("0".to_owned(), 0, 0);
        loop {
            write!(self.0.get_mut(), "SCAN {cursor} COUNT 1000\r\n")?;
            self.number()?;
            self.number()?;
            cursor = self.line()?;
            let keys = self.number()?;
            let mut asked = String::new();
            for _ in 0..keys {
                self.number()?;
                asked += &format!("PTTL {}\r\n", self.line()?);
            }
            self.0.get_mut().write_all(asked.as_bytes())?;
            for _ in 0..keys {
                match self.number()? {
                    -1 => endless += 1,
                    left => longest = longest.max(left),
                }
            }
            if cursor == "0" {
                return Ok((longest as f64, endless));
            }
        }
    }
}

fn embedded(arguments: &Arguments, place: &Place, folder: &Path) -> Result<(), Failure> {
    tell("embedded")?;
    let mut maker = Maker::open(arguments, place)?;
    maker.all(arguments.count)?;
    let (files, bytes) = files(folder)?;
    tell(format_args!("at once: {files} files, {bytes} bytes of disk"))?;
    let mut before = age(folder)?;
    tell(format_args!("they are made to look as if it were an hour later: {before} files"))?;
    let began = Instant::now();
    // In passing, by whoever makes others.
    loop {
        let speed = maker.batch()?;
        let (left, bytes) = self::files(folder)?;
        tell(format_args!(
            "{} more names, {speed:.0} a second: {left} files, {bytes} bytes of disk",
            maker.batch
        ))?;
        if left + left / 20 >= before || began.elapsed() > PATIENCE {
            return Ok(());
        }
        before = left;
    }
}

/// Files below there, and what they take.
fn files(folder: &Path) -> Result<(usize, u64), Failure> {
    let (mut files_of_it, mut bytes) = (0, 0);
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // One may go meanwhile.
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            let (more, taken) = files(&entry.path())?;
            files_of_it += more;
            bytes += taken;
        } else {
            files_of_it += 1;
            bytes += metadata.blocks() * 512;
        }
    }
    Ok((files_of_it, bytes))
}

/// Has the files of names look as if nobody had touched them for so long.
fn age(folder: &Path) -> Result<usize, Failure> {
    let then = SystemTime::now() - LATER;
    let mut aged = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            aged += age(&path)?;
        } else if path.extension().is_some_and(|ending| ending == "lk")
            && let Ok(file) = File::options().write(true).open(&path)
        {
            file.set_modified(then)?;
            aged += 1;
        }
    }
    Ok(aged)
}
