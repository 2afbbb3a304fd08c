//! One session with the server, over the driver that the store has.

use std::future::poll_fn;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_postgres::{AsyncMessage, Client, NoTls, Notification};

use crate::failure::Failure;

/// Messages from other sessions.
pub(super) type Heard = UnboundedReceiver<Notification>;

/// Opens one, which ends with the client.
pub(super) async fn open(url: &str) -> Result<(Client, Heard), Failure> {
    let (client, mut connection) = tokio_postgres::connect(url, NoTls).await?;
    let (tell, heard) = unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(message) = message {
                // Who does not listen, does not want it.
                let _ = tell.send(message);
            }
        }
    });
    Ok((client, heard))
}
