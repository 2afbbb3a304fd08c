//! Real ZooKeeper servers do what tests want of them.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use tenure_servers::{Certificates, ZookeeperEnsemble, ZookeeperServer};
use tenure_testkit::child::Process;

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_server_keeps_its_data_over_a_restart_and_loses_it_when_wiped() {
    let mut server = ZookeeperServer::start();
    let (address, before) = (server.address(), nodes(&server));
    create(address, "/kept").expect("a node");
    assert_eq!(nodes(&server), before + 1);
    server.kill();
    assert_eq!((server.pid(), server.four_letters("ruok")), (None, String::new()));
    server.restart();
    assert_eq!((server.address(), nodes(&server)), (address, before + 1));
    assert_ne!(field(&server.four_letters("srvr"), "Zxid: "), "0x0");
    server.wipe();
    assert_eq!((server.address(), nodes(&server)), (address, before));
    assert_eq!(field(&server.four_letters("srvr"), "Zxid: "), "0x0");
}

#[test]
fn a_frozen_server_answers_when_it_goes_on() {
    let server = ZookeeperServer::start();
    let frozen = server.freeze();
    until("it stands still", || server.four_letters("ruok").is_empty());
    drop(frozen);
    until("it answers", || server.four_letters("ruok") == "imok");
}

#[test]
fn a_setting_goes_before_the_usual_one() {
    let settings = [("tickTime", "2000"), ("forceSync", "yes")];
    let server = ZookeeperServer::with_java(&settings, &["-Dtenure.word=told"]);
    assert!(server.four_letters("conf").contains("minSessionTimeout=4000\n"));
    assert!(
        server.four_letters("envi").contains(&format!("user.dir={}", server.folder().display()))
    );
}

#[test]
fn a_server_speaks_tls_and_wants_a_certificate_if_asked_to() {
    let certificates = Certificates::new();
    for of_clients in [false, true] {
        let server = ZookeeperServer::with_tls(&certificates, of_clients);
        let place = server.tls_place().expect("a port for TLS");
        assert_eq!(server.four_letters("ruok"), "imok");
        assert_eq!(over_tls(&certificates, &place, true), "imok");
        assert_eq!(over_tls(&certificates, &place, false) == "imok", !of_clients);
    }
}

#[test]
fn a_server_offers_sasl_by_digest() {
    let server = ZookeeperServer::with_sasl(&[("somebody", "secret")], &[]);
    let mut stream = session(server.address()).expect("a session");
    // SASL with an empty token.
    let told = call(&mut stream, 102, &[0, 0, 0, 0]).expect("a challenge");
    assert!(String::from_utf8_lossy(&told).contains("algorithm=md5-sess"));
}

#[test]
fn a_server_ends_with_who_holds_it() {
    let mut holder = Process::start(&["holds a server"]);
    let address = holder.says().expect("an address");
    let folder = holder.says().expect("a folder");
    assert!(TcpStream::connect(&address).is_ok());
    holder.kill();
    until("it has ended", || TcpStream::connect(&address).is_err() && !Path::new(&folder).exists());
}

#[test]
fn three_members_have_a_leader_and_another_when_it_is_killed_or_stopped() {
    let mut ensemble = ZookeeperEnsemble::start();
    let first = ensemble.leader();
    assert_eq!(ensemble.url().matches("127.0.0.1:").count(), 3);
    ensemble.kill(first);
    let second = ensemble.another_leader_than(first);
    ensemble.restart(first);
    ensemble.settle();
    until("two follow", || ensemble.followers().len() == 2);
    assert_ne!(second, first);
    let second = ensemble.leader();
    let frozen = ensemble.freeze(second);
    let third = ensemble.another_leader_than(second);
    drop(frozen);
    // It says that it leads until it notices what has passed.
    assert_eq!(ensemble.leader(), third);
    ensemble.settle();
}

