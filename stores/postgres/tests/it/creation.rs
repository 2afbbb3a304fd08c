//! Tables are made while others make theirs.

use tenure_core::{
    Fault, Store,
    store::{SlotsWrite, SlotsWritten},
};
use tenure_postgres::PostgresStore;
use tokio::task::JoinHandle;

use crate::support::{PATIENCE, fresh_database, name, session, sql, store, told, tries, until};

/// Of the lock under which tables are made.
const CREATION: &str = "pg_advisory_lock(127978993709669)";

/// Lets others make tables until whoever makes them here has waited in vain once, and gives what it comes to.
async fn waits_in_vain<T: Send + 'static>(
    url: &str,
    making: impl Future<Output = Result<T, Fault>> + Send + 'static,
) -> Result<T, Fault> {
    let other = session(url).await.unwrap();
    told(&other, &format!("select {CREATION}")).await.unwrap();
    let made: JoinHandle<_> = tokio::spawn(making);
    let waits = "select a.query_start from pg_locks l join pg_stat_activity a using (pid) \
                 where l.locktype = 'advisory' and not l.granted and a.datname = current_database()";
    let mut first = Vec::new();
    until("it waits anew", async || {
        let now = sql(url, waits).await;
        if first.is_empty() {
            first.clone_from(&now);
        }
        made.is_finished() || !now.is_empty() && now != first
    })
    .await;
    told(&other, "select pg_advisory_unlock_all()").await.unwrap();
    made.await.unwrap()
}

/// As twenty hosts that start at once on a new database: each waits for all before it.
#[tokio::test]
async fn a_store_opens_although_others_make_tables_for_longer_than_a_lock_is_waited_for() {
    let url = fresh_database().await;
    let opens = format!("{url}?connect_timeout=40s&response_timeout=40s");
    let opened = waits_in_vain(&url, async move { PostgresStore::open(&opens).await });
    opened.await.unwrap().acquire(&name("lock"), &tries(1)).await.unwrap();
}

#[tokio::test]
async fn the_table_of_slots_is_made_although_others_make_tables_for_as_long() {
    let url = fresh_database().await;
    let store = store(&format!("{url}?response_timeout=40s"));
    store.acquire(&name("lock"), &tries(1)).await.unwrap();
    sql(&url, "drop table tenure.slots").await;
    let written = waits_in_vain(&url, async move {
        let write = SlotsWrite { before: None, text: "text".to_owned(), keep: PATIENCE };
        store.write_slots(&name("lock"), &tries(1).owner, &write).await
    });
    assert_eq!(written.await.unwrap(), SlotsWritten::Written);
}

/// All of them at once, each with a schema of its own, as the suites of tests do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_stores_open_at_once_in_schemas_of_their_own() {
    let url = fresh_database().await;
    let stores = (0..20).map(|number| {
        let url =
            format!("{url}?lock_schema=own_{number}&connect_timeout=40s&response_timeout=40s");
        tokio::spawn(async move { PostgresStore::open(&url).await.map(drop) })
    });
    let stores: Vec<_> = stores.collect();
    for opened in stores {
        tokio::time::timeout(PATIENCE, opened).await.unwrap().unwrap().unwrap();
    }
}
