//! Rows that others have locked, or reserved.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use tenure_core::{
    FaultKind, Store,
    proto::{Renewed, queue::Intent},
    store::Renewal,
};
use tenure_mysql::{Mysql, MysqlOptions};
use tenure_sql::{Database, FromOptions};
use tenure_testkit::{
    distance,
    fault::{Proxy, Weather},
};

use crate::{
    foreign_transactions::locked,
    places::fresh_url,
    support::{LONG, ask, name, owner, run, store, take},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_somebody_keeps_locked_holds_up_no_other_renewal() {
    let url = fresh_url();
    let store = store(&format!("{url}&response_timeout=900ms"));
    let tables = url.split("tables=").nth(1).unwrap();
    let ttl = Duration::from_secs(6);
    for number in 1..=3 {
        let ask = ask(owner(number), Intent::Try, ttl);
        store.acquire(&name(&format!("lock-{number}")), &ask).await.unwrap();
    }
    let mut stranger = locked(tables, "lock-2").await;
    let renewals = [1, 2, 3].map(|number| Renewal {
        name: name(&format!("lock-{number}")),
        owner: owner(number),
        ttl: LONG,
    });
    let answers = store.renew(&renewals).await;
    for (number, answer) in answers.iter().enumerate() {
        if number == 1 {
            let refused = answer.as_ref().unwrap_err();
            assert_eq!(refused.kind(), FaultKind::Unreachable, "{refused:#}");
            assert!(refused.message().contains("lock-2"), "{refused:#}");
        } else {
            assert!(matches!(answer, Ok(Renewed::Renewed { .. })), "{answer:?}");
        }
    }
    run(&mut stranger, "rollback").await;
    for answer in store.renew(&renewals).await {
        assert!(matches!(answer, Ok(Renewed::Renewed { .. })), "{answer:?}");
    }
}

/// As a call does that has lost too often.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_put_behind_a_row_keeps_single_statements_from_it_and_is_gone_with_the_next_write()
{
    let url = fresh_url();
    let database = Mysql::with_options(MysqlOptions::from_url(&url).unwrap()).unwrap();
    let look = async || database.read(&name("lock")).await.unwrap().row;
    database.append(&name("lock"), b"nobody", b"more").await.unwrap();
    assert_eq!(look().await.version, 0, "it makes no row");
    let store = store(&url);
    take(&store, "lock", owner(1)).await;
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
    store.release(&name("lock"), &owner(1), Duration::ZERO).await.unwrap();
    assert_eq!(look().await.others, None);
    take(&store, "lock", owner(2)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_is_far_away_gets_its_turn_among_those_that_are_near() {
    let url = fresh_url();
    let direct: SocketAddr = url.split(['@', '/']).nth(3).unwrap().parse().unwrap();
    let proxy = Proxy::start(direct, 1).unwrap();
    let behind = url.replace(&direct.to_string(), &proxy.address().to_string());
    let far = store(&format!("{behind}&response_timeout=10s"));
    let near = (0..8).map(|_| Arc::new(store(&url)) as Arc<dyn Store>).collect();
    // The tables are there, and the connections.
    far.inspect(&name("wanted")).await.unwrap();
    proxy.set(Weather { delay: Duration::from_millis(40), ..Weather::default() });
    distance::far_gets_its_turn(near, Arc::new(far)).await;
}
