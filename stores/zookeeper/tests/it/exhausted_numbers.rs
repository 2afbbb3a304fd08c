//! A directory whose numbers are used up: it had two billion contenders. The server gives the greatest number again and
//! again then, so nobody could tell who came first.

use std::{fs, path::PathBuf};

use tenure_core::{
    AcquireError, FaultKind, Store,
    proto::queue::{Answer, Intent},
};
use tenure_servers::ZookeeperServer;
use zookeeper_client::{Acls, Client, CreateMode};

use crate::support::{PATIENCE, ask, name, nodes_under, path, store, tenure, until};

/// A snapshot ends with its checksum and a name that stands for the end.
const SEAL: usize = 13;

/// The server, started again with this number as the next one in these directories.
async fn with_numbers_at(next: i32, dirs: &[&str]) -> (ZookeeperServer, String) {
    // Neither the digest nor, from 3.9 on, the last transaction stands behind what is changed here.
    let java = [
        "-Dzookeeper.digest.enabled=false",
        "-Dzookeeper.serializeLastProcessedZxid.enabled=false",
    ];
    let (mut server, base) = (ZookeeperServer::with_java(&[], &java), path());
    let admin = Client::connect(&server.address().to_string()).await.unwrap();
    let paths: Vec<_> = dirs.iter().map(|dir| format!("{base}/{dir}")).collect();
    for path in &paths {
        let persistent = CreateMode::Persistent.with_acls(Acls::anyone_all());
        admin.mkdir(path, &persistent).await.unwrap();
    }
    drop(admin);
    // It writes down what it has when it starts.
    server.restart();
    server.kill();
    let snapshot = newest_snapshot(&server);
    let mut bytes = fs::read(&snapshot).unwrap();
    for path in &paths {
        set_next(&mut bytes, path, next);
    }
    let end = bytes.len() - SEAL;
    let sum = u64::from(adler32(&bytes[..end])).to_be_bytes();
    bytes[end..end + sum.len()].copy_from_slice(&sum);
    fs::write(&snapshot, bytes).unwrap();
    server.restart();
    let url = format!("{}{base}?session=10s&tick=500ms", server.url());
    (server, url)
}

fn newest_snapshot(server: &ZookeeperServer) -> PathBuf {
    let files = fs::read_dir(server.folder().join("data/version-2")).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let zxid = |file: &PathBuf| {
        let name = file.file_name()?.to_str()?.strip_prefix("snapshot.")?.to_owned();
        u64::from_str_radix(&name, 16).ok()
    };
    files.filter(|file| zxid(file).is_some()).max_by_key(zxid).unwrap()
}

/// Writes the next number into the record of a directory, which stands behind its path.
fn set_next(snapshot: &mut [u8], path: &str, next: i32) {
    let length = i32::try_from(path.len()).unwrap().to_be_bytes();
    let named = [&length[..], path.as_bytes()].concat();
    let at = snapshot.windows(named.len()).position(|window| window == named).unwrap();
    let data = at + named.len();
    let long = i32::from_be_bytes(snapshot[data..data + 4].try_into().unwrap()).max(0);
    // The data, its access list, two transactions, two times, and the version of the data.
    let number = data + 4 + usize::try_from(long).unwrap() + 8 + 4 * 8 + 4;
    snapshot[number..number + 4].copy_from_slice(&next.to_be_bytes());
}

fn adler32(bytes: &[u8]) -> u32 {
    let (low, high) = bytes.iter().fold((1, 0), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % 65_521;
        (low, (high + low) % 65_521)
    });
    high << 16 | low
}

/// Where everything stands by this URL.
fn base_of(url: &str) -> String {
    let place = url.split('/').nth(3).unwrap();
    format!("/{}", place.split('?').next().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_whose_numbers_are_used_up_is_held_by_nobody() {
    let (server, url) = with_numbers_at(i32::MAX, &["lock"]).await;
    let store = store(&url);
    let (mut granted, mut refused) = (0, 0);
    for owner in 1..=40 {
        let ask = ask(u8::wrapping_mul(owner, 37), Intent::Wait { position: None });
        match store.acquire(&name("lock"), &ask).await {
            Ok(Answer::Granted { .. }) => granted += 1,
            Ok(_) => {}
            Err(fault) => refused += u32::from(fault.kind() == FaultKind::Misconfigured),
        }
    }
    assert_eq!((granted, refused), (0, 40), "how many hold it at once, and are told");
    // The directories of kazoo's layout stay, and their numbers never start again.
    let ask = ask(1, Intent::Try);
    for (layout, helps) in [("curator", "about a minute"), ("kazoo", "delete /")] {
        let store = crate::support::store(&format!("{url}&layout={layout}"));
        let refused = store.acquire(&name("lock"), &ask).await.unwrap_err();
        assert!(refused.help().contains(helps), "{refused:#}");
    }
    assert_eq!(nodes_under(&server, &base_of(&url)), Vec::<String>::new());
    let refused = tenure(&url).mutex("lock").try_lock().await.unwrap_err();
    assert!(format!("{refused:#}").contains("two billion"), "{refused:#}");
}

/// Those in line are fewer than the permits that they take, so these are used up first.
#[tokio::test(flavor = "multi_thread")]
async fn permits_whose_numbers_are_used_up_leave_no_place_in_the_line() {
    for dirs in [&["permits/locks", "permits/leases"][..], &["permits/leases"]] {
        let (server, url) = with_numbers_at(i32::MAX, dirs).await;
        let semaphore = tenure(&url).semaphore("permits", 3);
        let refused = semaphore.acquire_many(2).wait(PATIENCE).await.unwrap_err();
        assert!(matches!(refused, AcquireError::Misconfigured(_)), "{refused:?}");
        until("nothing is left", async || nodes_under(&server, &base_of(&url)).is_empty()).await;
    }
}

/// Whoever has a turn stands behind those who wait.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_gets_no_number_that_is_used_up() {
    let (server, url) = with_numbers_at(i32::MAX - 1, &["lock"]).await;
    let (store, lock) = (store(&url), name("lock"));
    let (old, new) = (ask(1, Intent::Try), ask(2, Intent::Wait { position: None }));
    let held = store.acquire(&lock, &old).await.unwrap();
    assert!(matches!(held, Answer::Granted { .. }), "{held:?}");
    let refused = store.turn(&lock, &old.owner, &new).await.unwrap_err();
    assert_eq!(refused.kind(), FaultKind::Misconfigured, "{refused:#}");
    assert_eq!(nodes_under(&server, &base_of(&url)), Vec::<String>::new());
}
