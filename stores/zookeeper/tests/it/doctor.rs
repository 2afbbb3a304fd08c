//! What a look at the servers brings up, and what is said where no session begins.

use std::net::SocketAddr;

use tenure_core::{
    FaultKind, Store,
    store::{Diagnostic, Severity},
};
use tenure_servers::ZookeeperServer;
use tenure_zookeeper::ZookeeperStore;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
};

use crate::support::{ensemble, path, quiet_server, store};

const SENTINEL: &str = "s3ntinel";

async fn looked(url: &str) -> Vec<Diagnostic> {
    store(url).health().await.unwrap()
}

/// What was found out about one thing, which is there once.
fn of<'a>(diagnostics: &'a [Diagnostic], what: &str) -> &'a Diagnostic {
    let those: Vec<_> = diagnostics.iter().filter(|diagnostic| diagnostic.what == what).collect();
    let [one] = those[..] else { panic!("{what}: {diagnostics:#?}") };
    one
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tick_that_the_url_says_wrong_is_warned_of() {
    let at = quiet_server().address();
    for (tick, promise, says) in [
        ("2s", Some("S5"), "sooner than it has to"),
        ("100ms", Some("S1"), "too late"),
        ("500ms", None, "tickTime is 500ms"),
    ] {
        let diagnostics =
            looked(&format!("zookeeper://{at}{}?session=9s&tick={tick}", path())).await;
        let tick = of(&diagnostics, "tick");
        assert_eq!(tick.promise, promise, "{tick:?}");
        assert!(tick.found.contains(says), "{tick:?}");
        assert!(tick.found.contains(&at.to_string()), "{tick:?}");
        let help = tick.help.as_deref();
        assert_eq!(help, promise.map(|_| "write tick=500ms into the URL"), "{tick:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bounds_of_sessions_that_differ_are_warned_of_and_alike_ones_are_not() {
    let (one, other) = (quiet_server(), ZookeeperServer::with(&[("maxSessionTimeout", "8000")]));
    let (one, other) = (one.address(), other.address());
    let url = |places: &str| format!("zookeeper://{places}{}?session=4s&tick=500ms", path());
    let diagnostics = looked(&url(&format!("{one},{other}"))).await;
    // Which is worse.
    let ensemble = of(&diagnostics, "ensemble");
    assert_eq!((ensemble.severity, ensemble.promise), (Severity::Bad, Some("S1")), "{ensemble:?}");
    let bounds = of(&diagnostics, "session bounds");
    assert_eq!((bounds.severity, bounds.promise), (Severity::Warning, Some("S5")), "{bounds:?}");
    for says in [format!("1s to 10s at {one}"), format!("1s to 8s at {other}")] {
        assert!(bounds.found.contains(&says), "{bounds:?}");
    }
    let diagnostics = looked(&url(&other.to_string())).await;
    assert_eq!(of(&diagnostics, "session bounds").severity, Severity::Good);
}

/// A server that does not tell its settings: its word `conf` is answered as where it is not allowed.
async fn without_conf(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut first = [0; 4];
                client.read_exact(&mut first).await.unwrap();
                if &first == b"conf" {
                    let told = b"conf is not executed because it is not in the whitelist.\n";
                    client.write_all(told).await.unwrap();
                    return;
                }
                let mut behind = TcpStream::connect(server).await.unwrap();
                behind.write_all(&first).await.unwrap();
                let _ = copy_bidirectional(&mut client, &mut behind).await;
            });
        }
    });
    at
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_tell_its_settings_is_said_not_to_be_checked() {
    let at = without_conf(quiet_server().address()).await;
    let diagnostics = looked(&format!("zookeeper://{at}{}?session=4s&tick=500ms", path())).await;
    let tick = of(&diagnostics, "tick");
    assert_eq!((tick.severity, tick.promise), (Severity::Warning, Some("S1")), "{tick:?}");
    let says = format!("not checked at {at}: it does not report its settings");
    assert!(tick.found.contains(&says) && tick.found.contains("srvr,conf"), "{tick:?}");
    let others = diagnostics.iter().filter(|diagnostic| diagnostic.what != "tick");
    assert!(
        others.clone().all(|diagnostic| diagnostic.severity == Severity::Good),
        "{diagnostics:?}"
    );
}

