//! The network between the nodes of a cluster, and how it is parted.

use std::process::Command;

use super::{RedisCluster, node::bus};
use crate::preload::Partition;

impl RedisCluster {
    /// Has a client use the cluster's network: among those that go with a server when it is cut off, or with all
    /// others.
    pub fn join(&self, client: &mut Command, cut_off: bool) {
        if let Some(side) = self.side(if cut_off { "cut off" } else { "others" }) {
            side.join(client);
        }
    }

    /// Cuts one server off, with its clients.
    pub fn cut_off(&self, number: usize) {
        let others = |each: &usize| *each != number;
        let (of_it, of_others) =
            (self.ports(|each| each == number), self.ports(|each| each != number));
        for server in (0..self.servers.len()).filter(others).filter_map(|at| self.servers.get(at)) {
            server.part_from(of_it.clone());
        }
        if let Some(server) = self.servers.get(number) {
            server.part_from(of_others.clone());
        }
        if let (Some(with_it), Some(rest)) = (self.side("cut off"), self.side("others")) {
            with_it.part_from(of_others);
            rest.part_from(of_it);
        }
    }

    /// All reach each other again.
    pub fn heal(&self) {
        for server in &self.servers {
            server.part_from([]);
        }
        for side in ["cut off", "others"] {
            if let Some(side) = self.side(side) {
                side.part_from([]);
            }
        }
    }

    pub(super) fn side(&self, name: &str) -> Option<Partition> {
        self.network.as_ref().map(|folder| Partition::new(folder.path(), name))
    }

    /// The ports of the servers with these numbers.
    fn ports(&self, of: impl Fn(usize) -> bool) -> Vec<u16> {
        let servers = self.servers.iter().enumerate().filter(|(number, _)| of(*number));
        servers.flat_map(|(_, server)| [server.address().port(), bus(server)]).collect()
    }
}
