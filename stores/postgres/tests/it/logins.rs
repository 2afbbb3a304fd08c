//! In which ways a server gets a password.

use std::{fs, sync::Arc};

use tenure_core::{AcquireError, FaultKind, Tenure};
use tenure_postgres::PostgresStore;
use tenure_servers::PostgresServer;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::support::{PATIENCE, sql, tenure, until};

/// A server that asks one user each for the password in another way.
async fn server() -> PostgresServer {
    let server = PostgresServer::start();
    let made = |user, kept| {
        let text = format!(
            "set password_encryption = '{kept}'; create role {user} superuser login password 's3ntinel'"
        );
        let url = server.url();
        async move { sql(&url, &text).await }
    };
    made("scram", "scram-sha-256").await;
    made("clear", "scram-sha-256").await;
    made("sum", "md5").await;
    let hba = server.folder().join("data/pg_hba.conf");
    let old = fs::read_to_string(&hba).unwrap();
    let line = |user, method| format!("host all {user} 127.0.0.1/32 {method}\n");
    let ours = [("scram", "scram-sha-256"), ("clear", "password"), ("sum", "md5")]
        .map(|(user, method)| line(user, method));
    fs::write(&hba, ours.concat() + &old).unwrap();
    sql(&server.url(), "select pg_reload_conf()").await;
    let (user, asks) =
        (server.url().replace("postgres@", "clear:wrong@"), "?require_auth=password");
    until("it has read them", async || {
        PostgresStore::open(&format!("{user}{asks}")).await.is_err()
    })
    .await;
    server
}

#[tokio::test]
async fn a_password_is_given_in_the_clear_or_as_a_sum_where_the_url_says_so_alone() {
    let server = server().await;
    let url = |user: &str| server.url().replace("postgres@", &format!("{user}:s3ntinel@"));
    let refused = async |url: String| {
        let fault = PostgresStore::open(&url).await.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
        let text = format!("{fault:#} {fault:?}");
        assert!(!text.contains("s3ntinel"), "{text}");
        text
    };
    PostgresStore::open(&url("scram")).await.unwrap();
    for (user, method) in [("clear", "password"), ("sum", "md5")] {
        let why = refused(url(user)).await;
        assert!(why.contains("tls=yes") && why.contains(&format!("={method}")), "{why}");
        let others = refused(format!("{}?require_auth=scram-sha-256", url(user))).await;
        assert!(others.contains("require_auth"), "{others}");
        PostgresStore::open(&format!("{}?require_auth={method}", url(user))).await.unwrap();
    }
    // Who wants a proof of the server does not take one that asks for none.
    let trusts = refused(format!("{}?require_auth=scram-sha-256", server.url())).await;
    assert!(trusts.contains("no proof"), "{trusts}");
    PostgresStore::open(&server.url()).await.unwrap();
    let unknown = refused(format!("{}?require_auth=gss", server.url())).await;
    assert!(unknown.contains("scram-sha-256"), "{unknown}");
}

#[tokio::test]
async fn what_the_url_says_of_logins_holds_by_a_socket_too() {
    let server = server().await;
    let hba = server.folder().join("data/pg_hba.conf");
    let old = fs::read_to_string(&hba).unwrap();
    fs::write(&hba, "local all clear password\nlocal all sum md5\n".to_owned() + &old).unwrap();
    sql(&server.url(), "select pg_reload_conf()").await;
    let socket = server.folder().display().to_string().replace('/', "%2F");
    let url = |user: &str, asks: &str| {
        format!("postgres://{user}:s3ntinel@{socket}:{}/tenure{asks}", server.port())
    };
    until("it has read them", async || {
        PostgresStore::open(&url("clear", "").replace("s3ntinel", "wrong")).await.is_err()
    })
    .await;
    for (user, method) in [("clear", "password"), ("sum", "md5")] {
        let fault = PostgresStore::open(&url(user, "?require_auth=scram-sha-256")).await;
        let fault = fault.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
        assert!(fault.message_and_cause().contains("the password"), "{fault:?}");
        // Where it says nothing, who listens there is trusted.
        PostgresStore::open(&url(user, "")).await.unwrap();
        let named = PostgresStore::open(&url(user, &format!("?require_auth={method}"))).await;
        let locks = Tenure::new(Arc::new(named.unwrap()));
        let held = locks.mutex(user).try_lock().await.unwrap().unwrap();
        held.release().await.unwrap();
    }
    let trusts = PostgresStore::open(&url("postgres", "?require_auth=scram-sha-256")).await;
    assert!(trusts.unwrap_err().message_and_cause().contains("no proof"));
    // Of several servers the one that takes writes is used, by a socket too.
    sql(&server.url(), "alter role sum set default_transaction_read_only = on").await;
    let both = url("sum", "").replace(&socket, &format!("{socket}:{},{socket}", server.port()));
    let reads = PostgresStore::open(&both).await.unwrap_err();
    assert!(reads.message_and_cause().contains("does not allow writes"), "{reads:?}");
    let nowhere = url("sum", "").replace(&socket, "%2Fnowhere");
    let nowhere = PostgresStore::open(&nowhere).await.unwrap_err();
    assert_eq!(nowhere.kind(), FaultKind::Unreachable);
    assert!(nowhere.help().contains("socket"), "{nowhere}");
}

