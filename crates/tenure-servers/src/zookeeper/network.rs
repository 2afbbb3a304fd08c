//! The network between the members of an ensemble, which can be parted. What is cut keeps its
//! connections, and what is on its way arrives when the cut is healed, as with a network that loses
//! packets and a kernel that sends them again.

use std::{
    io,
    net::TcpListener as StdListener,
    thread::{self, JoinHandle},
};

use tokio::{net::TcpListener, sync::watch};

use super::way::{COUNT, NetworkCuts, PeerRoute, serve};
use crate::port::free_port;

/// Where a member listens for the others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ports {
    pub(super) quorum: u16,
    pub(super) election: u16,
}

/// The ways from each member to each other one. Dropping it ends all connections.
#[derive(Debug)]
pub(super) struct Network {
    /// Where the first reaches the second.
    ways: [[Ports; COUNT]; COUNT],
    cuts: watch::Sender<NetworkCuts>,
    thread: Option<JoinHandle<()>>,
}

impl Network {
    /// One that leads to these members.
    pub(super) fn start(members: [Ports; COUNT]) -> io::Result<Self> {
        let mut ways = [members; COUNT];
        let mut listeners = Vec::new();
        for (from, ways) in ways.iter_mut().enumerate() {
            for (to, way) in ways.iter_mut().enumerate().filter(|(to, _)| *to != from) {
                for (port, elects) in [(&mut way.quorum, false), (&mut way.election, true)] {
                    let listener = StdListener::bind(("127.0.0.1", 0))?;
                    listener.set_nonblocking(true)?;
                    let real = std::mem::replace(port, listener.local_addr()?.port());
                    listeners.push((listener, PeerRoute { from, to, port: real, elects }));
                }
            }
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let cuts = watch::Sender::new(NetworkCuts::default());
        let mut seen = cuts.subscribe();
        let thread = thread::Builder::new().name("network".to_owned()).spawn(move || {
            runtime.block_on(async move {
                for (listener, way) in listeners {
                    if let Ok(listener) = TcpListener::from_std(listener) {
                        tokio::spawn(serve(listener, way, seen.clone()));
                    }
                }
                let _ = seen.wait_for(|cuts| cuts.ended).await;
            });
        })?;
        Ok(Self { ways, cuts, thread: Some(thread) })
    }

    /// Where a member reaches each, and where it listens itself.
    pub(super) fn ways(&self, from: usize) -> [Ports; COUNT] {
        self.ways.get(from).copied().unwrap_or([Ports { quorum: 0, election: 0 }; COUNT])
    }

    /// Nothing arrives any more that goes from the one to the other.
    pub(super) fn cut(&self, from: usize, to: usize) {
        self.cuts.send_modify(|cuts| {
            if let Some(cut) = cuts.cut.get_mut(from).and_then(|cut| cut.get_mut(to)) {
                *cut = true;
            }
        });
    }

    /// All reach each other again.
    pub(super) fn heal(&self) {
        self.cuts.send_modify(|cuts| cuts.cut = NetworkCuts::default().cut);
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.cuts.send_modify(|cuts| cuts.ended = true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Free ports of three kinds for each member.
pub(super) fn free_ports() -> [[u16; COUNT]; 3] {
    let mut ports = [[0; COUNT]; 3];
    ports.as_flattened_mut().fill_with(free_port);
    ports
}

#[cfg(test)]
mod tests {
    use std::{
        io::{ErrorKind, Read, Write},
        net::TcpStream,
    };

    use super::*;

    /// A network, and where the first member listens for all.
    fn network() -> (Network, StdListener) {
        let listener = StdListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let network = Network::start([Ports { quorum: port, election: port }; COUNT]).unwrap();
        (network, listener)
    }

    fn piece(stream: &mut TcpStream, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_is_sent_over_a_cut_arrives_when_it_is_healed() {
        let (network, listener) = network();
        let mut caller = TcpStream::connect(("127.0.0.1", network.ways(2)[0].quorum)).unwrap();
        let (mut called, _) = listener.accept().unwrap();
        caller.write_all(b"first").unwrap();
        assert_eq!(piece(&mut called, 5), b"first");
        network.cut(2, 0);
        caller.write_all(b"later").unwrap();
        // What goes the other way passes, and there is time for the rest to pass too.
        for _ in 0..10 {
            called.write_all(b"reply").unwrap();
            assert_eq!(piece(&mut caller, 5), b"reply");
        }
        called.set_nonblocking(true).unwrap();
        let arrived = called.read(&mut [0; 5]).map_err(|error| error.kind());
        assert_eq!(arrived, Err(ErrorKind::WouldBlock));
        called.set_nonblocking(false).unwrap();
        network.heal();
        assert_eq!(piece(&mut called, 5), b"later");
        drop(called);
        assert!(matches!(caller.read(&mut [0; 5]), Ok(0) | Err(_)));
    }

    #[test]
    fn a_call_for_an_election_does_not_say_where_to_call_back() {
        let (network, listener) = network();
        let mut caller = TcpStream::connect(("127.0.0.1", network.ways(2)[0].election)).unwrap();
        let call = |address: &str| {
            let length = u8::try_from(address.len()).unwrap();
            [&[7; 16][..], &[0, 0, 0, length], address.as_bytes(), b"rest"].concat()
        };
        caller.write_all(&call("127.0.0.1:70")).unwrap();
        let (mut called, _) = listener.accept().unwrap();
        let expected = call("0.0.0.0:70");
        assert_eq!(piece(&mut called, expected.len()), expected);
    }
}
