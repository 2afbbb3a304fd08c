//! Open connections to those who are asked where servers are, for whom cannot open one: each task and each runtime
//! has its own.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::{client::Connection, options::HostPort};

/// How many are known.
const MOST: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct SpareConnections(Mutex<Vec<(HostPort, Weak<Connection>)>>);

impl SpareConnections {
    pub(crate) fn add(&self, place: &HostPort, connection: &Arc<Connection>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(_, known)| known.upgrade().is_some_and(|known| !known.is_closed()));
        if all.len() >= MOST {
            all.remove(0);
        }
        all.push((place.clone(), Arc::downgrade(connection)));
    }

    /// One to this place.
    pub(crate) fn at(&self, place: &HostPort) -> Option<Arc<Connection>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let there = all.iter().filter(|(known, _)| known == place);
        there.filter_map(|(_, known)| known.upgrade()).find(|known| !known.is_closed())
    }
}
