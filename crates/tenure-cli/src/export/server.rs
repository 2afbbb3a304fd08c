//! Serving metrics by HTTP, to a bounded number of readers, each for a bounded time.

use std::{convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::{sleep, timeout},
};

use super::{
    request::{MOST_HEAD, Reply},
    source::Source,
};
use crate::{exit::Failure, explanation::Explanation};

/// Those beyond wait until one of these is done.
const MOST_READERS: usize = 64;
/// How long a reader may take for its request, and to read the response.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long to wait for a reader to close, that it reads all before.
const CLOSING: Duration = Duration::from_secs(1);
/// Until the next connection is accepted where the system refused one, mostly for want of descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Listens at an address.
pub(crate) async fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| {
        let why = Explanation::new(format!("metrics cannot be served at {address}"));
        let help = "choose another address and port of this machine with --listen";
        Failure::Failed(why.because(&error).advise(help))
    })
}

/// Serves for ever.
pub(crate) async fn serve(listener: TcpListener, source: Arc<Source>) -> Infallible {
    let readers = Arc::new(Semaphore::new(MOST_READERS));
    loop {
        // Nothing closes the semaphore.
        let Ok(permit) = readers.clone().acquire_owned().await else {
            std::future::pending().await
        };
        match listener.accept().await {
            Ok((reader, _)) => {
                let source = source.clone();
                tokio::spawn(async move {
                    answer(reader, &source).await;
                    drop(permit);
                });
            }
            Err(_) => sleep(PAUSE).await,
        }
    }
}

/// Answers one request. A reader that is too slow or gone gets nothing more, which is no failure of ours.
async fn answer(mut reader: TcpStream, source: &Source) {
    let Ok(Some(reply)) = timeout(PATIENCE, read(&mut reader)).await else { return };
    let metrics = match reply {
        Reply::Metrics => source.text().await,
        _ => "".into(),
    };
    let written = timeout(PATIENCE, async {
        reader.write_all(&reply.response(&metrics)).await?;
        reader.shutdown().await
    });
    if let Ok(Ok(())) = written.await {
        // Closed with bytes that are not read, a connection is reset, and the response lost on its way.
        let _ = timeout(CLOSING, drain(&mut reader)).await;
    }
}

/// What the request is answered with; nothing if the reader left.
async fn read(reader: &mut TcpStream) -> Option<Reply> {
    let mut head = Vec::new();
    let mut part = [0; 1024];
    loop {
        let room = part.get_mut(..MOST_HEAD.saturating_sub(head.len()).min(1024))?;
        let length = reader.read(room).await.ok()?;
        head.extend_from_slice(room.get(..length).filter(|part| !part.is_empty())?);
        if let Some(reply) = Reply::to(&head) {
            return Some(reply);
        }
    }
}

async fn drain(reader: &mut TcpStream) {
    let mut part = [0; 1024];
    for _ in 0..64 {
        if !reader.read(&mut part).await.is_ok_and(|length| length > 0) {
            return;
        }
    }
}
