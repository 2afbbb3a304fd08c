//! Somebody asks for the release of the lock that a command runs under.

use std::{
    fs::{self, File},
    process::Stdio,
    time::Duration,
};

use tenure_servers::ZookeeperServer;
use zookeeper_client::Client;

use crate::{
    process::{Running, code},
    scene::{Scene, eventually},
};

/// Writes into the node of whoever holds `name` what Curator's `Revoker` writes.
fn request_release(server: &ZookeeperServer, name: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = Client::connector().with_session_timeout(Duration::from_secs(10));
        let client = client.connect(&server.address().to_string()).await.unwrap();
        let holder = &client.list_children(name).await.unwrap()[0];
        client.set_data(&format!("{name}/{holder}"), b"__REVOKE__", None).await.unwrap();
    });
}

#[test]
fn a_requested_release_is_told_and_ends_no_command() {
    let server = ZookeeperServer::start();
    let url = format!("zookeeper://{}/locks?tick=500ms&session=8s", server.address());
    let scene = Scene::with_store(&url);
    let told = ["asked to release report by another process", r#""event":"release_requested""#];
    for (options, told) in ["report", "report --json"].into_iter().zip(told) {
        let said = scene.path("said");
        let script = "echo > held; while [ ! -e enough ]; do sleep 0.05; done; exit 7";
        let mut command = scene.run_command(options, script);
        command.stdout(Stdio::null()).stderr(File::create(&said).unwrap());
        let runs = Running::start(&mut command);
        scene.line("held");
        request_release(&server, "/locks/report");
        eventually("it is told", || fs::read_to_string(&said).unwrap().contains(told));
        fs::write(scene.path("enough"), "").unwrap();
        assert_eq!(code(&runs.wait()), 7, "the command ends by itself");
        assert_eq!(fs::read_to_string(&said).unwrap().matches(told).count(), 1);
        fs::remove_file(scene.path("enough")).unwrap();
        fs::remove_file(scene.path("held")).unwrap();
    }
}
