//! Ports for servers.

use std::{
    collections::hash_map::RandomState,
    hash::BuildHasher,
    net::TcpListener,
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

/// They lie below those that the system gives to connections, which come and go by the thousand while tests
/// run: one of those would take the port of a server that is down for a moment.
const FIRST: u16 = 10_000;
const COUNT: u16 = 22_000;

/// A port that nobody listens at, and that this process was not given before; 0, which no server takes, where
/// there is none.
pub(crate) fn free_port() -> u16 {
    // Several processes of tests run at once, and each goes its own way.
    static NEXT: LazyLock<AtomicU64> =
        LazyLock::new(|| AtomicU64::new(RandomState::new().hash_one(()) >> 1));
    (0..COUNT)
        .filter_map(|_| {
            let next = NEXT.fetch_add(1, Ordering::Relaxed) % u64::from(COUNT);
            Some(FIRST + u16::try_from(next).ok()?)
        })
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_port_is_given_twice_nor_one_that_a_connection_may_take() {
        let ports: Vec<_> = (0..100).map(|_| free_port()).collect();
        assert!(ports.iter().all(|port| (FIRST..FIRST + COUNT).contains(port)), "{ports:?}");
        assert_eq!(ports.iter().collect::<BTreeSet<_>>().len(), ports.len(), "{ports:?}");
    }

    #[test]
    fn a_port_where_somebody_listens_is_passed_over() {
        let (first, bound) = (free_port(), TcpListener::bind);
        let next = (1..4).map(|more| FIRST + (first - FIRST + more) % COUNT);
        let taken: Vec<_> = next.filter_map(|port| bound(("127.0.0.1", port)).ok()).collect();
        let given: Vec<_> = (0..8).map(|_| free_port()).collect();
        let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
        assert!(!taken.iter().any(|listener| given.contains(&port(listener))), "{given:?}");
    }
}
