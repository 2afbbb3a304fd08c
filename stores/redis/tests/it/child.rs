//! What this test binary does when it runs again as a process of its own.

use std::time::Duration;

use tenure_core::AcquireError;
pub(crate) use tenure_testkit::child::Process;
use tenure_testkit::child::{order, role, say};

use crate::{
    dropping::drop_for_ever,
    fenced::Fenced,
    peers::beside_peers,
    support::{PATIENCE, hold, micros, tenure},
};

/// Not a test by itself: what a child does.
#[test]
fn plays_its_role() {
    let Some(role) = role() else { return };
    let words: Vec<_> = role.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    match words.as_slice() {
        ["hold", url, ttl] => runtime.block_on(hold_on(url, ttl.parse().unwrap())),
        ["count", url, file, rounds] => {
            runtime.block_on(count(url, file, rounds.parse().unwrap()));
        }
        ["count fenced", url, file, rounds] => {
            runtime.block_on(count_fenced(url, file, rounds.parse().unwrap()));
        }
        ["drop acquires", url, kept] => {
            let kept = Duration::from_millis(kept.parse().unwrap());
            runtime.block_on(drop_for_ever(url, kept, || say("dropping")));
        }
        ["beside peers", url, is_write, ttl, key] => {
            let ttl = Duration::from_millis(ttl.parse().unwrap());
            runtime.block_on(beside_peers(url, is_write.parse().unwrap(), ttl, key));
        }
        ["leave", url] => {
            let guard = runtime.block_on(async {
                let tenure = tenure(url);
                hold(&tenure, "lock", Duration::from_secs(1)).await
            });
            say(format_args!("held {}", guard.token()));
            runtime.shutdown_background();
            drop(guard);
            say("dropped outside of its runtime");
        }
        other => panic!("no such role: {other:?}"),
    }
}

async fn hold_on(url: &str, ttl: u64) {
    let tenure = tenure(url);
    let guard = hold(&tenure, "lock", Duration::from_millis(ttl)).await;
    say(format_args!("held {}", guard.token()));
    loop {
        match tokio::task::spawn_blocking(order).await.unwrap().as_str() {
            "check" => match guard.check() {
                Ok(token) => say(token),
                Err(lost) => say(format_args!("lost: {lost:#}")),
            },
            // Keeps every thread of the runtime from doing anything else.
            "block" => {
                let spin = move || std::thread::sleep(Duration::from_millis(ttl * 2));
                let threads: Vec<_> =
                    (0..16).map(|_| tokio::spawn(async move { spin() })).collect();
                spin();
                for thread in threads {
                    thread.await.unwrap();
                }
                say(guard.check().map_or("lost", |_| "held"));
            }
            other => panic!("no such order: {other:?}"),
        }
    }
}

/// Reads a number, adds one and writes it, which loses increments unless the lock excludes.
async fn count(url: &str, file: &str, rounds: u32) {
    let tenure = tenure(url);
    for _ in 0..rounds {
        let guard = tenure.mutex("count").lock().wait(PATIENCE * 10).await.unwrap();
        let text = std::fs::read_to_string(file).unwrap();
        let (count, last) = text.split_once(' ').unwrap();
        let token = guard.token();
        assert!(token.get() > last.parse().unwrap(), "tokens rise in the order of the holds");
        let next = count.parse::<u64>().unwrap() + 1;
        std::fs::write(file, format!("{next} {token}")).unwrap();
        guard.release().await.unwrap();
    }
    say("done");
}

/// Counts in a file that refuses whoever is late, however often the lock is lost on the way.
async fn count_fenced(url: &str, file: &str, rounds: u64) {
    let (tenure, counter) = (tenure(url), Fenced::at(file.as_ref()));
    let mut left = rounds;
    while left > 0 {
        let asked = micros();
        let guard = match tenure.mutex("lock").lock().wait(PATIENCE * 10).await {
            Ok(guard) => guard,
            // The server is away, or went away in the middle.
            Err(AcquireError::Unreachable { .. } | AcquireError::InDoubt { .. }) => continue,
            Err(error) => panic!("{error:#}"),
        };
        let (granted, token) = (micros(), guard.token().get());
        let counted = match counter.open(token) {
            Some(count) => counter.write(token, count + 1),
            None => false,
        };
        left -= u64::from(counted);
        let how = if counted { "counted" } else { "refused" };
        say(format_args!("hold {asked} {granted} {token} {how}"));
        // It may be gone from the server by now.
        let _ = guard.release().await;
    }
    say("done");
}
