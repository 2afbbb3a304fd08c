//! Rows are taken away, and no token goes back for it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mysql_async::{Conn, prelude::Queryable};
use tenure_core::{
    Store,
    proto::queue::{Intent, Kind, Mode, NameState},
};
use tenure_mysql::{MysqlStore, NextSweep};
use tenure_servers::MariadbServer;

use crate::{
    places::{fresh_url, server},
    support::{ask, name, outside, owner, process, run, store, take, until},
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// As a week ago, in microseconds.
const WEEK: &str = "timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)) - 604800000000";

/// Whoever looks at the tables of this URL, and what their names begin with.
async fn tables_of(url: &str) -> (Conn, String) {
    (outside(server()).await, url.split("tables=").nth(1).unwrap().to_owned())
}

/// The floor covers all that is a week old, and has done so for long.
async fn cover(conn: &mut Conn, tables: &str) {
    let cover = format!("update {tables}_meta set floor = {WEEK} + 3600000000, raised = 0");
    run(conn, &cover).await;
}

/// So many rows that nobody has used for a week.
async fn fill(conn: &mut Conn, tables: &str, rows: u32) {
    let fill = format!(
        "insert into {tables}_locks (name, version, last_time, waiting) \
         with recursive few as (select 0 as n union all select n + 1 from few where n < 199) \
         select concat('old ', one.n, '-', two.n), 1, {WEEK}, 0 from few as one, few as two \
         where one.n * 200 + two.n < {rows}"
    );
    run(conn, &fill).await;
}

async fn rows(conn: &mut Conn, tables: &str) -> Vec<String> {
    let rows = format!("select name from {tables}_locks where name <> '' order by name");
    conn.query(rows).await.unwrap()
}

/// Sweeps until there is no more to do; gives what went, and what is to be done then.
async fn swept(store: &MysqlStore, age: Duration) -> (usize, NextSweep) {
    let mut removed = 0;
    loop {
        let swept = store.sweep(age).await.unwrap();
        removed += swept.removed;
        if !matches!(swept.then, NextSweep::More | NextSweep::Met) {
            return (removed, swept.then);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_rise_over_rows_that_were_taken_away() {
    let url = fresh_url();
    let store = store(&url);
    let (mut conn, tables) = tables_of(&url).await;
    let token = take(&store, "gone", owner(1)).await;
    take(&store, "held", owner(1)).await;
    store.release(&name("gone"), &owner(1), Duration::ZERO).await.unwrap();
    // A clock that was ahead.
    let ahead =
        format!("update {tables}_locks set last_time = last_time + 1000 where name = 'gone'");
    run(&mut conn, &ahead).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    let long_ago = format!("update {tables}_meta set raised = 0");
    run(&mut conn, &long_ago).await;
    let age = Duration::from_millis(10);
    assert_eq!(
        swept(&store, age).await,
        (0, NextSweep::Later),
        "not before the floor has covered it"
    );
    let again = swept(&store, age).await;
    assert_eq!(again, (0, NextSweep::Later), "not before the floor has covered it for a while");
    run(&mut conn, &long_ago).await;
    assert_eq!(swept(&store, age).await.0, 1);
    assert_eq!(rows(&mut conn, &tables).await, ["held"]);
    run(&mut conn, &format!("update {tables}_meta set floor = floor + 3600000000")).await;
    let next = take(&store, "gone", owner(2)).await;
    assert!(next.as_i64() > token.as_i64() + 3_600_000_000 * 1024, "behind the floor");
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

#[tokio::test(flavor = "multi_thread")]
async fn no_row_goes_that_somebody_has_waits_for_or_is_about_to_write() {
    let url = fresh_url();
    let store = store(&url);
    let (mut conn, tables) = tables_of(&url).await;
    let one = process(&url);
    let guard = one.mutex("held").lock().await.unwrap();
    let permit = one.semaphore("permits", 2).acquire().await.unwrap();
    let waiter = tokio::spawn({
        let other = process(&url);
        async move { other.mutex("held").lock().wait(DAY).await }
    });
    let waits = format!("select name from {tables}_locks where waiting > 0");
    until("somebody waits", async || {
        conn.query_first::<String, _>(&waits).await.unwrap().is_some()
    })
    .await;
    for text in ["gone", "reserved", "locked", "n\u{f6} \u{1f600}"] {
        take(&store, text, owner(1)).await;
        store.release(&name(text), &owner(1), Duration::ZERO).await.unwrap();
    }
    // Who died: the lease has ended, and nobody has written that.
    let mut short = ask(owner(2), Intent::Try, Duration::from_millis(1));
    store.acquire(&name("died"), &short).await.unwrap();
    (short.kind, short.mode) = (Kind::Semaphore, Mode::Permits { take: 1, of: 2 });
    store.acquire(&name("died together"), &short).await.unwrap();
    run(&mut conn, &format!("update {tables}_locks set last_time = {WEEK} where name <> ''")).await;
    let mut locks = outside(server()).await;
    run(&mut locks, "begin").await;
    run(&mut locks, &format!("select 1 from {tables}_locks where name = 'locked' for update"))
        .await;
    let mut left = Vec::new();
    // Those who hold sweep as well, and may raise the floor meanwhile.
    until("what nobody needs is gone", async || {
        let reserve =
            format!("update {tables}_locks set others = x'{}' where name = 'reserved'", turn());
        run(&mut conn, &reserve).await;
        cover(&mut conn, &tables).await;
        let (removed, _) = swept(&store, DAY).await;
        left = rows(&mut conn, &tables).await;
        removed > 0 || left.len() <= 4
    })
    .await;
    assert_eq!(left, ["held", "locked", "permits", "reserved"]);
    drop((guard, permit));
    drop(waiter.await.unwrap().unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_reads_no_other_rows() {
    let server = MariadbServer::start();
    let store = MysqlStore::open(&server.url()).await.unwrap();
    let mut conn = outside(&server).await;
    fill(&mut conn, "tenure", 20_000).await;
    cover(&mut conn, "tenure").await;
    let mut read = async || -> u64 {
        let read = "show global status like 'Handler_read%'";
        let rows: Vec<(String, u64)> = conn.query(read).await.unwrap();
        rows.into_iter().map(|(_, count)| count).sum()
    };
    let before = read().await;
    for _ in 0..4 {
        assert_eq!(store.sweep(DAY).await.unwrap().removed, 512);
    }
    let looked = read().await - before;
    assert!(looked < 20_000, "{looked} rows were looked at for 2048");
}

/// However many sweep at once, each takes another page.
#[tokio::test(flavor = "multi_thread")]
async fn those_who_sweep_at_once_share_a_round() {
    let url = fresh_url();
    let (mut conn, tables) = tables_of(&url).await;
    let stores: Vec<_> = (0..4).map(|_| store(&url)).collect();
    stores[0].inspect(&name("any")).await.unwrap();
    fill(&mut conn, &tables, 3_000).await;
    cover(&mut conn, &tables).await;
    let sweeping: Vec<_> = stores
        .into_iter()
        .map(|store| tokio::spawn(async move { swept(&store, DAY).await.0 }))
        .collect();
    let mut removed = 0;
    for one in sweeping {
        removed += one.await.unwrap();
    }
    assert_eq!(removed, 3_000);
    assert!(rows(&mut conn, &tables).await.is_empty());
}

/// Processes that live for a few names each keep the table bounded.
#[tokio::test(flavor = "multi_thread")]
async fn short_lives_sweep_as_much_as_they_make() {
    let url = fresh_url();
    let (mut conn, tables) = tables_of(&url).await;
    let mut most = 0;
    for day in 0..12 {
        // Each makes ten names and ends.
        for process in 0..30 {
            let store = store(&url);
            for number in 0..10 {
                let text = format!("{day} {process} {number}");
                take(&store, &text, owner(1)).await;
                store.release(&name(&text), &owner(1), Duration::ZERO).await.unwrap();
            }
        }
        // A day goes by.
        for passes in [
            format!(
                "update {tables}_locks set last_time = last_time - 90000000000 where name <> ''"
            ),
            format!(
                "update {tables}_meta set floor = greatest(floor - 90000000000, 0), raised = 0"
            ),
            format!("update {tables}_locks set token = token - 90000000000 where name = ''"),
        ] {
            run(&mut conn, &passes).await;
        }
        most = most.max(rows(&mut conn, &tables).await.len());
    }
    assert!(most < 2_400, "{most} rows of 3600 names, 300 a day");
}

/// The statements of the page for `cron`.
#[tokio::test(flavor = "multi_thread")]
async fn the_statements_of_the_page_take_away_what_the_floor_covers_alone() {
    let page = include_str!("../../../../docs/stores/mysql.md");
    let (_, behind) = page.split_once("### Unused rows").unwrap();
    let (statements, _) = behind.split_once("```sql").unwrap().1.split_once("```").unwrap();
    let url = fresh_url();
    let store = store(&url);
    let (mut conn, tables) = tables_of(&url).await;
    let statements = statements.replace("tenure_", &format!("{tables}_"));
    take(&store, "held", owner(1)).await;
    take(&store, "young", owner(1)).await;
    store.release(&name("young"), &owner(1), Duration::ZERO).await.unwrap();
    fill(&mut conn, &tables, 100).await;
    let ages = format!("update {tables}_locks set last_time = {WEEK} where name <> 'young'");
    run(&mut conn, &ages).await;
    let long_ago = format!("update {tables}_meta set raised = 0");
    run(&mut conn, &long_ago).await;
    for left in [102, 102] {
        run(&mut conn, &statements).await;
        let seen = rows(&mut conn, &tables).await.len();
        assert_eq!(seen, left, "not before the floor has covered it for a while");
    }
    run(&mut conn, &long_ago).await;
    run(&mut conn, &statements).await;
    assert_eq!(rows(&mut conn, &tables).await, ["held", "young"]);
}
