//! Blocking guards: who is told that somebody asks for the release.

use std::{sync::mpsc, time::Duration};

use tenure::blocking::{Tenure, reentrant::scope};
use tenure_servers::ZookeeperServer;
use zookeeper_client::Client;

use crate::child::PATIENCE;

/// Writes into the node of whoever holds this what Curator's `Revoker` writes.
fn request_release(server: &ZookeeperServer, path: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = Client::connect(&server.address().to_string()).await.unwrap();
        let holder = &client.list_children(path).await.unwrap()[0];
        client.set_data(&format!("{path}/{holder}"), b"__REVOKE__", None).await.unwrap();
    });
}

#[test]
fn a_blocking_holder_is_told_that_its_release_is_requested() {
    let server = ZookeeperServer::start();
    let url = format!("zookeeper://{}/locks?tick=500ms&session=8s", server.address());
    let tenure = Tenure::open(url).unwrap();
    let guard = tenure.mutex("job").lock().unwrap();
    assert!(!guard.is_release_requested() && !guard.wait_release_requested(Duration::ZERO));
    let (tell, told) = mpsc::channel();
    guard.on_release_requested(move || tell.send(()).unwrap());
    request_release(&server, "/locks/job");
    assert!(guard.wait_release_requested(PATIENCE) && guard.is_release_requested());
    told.recv_timeout(PATIENCE).unwrap();
    guard.check().unwrap();
    guard.release().unwrap();

    let both = tenure.all(["a", "b"]).lock().unwrap();
    request_release(&server, "/locks/b");
    assert!(both.wait_release_requested(PATIENCE) && both.is_release_requested());
    both.release().unwrap();

    let reentrant = tenure.mutex("job").reentrant();
    scope(|| {
        let guard = reentrant.lock().unwrap();
        request_release(&server, "/locks/job");
        assert!(guard.wait_release_requested(PATIENCE) && guard.is_release_requested());
    });

    let guard = tenure.mutex("other").lock().unwrap();
    let (tell, told) = mpsc::channel::<()>();
    guard.on_release_requested(move || tell.send(()).unwrap());
    drop(guard);
    // Its sender is gone: nobody is left who could call.
    assert_eq!(told.recv_timeout(PATIENCE), Err(mpsc::RecvTimeoutError::Disconnected));
}
