//! Members that are one server, by whatever names and databases they go.

use std::sync::Arc;

use tenure_core::{
    Fault, FaultKind, Store,
    store::{Diagnostic, Severity},
};
use tenure_quorum::{QuorumOptions, QuorumStore};
use tenure_redis::{RedisOptions, RedisStore};
use tenure_servers::RedisServer;

use crate::support::servers;

fn at(urls: &[String]) -> Vec<Arc<dyn Store>> {
    let member = |url: &String| {
        let options = RedisOptions::from_url(url).unwrap();
        Arc::new(RedisStore::new(options).unwrap()) as Arc<dyn Store>
    };
    urls.iter().map(member).collect()
}

async fn opened(urls: &[String]) -> Result<QuorumStore, Fault> {
    QuorumStore::open(at(urls), QuorumOptions::new()).await
}

/// What doctor says of it, also where it cannot be opened.
async fn independence(urls: &[String], options: QuorumOptions) -> Diagnostic {
    let found = QuorumStore::new(at(urls), options).unwrap().health().await.unwrap();
    let mut found = found.into_iter().filter(|one| one.what == "independence");
    let first = found.next().unwrap();
    assert_eq!(found.next(), None);
    first
}

#[tokio::test(flavor = "multi_thread")]
async fn databases_of_one_server_and_one_server_by_two_names_are_refused() {
    let servers = servers(2);
    let [one, other] = &servers[..] else { panic!("two were started") };
    let by_name = |server: &RedisServer| format!("redis://localhost:{}/0", server.address().port());
    let database = |number| format!("redis://{}/{number}", one.address());
    for urls in [
        [database(0), database(1), database(2)],
        [database(0), other.url(), by_name(one)],
        [database(0), other.url(), database(3)],
    ] {
        let fault = opened(&urls).await.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
        let found = independence(&urls, QuorumOptions::new()).await;
        assert_eq!((found.severity, found.promise), (Severity::Bad, Some("S1")), "{found:?}");
        for said in [format!("{fault:#}"), found.found] {
            assert!(said.contains("are one server") && said.contains("run_id"), "{said}");
            assert!(said.contains(&database(0)), "{said}");
            assert!(urls[1..].iter().any(|url| said.contains(url)), "{said}");
        }
    }
    // No member has a mark: it would be kept out of the quorum that it is meant for.
    for server in &servers {
        let keys = server.keys();
        assert!(!keys.iter().any(|key| key.contains("quorum")), "{keys:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_of_their_own_are_said_to_be_so() {
    let servers = servers(3);
    let urls: Vec<_> = servers.iter().map(RedisServer::url).collect();
    opened(&urls).await.unwrap();
    let found = independence(&urls, QuorumOptions::new()).await;
    assert_eq!(found.severity, Severity::Good, "{found:?}");
}

/// By which a member that restarts is believed at once.
#[tokio::test(flavor = "multi_thread")]
async fn members_that_are_not_as_durable_as_is_said_are_found() {
    let always = ["--appendonly", "yes", "--appendfsync", "always"];
    let servers: Vec<_> = (0..3).map(|_| RedisServer::with(&always)).collect();
    let urls: Vec<_> = servers.iter().map(RedisServer::url).collect();
    let doubted = async |durable| {
        let options = QuorumOptions::new().durable_members(durable);
        let found = QuorumStore::new(at(&urls), options).unwrap().health().await.unwrap();
        let doubted = found.into_iter().filter(|one| one.what.ends_with("durability"));
        doubted.collect::<Vec<_>>()
    };
    assert_eq!(doubted(true).await, []);
    servers[1].command(&["CONFIG", "SET", "appendfsync", "everysec"]);
    let found = doubted(true).await;
    let [found] = &found[..] else { panic!("{found:?}") };
    assert_eq!((found.severity, found.promise), (Severity::Warning, Some("S1")), "{found:?}");
    assert!(found.what.contains(&servers[1].address().to_string()), "{found:?}");
    assert!(found.found.contains("everysec"), "{found:?}");
    assert_eq!(doubted(false).await.len(), 0, "it is kept out after a restart");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_it_is_not_told_which_server_a_member_is_that_is_said_and_nothing_refused() {
    let mut servers = servers(3);
    servers[1].command(&["ACL", "SETUSER", "default", "-info"]);
    let urls: Vec<_> = servers.iter().map(RedisServer::url).collect();
    let durable = || QuorumOptions::new().durable_members(true);
    QuorumStore::open(at(&urls), durable()).await.unwrap();
    let found = independence(&urls, durable()).await;
    assert_eq!((found.severity, found.promise), (Severity::Warning, Some("S1")), "{found:?}");
    assert!(found.found.contains(&urls[1]) && !found.found.contains(&urls[0]), "{found:?}");
    assert!(found.help.unwrap().contains("+info"));
    // Nor where one is away.
    servers[1].command(&["ACL", "SETUSER", "default", "+info"]);
    servers[2].kill();
    QuorumStore::open(at(&urls), durable()).await.unwrap();
    let found = independence(&urls, durable()).await;
    assert!(found.severity == Severity::Warning && found.found.contains(&urls[2]), "{found:?}");
}
