//! The calls of one connection that are under way: what is to be sent, and whose replies are to come.

use std::{
    collections::VecDeque,
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::client::{
    BatchKind, CorrelationId, Failure, HighestEpoch, ReplicaConfirmation, ScriptCall, Value,
    command,
    connection::{
        batch::{Batch, ReplyRecipients, ReplySender},
        confirm::ReplicaQuorum,
        stream::Writer,
    },
};
use futures_util::task::AtomicWaker;

/// A server that leaves so many calls unanswered is not asked more: further ones fail at once.
pub(crate) const MOST_WAITING: usize = 65_536;

/// Fewer calls are not worth a write of their own while others are about to call.
const FEWEST: usize = 4;
/// With each answer so large a part of the highest number of calls is forgotten.
const FORGETS: usize = 16;

/// Is told what the server says of its own accord, on the task of the connection.
pub(crate) type PushHandler = Box<dyn Fn(&[Value]) + Send>;

/// How a command is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SendMode {
    Usual,
    /// To the node of a cluster that gets the slot, which refuses others.
    Asking,
}

/// What calls and the driver share.
pub(crate) struct Pipeline {
    state: Mutex<PipelineState>,
    /// Used by whoever has set [`PipelineState::writing`].
    pub(crate) writer: Mutex<Writer>,
    pub(crate) driver: AtomicWaker,
}

#[derive(Default)]
pub(crate) struct PipelineState {
    /// Commands that nobody writes yet.
    pub(crate) out: Vec<u8>,
    /// What is to come, in its order.
    pub(crate) waiting: VecDeque<PendingReply>,
    /// Calls that go out together, by their kind.
    batches: [Batch; BatchKind::COUNT],
    /// How many calls are under way.
    pub(crate) calls: usize,
    /// How many of them nobody has written yet.
    unwritten: usize,
    /// How many were under way at most, lately.
    peak: usize,
    /// How many were answered when replies came the last time: as many may be about to call again.
    pub(crate) burst: usize,
    /// How many replies have come.
    pub(crate) answered: u64,
    /// Somebody is writing.
    pub(crate) writing: bool,
    /// The driver was told that there is something to write.
    pub(crate) told: bool,
    /// The driver looks from time to time whether replies come.
    pub(crate) watched: bool,
    closed: bool,
    /// By which tokens are ahead of the server's time, where they are.
    pub(crate) epoch: Option<HighestEpoch>,
    /// What makes writes count, if more than the server's word is wanted.
    pub(crate) confirm: Option<ReplicaConfirmation>,
    /// How many calls wait for the next confirmation.
    unconfirmed: usize,
    /// How many are awaited: further ones would queue up at the server, for as long each.
    confirming: usize,
    /// A part of what was to be written could not be.
    partial: bool,
}

/// What a reply is for.
pub(crate) enum PendingReply {
    /// A call, or several.
    Reply(ReplyRecipients),
    /// The same, told when it is confirmed.
    Held(ReplyRecipients),
    /// What has a node do the next call, for a slot that is on its way.
    Asking,
    /// The write that is confirmed with all before it.
    Mark,
    /// Who could confirm it.
    Followers(ReplicaQuorum),
    /// The confirmation of what is held, for so many calls.
    Confirmation { calls: usize, enough: ReplicaQuorum },
}

impl PendingReply {
    /// How many calls have come to their end with it.
    fn count(&self) -> usize {
        match self {
            Self::Reply(expected) => expected.count(),
            Self::Held(_) | Self::Asking | Self::Mark | Self::Followers(_) => 0,
            Self::Confirmation { calls, .. } => *calls,
        }
    }

    fn answers(self) -> Vec<ReplySender> {
        match self {
            Self::Reply(expected) | Self::Held(expected) => expected.answers(),
            Self::Asking | Self::Mark | Self::Followers(_) | Self::Confirmation { .. } => {
                Vec::new()
            }
        }
    }
}

impl Pipeline {
    pub(crate) fn new(writer: Writer) -> Self {
        Self { state: Mutex::default(), writer: Mutex::new(writer), driver: AtomicWaker::new() }
    }

    /// Adds the command that `write` writes; its reply goes to `sender`, and has to be confirmed if it `counts`.
    pub(crate) fn send(
        &self,
        write: &dyn Fn(&mut Vec<u8>),
        counts: bool,
        manner: SendMode,
        sender: ReplySender,
    ) {
        let mut state = self.lock();
        if state.refuses() {
            return;
        }
        let now = state.is_idle();
        if manner == SendMode::Asking {
            command(&["ASKING"], &mut state.out);
            // Should it be refused, the command behind it is, too.
            state.waiting.push_back(PendingReply::Asking);
        }
        write(&mut state.out);
        state.expect(ReplyRecipients::One(sender), counts);
        self.schedule_write(state, now);
    }

