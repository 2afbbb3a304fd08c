//! An unprotected counter that many increment under one lock.

use std::{fs, path::Path, time::Duration};

use tempfile::tempdir;
use tenure::{Guard, Token};

use crate::child::{PATIENCE, Player, await_order, open, say};

const ROUNDS: usize = 50;
const TASKS: usize = 16;

/// Reads the counter and writes one more, in two steps that nothing but the lock keeps together.
fn increment(dir: &Path) -> u64 {
    let file = dir.join("counter");
    let count: u64 = fs::read_to_string(&file).unwrap().parse().unwrap();
    fs::write(&file, (count + 1).to_string()).unwrap();
    count
}

fn count_once(dir: &Path, guard: &Guard) -> (u64, u64) {
    let token = guard.check().unwrap();
    (increment(dir), token.get())
}

/// A child: counts `ROUNDS` times.
pub(crate) async fn count_alone(dir: &Path) {
    let mutex = open(dir).await.mutex("counter").ttl(Duration::from_secs(30));
    say("ready");
    await_order();
    let mut holds = Vec::new();
    for _ in 0..ROUNDS {
        let guard = mutex.lock().wait(PATIENCE).await.unwrap();
        holds.push(count_once(dir, &guard));
        guard.release().await.unwrap();
    }
    report(&holds);
}

/// A child: counts `ROUNDS` times in each of many tasks.
pub(crate) async fn count_with_tasks(dir: &Path) {
    let mutex = open(dir).await.mutex("counter").ttl(Duration::from_secs(30));
    say("ready");
    await_order();
    let tasks = (0..TASKS).map(|_| {
        let (mutex, dir) = (mutex.clone(), dir.to_owned());
        tokio::spawn(async move {
            let mut holds = Vec::new();
            for _ in 0..ROUNDS {
                let guard = mutex.lock().wait(PATIENCE).await.unwrap();
                holds.push(count_once(&dir, &guard));
                // Dropping is the other way to release.
            }
            holds
        })
    });
    let mut holds = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        holds.extend(task.await.unwrap());
    }
    report(&holds);
}

fn report(holds: &[(u64, u64)]) {
    for (count, token) in holds {
        say(format_args!("{count} {token}"));
    }
    say("done");
}

/// Lets `processes` children play `part`; gives every hold as (what it read, its token), in the
/// order of the holds.
fn play(part: &str, processes: usize, dir: &Path) -> Vec<(u64, u64)> {
    fs::write(dir.join("counter"), "0").unwrap();
    let mut players: Vec<_> = (0..processes).map(|_| Player::start(part, dir)).collect();
    for player in &players {
        assert_eq!(player.hear(), "ready");
    }
    players.iter_mut().for_each(Player::go_on);
    let mut holds = Vec::new();
    for player in players {
        loop {
            let word = player.hear();
            let Some((count, token)) = word.split_once(' ') else { break };
            holds.push((count.parse().unwrap(), token.parse().unwrap()));
        }
        player.finish();
    }
    holds.sort_unstable();
    holds
}

/// No increment was lost, and tokens rise in the order of the holds.
fn judge(holds: &[(u64, u64)], expected: usize, dir: &Path) {
    let counts: Vec<_> = holds.iter().map(|(count, _)| *count).collect();
    assert_eq!(counts, (0..expected as u64).collect::<Vec<_>>(), "an increment was lost");
    assert_eq!(fs::read_to_string(dir.join("counter")).unwrap(), expected.to_string());
    for pair in holds.windows(2) {
        assert!(pair[0].1 < pair[1].1, "a token did not rise: {pair:?}");
    }
}

#[test]
fn sixty_four_processes_lose_no_increment_and_their_tokens_rise() {
    let dir = tempdir().unwrap();
    let holds = play("count", 64, dir.path());
    judge(&holds, 64 * ROUNDS, dir.path());
}

#[test]
fn tasks_of_several_processes_lose_no_increment_through_hand_over() {
    let dir = tempdir().unwrap();
    let holds = play("count with tasks", 4, dir.path());
    judge(&holds, 4 * TASKS * ROUNDS, dir.path());
    let passes = |(_, token): &&(u64, u64)| Token::from_raw(*token).unwrap().pass() > 0;
    assert!(holds.iter().filter(passes).count() > 0, "nothing went through hand-over");
}
