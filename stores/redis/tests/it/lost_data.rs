//! A server that is killed and comes back without its data, in the middle of the work of many
//! processes.
//!
//! Exclusion cannot be promised across such a loss: who was granted the lock before it may count
//! on it until its next renewal or its deadline, and the empty server grants it again. Tokens go on
//! rising, so a resource that compares them loses nothing.

use std::time::Duration;

use tenure_core::LostReason;
use tenure_servers::RedisServer;

use crate::{
    child::Process,
    fenced::Fenced,
    support::{hold, lost, micros, tenure, until},
};

const PROCESSES: u64 = 64;
const ROUNDS: u64 = 50;
const TTL: Duration = Duration::from_secs(4);

/// One hold, as the process that had it saw it. Times are of the clock that the server has too.
struct Hold {
    asked: u64,
    granted: u64,
    token: u64,
    counted: bool,
}

/// What a process says of its holds until it is done.
fn holds(process: &mut Process) -> Vec<Hold> {
    let mut holds = Vec::new();
    loop {
        let said = process.says().unwrap();
        if said == "done" {
            return holds;
        }
        let words: Vec<_> = said.split(' ').collect();
        let ["hold", asked, granted, token, counted] = words[..] else { panic!("{said:?}") };
        holds.push(Hold {
            asked: asked.parse().unwrap(),
            granted: granted.parse().unwrap(),
            token: token.parse().unwrap(),
            counted: counted == "counted",
        });
    }
}

#[tokio::test]
async fn a_server_that_comes_back_empty_in_the_middle_loses_nothing_that_tokens_protect() {
    let mut server = RedisServer::start();
    let counter = Fenced::create(&server.folder().join("counter"));
    let rounds = ROUNDS.to_string();
    let role = ["count fenced", &server.url(), counter.path(), &rounds];
    let mut processes: Vec<_> = (0..PROCESSES).map(|_| Process::start(&role)).collect();
    let counted = async |most: u64| {
        until("they count", async || counter.read().0 >= most).await;
    };

    // The first loss is while this process holds the lock: the next one is let in beside it.
    counted(PROCESSES * ROUNDS / 4).await;
    let tenure = tenure(&server.url());
    let held = hold(&tenure, "lock", TTL).await;
    let token = held.token().get();
    let count = counter.open(token).unwrap();
    let mut losses = vec![micros()];
    server.restart();
    until("another is let in", async || counter.read().1 > token).await;
    assert!(!counter.write(token, count + 1), "the resource takes what comes too late");
    assert!(matches!(lost(&held).await, LostReason::Taken | LostReason::Deadline));
    drop(held);

    // The second one is at any moment.
    counted(PROCESSES * ROUNDS * 3 / 4).await;
    losses.push(micros());
    server.restart();

    let mut holds: Vec<_> = processes.iter_mut().flat_map(holds).collect();
    assert!(processes.iter_mut().all(Process::ends_well));
    assert_eq!(counter.read().0, PROCESSES * ROUNDS, "no increment is lost or counted twice");
    for refused in holds.iter().filter(|hold| !hold.counted) {
        let granted = refused.token >> 10;
        assert!(losses.iter().any(|loss| granted <= *loss), "{granted} is after {losses:?}");
    }
    // Who asked after another was granted the lock has the greater token, data or no data.
    holds.sort_unstable_by_key(|hold| hold.granted);
    for (index, hold) in holds.iter().enumerate() {
        let earlier = holds[..index].iter().filter(|earlier| earlier.granted < hold.asked);
        let greatest = earlier.map(|earlier| earlier.token).max();
        assert!(greatest < Some(hold.token), "{greatest:?} was granted before {}", hold.token);
    }
}
