//! No time zone of the server or of a session changes a time.

use std::time::{SystemTime, UNIX_EPOCH};

use mysql_async::prelude::Queryable;
use tenure_core::{Store, store::Renewal};
use tenure_servers::MariadbServer;

use crate::support::{LONG, name, outside, owner, run, sessions, store, take};

fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn another_time_zone_changes_no_lease_and_no_token() {
    let server = MariadbServer::start_with(&["--default-time-zone=+05:00"]);
    let mut conn = outside(&server).await;
    let store = store(&server.url());
    let (lock, mut last) = (name("lock"), None);
    take(&store, "held", owner(1)).await;
    // East and west of here, and summer time that comes and goes.
    for (round, zone) in ["+05:00", "-11:00", "+01:00", "+02:00", "+01:00"].into_iter().enumerate()
    {
        run(&mut conn, &format!("set global time_zone = '{zone}'")).await;
        // A session keeps the zone that it began with.
        for id in sessions(&mut conn).await {
            run(&mut conn, &format!("kill {id}")).await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(1_200)).await;
        let owner_now = owner(10 + u8::try_from(round).unwrap());
        let token = take(&store, "lock", owner_now).await;
        assert!(Some(token) > last, "{zone}");
        last = Some(token);
        let row: (i64, i64, i64) = conn
            .query_first("select since, expires, last_time from tenure_locks where name = 'lock'")
            .await
            .unwrap()
            .unwrap();
        assert!((now() - row.0).abs() < 30_000_000, "{zone}: {row:?}, now {}", now());
        assert_eq!(row.1 - row.0, i64::try_from(LONG.as_micros()).unwrap());
        assert_eq!(row.2, row.0, "{zone}");
        // What was held before neither ended nor lasts longer.
        let holders = store.inspect(&name("held")).await.unwrap().holders;
        let left = holders[0].left.unwrap();
        assert!(left <= LONG && left > LONG / 2, "{zone}: {left:?}");
        let renewal = Renewal { name: lock.clone(), owner: owner_now, ttl: LONG };
        let renewed = store.renew(&[renewal]).await.pop().unwrap().unwrap();
        assert!(format!("{renewed:?}").contains("Renewed"), "{renewed:?}");
        store.release(&lock, &owner_now, std::time::Duration::ZERO).await.unwrap();
    }
}

/// The order in which a server computes new values, which a mode of MariaDB changes, changes no token. Nor do modes
/// that give words and signs another meaning.
#[tokio::test(flavor = "multi_thread")]
async fn the_token_is_that_of_the_row_and_never_comes_twice() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    let own = if server.is_mysql() { "REAL_AS_FLOAT" } else { "SIMULTANEOUS_ASSIGNMENT,ORACLE" };
    let modes = format!("ANSI,HIGH_NOT_PRECEDENCE,NO_BACKSLASH_ESCAPES,{own}");
    run(&mut conn, &format!("set global sql_mode = '{modes}'")).await;
    let store = store(&server.url());
    let ahead = now() + 3_600_000_000;
    let mut last = take(&store, "lock", owner(1)).await;
    for round in 2..50 {
        store.release(&name("lock"), &owner(round - 1), std::time::Duration::ZERO).await.unwrap();
        if round == 20 {
            // A clock that was an hour ahead.
            run(&mut conn, &format!("update tenure_locks set last_time = {ahead}")).await;
        }
        let token = take(&store, "lock", owner(round)).await;
        assert!(token > last, "{token:?} after {last:?}");
        last = token;
        let row: (i64, i64) =
            conn.query_first("select token, last_time from tenure_locks").await.unwrap().unwrap();
        assert_eq!(row, (token.as_i64(), token.as_i64() / 1024));
        assert_eq!(row.1 > ahead, round >= 20);
    }
}
