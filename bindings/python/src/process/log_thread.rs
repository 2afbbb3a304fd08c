//! The thread that hands lines of the log to Python.

use std::{
    io,
    sync::mpsc::{self, SyncSender},
    thread,
};

use pyo3::prelude::*;

use super::visits::Visits;

/// How many events wait for Python at most.
const MOST: usize = 1_000;

/// One event on its way to Python.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) level: u8,
    pub(crate) text: String,
}

pub(crate) type LogQueue = SyncSender<Line>;

/// Starts the thread that logs for this process.
pub(crate) fn start(visits: Visits) -> io::Result<LogQueue> {
    let (queue, lines) = mpsc::sync_channel::<Line>(MOST);
    let log = move || {
        while let Ok(Line { level, text }) = lines.recv() {
            let goes_on = visits.make(|py| {
                let logger = py.import("logging")?.call_method1("getLogger", ("tenure",))?;
                logger.call_method1("log", (level, "%s", text)).map(drop)
            });
            if !goes_on {
                return;
            }
        }
    };
    thread::Builder::new().name("tenure-log".into()).spawn(log)?;
    Ok(queue)
}
