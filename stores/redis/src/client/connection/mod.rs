//! One connection that many tasks share: commands go out in the order of their calls, and each
//! reply goes to the call that is next in line.
//!
//! A call that finds the connection idle writes by itself, so that nobody has to be woken for it.
//! When others are under way it leaves its command to the driver, which writes what has gathered.

pub(crate) mod batch;
pub(crate) mod compare;
pub(crate) mod confirm;
pub(crate) mod driver;
pub(crate) mod greet;
pub(crate) mod journal;
pub(crate) mod pipeline;
pub(crate) mod stream;
pub(crate) mod tls;

use std::{
    collections::BTreeSet,
    fmt, io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::future::join_all;
use tokio::{sync::oneshot, task::AbortHandle};

pub(crate) use crate::client::connection::pipeline::SendMode;
use crate::client::{
    BatchKind, CompareAndDelete, CorrelationId, Failure, HighestEpoch, PushHandler,
    ReplicaConfirmation, Script, ScriptCall, Value, command,
    connection::{
        batch::{CallReply, CallResult},
        driver::Driver,
        pipeline::{Pipeline, broken},
        stream::{Reader, Writer},
    },
    protocol::call::{BY_DIGEST, IN_FULL},
};

/// Writes a command. A connection is compiled once, and not for each command.
pub(crate) type CommandEncoder<'a> = &'a (dyn Fn(&mut Vec<u8>) + Send + Sync);

/// A connection; dropping it closes it.
pub(crate) struct Connection {
    pipeline: Arc<Pipeline>,
    driver: AbortHandle,
    /// What closes it before somebody drops it.
    closing: Option<AbortHandle>,
    /// By which tokens are ahead of the server's time, where they are.
    epoch: Option<HighestEpoch>,
    /// That of the server when it was connected to.
    pub(crate) epoch_then: u64,
    /// How long its first answer took: another one takes about as long.
    pub(crate) answer_time: Duration,
    /// How keys are deleted that have a certain value.
    pub(crate) compare: CompareAndDelete,
    /// Whether the server knows the scripts for calls that go together.
    pub(crate) gathers: AtomicBool,
    /// Whether writes count only when they are confirmed.
    confirms: AtomicBool,
    /// The digests of scripts that were sent in full where writes are confirmed.
    sent: Mutex<BTreeSet<String>>,
}

impl Connection {
    /// Drives a connection in the runtime of the caller. When no answer comes for as long as
    /// `patience`, it is closed.
    pub(crate) fn start(
        reader: Reader,
        writer: Writer,
        patience: Duration,
        hear: Option<PushHandler>,
    ) -> Self {
        let pipeline = Arc::new(Pipeline::new(writer));
        let driver = Driver::new(pipeline.clone(), reader, patience, hear);
        let driver = tokio::spawn(driver).abort_handle();
        Self {
            pipeline,
            driver,
            closing: None,
            epoch: None,
            epoch_then: 0,
            answer_time: Duration::ZERO,
            compare: CompareAndDelete::default(),
            gathers: AtomicBool::new(false),
            confirms: AtomicBool::new(false),
            sent: Mutex::default(),
        }
    }

    /// From now on tokens are ahead of the server's time, by what this is when they are made.
    pub(crate) fn make_tokens_ahead(&mut self, epoch: &HighestEpoch) {
        self.epoch = Some(epoch.clone());
        self.pipeline.lock().epoch = Some(epoch.clone());
    }

    /// By how many seconds they are.
    pub(crate) fn seconds_ahead(&self) -> u64 {
        self.epoch.as_ref().map_or(0, HighestEpoch::seconds_ahead)
    }

    /// From now on writes count when they are confirmed so. Tries whether this user may have them confirmed.
    pub(crate) async fn require_confirmation(
        &self,
        confirm: ReplicaConfirmation,
    ) -> Result<(), Failure> {
        self.send(&confirm.mark()).await?;
        if let Some(asked) = confirm.replication_query() {
            self.send(&asked).await?;
        }
        self.send(&["WAIT", "0", "1"]).await?;
        self.pipeline.lock().confirm = Some(confirm);
        self.confirms.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Runs a script, which the server knows or has to be sent.
    pub(crate) async fn run(
        &self,
        call: &ScriptCall,
        script: &Script,
        manner: SendMode,
    ) -> Result<Value, Failure> {
        let epoch = self.epoch.as_ref().filter(|_| script.makes_tokens);
        let ahead = epoch.map(HighestEpoch::argument).unwrap_or_default();
        let by_digest = |out: &mut Vec<u8>| call.write(BY_DIGEST, &script.digest, &ahead, out);
        let in_full = |out: &mut Vec<u8>| call.write(IN_FULL, &script.text, &ahead, out);
        if self.wants_in_full(script) {
            let answer = self.called(&in_full, script.counts, manner).await;
            // Who is refused may not have been listened to.
            if answer.is_ok() {
                self.sent().insert(script.digest.clone());
            }
            return answer;
        }
        match self.called(&by_digest, script.counts, manner).await {
            // The server has never seen it, or was told to forget. It certainly did not run.
            Err(error) if error.code() == Some("NOSCRIPT") => {
                self.called(&in_full, script.counts, manner).await
            }
            answer => answer,
        }
    }

    /// Whether a script is to be sent in full at once. Where writes are confirmed, that the server does not know it
    /// would be heard only when the replicas were waited for, and a process may have ended by then.
    pub(crate) fn wants_in_full(&self, script: &Script) -> bool {
        let confirms = self.confirms.load(Ordering::Relaxed);
        confirms && script.counts && !self.sent().contains(&script.digest)
    }

    fn sent(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes it when this has come to its end: whatever is under way then fails.
    pub(crate) fn close_after(&mut self, end: impl Future<Output = ()> + Send + 'static) {
        let (pipeline, driver) = (self.pipeline.clone(), self.driver.clone());
        let closing = tokio::spawn(async move {
            end.await;
            pipeline.close(&broken());
            driver.abort();
        });
        self.closing = Some(closing.abort_handle());
    }

    /// Sends the command that `write` writes, and waits for its reply.
    ///
    /// # Cancel safety
    /// When this is dropped, the command is sent all the same, now if it was not yet, and its reply
    /// goes nowhere.
    pub(crate) async fn call(&self, write: CommandEncoder<'_>) -> Result<Value, Failure> {
        self.called(write, false, SendMode::Usual).await
    }

    /// The same for a write, which has to be confirmed where that is wanted.
    pub(crate) async fn write(
        &self,
        write: CommandEncoder<'_>,
        manner: SendMode,
    ) -> Result<Value, Failure> {
        self.called(write, true, manner).await
    }

    async fn called(
        &self,
        write: CommandEncoder<'_>,
        counts: bool,
        manner: SendMode,
    ) -> Result<Value, Failure> {
        let (sender, answer) = oneshot::channel();
        self.pipeline.send(write, counts, manner, sender);
        match self.await_reply(answer).await? {
            CallReply::Whole(Value::Error(error)) | CallReply::Refused(error) => {
                Err(Failure::Server(error))
            }
            CallReply::Whole(value) => Ok(value),
            CallReply::Part(_) => Err(Failure::Nonsense),
        }
    }

    /// Makes a call that others may go with, and waits for what it is told. As cancel-safe as
    /// [`Connection::call`].
    pub(crate) async fn call_batched(
        &self,
        kind: &'static BatchKind,
        call: &ScriptCall,
        echo: &CorrelationId,
    ) -> CallResult {
        let (sender, answer) = oneshot::channel();
        self.pipeline.gather(kind, call, echo, sender);
        match self.await_reply(answer).await? {
            CallReply::Whole(Value::Error(error)) => Err(Failure::Server(error)),
            told => Ok(told),
        }
    }

    /// Sends commands with nothing between them, and waits for all replies, errors of the server among them.
    /// What the one with the number `counts` wrote has to be confirmed. As cancel-safe as
    /// [`Connection::call`].
    pub(crate) async fn call_sequence(
        &self,
        row: &[Vec<&str>],
        counts: Option<usize>,
    ) -> Result<Vec<Value>, Failure> {
        let (senders, answers): (Vec<_>, Vec<_>) = row.iter().map(|_| oneshot::channel()).unzip();
        self.pipeline.send_row(row, counts, senders);
        let mut values = Vec::with_capacity(answers.len());
        for answer in answers {
            match self.await_reply(answer).await? {
                CallReply::Whole(value) => values.push(value),
                CallReply::Part(_) | CallReply::Refused(_) => return Err(Failure::Nonsense),
            }
        }
        Ok(values)
    }

    async fn await_reply(&self, answer: oneshot::Receiver<CallResult>) -> CallResult {
        let mut call = PendingCall { pipeline: &self.pipeline, answered: false };
        let answer = answer.await;
        call.answered = true;
        answer.unwrap_or_else(|_| Err(broken()))
    }

    /// Sends a command that is no script's, and waits for its reply. As cancel-safe as
    /// [`Connection::call`].
    pub(crate) async fn send(&self, words: &[&str]) -> Result<Value, Failure> {
        self.call(&|out| command(words, out)).await
    }

    /// The same, sent in this manner.
    pub(crate) async fn send_as(&self, words: &[&str], manner: SendMode) -> Result<Value, Failure> {
        self.called(&|out| command(words, out), false, manner).await
    }

    /// Has the server learn the scripts for calls that go together. Where it does not, each goes alone.
    pub(crate) async fn load_batch_scripts(&self, kinds: &[&'static BatchKind]) {
        let learnt = kinds.iter().map(|kind| async move {
            let in_full = |out: &mut Vec<u8>| {
                ScriptCall::default().write(IN_FULL, &kind.together.text, "", out);
            };
            self.call(&in_full).await
        });
        let learnt = join_all(learnt).await;
        let all = learnt.iter().all(|told| matches!(told, Ok(Value::Array(_))));
        self.gathers.store(all, Ordering::Relaxed);
    }

    /// How many answers have come over it.
    pub(crate) fn reply_count(&self) -> u64 {
        self.pipeline.lock().answered
    }

    /// Whether something is awaited, and no answer has come since there were so many.
    pub(crate) fn is_silent(&self, heard: u64) -> bool {
        let state = self.pipeline.lock();
        state.calls > 0 && state.answered == heard
    }

    /// Closes it as one over which no answer came: whatever is under way fails.
    pub(crate) fn give_up(&self) {
        self.pipeline.close(&io::Error::from(io::ErrorKind::TimedOut).into());
        self.driver.abort();
    }

    /// Whether nothing can be sent any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.pipeline.is_closed()
    }
}

/// A call whose answer has not come.
struct PendingCall<'a> {
    pipeline: &'a Pipeline,
    answered: bool,
}

impl Drop for PendingCall<'_> {
    fn drop(&mut self) {
        // Else what takes this call back, over another connection, might overtake it.
        if !self.answered {
            self.pipeline.flush();
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
        if let Some(closing) = &self.closing {
            closing.abort();
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("closed", &self.is_closed()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::client::connection::pipeline::MOST_WAITING;

    #[tokio::test]
    async fn a_server_that_never_answers_is_asked_only_so_often() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (reader, writer) = stream.into_split();
        let patience = Duration::from_secs(60);
        let connection = Connection::start(Box::new(reader), Writer::Tcp(writer), patience, None);
        let send = || {
            let (sender, answer) = oneshot::channel();
            connection.pipeline.send(&|out| out.push(b'x'), false, SendMode::Usual, sender);
            answer
        };
        let mut answers: Vec<_> = (0..MOST_WAITING).map(|_| send()).collect();
        let open = oneshot::error::TryRecvError::Empty;
        assert!(answers.iter_mut().all(|answer| answer.try_recv().err() == Some(open.clone())));
        let refused = send().try_recv().err();
        assert_eq!(refused, Some(oneshot::error::TryRecvError::Closed));
    }
}
