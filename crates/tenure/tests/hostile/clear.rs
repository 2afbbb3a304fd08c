//! What is said in the clear, and to whom.

use tenure::Tenure;
use tenure_core::store::Severity;
use tenure_servers::{
    MariadbServer, PostgresServer, RedisServer, ZookeeperServer,
    lying::{RogueBehavior, RogueServer},
};

const PASSWORD: &str = "s3ntinel0fTheWire";

/// Whether a look at the store warns that nothing is encrypted.
async fn warns(url: &str) -> bool {
    let tenure = Tenure::open(url).await.unwrap();
    let found = tenure.store().health().await.unwrap();
    let found = found.iter().find(|diagnostic| diagnostic.what == "encryption");
    found.is_some_and(|diagnostic| diagnostic.severity == Severity::Warning)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_warns_of_hosts_that_may_be_elsewhere_without_tls() {
    let (postgres, mariadb) = (PostgresServer::start(), MariadbServer::start());
    let (redis, zookeeper) = (RedisServer::start(), ZookeeperServer::start());
    for url in [postgres.url(), mariadb.url(), redis.url(), zookeeper.url()] {
        assert!(!warns(&url).await, "{url}");
        // The resolver says that it is this machine, and another one may say that it is not.
        let elsewhere = url.replace("127.0.0.1", "127.1");
        assert!(warns(&elsewhere).await, "{elsewhere}");
    }
}

/// What a server hears that asks for the password by one of these lies.
async fn heard(lie: RogueBehavior, url: &str) -> (String, Vec<u8>) {
    let liar = RogueServer::start(lie, None);
    let url = url.replace("HOST", &liar.address().to_string());
    let error = format!("{:#}", Tenure::open(&url).await.unwrap_err());
    assert!(!error.contains(PASSWORD), "{error:#}");
    (error, liar.heard())
}

fn contains(heard: &[u8], what: &[u8]) -> bool {
    heard.windows(what.len()).any(|window| window == what)
}

#[tokio::test(flavor = "multi_thread")]
async fn no_password_is_given_in_the_clear_to_whoever_asks_for_it() {
    use tenure_servers::lying::{ASKS_FOR_A_SUM, ASKS_IN_CLEAR, ASKS_IN_CLEAR_ON_MYSQL};
    let url = format!("postgres://me:{PASSWORD}@HOST/shop");
    for (lie, name) in [(ASKS_IN_CLEAR, "password"), (ASKS_FOR_A_SUM, "md5")] {
        let (error, all) = heard(lie, &url).await;
        assert!(error.contains("tls=yes") && error.contains("require_auth"), "{error:#}");
        assert!(!contains(&all, PASSWORD.as_bytes()) && !contains(&all, b"md5"), "{all:?}");
        let (_, all) = heard(lie, &format!("{url}?require_auth=scram-sha-256,{name}")).await;
        let given = if name == "md5" { &b"md5"[..] } else { PASSWORD.as_bytes() };
        assert!(contains(&all, given), "it is given where the URL says so");
    }
    // For this one there is no setting.
    let url = format!("mysql://me:{PASSWORD}@HOST/shop?get_server_public_key=yes");
    let (error, all) = heard(ASKS_IN_CLEAR_ON_MYSQL, &url).await;
    assert!(error.contains("mysql_clear_password"), "{error:#}");
    assert!(!contains(&all, PASSWORD.as_bytes()));
}
