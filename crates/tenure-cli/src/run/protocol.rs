//! What tenure and the guardian tell each other: one JSON object a line, over one socket.
//!
//! The end of the stream is a message too: the other one is gone.

use std::{ffi::OsString, io, os::unix::ffi::OsStringExt};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
};

use super::ending::{CommandEnd, TerminationPolicy};

/// What tenure tells the guardian.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum GuardianOrder {
    /// Start the command. The first message of all.
    Start {
        /// The command and its arguments, as bytes: they need not be text.
        command: Vec<Vec<u8>>,
        /// Whether the command's group gets the terminal.
        foreground: bool,
        /// The exit code where the system keeps its process from becoming the command.
        failed: u8,
        /// Whether why it cannot be run is told as JSON.
        json: bool,
        /// When and how to end it.
        terms: TerminationPolicy,
        /// Until when the lock is held, in nanoseconds of the clock that counts suspension.
        deadline: u64,
    },
    /// The lock was renewed and is held until then.
    Renewed(u64),
    /// The lock belongs to somebody else.
    Taken,
    /// Pass this signal on to the command's group.
    Signal(i32),
}

/// What the guardian tells tenure.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum GuardianReport {
    /// The command's process, which leads a group of its own, was started.
    Started(i32),
    /// It could not be started, for reasons that lie in the system.
    NotStarted(String),
    /// It was stopped by this signal.
    Stopped(i32),
    /// The command and everything else in its group is gone, or was never there. The last message
    /// of all.
    Ended(CommandEnd),
}

impl GuardianOrder {
    pub(crate) fn start(
        command: Vec<OsString>,
        foreground: bool,
        (failed, json): (u8, bool),
        terms: TerminationPolicy,
        deadline: u64,
    ) -> Self {
        let command = command.into_iter().map(OsStringExt::into_vec).collect();
        Self::Start { command, foreground, failed, json, terms, deadline }
    }
}

/// One end of the conversation that hears `T`.
#[derive(Debug)]
pub(crate) struct MessageChannel<T> {
    lines: Lines<BufReader<OwnedReadHalf>>,
    writer: OwnedWriteHalf,
    hears: std::marker::PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> MessageChannel<T> {
    pub(crate) fn new(stream: UnixStream) -> Self {
        let (reader, writer) = stream.into_split();
        Self { lines: BufReader::new(reader).lines(), writer, hears: std::marker::PhantomData }
    }

    /// The next message; `None` when the other end is gone or makes no sense. Cancel-safe.
    pub(crate) async fn hear(&mut self) -> Option<T> {
        let line = self.lines.next_line().await.ok()??;
        serde_json::from_str(&line).ok()
    }

    /// Says something that may be long.
    pub(crate) async fn say(&mut self, message: &(impl Serialize + Sync)) -> io::Result<()> {
        self.writer.write_all(&as_line(message)?).await
    }

    /// Says something short without ever waiting. It fails if the other end has not listened for
    /// so long that its buffer is full.
    pub(crate) fn say_now(&self, message: &impl Serialize) -> io::Result<()> {
        let line = as_line(message)?;
        if self.writer.try_write(&line)? == line.len() {
            return Ok(());
        }
        Err(io::ErrorKind::WriteZero.into())
    }
}

/// A message as it is sent.
pub(crate) fn as_line(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}