#[test]
fn a_parted_follower_loses_its_leader_while_clients_reach_it() {
    let ensemble = ZookeeperEnsemble::start();
    let (leader, follower) = (ensemble.leader(), ensemble.followers()[0]);
    ensemble.part(follower);
    // A server closes every connection once as it loses its leader, also one that asks `ruok`.
    until("it has no leader and answers", || {
        ensemble.mode_of(follower).is_none() && ensemble.four_letters(follower, "ruok") == "imok"
    });
    ensemble.heal();
    ensemble.settle();
    ensemble.part_one_way(leader, follower);
    until("it hears its leader no more", || ensemble.mode_of(follower).is_none());
    ensemble.heal();
    ensemble.settle();
    ensemble.part(leader);
    assert_ne!(ensemble.another_leader_than(leader), leader);
    until("it leads no more", || ensemble.mode_of(leader).is_none());
    ensemble.heal();
    ensemble.settle();
}

#[test]
fn a_wiped_ensemble_has_lost_its_data() {
    let mut ensemble = ZookeeperEnsemble::start();
    let nodes = |ensemble: &ZookeeperEnsemble, member| {
        field(&ensemble.four_letters(member, "srvr"), "Node count: ")
    };
    let before = nodes(&ensemble, 0);
    create(ensemble.address_of(0), "/kept").expect("a node");
    for member in 0..3 {
        until("all have it", || nodes(&ensemble, member) > before);
    }
    ensemble.wipe();
    for member in 0..3 {
        assert_eq!(nodes(&ensemble, member), before);
    }
}

/// What it answers to `ruok` over TLS.
fn over_tls(certificates: &Certificates, place: &str, as_client: bool) -> String {
    let mut openssl = Command::new("openssl");
    openssl.args(["s_client", "-quiet", "-connect", place, "-CAfile"]);
    openssl.arg(certificates.file("ca.pem"));
    if as_client {
        openssl.arg("-cert").arg(certificates.file("client.pem"));
        openssl.arg("-key").arg(certificates.file("client.key"));
    }
    let mut openssl = in_pipes(&mut openssl);
    let mut input = openssl.stdin.take().expect("a pipe");
    // One that is refused may have ended.
    let _ = input.write_all(b"ruok");
    let mut told = String::new();
    let _ = openssl.stdout.take().expect("a pipe").read_to_string(&mut told);
    drop(input);
    openssl.wait().expect("openssl ends");
    told
}

fn in_pipes(command: &mut Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().expect("openssl")
}

/// How many nodes it has.
fn nodes(server: &ZookeeperServer) -> usize {
    field(&server.four_letters("srvr"), "Node count: ").parse().expect("a number")
}

/// The rest of the line that begins so.
fn field(told: &str, begin: &str) -> String {
    told.lines().find_map(|line| line.strip_prefix(begin)).unwrap_or_default().to_owned()
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A new session of ten seconds, in the words of the protocol.
fn session(address: SocketAddr) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut request = [0; 44];
    request[14..16].copy_from_slice(&10_000_u16.to_be_bytes());
    // The length of an empty password.
    request[27] = 16;
    send(&mut stream, &request)?;
    receive(&mut stream).map(|_| stream)
}

/// Makes a persistent node that is open to all.
fn create(address: SocketAddr, path: &str) -> io::Result<Vec<u8>> {
    let text =
        |text: &str| [&[0, 0, 0, u8::try_from(text.len()).unwrap_or(0)], text.as_bytes()].concat();
    let open = [&[0, 0, 0, 1, 0, 0, 0, 31][..], &text("world"), &text("anyone")].concat();
    let request = [&text(path)[..], &text(""), &open, &[0; 4]].concat();
    call(&mut session(address)?, 1, &request)
}

/// What a request of this kind is answered.
fn call(stream: &mut TcpStream, kind: u8, request: &[u8]) -> io::Result<Vec<u8>> {
    send(stream, &[&[0, 0, 0, 1, 0, 0, 0, kind], request].concat())?;
    let mut reply = receive(stream)?;
    let answer = reply.split_off(16);
    assert_eq!(reply[12..], [0; 4], "it is refused");
    Ok(answer)
}

fn send(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).unwrap_or(0).to_be_bytes();
    stream.write_all(&[&length, bytes].concat())
}

fn receive(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut bytes = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}