#[tokio::test]
async fn a_proof_that_is_cheap_to_guess_from_is_not_given() {
    let server = server().await;
    let kept = "select rolpassword from pg_authid where rolname = 'scram'";
    let kept = sql(&server.url(), kept).await.remove(0).replace("$4096:", "$1:");
    sql(&server.url(), &format!("alter role scram password '{kept}'")).await;
    let url = server.url().replace("postgres@", "scram:s3ntinel@");
    for asks in ["", "?require_auth=scram-sha-256"] {
        let fault = PostgresStore::open(&format!("{url}{asks}")).await.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
        assert!(fault.message_and_cause().contains("by 1 rounds"), "{fault:?}");
        assert!(fault.help().contains("4096") && fault.help().contains("tls=yes"), "{fault:#}");
    }
    // Who accepts MD5 gives it. It is by other rounds than the password is kept by.
    let accepts = PostgresStore::open(&format!("{url}?require_auth=scram-sha-256,md5")).await;
    assert!(accepts.unwrap_err().message_and_cause().contains("authentication failed"));
}

/// A server of anybody's: it asks for a proof of the password, and then says this.
async fn impostor(then: Vec<u8>) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = asks(&mut stream, &then).await;
        }
    });
    format!("postgres://me:s3ntinel@{at}/shop")
}

async fn asks(stream: &mut TcpStream, then: &[u8]) -> std::io::Result<()> {
    let login = |code: u32, text: &[u8]| message(b'R', &[&code.to_be_bytes(), text].concat());
    let length = stream.read_u32().await?;
    stream.read_exact(&mut vec![0; usize::try_from(length).unwrap() - 4]).await?;
    stream.write_all(&login(10, b"SCRAM-SHA-256\0\0")).await?;
    let first = said(stream).await?;
    let nonce = String::from_utf8_lossy(&first).split("r=").last().unwrap().to_owned();
    stream.write_all(&login(11, format!("r={nonce}abc,s=QUI=,i=4096").as_bytes())).await?;
    said(stream).await?;
    stream.write_all(then).await?;
    stream.read_u8().await.map(|_| ())
}

async fn said(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    stream.read_u8().await?;
    let length = stream.read_u32().await?;
    let mut body = vec![0; usize::try_from(length).unwrap() - 4];
    stream.read_exact(&mut body).await?;
    Ok(body)
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[tag], &length.to_be_bytes()[..], body].concat()
}

#[tokio::test]
async fn a_server_that_does_not_prove_that_it_knows_the_password_is_refused_at_once() {
    let last = |text: &[u8]| message(b'R', &[&12_u32.to_be_bytes(), text].concat());
    let lets_in = [message(b'R', &[0; 4]), message(b'Z', b"I")].concat();
    let all = [
        [last(b"v=QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE="), lets_in.clone()].concat(),
        [last(b"v="), lets_in.clone()].concat(),
        [last(b""), lets_in.clone()].concat(),
        [last(b"\xff"), lets_in.clone()].concat(),
        lets_in,
    ];
    for then in all {
        let url = impostor(then.clone()).await;
        let fault = PostgresStore::open(&url).await.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Misconfigured, "{then:?} {fault:?}");
        assert!(fault.message().contains("did not prove that it knows the password"), "{fault:?}");
        assert!(fault.help().contains("is in between"), "{fault:#}");
        assert!(!format!("{fault:#} {fault:?}").contains("s3ntinel"));
        let waits = tenure(&url).mutex("lock").lock().wait(PATIENCE * 10).await;
        assert!(matches!(waits, Err(AcquireError::Misconfigured(_))), "{waits:?}");
    }
}

#[tokio::test]
async fn a_server_that_lets_nobody_in_without_encryption_wants_tls() {
    let server = server().await;
    let hba = server.folder().join("data/pg_hba.conf");
    let old = fs::read_to_string(&hba).unwrap();
    let only = "hostnossl all scram 127.0.0.1/32 reject\n".to_owned();
    fs::write(&hba, only + &old).unwrap();
    sql(&server.url(), "select pg_reload_conf()").await;
    let url = server.url().replace("postgres@", "scram:s3ntinel@");
    until("it has read them", async || PostgresStore::open(&url).await.is_err()).await;
    let fault = PostgresStore::open(&url).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
    assert!(fault.help().contains("tls=yes"), "{fault:#}");
}
