//! One connection of a session: what goes out over it, and what comes.

use std::{collections::VecDeque, io};

use bytes::{Buf, Bytes, BytesMut};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf, split},
    time::Instant,
};

use super::{
    Error, Result,
    calls::{ROOM, ReplySender, WatchKind},
    stream,
    wire::{Reader, ReplyHeader, Writer, op},
};

/// As much as is written ahead of what a server takes.
const AHEAD: usize = 4 * 1024 * 1024;
/// As much as an answer may have: four times what ZooKeeper lets a node and a request have (`jute.maxbuffer`), since
/// the names of many nodes may be more.
pub(super) const ANSWER: usize = 4 * 1024 * 1024;
/// As much as is read at once.
pub(super) const CHUNK: usize = 16 * 1024;

pub(super) const PING: i32 = -2;

/// What was sent and is not answered yet. Answers come in the order of requests.
pub(super) struct PendingRequest {
    pub(super) xid: i32,
    pub(super) watch: Option<(WatchKind, String)>,
    pub(super) answer: Option<ReplySender>,
}

/// A connection that goes on with the session.
pub(super) struct LiveConnection {
    pub(super) reader: ReadHalf<Box<dyn stream::ByteStream>>,
    pub(super) writer: WriteHalf<Box<dyn stream::ByteStream>>,
    pub(super) input: BytesMut,
    pub(super) output: BytesMut,
    pub(super) needs_flush: bool,
    pub(super) asked: VecDeque<PendingRequest>,
    /// Logins, which are answered ahead of what is asked.
    pub(super) logins: VecDeque<(Writer, Option<ReplySender>)>,
    pub(super) is_pinging: bool,
    pub(super) begun: Instant,
    pub(super) heard: Instant,
    pub(super) said: Instant,
}

impl LiveConnection {
    pub(super) fn new(stream: Box<dyn stream::ByteStream>) -> Self {
        let (reader, writer) = split(stream);
        let now = Instant::now();
        Self {
            reader,
            writer,
            input: BytesMut::new(),
            output: BytesMut::new(),
            needs_flush: false,
            asked: VecDeque::new(),
            logins: VecDeque::new(),
            is_pinging: false,
            begun: now,
            heard: now,
            said: now,
        }
    }

    pub(super) fn frame(&mut self, parts: &[&[u8]]) {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        self.output.extend_from_slice(&length.to_be_bytes());
        parts.iter().for_each(|part| self.output.extend_from_slice(part));
    }

    pub(super) fn request(&mut self, xid: i32, op: i32, body: &Writer) {
        self.frame(&[&xid.to_be_bytes(), &op.to_be_bytes(), &body.0]);
    }

    pub(super) fn ping(&mut self) {
        self.is_pinging = true;
        self.said = Instant::now();
        self.request(PING, op::PING, &Writer::default());
    }

    /// Whether all was answered.
    pub(super) fn is_settled(&self) -> bool {
        self.asked.is_empty()
            && self.logins.is_empty()
            && !self.is_pinging
            && self.output.is_empty()
            && !self.needs_flush
    }

    pub(super) fn has_room(&self) -> bool {
        self.asked.len() < ROOM && self.output.len() < AHEAD
    }

    /// The next whole answer, if there is one.
    pub(super) fn next(&mut self, most: usize) -> Result<Option<Bytes>> {
        let Some(length) = self.input.first_chunk() else { return Ok(None) };
        let length = usize::try_from(i32::from_be_bytes(*length)).unwrap_or(usize::MAX);
        if length > most {
            return Err(Error::Odd("an answer is too long"));
        }
        if self.input.len() < 4 + length {
            return Ok(None);
        }
        self.input.advance(4);
        Ok(Some(self.input.split_to(length).freeze()))
    }

    /// Reads what there is, some at a time.
    async fn read(&mut self) -> Result<()> {
        self.input.reserve(CHUNK);
        match self.reader.read_buf(&mut self.input).await {
            Ok(0) | Err(_) => Err(Error::ConnectionLoss),
            Ok(_) => Ok(()),
        }
    }

    async fn write_all(&mut self) -> Result<()> {
        let written = async {
            self.writer.write_all(&self.output).await?;
            self.writer.flush().await
        };
        written.await.map_err(|_: io::Error| Error::ConnectionLoss)?;
        self.output.clear();
        Ok(())
    }

    /// One whole answer, where nothing else is under way.
    pub(super) async fn answer(&mut self, most: usize) -> Result<Bytes> {
        self.write_all().await?;
        loop {
            if let Some(answer) = self.next(most)? {
                return Ok(answer);
            }
            self.read().await?;
        }
    }

    /// The answer to what was asked without one's own number for it.
    pub(super) async fn asked_alone(&mut self, op: i32, body: &Writer) -> Result<Bytes> {
        self.request(0, op, body);
        let answer = self.answer(ANSWER).await?;
        let mut reader = Reader(&answer);
        match ReplyHeader::read(&mut reader)?.error {
            0 => Ok(answer.slice(answer.len() - reader.0.len()..)),
            code => Err(Error::of(code)),
        }
    }
}

/// Writes what a server takes at once, or sees to it that what was written goes out.
pub(super) async fn write_some(
    writer: &mut WriteHalf<Box<dyn stream::ByteStream>>,
    bytes: &[u8],
) -> Result<usize> {
    let written = match bytes {
        [] => writer.flush().await.map(|()| 0),
        bytes => writer.write(bytes).await,
    };
    written.map_err(|_| Error::ConnectionLoss)
}
