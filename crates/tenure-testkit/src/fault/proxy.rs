//! A TCP proxy that misbehaves as networks do: it cuts, delays, swallows, cuts after so many bytes, and lets
//! connections hang.

use std::{
    io,
    net::{SocketAddr, TcpListener as StdListener},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
};

use crate::Random;

/// What happens to the bytes that pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weather {
    /// Each piece waits up to this long.
    pub delay: Duration,
    /// Nothing that a client sends arrives any more, though the connection stays open.
    pub requests_swallowed: bool,
    /// Nothing that the server sends arrives any more.
    pub replies_swallowed: bool,
    /// New connections are closed at once.
    pub refuses: bool,
    /// Each connection is cut after up to so many bytes from the client, zero for never.
    pub cut_after_requests: u64,
    /// Each connection is cut after up to so many bytes from the server, zero for never.
    pub cut_after_replies: u64,
}

/// A proxy in front of one server, on a thread of its own. Dropping it ends all connections.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    weather: Mutex<Weather>,
    random: Mutex<Random>,
    /// Connections of an older generation end.
    generation: watch::Sender<u64>,
    cuts: AtomicU64,
    links: Mutex<Vec<Weak<ProxyConnection>>>,
    /// How many pieces of clients it has carried.
    requests: AtomicU64,
}

/// One connection.
#[derive(Debug, Default)]
struct ProxyConnection {
    /// Nothing of the client, or nothing of the server, arrives any more.
    is_deaf: AtomicBool,
    is_mute: AtomicBool,
    /// The number of the last piece of its client.
    last: AtomicU64,
}

const ENDED: u64 = u64::MAX;

impl Proxy {
    /// A proxy for the server at `upstream`. The seed decides where connections are cut.
    ///
    /// # Errors
    /// When there is no free port, or no runtime.
    pub fn start(upstream: SocketAddr, seed: u64) -> io::Result<Self> {
        let listener = StdListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let shared = Arc::new(Shared {
            weather: Mutex::default(),
            random: Mutex::new(Random::new(seed)),
            generation: watch::Sender::new(0),
            cuts: AtomicU64::new(0),
            links: Mutex::default(),
            requests: AtomicU64::new(0),
        });
        let serving = shared.clone();
        let thread = thread::Builder::new().name("proxy".to_owned()).spawn(move || {
            runtime.block_on(async move {
                if let Ok(listener) = TcpListener::from_std(listener) {
                    serve(&listener, upstream, &serving).await;
                }
            });
        })?;
        Ok(Self { address, shared, thread: Some(thread) })
    }

    /// Where clients connect to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes what happens to the bytes from now on.
    pub fn set(&self, weather: Weather) {
        *lock(&self.shared.weather) = weather;
    }

    /// Cuts all connections.
    pub fn cut(&self) {
        self.shared.generation.send_modify(|generation| *generation += 1);
    }

    /// Lets all connections that there are hang for good: they stay open, and nothing arrives any more either way. New
    /// ones work.
    pub fn hang(&self) {
        for link in self.shared.links() {
            link.is_deaf.store(true, Ordering::Relaxed);
            link.is_mute.store(true, Ordering::Relaxed);
        }
    }

    /// The same of what the server says alone: what it is asked for is done, and nobody hears.
    pub fn mute(&self) {
        self.shared.links().iter().for_each(|link| link.is_mute.store(true, Ordering::Relaxed));
    }

    /// Lets the one connection hang whose client spoke last. New ones work.
    pub fn hang_last(&self) {
        let links = self.shared.links();
        if let Some(link) = links.iter().max_by_key(|link| link.last.load(Ordering::Relaxed)) {
            link.is_deaf.store(true, Ordering::Relaxed);
            link.is_mute.store(true, Ordering::Relaxed);
        }
    }

    /// How many connections there are.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.links().len()
    }

    /// How many pieces of what clients say it has carried: commands, where one is awaited before the next.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.shared.requests.load(Ordering::Relaxed)
    }

    /// How many connections it has cut because of their bytes.
    #[must_use]
    pub fn cuts(&self) -> u64 {
        self.shared.cuts.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.generation.send_replace(ENDED);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(listener: &TcpListener, upstream: SocketAddr, shared: &Arc<Shared>) {
    let mut generation = shared.generation.subscribe();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((client, _)) = accepted else { continue };
                if !shared.weather().refuses {
                    tokio::spawn(link(client, upstream, shared.clone()));
                }
            }
            ended = generation.wait_for(|generation| *generation == ENDED) => {
                drop(ended);
                return;
            }
        }
    }
}

async fn link(client: TcpStream, upstream: SocketAddr, shared: Arc<Shared>) {
    let mut generation = shared.generation.subscribe();
    let born = *generation.borrow_and_update();
    let Ok(server) = TcpStream::connect(upstream).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let weather = shared.weather();
    let requests = shared.bytes(weather.cut_after_requests);
    let replies = shared.bytes(weather.cut_after_replies);
    let link = shared.link();
    let is_deaf = |weather: &Weather| {
        link.last.store(shared.requests.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        weather.requests_swallowed || link.is_deaf.load(Ordering::Relaxed)
    };
    let is_mute =
        |weather: &Weather| weather.replies_swallowed || link.is_mute.load(Ordering::Relaxed);
    tokio::select! {
        () = carry(from_client, to_server, &shared, requests, is_deaf) => {}
        () = carry(from_server, to_client, &shared, replies, is_mute) => {}
        later = generation.wait_for(|generation| *generation != born) => drop(later),
    }
}

/// Carries bytes one way until the connection ends, or for `most` bytes.
async fn carry(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    shared: &Shared,
    most: u64,
    swallowed: impl Fn(&Weather) -> bool + Send,
) {
    let mut buffer = vec![0; 16 * 1024];
    let mut rest = most;
    loop {
        let Ok(count @ 1..) = from.read(&mut buffer).await else { return };
        let weather = shared.weather();
        if !weather.delay.is_zero() {
            let micros = u64::try_from(weather.delay.as_micros()).unwrap_or(u64::MAX);
            let pause = lock(&shared.random).below(micros.max(1));
            tokio::time::sleep(Duration::from_micros(pause)).await;
        }
        if swallowed(&shared.weather()) {
            continue;
        }
        let passed = usize::try_from(rest).unwrap_or(usize::MAX).min(count);
        let Some(piece) = buffer.get(..passed) else { return };
        if to.write_all(piece).await.is_err() {
            return;
        }
        rest -= u64::try_from(passed).unwrap_or(rest);
        if rest == 0 {
            shared.cuts.fetch_add(1, Ordering::Relaxed);
            return;
        }
    }
}

impl Shared {
    fn weather(&self) -> Weather {
        *lock(&self.weather)
    }

    fn link(&self) -> Arc<ProxyConnection> {
        let link = Arc::<ProxyConnection>::default();
        let mut links = lock(&self.links);
        links.retain(|link| link.strong_count() > 0);
        links.push(Arc::downgrade(&link));
        link
    }

    fn links(&self) -> Vec<Arc<ProxyConnection>> {
        lock(&self.links).iter().filter_map(Weak::upgrade).collect()
    }

    /// Mostly far fewer than `most`, so that short exchanges are cut too and long ones end.
    fn bytes(&self, most: u64) -> u64 {
        if most == 0 {
            return u64::MAX;
        }
        let mut random = lock(&self.random);
        let most = most >> random.below(6);
        1 + random.below(most)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
