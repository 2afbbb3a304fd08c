//! Releases without a script, on servers that delete a key only if it has a certain value.

use std::time::Duration;

use tenure_core::{Store, proto::queue::Released};
use tenure_redis::{Address, RedisOptions, RedisStore};
use tenure_servers::{RedisServer, redis::Reply};

use crate::{
    places::ACL,
    scenes::{ME, OTHER, ask, owner},
    support::{lock_keys, name, store, tenure, until},
};
use tenure_core::proto::queue::{Answer, Intent, Mode};

/// A server that has such a command, and its name; nothing where the one of this run has none.
fn server(settings: &[&str]) -> Option<(RedisServer, &'static str)> {
    let settings = [settings, &["--save", "", "--appendonly", "no"]].concat();
    let server = RedisServer::with(&settings);
    let found = ["delifeq", "delex"].into_iter().find(|command| {
        let about = server.command(&["COMMAND", "INFO", command]);
        matches!(about, Reply::List(about) if matches!(about.as_slice(), [Reply::List(_)]))
    });
    if found.is_none() {
        eprintln!("not run: this server has no command that compares and deletes");
    }
    found.map(|command| (server, command))
}

/// How often the server ran a command.
fn calls(server: &RedisServer, command: &str) -> u64 {
    count(server, command, "calls")
}

/// A count that the server keeps of a command.
fn count(server: &RedisServer, command: &str, field: &str) -> u64 {
    let Reply::Text(told) = server.command(&["INFO", "commandstats"]) else { panic!() };
    let line = told.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:")));
    let counts = line.into_iter().flat_map(|line| line.split(','));
    let count = counts.filter_map(|count| count.split_once('=')).find(|(is, _)| *is == field);
    count.map_or(0, |(_, count)| count.parse().unwrap())
}

async fn take(store: &RedisStore, lock: &str, number: u8) {
    let answer = store.acquire(&name(lock), &ask(number, Mode::Exclusive, Intent::Try)).await;
    assert!(matches!(answer, Ok(Answer::Granted { .. })), "{answer:?}");
}

async fn release(store: &RedisStore, lock: &str, number: u8) -> Released {
    store.release(&name(lock), &owner(number), Duration::ZERO).await.unwrap()
}

/// The store of a user who may do what is documented, and this.
fn user(server: &RedisServer, more: &[&str]) -> RedisStore {
    let words: Vec<_> = ACL.split_whitespace().chain(more.iter().copied()).collect();
    assert_eq!(server.command(&words), Reply::Text("OK".to_owned()), "{words:?}");
    let address = server.address();
    let address = Address::Tcp { host: address.ip().to_string(), port: address.port() };
    let options = RedisOptions::new(address);
    RedisStore::new(options.user("tenure").password("choose-a-password")).unwrap()
}

#[tokio::test]
async fn a_lone_hold_of_any_kind_is_released_without_a_script() {
    let Some((server, command)) = server(&[]) else { return };
    let tenure = tenure(&server.url());
    let scripts = || calls(&server, "evalsha");
    let label = "with a blank, \"quotes\" and 💥";
    let mutex = tenure.mutex("a").lock().label(label);
    // The first has the scripts loaded.
    tenure.mutex("b").lock().await.unwrap().release().await.unwrap();
    let (deleted, before) = (calls(&server, command), scripts());
    assert_eq!(deleted, 1);
    mutex.await.unwrap().release().await.unwrap();
    tenure.rwlock("a").write().await.unwrap().release().await.unwrap();
    tenure.rwlock("a").read().await.unwrap().release().await.unwrap();
    assert_eq!((calls(&server, command), scripts()), (deleted + 3, before + 3));
    assert_eq!(lock_keys(&server), [""; 0]);
}

#[tokio::test]
async fn a_guard_that_is_dropped_is_released_so_too() {
    let Some((server, command)) = server(&[]) else { return };
    let tenure = tenure(&server.url());
    drop(tenure.mutex("a").lock().await.unwrap());
    until("it is released", async || lock_keys(&server).is_empty()).await;
    assert_eq!(calls(&server, command), 1);
}

