//! A program without `async`: threads that take turns, and one that is told when it loses its lock.
//!
//! Run it with `cargo run -p tenure-examples --bin without_async`.

#![allow(clippy::print_stdout, reason = "an example shows what happens")]

use std::{error::Error, sync::mpsc, thread, time::Duration};

use tenure::blocking::Tenure;

fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let tenure = Tenure::open(format!("file:{}", dir.path().join("locks").display()))?;

    let counter = dir.path().join("counter");
    std::fs::write(&counter, "0")?;
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let guard = tenure.mutex("counter").wait(Duration::from_secs(60)).lock();
                let guard = guard.map_err(|error| format!("{error:#}"))?;
                let count =
                    std::fs::read_to_string(&counter).map_err(|error| format!("{error:#}"))?;
                let count: u32 = count.parse().map_err(|_| "no number in the file".to_owned())?;
                let written = std::fs::write(&counter, (count + 1).to_string());
                written.map_err(|error| format!("{error:#}"))?;
                guard.release().map_err(|error| format!("{error:#}"))
            });
        }
    });
    let count = std::fs::read_to_string(&counter)?;
    println!("eight threads counted to {count}");
    assert_eq!(count, "8", "two threads were in at once");

    let guard = tenure.mutex("copy").max_hold(Duration::from_millis(100)).lock()?;
    let (stop, stopped) = mpsc::channel();
    guard.on_lost(move |lost| {
        let _ = stop.send(lost);
    });
    let mut files = 0;
    let lost = loop {
        match stopped.recv_timeout(Duration::from_millis(10)) {
            Ok(lost) => break lost,
            Err(_) => files += 1,
        }
    };
    println!("stopped after {files} files: {lost:#}");
    Ok(())
}
