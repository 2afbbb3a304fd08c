//! Servers that take no more connections: what is held is renewed over those that are open.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use tenure_redis::name_in_slot_of;
use tenure_servers::{RedisCluster, RedisServer, SentinelService};

use crate::support::{PATIENCE, hold, tenure};

const TTL: Duration = Duration::from_secs(2);
/// Room for who belongs to a service, and for some more.
const MOST: [&str; 2] = ["--maxclients", "48"];
/// How many tasks acquire and release beside the hold.
const OTHERS: usize = 6;
/// How often in a row a connection is refused where there is no more room.
const REFUSED: u32 = 5;

/// All the room that was left at a server.
struct Full {
    at: SocketAddr,
    taken: Vec<TcpStream>,
}

impl Full {
    fn of(server: &RedisServer) -> Self {
        let mut full = Self { at: server.address(), taken: Vec::new() };
        full.fill();
        full
    }

    fn fill(&mut self) {
        let (mut refused, since) = (0, Instant::now());
        while refused < REFUSED {
            assert!(since.elapsed() < PATIENCE, "{} connections and no end", self.taken.len());
            let stream = TcpStream::connect(self.at);
            match stream.and_then(|mut stream| Ok((say(&mut stream, "PING")?, stream))) {
                Ok((reply, stream)) if reply.starts_with("+PONG") => {
                    refused = 0;
                    self.taken.push(stream);
                }
                _ => refused += 1,
            }
        }
    }

    /// Leaves room for so many.
    fn leave(&mut self, count: usize) {
        let connected = |stream: &mut TcpStream| {
            let told = say(stream, "INFO clients").unwrap();
            let line = told.lines().find_map(|line| line.strip_prefix("connected_clients:"));
            line.unwrap().parse::<usize>().unwrap()
        };
        let before = connected(&mut self.taken[0]);
        self.taken.truncate(self.taken.len() - count);
        let since = Instant::now();
        while connected(&mut self.taken[0]) > before - count {
            assert!(since.elapsed() < PATIENCE, "the server notices no end");
        }
    }
}

fn say(stream: &mut TcpStream, words: &str) -> std::io::Result<String> {
    stream.write_all(format!("{words}\r\n").as_bytes())?;
    let mut reply = vec![0; 1 << 16];
    let length = stream.read(&mut reply)?;
    Ok(String::from_utf8_lossy(&reply[..length]).into_owned())
}

/// A hold stays that was granted while each of these had room for so few more.
async fn outlasts<'a>(url: &str, servers: impl Iterator<Item = (&'a RedisServer, usize)>) {
    let mut full: Vec<_> = servers.map(|(server, left)| (Full::of(server), left)).collect();
    full.iter_mut().for_each(|(full, left)| full.leave(*left));
    let tenure = tenure(url);
    let guard = hold(&tenure, "a", TTL).await;
    full.iter_mut().for_each(|(full, _)| full.fill());
    let until = Instant::now() + 3 * TTL;
    // Renewals and other calls share what there is, and use it all the time.
    let others = (0..OTHERS).map(|number| {
        // In a cluster it is at the same node.
        let beside = name_in_slot_of("a", &number.to_string()).unwrap().to_string();
        let tenure = tenure.clone();
        tokio::spawn(async move {
            while Instant::now() < until {
                hold(&tenure, &beside, TTL).await.release().await.unwrap();
            }
        })
    });
    let others: Vec<_> = others.collect();
    while Instant::now() < until {
        assert!(guard.check().is_ok(), "{url}: {:?}", guard.check());
        tokio::time::sleep(TTL / 50).await;
    }
    guard.release().await.unwrap();
    for other in others {
        other.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_outlasts_that_a_server_is_full() {
    let server = RedisServer::with(&MOST);
    outlasts(&server.url(), [(&server, 1)].into_iter()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_without_scripts_outlasts_that_a_server_is_full() {
    let server = RedisServer::with(&MOST);
    outlasts(&format!("{}?scripts=no", server.url()), [(&server, 1)].into_iter()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_behind_sentinels_outlasts_that_all_are_full() {
    let service = SentinelService::with(&MOST, &MOST, "");
    let all = service.servers.iter().chain(&service.sentinels);
    outlasts(&service.url(), all.map(|server| (server, 1))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_without_scripts_behind_sentinels_outlasts_that_all_are_full() {
    let service = SentinelService::with(&MOST, &MOST, "");
    let url = format!("{}&scripts=no", service.url());
    let all = service.servers.iter().chain(&service.sentinels);
    outlasts(&url, all.map(|server| (server, 1))).await;
}

/// Who asks where slots are may ask the node that has the lock.
#[tokio::test(flavor = "multi_thread")]
async fn a_hold_on_a_cluster_outlasts_that_all_nodes_are_full() {
    let cluster = RedisCluster::with(&MOST, 0);
    outlasts(&cluster.url(), cluster.running().map(|server| (server, 2))).await;
}