    /// Adds commands with nothing between them, of which each reply goes to one of `senders`; the one with the
    /// number `counts` has to be confirmed.
    pub(crate) fn send_row(
        &self,
        row: &[Vec<&str>],
        counts: Option<usize>,
        senders: Vec<ReplySender>,
    ) {
        let mut state = self.lock();
        let Some(others) = row.len().checked_sub(1).filter(|_| !state.refuses()) else { return };
        let now = state.is_idle();
        for (number, (words, sender)) in row.iter().zip(senders).enumerate() {
            command(words, &mut state.out);
            state.expect(ReplyRecipients::One(sender), counts == Some(number));
        }
        state.calls += others;
        state.unwritten += others;
        self.schedule_write(state, now);
    }

    /// Adds a call that others may go with.
    pub(crate) fn gather(
        &self,
        kind: &'static BatchKind,
        call: &ScriptCall,
        echo: &CorrelationId,
        sender: ReplySender,
    ) {
        let mut state = self.lock();
        if state.refuses() {
            return;
        }
        let now = state.is_idle();
        let batch = &mut state.batches[kind.order];
        batch.add(kind, call, echo, sender);
        if batch.is_full() {
            state.write_gathered();
        }
        self.schedule_write(state, now);
    }

    /// Sees to it that a call is written that was added.
    fn schedule_write(&self, mut state: MutexGuard<'_, PipelineState>, now: bool) {
        state.calls += 1;
        state.unwritten += 1;
        let mut wake = !std::mem::replace(&mut state.watched, true);
        if now || state.is_half() {
            let out = state.take_out();
            drop(state);
            wake |= self.write_now(out);
        } else {
            wake |= !std::mem::replace(&mut state.told, true);
            drop(state);
        }
        if wake {
            self.driver.wake();
        }
    }

    /// Writes what has gathered, unless somebody is writing. In any case it goes before what is sent
    /// later.
    pub(crate) fn flush(&self) {
        let mut state = self.lock();
        if state.closed {
            return;
        }
        state.write_gathered();
        if !state.may_write() || state.out.is_empty() {
            return;
        }
        let out = state.take_out();
        drop(state);
        if self.write_now(out) {
            self.driver.wake();
        }
    }

    /// Writes what the socket takes at once; `true` when the driver has to write the rest.
    fn write_now(&self, mut out: Vec<u8>) -> bool {
        // Should the socket be broken, the driver finds that too.
        let written = lock(&self.writer).write_now(&out).unwrap_or(0);
        let mut state = self.lock();
        state.writing = false;
        out.drain(..written);
        if out.is_empty() {
            // What came meanwhile is kept, and the room for it otherwise.
            if state.out.is_empty() {
                state.out = out;
            }
            if state.is_written() {
                return false;
            }
        } else {
            out.append(&mut state.out);
            state.out = out;
            state.partial = true;
        }
        !std::mem::replace(&mut state.told, true)
    }

    /// Nothing is sent or answered any more, and every call under way fails.
    pub(crate) fn close(&self, error: &Failure) {
        let waiting = {
            let mut state = self.lock();
            state.closed = true;
            state.out = Vec::new();
            let waiting = std::mem::take(&mut state.waiting);
            let batches = state.batches.each_mut().map(Batch::give_up);
            waiting.into_iter().flat_map(PendingReply::answers).chain(batches.into_iter().flatten())
        };
        for answer in waiting {
            // Whoever asked may be gone.
            let _ = answer.send(Err(error.clone()));
        }
    }

    /// Whether nothing can be sent any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, PipelineState> {
        lock(&self.state)
    }
}

impl PipelineState {
    /// Whether nothing is sent any more, or too much has no answer.
    fn refuses(&self) -> bool {
        self.closed || self.calls >= MOST_WAITING
    }

    /// Whether a call is best written by its own task: nobody else calls, or is about to.
    fn is_idle(&self) -> bool {
        self.calls == 0 && self.burst <= 1 && self.is_written() && self.may_write()
    }

    /// Whether nobody is writing, and nothing that was written has to be confirmed first.
    pub(crate) fn may_write(&self) -> bool {
        // What has to be confirmed may be among what is left to write.
        !self.writing && (self.confirming == 0 || self.partial)
    }

    /// Whether half of those who call lately have called again: the server works on these while the
    /// others get ready.
    fn is_half(&self) -> bool {
        self.may_write() && self.unwritten >= FEWEST.max(self.peak / 2)
    }

    /// From now on somebody writes all that there is to write, which is in `out`.
    pub(crate) fn begin_to_write(&mut self) {
        self.write_gathered();
        self.writing = true;
        self.partial = false;
        self.unwritten = 0;
        let calls = std::mem::take(&mut self.unconfirmed);
        if let (Some(confirm), 1..) = (&self.confirm, calls) {
            let enough = confirm.write(&mut self.out);
            self.waiting.push_back(PendingReply::Mark);
            self.waiting
                .extend(confirm.replication_query().map(|_| PendingReply::Followers(enough)));
            self.waiting.push_back(PendingReply::Confirmation { calls, enough });
            self.confirming += 1;
        }
    }

