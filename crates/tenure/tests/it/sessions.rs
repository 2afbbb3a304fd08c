//! How long the session is by which a program holds its locks on ZooKeeper.

use std::{path::Path, time::Duration};

use tenure::{Tenure, config::Config};
use tenure_servers::ZookeeperServer;

fn config(url: &str, file: &str) -> Config {
    let text = format!("store = '{url}'\n{file}");
    Config::parse(Some((Path::new("tenure.toml"), &text)), |_| None).unwrap()
}

/// What a look at the store says of its session.
async fn session(config: &Config) -> String {
    let looked = Tenure::examine_config(config).await.unwrap();
    let session = looked.diagnostics.into_iter().find(|diagnostic| diagnostic.what == "session");
    session.unwrap().found
}

#[tokio::test]
async fn the_session_is_as_long_as_the_shortest_ttl_that_the_configuration_says() {
    let server = ZookeeperServer::start();
    let url = format!("{}/locks?tick=500ms", server.url());
    for (more, file, length) in [
        ("", "", "10s"),
        ("", "ttl = '5s'", "5s"),
        ("", "ttl = '30s'", "10s"),
        ("", "ttl = '8s'\n[locks.'a*']\nttl = '3s'\n[locks.b]\nttl = '6s'", "3s"),
        ("", "ttl = '3s'\ngrace = '2s'", "5.313s"),
        ("&session=9s", "ttl = '5s'", "9s"),
    ] {
        let config = config(&format!("{url}{more}"), file);
        let found = session(&config).await;
        let says = format!("{length} granted, {length} asked for");
        assert!(found.starts_with(&says), "{file}: {found}");
        // A store that is opened has it as well.
        let lease = Tenure::from_config(&config).await.unwrap().store().capabilities().clone();
        let whole = Duration::from_secs(10);
        assert_eq!(lease.position_ttl == whole, length == "10s", "{file}: {lease:?}");
    }
    // What the program knows goes before the file.
    let config = config(&url, "ttl = '5s'").for_holds(Duration::from_secs(2), None);
    assert!(session(&config).await.starts_with("2s granted"));
}
