//! Rows that nobody uses any more go, and no token goes back for it.

use std::time::Duration;

use tenure_core::{Store, proto::queue::Answer};
use tenure_postgres::PostgresStore;

use crate::support::{fresh_database, name, sql, store, tenure, tries};

/// So that what was raised has been so for long.
const LONG_AGO: &str = "update tenure.meta set raised = raised - 600000000";
const AGE: Duration = Duration::from_millis(1);

async fn used(store: &PostgresStore, lock: &str, owner: u8) -> i64 {
    let ask = tries(owner);
    let Ok(Answer::Granted { token, .. }) = store.acquire(&name(lock), &ask).await else {
        panic!()
    };
    store.release(&name(lock), &ask.owner, Duration::ZERO).await.unwrap();
    token.as_i64()
}

async fn rows(url: &str) -> Vec<String> {
    sql(url, "select name from tenure.locks order by name").await
}

#[tokio::test]
async fn a_row_goes_once_the_floor_has_covered_it_and_the_next_token_is_greater() {
    let url = fresh_database().await;
    let store = store(&url);
    for lock in ["a", "b", "kept"] {
        used(&store, lock, 1).await;
    }
    let kept = store.acquire(&name("kept"), &tries(2)).await.unwrap();
    assert!(matches!(kept, Answer::Granted { .. }));
    // Its time is far ahead of what the server's clock says later.
    let ahead = sql(&url, "update tenure.locks set last_time = last_time + 3600000000 where name = 'b' returning last_time").await;
    let ahead: i64 = ahead[0].parse().unwrap();
    tokio::time::sleep(AGE * 5).await;
    let swept = store.sweep(AGE).await.unwrap();
    assert_eq!((swept.removed, swept.covered), (0, 1), "nothing goes before it is covered");
    assert_eq!(store.sweep(AGE).await.unwrap().removed, 0, "it has to be covered for a while");
    sql(&url, LONG_AGO).await;
    assert_eq!(store.sweep(AGE).await.unwrap().removed, 1);
    assert_eq!(rows(&url).await, ["b", "kept"]);
    assert!(used(&store, "b", 3).await > ahead << 10, "a row that is ahead keeps its time");
}

#[tokio::test]
async fn tokens_rise_over_a_row_that_went_where_the_clock_is_behind() {
    let url = fresh_database().await;
    let store = store(&url);
    used(&store, "lock", 1).await;
    // As if the clock had been an hour ahead when it was used.
    let floor = sql(
        &url,
        "delete from tenure.locks; update tenure.meta set floor = \
         (extract(epoch from clock_timestamp()) * 1000000)::bigint + 3600000000 returning floor",
    )
    .await;
    let floor: i64 = floor[0].parse().unwrap();
    let next = used(&store, "lock", 2).await;
    assert!(next > floor << 10, "a token goes back behind the floor");
    // Also where more than one statement decides.
    let other = tenure(&url);
    let permit = other.semaphore("permits", 2).acquire().await.unwrap();
    assert!(permit.token().as_i64() > floor << 10);
    let write = other.rwlock("written").write().await.unwrap();
    assert!(write.token().as_i64() > floor << 10);
}

#[tokio::test]
async fn rows_that_get_old_all_the_time_do_not_keep_the_others() {
    let url = fresh_database().await;
    let store = store(&url);
    store.inspect(&name("any")).await.unwrap();
    let many = "insert into tenure.locks (name, version, last_time, waiting) \
                select 'old ' || n, 1, n, 0 from generate_series(1, 450) n";
    sql(&url, many).await;
    let swept = store.sweep(AGE).await.unwrap();
    assert_eq!((swept.removed, swept.covered), (0, 200));
    sql(&url, LONG_AGO).await;
    for left in [250, 50, 0] {
        // Meanwhile others get old that are not covered yet; nor is it raised for them now.
        let later = format!(
            "insert into tenure.locks (name, version, last_time, waiting) \
             select '0 later {left} ' || n, 1, floor + 1, 0 from generate_series(1, 20) n, tenure.meta"
        );
        sql(&url, &later).await;
        tokio::time::sleep(AGE * 5).await;
        let raised = sql(&url, "select raised from tenure.meta").await;
        assert!(store.sweep(AGE).await.unwrap().removed >= 50);
        assert_eq!(sql(&url, "select raised from tenure.meta").await, raised);
        let old = sql(&url, "select count(*) from tenure.locks where name like 'old %'").await;
        assert_eq!(old, [left.to_string()]);
    }
    // Whoever raises it once more right after somebody else did changes nothing.
    store.sweep(AGE).await.unwrap();
    let raised = sql(&url, "select raised from tenure.meta").await;
    tokio::time::sleep(AGE * 5).await;
    used(&store, "later still", 1).await;
    tokio::time::sleep(AGE * 5).await;
    store.sweep(AGE).await.unwrap();
    assert_eq!(sql(&url, "select raised from tenure.meta").await, raised);
}
