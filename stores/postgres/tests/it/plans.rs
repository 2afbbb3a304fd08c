//! Statements find their row by the index, whatever the table was like when they were planned.

use std::time::Duration;

use tenure_core::Store;
use tokio::time::{Instant, sleep};

use crate::support::{fresh_database, name, sql, store, tries, until};

#[tokio::test]
async fn a_plan_for_a_table_that_was_tiny_is_not_kept_once_it_has_grown() {
    let url = fresh_database().await;
    let store = store(&format!("{url}?connections=1"));
    let cycle = async || {
        store.acquire(&name("lock"), &tries(1)).await.unwrap();
        store.release(&name("lock"), &tries(1).owner, Duration::ZERO).await.unwrap();
    };
    cycle().await;
    sql(&url, "alter table tenure.locks set (autovacuum_enabled = off); analyze tenure.locks")
        .await;
    for _ in 0..10 {
        cycle().await;
    }
    let many = "insert into tenure.locks (name, version, last_time, waiting) \
                select 'name ' || n, 1, 1, 0 from generate_series(1, 20000) n";
    sql(&url, many).await;
    let looked_at = async || {
        let looked = "select seq_tup_read from pg_stat_user_tables where relname = 'locks'";
        sql(&url, looked).await.pop().unwrap()
    };
    until("it looks at no other rows", async || {
        let before = looked_at().await;
        // A session tells what it did once a second.
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(3) {
            cycle().await;
            sleep(Duration::from_millis(20)).await;
        }
        looked_at().await == before
    })
    .await;
}
