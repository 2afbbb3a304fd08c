//! The task of one connection: it hands out replies, writes what no call wrote by itself, and
//! notices when no replies come.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::{Arc, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, ReadBuf},
    time::{Instant, Sleep, sleep},
};

use crate::client::{
    Failure, PushHandler, Value,
    connection::{
        batch::ReplyRecipients,
        pipeline::{PendingReply, Pipeline, broken},
        stream::Reader,
    },
    protocol::{self, MalformedReply},
};

/// How much is read at a time.
const READ: usize = 16 * 1024;
/// A buffer that has grown beyond this is not kept.
const KEPT: usize = 256 * 1024;
/// How often in the time for an answer it is looked whether one came.
const LOOKS: u32 = 8;

/// A future that ends with the connection.
pub(crate) struct Driver {
    pipeline: Arc<Pipeline>,
    reader: Reader,
    /// What was read and not understood yet stands before `filled`.
    read: Vec<u8>,
    filled: usize,
    /// How much has to stand there before there is a reply.
    needed: usize,
    replies: Vec<Value>,
    answered: Vec<PendingReply>,
    /// Replies that are not confirmed yet.
    held: Vec<(ReplyRecipients, Value)>,
    /// Why they will not be, if that is known.
    lacking: Option<Failure>,
    /// Why a node does not do the next call, for a slot that is on its way.
    refused: Option<Value>,
    /// What is being written while `writing`, and how much of it is.
    sending: Vec<u8>,
    sent: usize,
    writing: bool,
    /// The tasks that have something to send had their chance to.
    gathered: bool,
    patience: Duration,
    hear: Option<PushHandler>,
    /// Runs while somebody calls.
    timer: Option<Pin<Box<Sleep>>>,
    last_look: ProgressSample,
}

/// What was seen at a look.
#[derive(Clone, Copy)]
struct ProgressSample {
    answered: u64,
    idle: bool,
    at: Instant,
}

impl Driver {
    pub(crate) fn new(
        pipeline: Arc<Pipeline>,
        reader: Reader,
        patience: Duration,
        hear: Option<PushHandler>,
    ) -> Self {
        Self {
            pipeline,
            reader,
            read: vec![0; READ],
            filled: 0,
            needed: 0,
            replies: Vec::new(),
            answered: Vec::new(),
            held: Vec::new(),
            lacking: None,
            refused: None,
            sending: Vec::new(),
            sent: 0,
            writing: false,
            gathered: false,
            patience,
            hear,
            timer: None,
            last_look: ProgressSample { answered: 0, idle: false, at: Instant::now() },
        }
    }

    fn read(&mut self, cx: &mut Context<'_>) -> Poll<Failure> {
        loop {
            if self.filled == self.read.len() {
                if self.filled >= protocol::LONGEST {
                    return Poll::Ready(Failure::Nonsense);
                }
                self.read.resize(self.filled * 2, 0);
            }
            let mut buffer = ReadBuf::new(&mut self.read[self.filled..]);
            match ready!(Pin::new(&mut self.reader).poll_read(cx, &mut buffer)) {
                Err(error) => return Poll::Ready(error.into()),
                Ok(()) if buffer.filled().is_empty() => return Poll::Ready(broken()),
                Ok(()) => self.filled += buffer.filled().len(),
            }
            if let Err(MalformedReply) = self.hand_out() {
                return Poll::Ready(self.surplus_error().unwrap_or(Failure::Nonsense));
            }
        }
    }

    /// Gives every whole reply to the call that is next in line.
    fn hand_out(&mut self) -> Result<(), MalformedReply> {
        if self.filled < self.needed {
            return Ok(());
        }
        let mut start = 0;
        loop {
            let (value, length) = match protocol::reply(&self.read[start..self.filled])? {
                Ok(whole) => whole,
                Err(more) => {
                    self.needed = self.filled - start + more;
                    break;
                }
            };
            start += length;
            match value {
                // What the server says of its own accord answers no call.
                Value::Push(said) => {
                    if let (Some(hear), Some(message)) = (&self.hear, message(&said)) {
                        hear(message);
                    }
                }
                reply => self.replies.push(reply),
            }
        }
        self.read.copy_within(start..self.filled, 0);
        self.filled -= start;
        if self.filled == 0 && self.read.len() > KEPT {
            self.read = vec![0; READ];
        }
        let mut state = self.pipeline.lock();
        let answered = state.take_answered(self.replies.len()).ok_or(MalformedReply)?;
        self.answered.extend(answered);
        drop(state);
        let mut told = self.answered.drain(..).zip(self.replies.drain(..));
        let all = told.all(|(awaited, reply)| match awaited {
            PendingReply::Reply(expected) => expected.tell(instead(&mut self.refused, reply)),
            PendingReply::Held(expected) => {
                self.held.push((expected, instead(&mut self.refused, reply)));
                true
            }
            PendingReply::Asking => {
                self.refused = matches!(reply, Value::Error(_)).then_some(reply);
                true
            }
            PendingReply::Mark => {
                // Without it what is confirmed may be older than what was asked for.
                self.lacking = match reply {
                    Value::Error(error) => Some(Failure::Unmarked(error.to_string())),
                    _ => None,
                };
                true
            }
            PendingReply::Followers(enough) => {
                let lacks = || enough.follow_too_many(&reply).map(Failure::Unconfirmed);
                self.lacking = self.lacking.take().or_else(lacks);
                true
            }
            PendingReply::Confirmation { enough, .. } => {
                let lacks = enough.shortfall_reason(&reply).map(Failure::Unconfirmed);
                let lacks = self.lacking.take().or(lacks);
                self.held.drain(..).all(|(expected, reply)| match (&lacks, &reply) {
                    // An error says itself whether anything was done.
                    (None, _) | (_, Value::Error(_)) => expected.tell(reply),
                    (Some(failure), _) => {
                        expected.fail(failure);
                        true
                    }
                })
            }
        });
        if all { Ok(()) } else { Err(MalformedReply) }
    }

