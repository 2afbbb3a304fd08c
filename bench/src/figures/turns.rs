//! Two processes that take turns on a lock: the one always waits when the other lets go.

use std::{path::Path, thread::sleep, time::Duration};

use crate::{
    contestants::Contestant,
    failure::Failure,
    process::child::{Player, await_order, now, say},
};

/// Long enough that the other process is in line again, its place on the server's disk.
pub(crate) const HOLD: Duration = Duration::from_millis(10);
/// Long enough that the other process, not this one, gets the lock.
const PAUSE: Duration = Duration::from_millis(1);

/// Turns of each process in one round.
pub(crate) const TURNS: usize = 20;

/// When a turn was granted and let go of, in nanoseconds of a clock that all processes share, and by which process.
pub(crate) type Turn = (u64, u64, usize);

/// Starts a child that takes turns as `who`, and waits until it can.
pub(crate) fn start(who: &str, dir: &Path) -> Result<Player, Failure> {
    let mut player = Player::start(&["turns", who, &TURNS.to_string()], dir)?;
    player.hear()?;
    Ok(player)
}

/// One round of two such children.
pub(crate) fn round(players: &mut [Player; 2]) -> Result<Vec<Turn>, Failure> {
    let mut turns = Vec::new();
    for player in &mut *players {
        player.go_on()?;
    }
    for (process, player) in players.iter_mut().enumerate() {
        for _ in 0..TURNS {
            let line = player.hear()?;
            let (granted, released) = line.split_once(' ').ok_or("a child said nonsense")?;
            turns.push((granted.parse()?, released.parse()?, process));
        }
    }
    Ok(turns)
}

/// How long a waiter waited once the other process had let go, in microseconds: also while that one had further turns.
pub(crate) fn hand_offs(mut turns: Vec<Turn>) -> Vec<f64> {
    turns.sort_unstable();
    // When the other one first let go since a process began to wait.
    let [mut first, mut second] = [None::<u64>; 2];
    let mut took = Vec::new();
    for (granted, released, process) in turns {
        let (own, other) =
            if process == 0 { (&mut first, &mut second) } else { (&mut second, &mut first) };
        took.extend(own.take().map(|freed| granted.saturating_sub(freed) as f64 / 1e3));
        other.get_or_insert(released);
    }
    took
}

/// A child: at each order takes the lock `turns` times, and says when it was granted and let go of.
pub(crate) fn take(lock: &mut dyn Contestant, turns: usize) -> Result<(), Failure> {
    say("ready")?;
    while await_order()? {
        let mut holds = Vec::new();
        for turn in 0..turns {
            let spread = Duration::from_micros(10 * (turn as u64 * 37 % 100));
            lock.acquire()?;
            let granted = now()?;
            sleep(HOLD + spread);
            let released = now()?;
            lock.release()?;
            holds.push((granted, released));
            sleep(PAUSE);
        }
        for (granted, released) in holds {
            say(format_args!("{granted} {released}"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::hand_offs;

    #[test]
    fn a_waiter_that_is_overtaken_waits_on() {
        let turns =
            vec![(0, 10_000, 0), (20_000, 30_000, 0), (40_000, 50_000, 1), (51_000, 60_000, 0)];
        assert_eq!(hand_offs(turns), [30.0, 1.0]);
    }
}
