//! Rows that nobody uses any more go, and no token goes back for it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tenure_core::{
    Store,
    proto::queue::{Answer, Mode, NameState},
};
use tenure_postgres::{NextSweep, PostgresStore};

use crate::support::{fresh_database, name, session, sql, store, tenure, told, tries, until};

/// So that what was raised has been so for long.
const LONG_AGO: &str = "update tenure.meta set raised = 0";
const AGE: Duration = Duration::from_millis(1);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// As a week ago, in microseconds.
const WEEK: &str = "(extract(epoch from clock_timestamp()) * 1000000)::bigint - 604800000000";

async fn used(store: &PostgresStore, lock: &str, owner: u8) -> i64 {
    let ask = tries(owner);
    let Ok(Answer::Granted { token, .. }) = store.acquire(&name(lock), &ask).await else {
        panic!()
    };
    store.release(&name(lock), &ask.owner, Duration::ZERO).await.unwrap();
    token.as_i64()
}

async fn rows(url: &str) -> Vec<String> {
    sql(url, "select name from tenure.locks where name <> '' order by name").await
}

/// Sweeps until there is no more to do; gives what went, and what is to be done then.
async fn swept(store: &PostgresStore, age: Duration) -> (usize, NextSweep) {
    let mut removed = 0;
    loop {
        let swept = store.sweep(age).await.unwrap();
        removed += swept.removed;
        if !matches!(swept.then, NextSweep::More | NextSweep::Met) {
            return (removed, swept.then);
        }
    }
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
    sql(&url, LONG_AGO).await;
    assert_eq!(
        swept(&store, AGE).await,
        (0, NextSweep::Later),
        "nothing goes before it is covered"
    );
    assert_eq!(swept(&store, AGE).await, (0, NextSweep::Later), "it has to be covered for a while");
    sql(&url, LONG_AGO).await;
    assert_eq!(swept(&store, AGE).await.0, 1);
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

/// So many rows that nobody has used for a week.
async fn fill(url: &str, rows: u32) {
    let fill = format!(
        "insert into tenure.locks (name, version, last_time, waiting) \
         select 'old ' || lpad(n::text, 6, '0'), 1, {WEEK}, 0 from generate_series(1, {rows}) n"
    );
    sql(url, &fill).await;
}

#[tokio::test]
async fn rows_that_get_old_all_the_time_do_not_keep_the_others() {
    let url = fresh_database().await;
    let store = store(&url);
    store.inspect(&name("any")).await.unwrap();
    fill(&url, 1_200).await;
    assert_eq!(swept(&store, DAY).await, (0, NextSweep::Later));
    sql(&url, LONG_AGO).await;
    // The first of those that come later stand in the first page.
    for removed in [492, 512, 196] {
        // Meanwhile others get old that are not covered yet; nor is it raised for them now.
        let later = format!(
            "insert into tenure.locks (name, version, last_time, waiting) \
             select '0 later {removed} ' || n, 1, floor + 1, 0 from generate_series(1, 20) n, tenure.meta \
             on conflict do nothing"
        );
        sql(&url, &later).await;
        let raised = sql(&url, "select raised from tenure.meta").await;
        assert_eq!(store.sweep(DAY).await.unwrap().removed, removed);
        assert_eq!(sql(&url, "select raised from tenure.meta").await, raised);
    }
    assert_eq!(swept(&store, DAY).await, (0, NextSweep::Rest), "the round is over");
}

/// What stands in a row for as long as a call is about to write it that has lost too often, in hexadecimal digits.
fn turn() -> String {
    let mut bytes = Vec::new();
    NameState::default().write_to(&mut bytes);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros();
    let until = i64::try_from(now).unwrap() + 3_500_000;
    bytes
        .extend([&b"turn"[..], &[7; 16], &20_000_u32.to_le_bytes(), &until.to_le_bytes()].concat());
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn no_row_goes_that_somebody_has_waits_for_or_is_about_to_write() {
    let url = fresh_database().await;
    let store = store(&url);
    let one = tenure(&url);
    let guard = one.mutex("held").lock().await.unwrap();
    let permit = one.semaphore("permits", 2).acquire().await.unwrap();
    let waiter = tokio::spawn({
        let other = tenure(&url);
        async move { other.mutex("held").lock().wait(DAY).await }
    });
    until("somebody waits", async || {
        !sql(&url, "select 1 from tenure.locks where waiting > 0").await.is_empty()
    })
    .await;
    used(&store, "gone", 1).await;
    // One who died: the lease has ended, and nobody has written that.
    let mut short = tries(2);
    short.ttl = Duration::from_millis(1);
    store.acquire(&name("died"), &short).await.unwrap();
    short.mode = Mode::Permits { take: 1, of: 2 };
    store.acquire(&name("died together"), &short).await.unwrap();
    used(&store, "reserved", 1).await;
    let age = format!("update tenure.locks set last_time = {WEEK}");
    sql(&url, &age).await;
    let locked = session(&url).await.unwrap();
    used(&store, "locked", 1).await;
    sql(&url, &format!("{age} where name = 'locked'")).await;
    let lock = "begin; select 1 from tenure.locks where name = 'locked' for update";
    told(&locked, lock).await.unwrap();
    let mut left = Vec::new();
    // Those who hold sweep as well, and may raise the floor meanwhile.
    until("what nobody needs is gone", async || {
        let reserve =
            format!("update tenure.locks set others = '\\x{}' where name = 'reserved'", turn());
        sql(&url, &reserve).await;
        sql(&url, &format!("update tenure.meta set floor = {WEEK} + 3600000000, raised = 0")).await;
        let (removed, _) = swept(&store, DAY).await;
        left = rows(&url).await;
        removed > 0 || left.len() <= 4
    })
    .await;
    assert_eq!(left, ["held", "locked", "permits", "reserved"]);
    drop((guard, permit));
    drop(waiter.await.unwrap().unwrap());
}

/// What a server looks at, and how.
#[tokio::test]
async fn a_page_reads_no_other_rows() {
    let url = fresh_database().await;
    let store = store(&url);
    store.inspect(&name("any")).await.unwrap();
    sql(&url, "alter table tenure.locks set (autovacuum_enabled = off)").await;
    fill(&url, 20_000).await;
    sql(&url, &format!("update tenure.meta set floor = {WEEK} + 3600000000, raised = 0")).await;
    let read = async || -> i64 {
        let read =
            "select seq_tup_read + idx_tup_fetch from pg_stat_user_tables where relname = 'locks'";
        sql(&url, read).await.pop().unwrap().parse().unwrap()
    };
    let before = read().await;
    for _ in 0..4 {
        assert_eq!(store.sweep(DAY).await.unwrap().removed, 512);
    }
    drop(store);
    let removed = "select n_tup_del from pg_stat_user_tables where relname = 'locks'";
    until("the server has counted", async || sql(&url, removed).await == ["2048"]).await;
    let looked = read().await - before;
    assert!(looked < 20_000, "{looked} rows were looked at for 2048");
}

/// However many sweep at once, each takes another page.
#[tokio::test]
async fn those_who_sweep_at_once_share_a_round() {
    let url = fresh_database().await;
    let stores: Vec<_> = (0..4).map(|_| store(&url)).collect();
    stores[0].inspect(&name("any")).await.unwrap();
    fill(&url, 3_000).await;
    sql(&url, &format!("update tenure.meta set floor = {WEEK} + 3600000000, raised = 0")).await;
    let sweeping: Vec<_> = stores
        .into_iter()
        .map(|store| tokio::spawn(async move { swept(&store, DAY).await.0 }))
        .collect();
    let mut removed = 0;
    for one in sweeping {
        removed += one.await.unwrap();
    }
    assert_eq!(removed, 3_000);
    assert!(rows(&url).await.is_empty());
}

/// Processes that live for a few names each keep the table bounded.
#[tokio::test]
async fn short_lives_sweep_as_much_as_they_make() {
    let url = fresh_database().await;
    let mut most = 0;
    for day in 0..12 {
        // Each makes ten names and ends.
        for process in 0..30 {
            let store = store(&url);
            for number in 0..10 {
                used(&store, &format!("{day} {process} {number}"), 1).await;
            }
        }
        // A day goes by.
        let hours = "update tenure.locks set last_time = last_time - 90000000000 where name <> ''; \
                     update tenure.meta set floor = greatest(floor - 90000000000, 0), raised = 0; \
                     update tenure.locks set token = token - 90000000000 where name = ''";
        sql(&url, hours).await;
        most = most.max(rows(&url).await.len());
    }
    assert!(most < 2_400, "{most} rows of 3600 names, 300 a day");
}

/// The statements of the page for `cron`.
#[tokio::test]
async fn the_statements_of_the_page_take_away_what_the_floor_covers_alone() {
    let page = include_str!("../../../../docs/stores/postgres.md");
    let (_, behind) = page.split_once("### Unused rows").unwrap();
    let (statements, _) = behind.split_once("```sql").unwrap().1.split_once("```").unwrap();
    let url = fresh_database().await;
    let store = store(&url);
    store.acquire(&name("held"), &tries(1)).await.unwrap();
    used(&store, "young", 1).await;
    // It may owe a sweep of its own.
    drop(store);
    fill(&url, 100).await;
    sql(&url, &format!("update tenure.locks set last_time = {WEEK} where name <> 'young'")).await;
    sql(&url, LONG_AGO).await;
    for left in [102, 102] {
        sql(&url, statements).await;
        assert_eq!(rows(&url).await.len(), left, "not before the floor has covered it for a while");
    }
    sql(&url, LONG_AGO).await;
    sql(&url, statements).await;
    assert_eq!(rows(&url).await, ["held", "young"]);
}
