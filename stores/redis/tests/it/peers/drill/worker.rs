//! A process of tenure that obeys the orders of a drill, as the programs of the other libraries do.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    path::Path,
    process,
    time::Duration,
};

use tenure_testkit::child::{order, say};

use crate::peers::{count, ours::Ours};

/// How long the lock may be somebody else's.
const PATIENCE: Duration = Duration::from_secs(300);

pub(crate) async fn beside_peers(url: &str, is_write: bool, ttl: Duration, key: &str) {
    let ours = Ours::at(url, is_write);
    loop {
        let order = order();
        match order.split(' ').collect::<Vec<_>>().as_slice() {
            ["count", turns, file] => {
                count(ours.clone(), key, turns.parse().unwrap(), Path::new(file)).await;
            }
            ["write", turns, port] => {
                let port = port.parse().unwrap();
                write(&ours, key, ttl, turns.parse().unwrap(), port).await;
            }
            other => panic!("no such order: {other:?}"),
        }
        say("done");
    }
}

/// Adds one to the number of the resource in each turn. It does not keep a late write to itself, as a user should, but
/// says that it is one.
async fn write(ours: &Ours, key: &str, ttl: Duration, turns: usize, port: u16) {
    let resource = TcpStream::connect(("127.0.0.1", port)).unwrap();
    resource.set_nodelay(true).unwrap();
    let mut answers = BufReader::new(resource.try_clone().unwrap());
    let mut ask = |line: String| {
        (&resource).write_all(format!("{line}\n").as_bytes()).unwrap();
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        answer.trim_end().to_owned()
    };
    for _ in 0..turns {
        tokio::time::sleep(Duration::from_millis(100)).await;
        // What was on its way while this process was stopped may have failed.
        let Ok(held) = ours.wait(key, ttl, PATIENCE).await else { continue };
        let holder = format!("{} {}", process::id(), held.token());
        let number = ask(format!("open {holder}"));
        if number != "refused" {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let next = number.parse::<u64>().unwrap() + 1;
            let known = if held.check().is_ok() { "held" } else { "lost" };
            ask(format!("write {holder} {next} {known}"));
        }
        // It may have been lost by now.
        let _ = held.try_release().await;
    }
}
