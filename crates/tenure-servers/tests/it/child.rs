//! What a child of these tests does.

use tenure_servers::ZookeeperServer;
use tenure_testkit::child::{role, say, wait_to_go_on};

/// Only in a child it does anything.
#[test]
fn plays_its_role() {
    if role().is_some() {
        let server = ZookeeperServer::start();
        say(server.address());
        say(server.folder().display());
        wait_to_go_on();
    }
}
