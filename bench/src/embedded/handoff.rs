//! From one process's release to another's grant.

use std::{path::Path, thread::sleep, time::Duration};

use tenure::Mutex;

use crate::{
    contestants::{self, Contestant},
    failure::Failure,
    process::child::{Player, await_order, now, say},
    report::Figure,
};

/// Longer than `PAUSE`, so that the other process waits when a hold ends.
const HOLD: Duration = Duration::from_millis(2);
/// Long enough that the other process, not this one, gets the lock.
const PAUSE: Duration = Duration::from_millis(1);

pub(crate) fn measure(dir: &Path, rounds: usize) -> Result<Figure, Failure> {
    let mut figure = Figure::new(
        "hand-off between two processes",
        "µs from a release to the other's grant",
        "Two processes take turns; the one always waits when the other releases.",
    )
    .goal(Some("a task of tenure at most 2.5 times flock"));
    let all = [
        ("tenure", "tenure, tasks of tokio"),
        ("blocking", "tenure, blocking"),
        ("flock", "flock, blocking"),
        ("SQLite", "SQLite, WAL, a look each ms"),
    ];
    for (who, how) in all {
        figure.row(how, handoffs(who, rounds, dir)?);
    }
    Ok(figure)
}

/// How long each hand-off between two processes of `who` took.
pub(crate) fn handoffs(who: &str, rounds: usize, dir: &Path) -> Result<Vec<f64>, Failure> {
    let part = ["handoff", who, &rounds.to_string()];
    let mut players = [Player::start(&part, dir)?, Player::start(&part, dir)?];
    for player in &mut players {
        player.hear()?;
    }
    for player in &mut players {
        player.go_on()?;
    }
    let mut holds = Vec::new();
    for (process, player) in players.iter_mut().enumerate() {
        for _ in 0..rounds {
            let line = player.hear()?;
            let (granted, released) = line.split_once(' ').ok_or("a child said nonsense")?;
            holds.push((granted.parse::<u64>()?, released.parse::<u64>()?, process));
        }
    }
    holds.sort_unstable();
    let between_processes = holds.windows(2).filter(|pair| pair[0].2 != pair[1].2);
    // A waiter may be told before the releaser has read the clock; then it took no time.
    Ok(between_processes.map(|pair| pair[1].0.saturating_sub(pair[0].1) as f64 / 1e3).collect())
}

/// A child: takes the lock `rounds` times and says when it was granted and let go of.
pub(crate) fn take_turns(who: &str, rounds: usize, dir: &Path) -> Result<(), Failure> {
    let holds = match who {
        "tenure" => {
            let runtime = contestants::runtime()?;
            let mutex = runtime.block_on(contestants::open_tenure(dir))?.mutex("bench");
            say("ready")?;
            await_order()?;
            // As a service does it: in a task.
            let turns = runtime.spawn(async move { of_a_task(&mutex, rounds).await });
            runtime.block_on(turns)??
        }
        _ => of_a_thread(&mut *contestants::open(who, dir)?, rounds)?,
    };
    for (granted, released) in holds {
        say(format_args!("{granted} {released}"))?;
    }
    Ok(())
}

/// When it was granted and let go of, each time.
type Holds = Vec<(u64, u64)>;

fn of_a_thread(lock: &mut dyn Contestant, rounds: usize) -> Result<Holds, Failure> {
    say("ready")?;
    await_order()?;
    let mut holds = Vec::new();
    for round in 0..rounds {
        lock.acquire()?;
        let granted = now()?;
        sleep(hold(round));
        let released = now()?;
        lock.release()?;
        holds.push((granted, released));
        sleep(PAUSE);
    }
    Ok(holds)
}

async fn of_a_task(mutex: &Mutex, rounds: usize) -> Result<Holds, Failure> {
    let mut holds = Vec::new();
    for round in 0..rounds {
        let guard = mutex.lock().await?;
        let granted = now()?;
        tokio::time::sleep(hold(round)).await;
        let released = now()?;
        guard.release().await?;
        holds.push((granted, released));
        tokio::time::sleep(PAUSE).await;
    }
    Ok(holds)
}

/// Spread over a millisecond, so that a release meets a poll at any point of its pause.
fn hold(round: usize) -> Duration {
    HOLD + Duration::from_micros(10 * (round as u64 * 37 % 100))
}
