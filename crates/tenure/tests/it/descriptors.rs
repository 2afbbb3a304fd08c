//! A process that has no descriptor left: what it holds is renewed over what is open.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tempfile::tempdir;
use tenure::Tenure;
use tenure_servers::{
    MariadbServer, PostgresServer, RedisCluster, RedisServer, SentinelService, ZookeeperServer,
};

use crate::child::{Player, say};

const TTL: Duration = Duration::from_secs(3);
const URL: &str = "url";

/// In a child: whether it has such a part.
pub(crate) fn play(part: &str, dir: &Path) -> bool {
    if part != "hold without descriptors" {
        return false;
    }
    let url = fs::read_to_string(dir.join(URL)).unwrap();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.unwrap().block_on(hold(&url));
    say("done");
    true
}

async fn hold(url: &str) {
    let tenure = Tenure::open(url).await.unwrap();
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, 0, hard).unwrap();
    fs::File::open("/dev/null").unwrap_err();
    let until = Instant::now() + 3 * TTL;
    while Instant::now() < until {
        guard.check().unwrap();
        tokio::time::sleep(TTL / 50).await;
    }
    guard.release().await.unwrap();
}

#[track_caller]
fn outlasts(url: &str) {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join(URL), url).unwrap();
    let player = Player::start("hold without descriptors", dir.path());
    assert_eq!(player.hear(), "done", "{url}");
    player.finish();
}

#[test]
fn a_hold_of_the_embedded_store_outlasts_a_lack_of_descriptors() {
    let dir = tempdir().unwrap();
    outlasts(&format!("file:{}", dir.path().join("locks").display()));
}

#[test]
fn a_hold_on_redis_outlasts_a_lack_of_descriptors() {
    outlasts(&RedisServer::start().url());
}

#[test]
fn a_hold_without_scripts_outlasts_a_lack_of_descriptors() {
    let server = RedisServer::start();
    outlasts(&format!("{}?scripts=no", server.url()));
}

#[test]
fn a_hold_without_scripts_behind_sentinels_outlasts_a_lack_of_descriptors() {
    let service = SentinelService::start();
    outlasts(&format!("{}&scripts=no", service.url()));
}

#[test]
fn a_hold_on_a_cluster_outlasts_a_lack_of_descriptors() {
    outlasts(&RedisCluster::start().url());
}

#[test]
fn a_hold_behind_sentinels_outlasts_a_lack_of_descriptors() {
    outlasts(&SentinelService::start().url());
}

#[test]
fn a_hold_of_a_quorum_outlasts_a_lack_of_descriptors() {
    let servers = [RedisServer::start(), RedisServer::start(), RedisServer::start()];
    let urls: Vec<_> = servers.iter().map(RedisServer::url).collect();
    outlasts(&format!("quorum:{}", urls.join(",")));
}

#[test]
fn a_hold_on_postgresql_outlasts_a_lack_of_descriptors() {
    outlasts(&PostgresServer::start().url());
}

#[test]
fn a_hold_on_mariadb_outlasts_a_lack_of_descriptors() {
    outlasts(&MariadbServer::start().url());
}

#[test]
fn a_hold_on_zookeeper_outlasts_a_lack_of_descriptors() {
    outlasts(&ZookeeperServer::start().url());
}
