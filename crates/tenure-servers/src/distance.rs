//! A server that is far away.

#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, mpsc},
    thread::{sleep, spawn},
    time::{Duration, Instant},
};

/// Pieces on their way.
const MOST: usize = 1_000;

/// A line to a server, on which answers take as long as you say. It ends with the process.
#[derive(Debug)]
pub struct Distance {
    address: SocketAddr,
    delay: Arc<Mutex<Duration>>,
}

impl Distance {
    /// A line to the server at `address`, with each answer `delay` late.
    ///
    /// # Panics
    /// If no port is free.
    #[must_use]
    pub fn to(address: SocketAddr, delay: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let line =
            Self { address: listener.local_addr().unwrap(), delay: Mutex::new(delay).into() };
        let delay = line.delay.clone();
        spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Ok(far) = TcpStream::connect(address) else { continue };
                let (from, into) = (near.try_clone().unwrap(), far.try_clone().unwrap());
                let delay = delay.clone();
                spawn(move || carry(from, into, || Duration::ZERO));
                spawn(move || carry(far, near, || *delay.lock().unwrap()));
            }
        });
        line
    }

    /// Where it begins.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on each answer is `delay` late.
    ///
    /// # Panics
    /// If a thread of the line panicked.
    pub fn set(&self, delay: Duration) {
        *self.delay.lock().unwrap() = delay;
    }
}

/// Until one side closes.
fn carry(mut from: TcpStream, mut into: TcpStream, delay: impl Fn() -> Duration) {
    let (sender, receiver) = mpsc::sync_channel::<(Instant, Vec<u8>)>(MOST);
    let writes = spawn(move || -> io::Result<()> {
        while let Ok((due, bytes)) = receiver.recv() {
            sleep(due.saturating_duration_since(Instant::now()));
            into.write_all(&bytes)?;
        }
        into.shutdown(Shutdown::Both)
    });
    let mut bytes = vec![0; 65_536];
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        let piece = bytes.get(..length).unwrap_or_default().to_vec();
        if sender.send((Instant::now() + delay(), piece)).is_err() {
            break;
        }
    }
    drop(sender);
    let _ = writes.join();
}
