//! A web handler that runs under a lock: an impatient customer clicks five times and pays once.
//!
//! `#[locked]` takes the lock that is named after the order, so requests for other orders run on
//! beside it, and so do requests that reach another host. The server is as small as can be; with a
//! framework the attribute stands on the handler in the same way.
//!
//! Run it with `cargo run -p tenure-examples --bin web_handler`.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "an example shows what happens")]

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tenure::{Error, Tenure, Token, locked};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

struct Shop {
    tenure: Tenure,
    /// Who has paid, and under which token.
    paid: Mutex<Vec<(u64, Option<Token>)>>,
}

impl Shop {
    fn has_paid(&self, order: u64) -> bool {
        let paid = self.paid.lock().unwrap_or_else(PoisonError::into_inner);
        paid.iter().any(|(paid, _)| *paid == order)
    }

    async fn charge(&self, order: u64) {
        // What the bank takes: time enough for the other clicks to come.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let token = locked::current().map(|hold| hold.token());
        self.paid.lock().unwrap_or_else(PoisonError::into_inner).push((order, token));
    }

    /// `POST /orders/{order}/pay`. It looks and then charges, which only the lock keeps together.
    #[locked(key = "order:pay:{order}", ttl = "15s", wait = "30s", store = self.tenure)]
    async fn pay(&self, order: u64) -> Result<&'static str, Error> {
        if self.has_paid(order) {
            return Ok("paid already");
        }
        self.charge(order).await;
        Ok("paid now")
    }
}

/// What a client is told that can do nothing but try again.
fn refused(error: &Error) -> (&'static str, String) {
    match error {
        error if error.is_busy() => ("423 Locked", "this order is being paid".to_owned()),
        error if error.is_transient() => ("503 Service Unavailable", "try again later".to_owned()),
        _ => ("500 Internal Server Error", "this is our fault".to_owned()),
    }
}

async fn answer(shop: Arc<Shop>, mut stream: TcpStream) -> Outcome<()> {
    let mut request = vec![0; 1024];
    let length = stream.read(&mut request).await?;
    let request = String::from_utf8_lossy(&request[..length]).into_owned();
    let order = request.split('/').nth(2).and_then(|order| order.parse().ok());
    let (status, body) = match order {
        None => ("404 Not Found", "no such page".to_owned()),
        Some(order) => match shop.pay(order).await {
            Ok(done) => ("200 OK", format!("order {order}: {done}")),
            // What it says of the store and of who holds the lock is for the log.
            Err(error) => {
                eprintln!("order {order}: {error:#}");
                refused(&error)
            }
        },
    };
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n", body.len());
    stream.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes()).await?;
    Ok(())
}

async fn click(server: SocketAddr, order: u64) -> Outcome<String> {
    let mut stream = TcpStream::connect(server).await?;
    stream.write_all(format!("POST /orders/{order}/pay HTTP/1.1\r\n\r\n").as_bytes()).await?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await?;
    Ok(reply.lines().last().unwrap_or_default().to_owned())
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let dir = tempfile::tempdir()?;
    let tenure = Tenure::open(format!("file:{}", dir.path().display())).await?;
    let shop = Arc::new(Shop { tenure, paid: Mutex::default() });

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let server = listener.local_addr()?;
    let serving = shop.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(serving.clone(), stream));
        }
    });

    let orders = [42, 42, 42, 42, 42, 7];
    let clicks: Vec<_> = orders.map(|order| tokio::spawn(click(server, order))).into();
    for click in clicks {
        println!("{}", click.await??);
    }
    let paid = shop.paid.lock().unwrap_or_else(PoisonError::into_inner);
    let mut orders: Vec<_> = paid.iter().map(|(order, _)| *order).collect();
    orders.sort_unstable();
    assert_eq!(orders, [7, 42], "somebody paid twice");
    assert!(paid.iter().all(|(_, token)| token.is_some()), "somebody paid without a lock");
    Ok(())
}
