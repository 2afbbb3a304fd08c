//! Hints from the server, over a connection that carries nothing else.
//!
//! It is opened when somebody first waits. A hint that is lost costs at most one look, and after
//! every (re)connection everybody looks: what was said before is not known.

use std::{
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use redis::{PushInfo, PushKind, Value};
use tenure_core::{Fault, HintBoard, proto::Owner};
use tokio::{
    runtime::Handle,
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    task::AbortHandle,
};

use crate::{RedisOptions, connect::connect_to_hear, error};

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
        let (sender, mut pushed) = unbounded_channel();
        match subscribe(options, channel, sender).await {
            Ok(mut connection) => {
                pause = PAUSES.0;
                board.wake_all();
                hear(&mut connection, &mut pushed, board).await;
            }
            Err(fault) => {
                tracing::debug!(store = "redis", %fault, "no hints: waiters look by themselves");
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

async fn subscribe(
    options: &RedisOptions,
    channel: &str,
    sender: tokio::sync::mpsc::UnboundedSender<PushInfo>,
) -> Result<redis::aio::MultiplexedConnection, Fault> {
    let mut connection = connect_to_hear(options, sender).await?;
    let subscribed = connection.subscribe(channel).await;
    subscribed.map_err(|error| error::of_command(&options.location(), error))?;
    Ok(connection)
}

/// Passes hints on until the connection breaks.
async fn hear(
    connection: &mut redis::aio::MultiplexedConnection,
    pushed: &mut UnboundedReceiver<PushInfo>,
    board: &HintBoard,
) {
    loop {
        match tokio::time::timeout(HEARTBEAT, pushed.recv()).await {
            Ok(Some(PushInfo { kind: PushKind::Message, data })) => {
                if let Some(owner) = data.get(1).and_then(owner) {
                    board.wake(&owner);
                }
            }
            Ok(Some(PushInfo { kind: PushKind::Disconnection, .. }) | None) => return,
            Ok(Some(_)) => {}
            Err(_) => {
                let answer: Result<(), _> = redis::cmd("PING").query_async(connection).await;
                if answer.is_err() {
                    return;
                }
            }
        }
    }
}

fn owner(value: &Value) -> Option<Owner> {
    let Value::BulkString(text) = value else { return None };
    let number = u128::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok()?;
    Some(Owner::from_bytes(number.to_be_bytes()))
}