#[tokio::test]
async fn a_record_that_has_changed_is_released_by_the_script() {
    let Some((server, command)) = server(&[]) else { return };
    let store = store(&server.url());
    take(&store, "a", ME).await;
    let Ok(seen) = store.inspect(&name("a")).await else { panic!() };
    let token = seen.holders[0].token.unwrap();
    let greater = tenure_core::Token::from_raw(token.get() + 5_000).unwrap();
    store.raise(&name("a"), &owner(ME), greater).await.unwrap();
    assert_eq!(release(&store, "a", ME).await, Released::Released);
    assert_eq!(calls(&server, command), 1);
    assert_eq!(lock_keys(&server), [""; 0]);
}

#[tokio::test]
async fn a_lock_that_others_want_is_handed_on() {
    let Some((server, _)) = server(&[]) else { return };
    let store = store(&server.url());
    take(&store, "a", ME).await;
    let wait = ask(OTHER, Mode::Exclusive, Intent::Wait { position: None });
    let waits = store.acquire(&name("a"), &wait).await;
    assert!(matches!(waits, Ok(Answer::Busy { position: Some(_), .. })), "{waits:?}");
    assert_eq!(release(&store, "a", ME).await, Released::Released);
    let claimed = store.acquire(&name("a"), &wait).await;
    assert!(matches!(claimed, Ok(Answer::Granted { .. })), "{claimed:?}");
}

#[tokio::test]
async fn the_next_holder_keeps_what_the_last_one_lost() {
    let Some((server, command)) = server(&[]) else { return };
    let store = store(&server.url());
    take(&store, "a", ME).await;
    server.command(&["DEL", &lock_keys(&server)[0]]);
    take(&store, "a", OTHER).await;
    assert_eq!(release(&store, "a", ME).await, Released::NotHeld);
    assert_eq!(calls(&server, command), 1);
    assert_eq!(release(&store, "a", OTHER).await, Released::Released);
}

#[tokio::test]
async fn a_release_is_repeated_by_a_script() {
    let Some((server, command)) = server(&[]) else { return };
    let store = store(&server.url());
    take(&store, "a", ME).await;
    assert_eq!(release(&store, "a", ME).await, Released::Released);
    assert_eq!(release(&store, "a", ME).await, Released::NotHeld);
    assert_eq!(calls(&server, command), 1);
}

#[tokio::test]
async fn a_user_who_may_not_compare_releases_by_a_script() {
    let Some((server, command)) = server(&[]) else { return };
    let may = format!("+{command}");
    let may_not = format!("-{command}");
    for (more, done) in [(&[][..], 0), (&[may.as_str()], 2)] {
        server.command(&["ACL", "DELUSER", "tenure"]);
        server.command(&["CONFIG", "RESETSTAT"]);
        let store = user(&server, more);
        for _ in 0..2 {
            take(&store, "a", ME).await;
            assert_eq!(release(&store, "a", ME).await, Released::Released, "{more:?}");
        }
        assert_eq!(calls(&server, command), done, "{more:?}");
        // Somebody looks at what is denied.
        assert_eq!(server.command(&["ACL", "LOG"]), Reply::List(Vec::new()), "{more:?}");
        server.command(&["ACL", "SETUSER", "tenure", &may_not]);
        for _ in 0..2 {
            take(&store, "a", ME).await;
            assert_eq!(release(&store, "a", ME).await, Released::Released, "{more:?}");
        }
        // What was refused once is not tried again over that connection.
        let refused = u64::from(done > 0);
        assert_eq!(count(&server, command, "rejected_calls"), refused, "{more:?}");
        server.command(&["ACL", "LOG", "RESET"]);
    }
}

#[tokio::test]
async fn a_server_without_the_command_is_not_asked_for_it() {
    let Some((plain, command)) = server(&[]) else { return };
    drop(plain);
    let server = RedisServer::with(&["--save", "", "--rename-command", command, ""]);
    let store = store(&server.url());
    take(&store, "a", ME).await;
    assert_eq!(release(&store, "a", ME).await, Released::Released);
    assert_eq!(calls(&server, command), 0);
}