    fn take_out(&mut self) -> Vec<u8> {
        self.begin_to_write();
        std::mem::take(&mut self.out)
    }

    /// Whether there is nothing to write.
    pub(crate) fn is_written(&self) -> bool {
        self.out.is_empty() && self.batches.iter().all(Batch::is_empty)
    }

    /// Makes commands of the calls that go out together.
    fn write_gathered(&mut self) {
        for order in 0..BatchKind::COUNT {
            let written = self.batches[order].write(self.epoch.as_ref(), &mut self.out);
            if let Some(expected) = written {
                self.expect(expected, true);
            }
        }
    }

    /// The next reply is for this one.
    fn expect(&mut self, expected: ReplyRecipients, counts: bool) {
        if counts && self.confirm.is_some() {
            self.unconfirmed += expected.count();
            self.waiting.push_back(PendingReply::Held(expected));
        } else {
            self.waiting.push_back(PendingReply::Reply(expected));
        }
    }

    /// Whose turn it is to be answered, when so many replies have come; `None` when nobody asked.
    pub(crate) fn take_answered(
        &mut self,
        count: usize,
    ) -> Option<impl Iterator<Item = PendingReply>> {
        if count > self.waiting.len() {
            return None;
        }
        self.answered += u64::try_from(count).unwrap_or(u64::MAX);
        let answered: usize = self.waiting.iter().take(count).map(PendingReply::count).sum();
        if count > 0 {
            // It is forgotten slowly, as replies come in parts.
            self.peak = self.calls.max(self.peak - self.peak.div_ceil(FORGETS));
            self.burst = answered;
        }
        self.calls -= answered;
        let confirms =
            |awaited: &PendingReply| matches!(awaited, PendingReply::Confirmation { .. });
        if self.confirming > 0 {
            self.confirming -= self.waiting.iter().take(count).filter(|one| confirms(one)).count();
        }
        Some(self.waiting.drain(..count))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The connection ended.
pub(crate) fn broken() -> Failure {
    io::ErrorKind::BrokenPipe.into()
}

#[cfg(test)]
mod tests {
    use tokio::{
        net::{TcpListener, TcpStream},
        sync::oneshot,
    };

    use super::*;
    use crate::{client::HashTag, locks::scripts::ACQUIRES};

    /// One on which somebody is writing.
    async fn written_to() -> (Pipeline, TcpListener) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let pipeline = Pipeline::new(Writer::Tcp(stream.into_split().1));
        pipeline.lock().writing = true;
        (pipeline, listener)
    }

    #[tokio::test]
    async fn what_was_given_up_goes_before_what_takes_it_back() {
        let (pipeline, _listener) = written_to().await;
        let (first, _one) = oneshot::channel();
        pipeline.gather(&ACQUIRES, &ScriptCall::new(HashTag::default()), &[b'0'; 32], first);
        assert!(pipeline.lock().out.is_empty());
        pipeline.flush();
        let before = pipeline.lock().out.len();
        let (second, _other) = oneshot::channel();
        pipeline.send(&|out| out.push(b'z'), false, SendMode::Usual, second);
        let state = pipeline.lock();
        assert!(before > 0 && state.out.len() == before + 1 && state.out.ends_with(b"z"));
        assert_eq!(state.waiting.len(), 2);
    }

    #[tokio::test]
    async fn who_writes_tells_when_calls_have_gathered_meanwhile() {
        let (pipeline, _listener) = written_to().await;
        assert!(!pipeline.write_now(Vec::new()));
        pipeline.lock().writing = true;
        let (sender, _told) = oneshot::channel();
        pipeline.gather(&ACQUIRES, &ScriptCall::new(HashTag::default()), &[b'0'; 32], sender);
        // As the driver leaves it when somebody else is writing.
        pipeline.lock().told = false;
        assert!(pipeline.write_now(Vec::new()));
    }

    #[tokio::test]
    async fn half_of_those_who_called_lately_wait_for_no_more() {
        let (pipeline, _listener) = written_to().await;
        let mut state = pipeline.lock();
        (state.writing, state.burst, state.peak) = (false, 16, 16);
        drop(state);
        let mut told = Vec::new();
        for number in 1..=8 {
            let (sender, answer) = oneshot::channel();
            told.push(answer);
            pipeline.gather(&ACQUIRES, &ScriptCall::new(HashTag::default()), &[b'0'; 32], sender);
            assert_eq!(pipeline.lock().waiting.is_empty(), number < 8);
        }
    }
}
