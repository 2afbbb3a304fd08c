//! What a lock protects: a count in a table of the same database that nothing else protects.

use tenure_core::{AcquireError, Clock, Guard, SystemClock, Tenure};
use tokio_postgres::Client;

use crate::support::{PATIENCE, session, sql, told};

/// A hold that counted, as the table has it. Times are of the clock that all of this machine share.
#[derive(Debug)]
struct Hold {
    token: i64,
    count: i64,
    began: i64,
    ended: i64,
}

pub(crate) async fn create(url: &str) {
    let tables = "create table counter (count bigint); insert into counter values (0); \
                  create table holds (token bigint primary key, count bigint, began bigint, ended bigint)";
    sql(url, tables).await;
}

/// How many holds have counted.
pub(crate) async fn counted(session: &Client) -> Option<u64> {
    told(session, "select count from counter").await.ok()?.first()?.parse().ok()
}

/// Adds to the count this often, whatever becomes of the server meanwhile.
pub(crate) async fn count(tenure: &Tenure, lock: &str, url: &str, rounds: u32) {
    for _ in 0..rounds {
        loop {
            let guard = match tenure.mutex(lock).lock().wait(PATIENCE * 10).await {
                Ok(guard) => guard,
                // The server is away, or went away in the middle.
                Err(AcquireError::Unreachable { .. } | AcquireError::InDoubt { .. }) => continue,
                Err(error) => panic!("{error:#}"),
            };
            let counted = count_once(&guard, url).await;
            // It may be gone from the server by now.
            let _ = guard.release().await;
            if counted {
                break;
            }
        }
    }
}

/// Whether it was counted. A session that ends in the middle is asked again what became of it.
async fn count_once(guard: &Guard, url: &str) -> bool {
    let (began, token) = (SystemClock.now(), guard.token());
    loop {
        let Ok(session) = session(url).await else {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            continue;
        };
        let found = told(&session, &format!("select 1 from holds where token = {token}")).await;
        match found {
            Ok(found) if !found.is_empty() => return true,
            Ok(_) => {}
            Err(_) => continue,
        }
        let Some(count) = counted(&session).await else { continue };
        let ended = SystemClock.now();
        if guard.check().is_err() {
            return false;
        }
        let written = format!(
            "begin; update counter set count = {next}; insert into holds values ({token}, {next}, {}, {}); commit",
            began.as_nanos(),
            ended.as_nanos(),
            next = count + 1,
        );
        if session.batch_execute(&written).await.is_ok() {
            return true;
        }
    }
}

/// Fails unless each hold counted one more than the one before it, had a greater token, and began after that one
/// last believed that it had the lock.
pub(crate) async fn has_counted(url: &str, expected: u64) {
    let session = session(url).await.unwrap();
    let rows = session
        .query("select token, count, began, ended from holds order by count, token", &[])
        .await
        .unwrap();
    let get = |row: &tokio_postgres::Row, index| row.get::<_, i64>(index);
    let holds: Vec<_> = rows
        .iter()
        .map(|row| Hold {
            token: get(row, 0),
            count: get(row, 1),
            began: get(row, 2),
            ended: get(row, 3),
        })
        .collect();
    assert_eq!(counted(&session).await, Some(expected), "an increment was lost");
    assert_eq!(holds.len() as u64, expected);
    for pair in holds.windows(2) {
        let [one, next] = pair else { continue };
        assert_eq!(next.count, one.count + 1, "{one:?} {next:?}");
        assert!(next.token > one.token, "tokens go back: {one:?} {next:?}");
        assert!(next.began > one.ended, "two believed that they had it: {one:?} {next:?}");
    }
}
