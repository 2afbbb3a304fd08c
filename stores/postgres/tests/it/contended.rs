//! Rows that others have locked, or reserved.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use tenure_core::{
    Store,
    proto::{
        Renewed,
        queue::{Ask, Kind, Mode},
    },
    store::Renewal,
};
use tenure_postgres::{Postgres, PostgresOptions};
use tenure_sql::{Database, FromOptions};
use tenure_testkit::{
    distance,
    fault::{Proxy, Weather},
};
use tokio::time::timeout;

use crate::support::{fresh_database, name, session, store, told, tries};

/// As a call does that has lost too often.
#[tokio::test]
async fn what_is_put_behind_a_row_keeps_single_statements_from_it_and_is_gone_with_the_next_write()
{
    let url = fresh_database().await;
    let database = Postgres::with_options(PostgresOptions::from_url(&url).unwrap()).unwrap();
    let look = async || database.read(&name("lock")).await.unwrap().row;
    database.append(&name("lock"), b"nobody", b"more").await.unwrap();
    assert_eq!(look().await.version, 0, "it makes no row");
    let store = store(&url);
    store.acquire(&name("lock"), &tries(1)).await.unwrap();
    let before = look().await;
    // A turn that was over long ago, behind a state of nobody.
    let (empty, over) = ([0; 32], [b"turn", &[7; 16][..], &[0; 12]].concat());
    for times in 1..=2 {
        database.append(&name("lock"), &empty, &over).await.unwrap();
        let after = look().await;
        assert_eq!(after.version, before.version + times);
        assert_eq!(after.sole, before.sole);
        assert_eq!(after.others.unwrap().len(), 32 + 32 * usize::try_from(times).unwrap());
    }
    assert_eq!(store.inspect(&name("lock")).await.unwrap().holders.len(), 1);
    store.release(&name("lock"), &tries(1).owner, Duration::ZERO).await.unwrap();
    assert_eq!(look().await.others, None);
    store.acquire(&name("lock"), &tries(2)).await.unwrap();
}

/// Also where the rules that all stores share decide on it, over a connection that is used by all.
#[tokio::test]
async fn a_row_of_readers_that_somebody_keeps_locked_holds_up_no_other_renewal() {
    let url = fresh_database().await;
    let store = store(&format!("{url}?response_timeout=4s&connections=2"));
    let engine = store.for_engine();
    let ttl = Duration::from_secs(8);
    let mut renewals = Vec::new();
    for (lock, owner) in [("a", 1), ("b", 2), ("c", 3)] {
        let read = Ask { kind: Kind::ReadWrite, mode: Mode::Shared, ttl, ..tries(owner) };
        store.acquire(&name(lock), &read).await.unwrap();
        renewals.push(Renewal { name: name(lock), owner: read.owner, ttl });
    }
    let stranger = session(&url).await.unwrap();
    let locks = "begin; select 1 from tenure.locks where name = 'b' for update";
    told(&stranger, locks).await.unwrap();
    for _ in 0..3 {
        let answers = timeout(ttl / 4, engine.renew(&renewals)).await.unwrap();
        for (renewal, answer) in renewals.iter().zip(answers) {
            if renewal.name.as_str() == "b" {
                let refused = answer.unwrap_err();
                assert!(refused.is_transient(), "{refused:#}");
            } else {
                assert!(matches!(answer, Ok(Renewed::Renewed { .. })), "{answer:?}");
            }
        }
    }
    told(&stranger, "rollback").await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_is_far_away_gets_its_turn_among_those_that_are_near() {
    let url = fresh_database().await;
    let direct: SocketAddr = url.split(['@', '/']).nth(3).unwrap().parse().unwrap();
    let proxy = Proxy::start(direct, 1).unwrap();
    let behind = url.replace(&direct.to_string(), &proxy.address().to_string());
    let far = store(&format!("{behind}?response_timeout=10s"));
    let near = (0..8).map(|_| Arc::new(store(&url)) as Arc<dyn Store>).collect();
    // The tables are there, and the connections.
    far.inspect(&name("wanted")).await.unwrap();
    proxy.set(Weather { delay: Duration::from_millis(40), ..Weather::default() });
    distance::far_gets_its_turn(near, Arc::new(far)).await;
}
