//! Many processes that all want one name.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use crate::{
    contestants::{self, Contestant},
    failure::Failure,
    process::child::{Player, await_order, say},
    process::cpu,
    report::Figure,
};

const PROCESSES: usize = 64;

/// What one process had: holds, microseconds of CPU, and its longest wait in milliseconds.
type Told = (f64, f64, f64);

pub(crate) fn measure(dir: &Path, length: Duration) -> Result<[Figure; 2], Failure> {
    let title = |of: &str| format!("{PROCESSES} processes on one name: {of}");
    let mut cpu = Figure::new(
        title("CPU"),
        "µs of CPU for each hold, one value for each process",
        "Each process acquires and releases as fast as it can, and counts its holds.",
    )
    .goal(Some("at most 80 µs for tenure"));
    let mut waits = Figure::new(
        title("the longest waits"),
        "ms, one value for each process",
        "The same run. Where waits are even, the greatest is little above the median.",
    );
    for (who, how) in [
        ("tenure", "tenure, tasks of tokio"),
        ("blocking", "tenure, blocking"),
        ("flock", "flock, blocking"),
    ] {
        let told = together(who, length, dir)?;
        let holds: f64 = told.iter().map(|(holds, ..)| holds).sum();
        let how = format!("{how}, {:.0} holds a second", holds / length.as_secs_f64());
        cpu.row(&*how, told.iter().map(|(holds, used, _)| used / holds).collect());
        waits.row(how, told.iter().map(|(_, _, longest)| *longest).collect());
    }
    Ok([cpu, waits])
}

fn together(who: &str, length: Duration, dir: &Path) -> Result<Vec<Told>, Failure> {
    let part = ["crowd", who, &length.as_millis().to_string()];
    let players: Result<Vec<_>, _> = (0..PROCESSES).map(|_| Player::start(&part, dir)).collect();
    let mut players = players?;
    for player in &mut players {
        player.hear()?;
    }
    for player in &mut players {
        player.go_on()?;
    }
    let told = |player: &mut Player| {
        let line = player.hear()?;
        let numbers: Result<Vec<f64>, _> = line.split(' ').map(str::parse).collect();
        match numbers?[..] {
            [holds, used, longest] => Ok((holds, used, longest)),
            _ => Err("a child said nonsense".into()),
        }
    };
    players.iter_mut().map(told).collect()
}

/// A child: takes the lock for as long as `millis`, and says how often, with how much CPU, and how long it waited
/// for it at most.
pub(crate) fn take(who: &str, millis: u64, dir: &Path) -> Result<(), Failure> {
    let length = Duration::from_millis(millis);
    let (holds, used, longest) = match who {
        "tenure" => {
            let runtime = contestants::runtime()?;
            let mutex = runtime.block_on(contestants::open_tenure(dir))?.mutex("crowd");
            say("ready")?;
            await_order()?;
            runtime.block_on(runtime.spawn(async move {
                let mut count = Count::begin(length)?;
                while count.goes_on() {
                    let asked = Instant::now();
                    let guard = mutex.lock().await?;
                    count.holds(asked);
                    guard.release().await?;
                }
                count.end()
            }))??
        }
        _ => of_a_thread(&mut *contestants::open(who, dir)?, length)?,
    };
    say(format_args!("{holds} {used} {longest}"))
}

fn of_a_thread(lock: &mut dyn Contestant, length: Duration) -> Result<Told, Failure> {
    say("ready")?;
    await_order()?;
    let mut count = Count::begin(length)?;
    while count.goes_on() {
        let asked = Instant::now();
        lock.acquire()?;
        count.holds(asked);
        lock.release()?;
    }
    count.end()
}

/// What one process had.
struct Count {
    end: Instant,
    used: f64,
    holds: f64,
    longest: Duration,
}

impl Count {
    fn begin(length: Duration) -> Result<Self, Failure> {
        let end = Instant::now() + length;
        Ok(Self { end, used: cpu::own()?, holds: 0.0, longest: Duration::ZERO })
    }

    fn goes_on(&self) -> bool {
        Instant::now() < self.end
    }

    fn holds(&mut self, asked: Instant) {
        self.holds += 1.0;
        self.longest = self.longest.max(asked.elapsed());
    }

    fn end(self) -> Result<Told, Failure> {
        Ok((self.holds, cpu::own()? - self.used, self.longest.as_secs_f64() * 1e3))
    }
}
