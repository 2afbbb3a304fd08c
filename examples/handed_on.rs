//! An order that one service takes in and another one ships: the order stays locked in between.
//!
//! The first service detaches its lock and sends the handle along with the order. The second attaches it,
//! works under a token of its own, and releases. Nobody else can touch the order from the first moment to
//! the last, although no process is there for all of it. A message that is delivered twice ships the order
//! once, since a handle attaches once.
//!
//! Run it with `cargo run -p tenure-examples --bin handed_on`.

#![allow(clippy::print_stdout, reason = "an example shows what happens")]

use std::{error::Error, time::Duration};

use tenure::{Handle, HandleError, Tenure};
use tokio::sync::mpsc;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// What the queue between the services carries. The handle is a secret.
struct Message {
    order: u64,
    handle: String,
}

async fn take_in(tenure: &Tenure, order: u64) -> Outcome<Message> {
    let guard = tenure.mutex(format!("order:{order}")).lock().await?;
    println!("order {order} is taken in under token {}", guard.token());
    // As long as it may lie in the queue.
    let detached = guard.detach().lease(Duration::from_secs(600)).await?;
    Ok(Message { order, handle: detached.handle.expose() })
}

async fn ship(tenure: &Tenure, message: &Message) -> Outcome<()> {
    let handle: Handle = message.handle.parse()?;
    let guard = match tenure.attach(&handle).await {
        Ok(guard) => guard,
        Err(HandleError::Lost(_)) => {
            println!("order {} is in other hands by now", message.order);
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    println!("order {} is shipped under token {}", message.order, guard.check()?);
    guard.release().await?;
    Ok(())
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let dir = tempfile::tempdir()?;
    let url = format!("file:{}", dir.path().display());
    let (queue, mut messages) = mpsc::channel(8);

    let first = Tenure::open(&url).await?;
    let message = take_in(&first, 42).await?;
    // The service ends here, and the order stays locked.
    drop(first);

    let second = Tenure::open(&url).await?;
    assert!(second.mutex("order:42").try_lock().await?.is_none());
    queue.send(message).await?;
    drop(queue);
    while let Some(message) = messages.recv().await {
        for _ in 0..2 {
            // Queues deliver twice now and then.
            ship(&second, &message).await?;
        }
    }
    assert!(second.mutex("order:42").try_lock().await?.is_some());
    Ok(())
}
