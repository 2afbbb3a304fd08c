//! One member of an ensemble calls another over a network that can be cut.

use std::{io, net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    time::sleep,
};

/// How many members there are.
pub(super) const COUNT: usize = 3;

/// How often a member that does not listen is called, and how long after each other: together as long as a
/// member calls another that refuses.
const CALLS: usize = 50;
const BETWEEN_CALLS: Duration = Duration::from_millis(10);

/// How much of a connection that is not through yet is taken.
const EARLY: usize = 64 * 1024;

/// What does not pass at the moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NetworkCuts {
    /// Whether nothing arrives that the first sends to the second.
    pub(super) cut: [[bool; COUNT]; COUNT],
    pub(super) ended: bool,
}

/// One member calls another.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerRoute {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) port: u16,
    /// Whether it is for elections.
    pub(super) elects: bool,
}

impl NetworkCuts {
    fn passes(&self, from: usize, to: usize) -> bool {
        !self.cut.get(from).and_then(|cut| cut.get(to)).is_some_and(|cut| *cut)
    }

    fn passes_both_ways(&self, way: PeerRoute) -> bool {
        self.passes(way.from, way.to) && self.passes(way.to, way.from)
    }
}

/// Carries whatever comes there.
pub(super) async fn serve(
    listener: TcpListener,
    way: PeerRoute,
    cuts: watch::Receiver<NetworkCuts>,
) {
    loop {
        if let Ok((caller, _)) = listener.accept().await {
            tokio::spawn(link(caller, way, cuts.clone()));
        }
    }
}

async fn link(mut caller: TcpStream, way: PeerRoute, cuts: watch::Receiver<NetworkCuts>) {
    let mut early = Vec::new();
    let called = match call(way, &cuts).await {
        Some(called) => called,
        None => match reach(&mut caller, &mut early, way, &cuts).await {
            Some(called) => called,
            None => return,
        },
    };
    let _ = (caller.set_nodelay(true), called.set_nodelay(true));
    let (from_caller, to_caller) = caller.into_split();
    let (from_called, mut to_called) = called.into_split();
    let mut from_caller = early.chain(from_caller);
    if way.elects && hide_address(&mut from_caller, &mut to_called).await.is_err() {
        return;
    }
    let there = (way.from, way.to);
    let back = (way.to, way.from);
    tokio::select! {
        () = carry(from_caller, to_called, there, cuts.clone()) => {}
        () = carry(from_called, to_caller, back, cuts.clone()) => {}
    }
}

/// Calls the other member once, if nothing is cut.
async fn call(way: PeerRoute, cuts: &watch::Receiver<NetworkCuts>) -> Option<TcpStream> {
    if !cuts.borrow().passes_both_ways(way) {
        return None;
    }
    let called = TcpStream::connect(("127.0.0.1", way.port)).await.ok()?;
    // A port of this range that nobody listens on can be given to the very call to it.
    (called.local_addr().ok()? != SocketAddr::from(([127, 0, 0, 1], way.port))).then_some(called)
}

/// Calls it until it is reached, the caller gives up, or it has long refused.
async fn reach(
    caller: &mut TcpStream,
    early: &mut Vec<u8>,
    way: PeerRoute,
    cuts: &watch::Receiver<NetworkCuts>,
) -> Option<TcpStream> {
    let mut again = cuts.clone();
    let calls = async {
        for _ in 0..CALLS {
            again.wait_for(|cuts| cuts.passes_both_ways(way)).await.ok()?;
            if let Some(called) = call(way, cuts).await {
                return Some(called);
            }
            sleep(BETWEEN_CALLS).await;
        }
        None
    };
    let mut calls = std::pin::pin!(calls);
    loop {
        tokio::select! {
            called = &mut calls => return called,
            read = caller.read_buf(early), if early.len() < EARLY => {
                if !matches!(read, Ok(1..)) {
                    return None;
                }
            }
        }
    }
}

/// Who calls for an election says first where it listens itself, and is called back there. That would not be
/// through this network: a wildcard instead makes the other look into its settings.
async fn hide_address(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    // A version, a number, and the length of what follows.
    let mut head = [0; 20];
    from.read_exact(&mut head).await?;
    let [.., a, b, c, d] = head;
    let length = u32::from_be_bytes([a, b, c, d]).min(1024);
    let mut address = String::new();
    from.take(u64::from(length)).read_to_string(&mut address).await?;
    let address = address.replace("127.0.0.1", "0.0.0.0");
    let length = u32::try_from(address.len()).unwrap_or(0).to_be_bytes();
    let [head @ .., _, _, _, _] = &head;
    to.write_all(&[head, &length[..], address.as_bytes()].concat()).await
}

/// Carries bytes one way until the connection ends. Also its end is carried.
async fn carry(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    (sender, receiver): (usize, usize),
    mut cuts: watch::Receiver<NetworkCuts>,
) {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let read = from.read(&mut buffer).await;
        if cuts.wait_for(|cuts| cuts.passes(sender, receiver)).await.is_err() {
            return;
        }
        let Ok(count @ 1..) = read else { return };
        let Some(piece) = buffer.get(..count) else { return };
        if to.write_all(piece).await.is_err() {
            // That its receiver has gone is told the other way.
            let _ = cuts.wait_for(|cuts| cuts.passes(receiver, sender)).await;
            return;
        }
    }
}
