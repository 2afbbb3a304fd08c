//! Rows are taken away, and no token goes back for it.

use std::time::Duration;

use mysql_async::prelude::Queryable;
use tenure_core::Store;

use crate::{
    places::{fresh_url, server},
    support::{name, outside, owner, run, store, take},
};

#[tokio::test(flavor = "multi_thread")]
async fn tokens_rise_over_rows_that_were_taken_away() {
    let url = fresh_url();
    let store = store(&url);
    let tables = url.split("tables=").nth(1).unwrap();
    let mut conn = outside(server()).await;
    let rows = format!("select count(*) from {tables}_locks");
    let token = take(&store, "gone", owner(1)).await;
    take(&store, "held", owner(1)).await;
    store.release(&name("gone"), &owner(1), Duration::ZERO).await.unwrap();
    // A clock that was ahead.
    let ahead =
        format!("update {tables}_locks set last_time = last_time + 1000 where name = 'gone'");
    run(&mut conn, &ahead).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    let first = store.sweep(Duration::from_millis(10)).await.unwrap();
    assert_eq!((first.covered, first.removed), (1, 0), "not before the floor has covered it");
    let again = store.sweep(Duration::from_millis(10)).await.unwrap();
    assert_eq!(again.removed, 0, "not before the floor has covered it for a while");
    run(&mut conn, &format!("update {tables}_meta set raised = raised - 600000000")).await;
    let last = store.sweep(Duration::from_millis(10)).await.unwrap();
    assert_eq!(last.removed, 1);
    assert_eq!(conn.query_first::<u32, _>(&rows).await.unwrap(), Some(1));
    run(&mut conn, &format!("update {tables}_meta set floor = floor + 3600000000")).await;
    let next = take(&store, "gone", owner(2)).await;
    assert!(next.as_i64() > token.as_i64() + 3_600_000_000 * 1024, "behind the floor");
}