/// A write that is timed below the base needs less than a lock does.
#[tokio::test(flavor = "multi_thread")]
async fn rights_that_a_lock_lacks_are_found() {
    let (at, path) = (quiet_server().address(), path());
    let url = |more: &str| format!("zookeeper://{at}{path}?session=4s&tick=500ms{more}");
    assert_eq!(of(&looked(&url("")).await, "full cycle").severity, Severity::Good);
    let cycle = of(&looked(&url("&acl=ip:10.255.255.1:cdrwa")).await, "full cycle").clone();
    assert_eq!((cycle.severity, cycle.promise), (Severity::Bad, Some("S9")), "{cycle:?}");
    // Nothing is left of what was tried, and nothing holds a lock.
    assert!(store(&url("")).list("", 10).await.unwrap().names.is_empty());
}

/// One that cannot be made, as another node is in its place, says nothing of containers.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_there_already_is_no_container_that_was_made() {
    let (at, path) = (quiet_server().address(), path());
    let url = |more: &str| format!("zookeeper://{at}{path}{more}?session=4s&tick=500ms");
    assert_eq!(of(&looked(&url("")).await, "containers").severity, Severity::Good);
    let held = crate::support::hold(&crate::support::tenure(&url("/%25container")), "lock").await;
    assert_ne!(of(&looked(&url("")).await, "containers").severity, Severity::Good);
    held.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn followers_alone_do_not_say_when_sessions_end() {
    let ensemble = ensemble().await;
    let leader = ensemble.leader();
    let followers: Vec<_> = (0..3).filter(|member| *member != leader).collect();
    let places = followers.iter().map(|member| ensemble.address_of(*member).to_string());
    let places: Vec<_> = places.collect();
    let url = format!("zookeeper://{}{}?session=4s&tick=500ms", places.join(","), path());
    let found = looked(&url).await;
    let ensembles = of(&found, "ensemble");
    assert_eq!(
        (ensembles.severity, ensembles.promise),
        (Severity::Warning, Some("S1")),
        "{found:?}"
    );
    let all = looked(&format!("{}{}?session=4s&tick=500ms", ensemble.url(), path())).await;
    assert!(all.iter().all(|diagnostic| diagnostic.what != "ensemble"), "{all:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn how_long_an_answer_is_waited_for_is_shown() {
    let at = quiet_server().address();
    let url = |more: &str| format!("zookeeper://{at}{}?tick=500ms&{more}", path());
    let diagnostics = looked(&url("session=9s&response_timeout=700ms")).await;
    assert_eq!(of(&diagnostics, "response timeout").found, "700ms");
    // It is 2 s by itself, and 2.95 s are what can be counted on.
    let diagnostics = looked(&url("session=4s")).await;
    let found = &of(&diagnostics, "response timeout").found;
    assert!(found.starts_with("983.3") && found.contains("a third of"), "{found}");
    assert!(found.contains("2s is more"), "{found}");
}

/// What is said of each server, in the same order by `open` and by `health`.
async fn causes(url: &str, says: &[(&str, &str)]) {
    let fault = ZookeeperStore::open(url).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Unreachable, "{fault:#}");
    let diagnostics = looked(url).await;
    assert_eq!(diagnostics.len(), says.len() + 1, "{diagnostics:?}");
    let said = format!("{fault:#} {fault:?} {diagnostics:?}");
    assert!(!said.contains(SENTINEL), "{said}");
    for ((place, says), diagnostic) in says.iter().zip(&diagnostics) {
        assert_eq!(
            (diagnostic.severity, &diagnostic.what),
            (Severity::Bad, &format!("server {place}"))
        );
        assert!(diagnostic.found.contains(says), "{diagnostic:?}");
        assert!(fault.message_and_cause().contains(&format!("{place}: {says}")), "{fault:#}");
        assert!(fault.help().contains(diagnostic.help.as_deref().unwrap()), "{fault:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn why_each_server_is_of_no_use_is_told() {
    let silent = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let silent = silent.local_addr().unwrap().to_string();
    let url = format!(
        "zookeeper://me:{SENTINEL}@no-such-host.invalid,127.0.0.1:1,{silent}/locks?session=2s&tick=500ms"
    );
    let says = [
        ("no-such-host.invalid:2181", "its name does not resolve"),
        ("127.0.0.1:1", "it accepts no connection: Connection refused"),
        (&silent, "it accepts connections, but does not answer"),
    ];
    causes(&url, &says).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_a_majority_is_told_from_one_that_is_away() {
    let mut ensemble = ensemble().await;
    ensemble.kill(0);
    ensemble.kill(1);
    let places = [0, 1, 2].map(|member| ensemble.address_of(member).to_string());
    let url = format!("{}{}?session=4s&tick=500ms", ensemble.url(), path());
    // It serves until it has seen that the others are gone.
    let mode = || ensemble.mode_of(2);
    crate::support::until("it serves no more", async || mode().is_none()).await;
    let refuses = "it accepts no connection: Connection refused";
    let says = [
        (places[0].as_str(), refuses),
        (places[1].as_str(), refuses),
        (places[2].as_str(), "it accepts the connection and hangs up"),
    ];
    causes(&url, &says).await;
}

#[cfg(feature = "tls")]
#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_tls_is_told() {
    use tenure_servers::Certificates;

    let (certificates, stranger) = (Certificates::new(), Certificates::new());
    let server = ZookeeperServer::with_tls(&certificates, true);
    let place = server.tls_place().unwrap();
    let url =
        |place: &str, tls: &str| format!("zookeeper://{place}/locks?session=2s&tick=500ms{tls}");
    let with = |certificates: &Certificates| {
        let file = |name| certificates.file(name).display().to_string();
        let (ca, cert, key) = (file("ca.pem"), file("client.pem"), file("client.key"));
        (format!("&tls=yes&ca={ca}"), format!("&tls=yes&ca={ca}&cert={cert}&key={key}"))
    };
    let (without_own, all) = with(&certificates);
    // An authority that is another's, no certificate of one's own, and a port without TLS.
    let refused = "it accepts the connection, but not over TLS";
    let of_another = url(&place, &with(&stranger).1);
    let fault = ZookeeperStore::open(&of_another).await.unwrap_err();
    // No wait mends it.
    assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
    assert!(fault.message().contains("no certificate that is trusted"), "{fault:#}");
    let diagnostics = looked(&of_another).await;
    assert!(diagnostics[0].found.contains(&place), "{diagnostics:?}");
    // ZooKeeper 3.8 says so by TLS, 3.9 hangs up.
    let fault = ZookeeperStore::open(&url(&place, &without_own)).await.unwrap_err();
    let diagnostics = looked(&url(&place, &without_own)).await;
    assert!(fault.help().contains("cert="), "{fault:#}");
    assert_eq!(diagnostics[0].severity, Severity::Bad, "{diagnostics:?}");
    assert!(diagnostics[0].help.as_deref().unwrap().contains("cert="), "{diagnostics:?}");
    let plain = format!("localhost:{}", server.address().port());
    causes(&url(&plain, &all), &[(&plain, refused)]).await;
    // A port for TLS without it.
    causes(&url(&place, ""), &[(&place, "it accepts the connection and hangs up")]).await;
    let diagnostics = looked(&url(&place, &all)).await;
    let tick = of(&diagnostics, "tick");
    assert!(tick.severity == Severity::Warning && tick.found.contains("not checked"), "{tick:?}");
    // What is said to one over TLS is a request for a session.
    assert!(ZookeeperStore::open(&url(&place, &all)).await.is_ok());
}