    /// What the server said of a subscription that it refused: one that it makes gets no reply, so no call waits for
    /// this one.
    fn surplus_error(&self) -> Option<Failure> {
        self.hear.as_ref()?;
        self.replies.iter().find_map(|reply| match reply {
            Value::Error(error) => Some(Failure::Server(error.clone())),
            _ => None,
        })
    }

    fn write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            if self.writing {
                let mut writer =
                    self.pipeline.writer.lock().unwrap_or_else(PoisonError::into_inner);
                while self.sent < self.sending.len() {
                    let written = ready!(writer.poll_write(cx, &self.sending[self.sent..]))?;
                    if written == 0 {
                        return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
                    }
                    self.sent += written;
                }
                ready!(writer.poll_flush(cx))?;
            }
            let mut state = self.pipeline.lock();
            if std::mem::take(&mut self.writing) {
                state.writing = false;
                self.sending.clear();
                self.sent = 0;
            }
            // A call that is writing tells when it leaves something behind.
            if state.is_written() || !state.may_write() {
                state.told = false;
                return Poll::Ready(Ok(()));
            }
            // Others were answered together with the one who told, and are about to call too.
            let more = state.calls > 1 || state.burst > 1;
            if more && !std::mem::replace(&mut self.gathered, true) {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            self.gathered = false;
            state.told = false;
            self.writing = true;
            state.begin_to_write();
            std::mem::swap(&mut self.sending, &mut state.out);
            if state.out.capacity() > KEPT {
                state.out = Vec::new();
            }
        }
    }

    /// Ready when an answer is overdue.
    fn poll_overdue(&mut self, cx: &mut Context<'_>) -> Poll<Failure> {
        let tick = self.patience / LOOKS;
        if self.timer.is_none() {
            if !self.pipeline.lock().watched {
                return Poll::Pending;
            }
            self.timer = Some(Box::pin(sleep(tick)));
            self.last_look.idle = false;
            self.last_look.at = Instant::now();
        }
        while let Some(timer) = &mut self.timer {
            ready!(timer.as_mut().poll(cx));
            let mut state = self.pipeline.lock();
            let now = Instant::now();
            let look = ProgressSample { answered: state.answered, idle: state.calls == 0, at: now };
            let same = look.answered == self.last_look.answered && look.idle == self.last_look.idle;
            if !same {
                self.last_look = look;
            } else if look.idle {
                state.watched = false;
                self.timer = None;
                return Poll::Pending;
            } else if now - self.last_look.at >= self.patience {
                return Poll::Ready(io::ErrorKind::TimedOut.into());
            }
            timer.as_mut().reset(now + tick);
        }
        Poll::Pending
    }
}

/// Of two refusals the first, without which the second would not have been.
fn instead(refused: &mut Option<Value>, reply: Value) -> Value {
    match (refused.take(), reply) {
        (Some(first), Value::Error(_)) => first,
        (_, reply) => reply,
    }
}

/// The channel and what was said there, if that is what a server speaks of.
fn message(said: &[Value]) -> Option<&[Value]> {
    match said {
        [Value::Bytes(kind), message @ ..] if kind == b"message" || kind == b"smessage" => {
            Some(message)
        }
        [Value::Bytes(kind), _, message @ ..] if kind == b"pmessage" => Some(message),
        _ => None,
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.pipeline.driver.register(cx.waker());
        let error = if let Poll::Ready(error) = self.read(cx) {
            error
        } else if let Poll::Ready(Err(error)) = self.write(cx) {
            error.into()
        } else {
            ready!(self.poll_overdue(cx))
        };
        self.pipeline.close(&error);
        Poll::Ready(())
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Its runtime may have ended before the connection did.
        self.pipeline.close(&broken());
    }
}
