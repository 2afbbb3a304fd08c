//! How many commands the usual calls take. They are the server's price of a lock.

use std::{collections::VecDeque, time::Duration};

use tenure_core::{
    FaultKind, Store,
    proto::queue::{Answer, Intent, Mode, Released},
};
use tenure_redis::{RedisOptions, RedisStore};
use tenure_servers::{RedisServer, redis::Reply};

use crate::scenes::{Lock, WAIT, ask, owner};

/// Turns in which nothing ends, so that none is longer than usual.
const TURNS: u8 = 30;

/// How many commands scripts have run since the counts were reset, and how many scripts were run.
pub(crate) fn counted(server: &RedisServer) -> (u32, u32) {
    let Reply::Text(stats) = server.command(&["INFO", "commandstats"]) else { panic!("no counts") };
    let calls = |line: &str| {
        let (name, rest) = line.split_once(":calls=")?;
        Some((name.to_owned(), rest.split(',').next()?.parse::<u32>().ok()?))
    };
    let all: Vec<_> = stats.lines().filter_map(calls).collect();
    let scripts = all.iter().filter(|(name, _)| name == "cmdstat_evalsha");
    let other = ["evalsha", "info", "config|resetstat"].map(|name| format!("cmdstat_{name}"));
    let inner = all.iter().filter(|(name, _)| !other.contains(name));
    (inner.map(|(_, calls)| calls).sum(), scripts.map(|(_, calls)| calls).sum())
}

impl Lock {
    async fn asked(&self, number: u8, mode: Mode, intent: Intent) -> Answer {
        self.store.acquire(&self.name, &ask(number, mode, intent)).await.unwrap()
    }

    async fn let_go(&self, number: u8) {
        let released = self.store.release(&self.name, &owner(number), Duration::ZERO).await;
        assert_eq!(released.unwrap(), Released::Released);
    }

    /// Waits, and says at which place.
    async fn waits(&self, number: u8) -> Intent {
        match self.asked(number, Mode::Exclusive, WAIT).await {
            Answer::Busy { position, .. } => Intent::Wait { position },
            Answer::Granted { .. } => panic!("it is granted"),
        }
    }

    /// The first of the line holds the lock and others wait; each lets it go in turn and waits again.
    async fn turns(&self, line: &mut VecDeque<(u8, Intent)>) {
        for _ in 0..TURNS {
            let (holder, _) = line.pop_front().unwrap();
            self.let_go(holder).await;
            let (next, place) = line[0];
            let granted = self.asked(next, Mode::Exclusive, place).await;
            assert!(matches!(granted, Answer::Granted { .. }), "{granted:?}");
            line.push_back((holder, self.waits(holder).await));
        }
    }
}

#[tokio::test]
async fn a_hand_off_in_line_takes_sixteen_commands() {
    for others in [1, 2, 40] {
        let lock = Lock::new();
        lock.asked(0, Mode::Exclusive, WAIT).await;
        let mut line = VecDeque::from([(0, WAIT)]);
        for number in 1..=others {
            line.push_back((number, lock.waits(number).await));
        }
        lock.turns(&mut line).await;
        let turns = u32::from(TURNS);
        // Where one waits alone its line begins anew each time, with an end of its own.
        let most = if others == 1 { 17 } else { 16 };
        // Where the machine stands still meanwhile, ends are moved more often.
        let mut least = u32::MAX;
        for _ in 0..5 {
            lock.server.command(&["CONFIG", "RESETSTAT"]);
            lock.turns(&mut line).await;
            let (inner, scripts) = counted(&lock.server);
            assert_eq!(scripts, 3 * turns);
            least = least.min(inner);
            if least <= most * turns {
                break;
            }
        }
        assert!(least <= most * turns, "{others} others: {least} in {turns} turns");
    }
}

#[tokio::test]
async fn a_permit_among_others_takes_twelve_commands() {
    for mode in [Mode::Permits { take: 1, of: 40 }, Mode::Shared] {
        let lock = Lock::new();
        for number in 1..30 {
            lock.asked(number, mode, Intent::Try).await;
        }
        let turn = async || {
            let granted = lock.asked(0, mode, Intent::Try).await;
            assert!(matches!(granted, Answer::Granted { .. }), "{granted:?}");
            lock.let_go(0).await;
        };
        turn().await;
        lock.server.command(&["CONFIG", "RESETSTAT"]);
        for _ in 0..TURNS {
            turn().await;
        }
        let (inner, _) = counted(&lock.server);
        assert!(inner <= 12 * u32::from(TURNS), "{mode:?}: {inner}");
    }
}

/// Each of those who are refused and ask again wrote the head anew, beside those whose turn it is.
#[tokio::test]
async fn who_is_refused_since_too_many_wait_takes_two_commands_and_writes_nothing() {
    let Lock { server, name, .. } = Lock::new();
    let options = RedisOptions::from_url(&server.url()).unwrap().max_waiters(3).unwrap();
    let lock = Lock { store: RedisStore::new(options).unwrap(), server, name };
    lock.asked(0, Mode::Exclusive, WAIT).await;
    for number in 1..=3 {
        lock.waits(number).await;
    }
    lock.server.command(&["CONFIG", "RESETSTAT"]);
    for number in 10..10 + TURNS {
        let ask = ask(number, Mode::Exclusive, WAIT);
        let fault = lock.store.acquire(&lock.name, &ask).await.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Full, "{fault:#}");
        assert!(format!("{fault:#}").contains('3'), "{fault:#}");
    }
    let (inner, scripts) = counted(&lock.server);
    assert_eq!((inner, scripts), (2 * u32::from(TURNS), u32::from(TURNS)));
    lock.let_go(2).await;
    lock.waits(10).await;
}
