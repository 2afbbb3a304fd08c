//! A contender of the drills in bindings/python/tests, not an example: `contender PLACE TURNS TTL`.
//!
//! It counts in a file under the lock, for so many turns; or it uses a resource that refuses late writes, until that
//! tells it to stop.

use std::{
    env,
    error::Error,
    fs::{self, OpenOptions},
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    process, thread,
    time::Duration,
};

use rustix::time::{ClockId, clock_gettime};
use tenure::blocking::{Guard, Tenure};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// A connection to the resource, which answers each line with one.
struct Resource(BufReader<TcpStream>);

impl Resource {
    fn ask(&mut self, line: &str) -> Outcome<String> {
        self.0.get_mut().write_all(format!("{line}\n").as_bytes())?;
        let mut answer = String::new();
        if self.0.read_line(&mut answer)? == 0 {
            // The drill is over.
            process::exit(0);
        }
        Ok(answer.trim().to_owned())
    }
}

/// On the clock that the others use, too.
fn now() -> String {
    let now = clock_gettime(ClockId::Monotonic);
    format!("{}{:09}", now.tv_sec, now.tv_nsec)
}

/// Between which times it was held.
fn held(guard: &Guard) -> Option<String> {
    let before = now();
    guard.check().ok()?;
    Some(format!("{before} {}", now()))
}

fn uses(guard: &Guard, place: &str) -> Outcome<bool> {
    let mut resource = Resource(BufReader::new(TcpStream::connect(place)?));
    let token = guard.token().get();
    let mut still = held(guard);
    if let Some(times) = still {
        let counted = resource.ask(&format!("held rust {token} {times} {}", process::id()))?;
        if let Ok(counted) = counted.parse::<u64>() {
            // Deliberately without another check: a program may be frozen at this very moment.
            resource.ask(&format!("write rust {token} {}", counted + 1))?;
        }
        still = held(guard);
    }
    let last = match still {
        Some(times) => format!("still rust {token} {times}"),
        None => format!("lost rust {token}"),
    };
    Ok(resource.ask(&last)? == "go")
}

fn counts(guard: &Guard, place: &str) -> Outcome<bool> {
    let count = format!("{place}/count");
    let counted: u64 = fs::read_to_string(&count)?.parse()?;
    let token = guard.check()?;
    fs::write(&count, (counted + 1).to_string())?;
    let mut tokens = OpenOptions::new().append(true).open(format!("{place}/tokens"))?;
    writeln!(tokens, "{}", token.get())?;
    Ok(true)
}

/// None means no end.
fn turns(tenure: &Tenure, place: &str, turns: Option<u32>, ttl: Duration) -> Outcome<()> {
    let (mut goes_on, mut taken) = (true, 0);
    while goes_on && turns.is_none_or(|turns| taken < turns) {
        taken += 1;
        let guard = tenure.mutex("count").ttl(ttl).wait(Duration::from_secs(120)).lock()?;
        let counts_in_file = place.starts_with('/');
        goes_on = if counts_in_file { counts(&guard, place)? } else { uses(&guard, place)? };
        let released = guard.release();
        if counts_in_file {
            released?;
        }
    }
    Ok(())
}

fn main() -> Outcome<()> {
    let args: Vec<_> = env::args().collect();
    let [_, place, all, ttl] = &args[..] else { return Err("PLACE TURNS TTL".into()) };
    let (all, ttl) = (all.parse::<u32>()?, Duration::from_secs_f64(ttl.parse()?));
    let tenure = &Tenure::open(&env::var("DRILL_STORE")?)?;
    thread::scope(|scope| {
        let halves = [all / 2, all - all / 2].map(|half| (all > 0).then_some(half));
        let threads = halves.map(|half| scope.spawn(move || turns(tenure, place, half, ttl)));
        threads.into_iter().try_for_each(|thread| match thread.join() {
            Ok(ended) => ended,
            Err(_) => Err("a thread panicked".into()),
        })
    })
}
