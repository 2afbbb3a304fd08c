//! Hints from the server, over a connection that carries nothing else.
//!
//! It is opened when somebody first waits. A hint that is lost costs at most one look, and after
//! every (re)connection everybody looks: what was said before is not known.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use redis::Value;
use tenure_core::{Fault, HintBoard, proto::Owner};
use tokio::{runtime::Handle, sync::oneshot, task::AbortHandle};

use crate::{RedisOptions, connect::connect, connection::Connection, error};

/// How often a silent connection is tried.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// The pauses between attempts to connect.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) board: HintBoard,
    pub(crate) channel: String,
    options: Arc<RedisOptions>,
    running: Arc<Mutex<Option<AbortHandle>>>,
}

impl Watch {
    pub(crate) fn new(options: Arc<RedisOptions>, channel: String) -> Self {
        Self { board: HintBoard::new(), channel, options, running: Arc::default() }
    }

    /// Sees to it that somebody listens. The task runs in the runtime of the caller, and in
    /// another one's when that has ended.
    pub(crate) fn start(&self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.is_some() {
            return;
        }
        let Ok(runtime) = Handle::try_current() else { return };
        let end = EndOfTask(Arc::downgrade(&self.running));
        let (options, channel) = (self.options.clone(), self.channel.clone());
        let board = self.board.clone();
        let task = runtime.spawn(async move {
            let _end = end;
            watch(&options, &channel, &board).await;
        });
        *running = Some(task.abort_handle());
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = running {
            task.abort();
        }
    }
}

/// Dropped when the task ends, which it does with its runtime.
struct EndOfTask(Weak<Mutex<Option<AbortHandle>>>);

impl Drop for EndOfTask {
    fn drop(&mut self) {
        if let Some(running) = self.0.upgrade() {
            *running.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}

async fn watch(options: &RedisOptions, channel: &str, board: &HintBoard) {
    let mut pause = PAUSES.0;
    loop {
        match subscribe(options, channel, board).await {
            Ok((connection, ended)) => {
                pause = PAUSES.0;
                board.wake_all();
                stay(&connection, ended).await;
            }
            Err(fault) => {
                tracing::debug!(store = "redis", %fault, "no hints: waiters look by themselves");
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// Resolves when the connection has ended.
type Ended = oneshot::Receiver<Infallible>;

async fn subscribe(
    options: &RedisOptions,
    channel: &str,
    board: &HintBoard,
) -> Result<(Connection, Ended), Fault> {
    let (open, ended) = oneshot::channel();
    let board = board.clone();
    let hear = move |data: &[Value]| {
        // Dropped with the connection, and nothing is ever sent.
        let _open: &oneshot::Sender<Infallible> = &open;
        if let Some(owner) = data.get(1).and_then(owner) {
            board.wake(&owner);
        }
    };
    let connection = connect(options, Some(Box::new(hear))).await?;
    let subscribe = redis::cmd("SUBSCRIBE").arg(channel).get_packed_command();
    // A subscription is told of, not answered; what is answered is the command behind it, unless
    // the subscription is refused.
    let subscribed = connection.call(|out| {
        out.extend(subscribe);
        out.extend(ping());
    });
    let failed = |error| error::of_command(&options.location(), error);
    subscribed.await.map_err(failed)?;
    Ok((connection, ended))
}

/// Returns when the connection has ended, or is silent when it should not be.
async fn stay(connection: &Connection, mut ended: Ended) {
    while tokio::time::timeout(HEARTBEAT, &mut ended).await.is_err() {
        if connection.call(|out| out.extend(ping())).await.is_err() {
            return;
        }
    }
}

fn ping() -> Vec<u8> {
    redis::cmd("PING").get_packed_command()
}

fn owner(value: &Value) -> Option<Owner> {
    let Value::BulkString(text) = value else { return None };
    let number = u128::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok()?;
    Some(Owner::from_bytes(number.to_be_bytes()))
}
