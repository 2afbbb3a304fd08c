//! Looks for those who wait: as long as somebody does, and no longer.

use std::time::Duration;

use mysql_async::{Conn, prelude::Queryable};
use tenure_core::{Store, proto::queue::Intent};
use tenure_servers::MariadbServer;
use tokio::time::sleep;

use crate::support::{LONG, ask, name, outside, owner, store, take, until};

/// How many prepared statements the server was sent since it began.
async fn sent(conn: &mut Conn) -> u64 {
    let found: Option<(String, u64)> =
        conn.query_first("show global status like 'Com_stmt_execute'").await.unwrap();
    found.unwrap().1
}

/// Waits until nothing is sent for so long that a look would have been.
async fn no_more_looks(conn: &mut Conn) {
    let mut conn = tokio::sync::Mutex::new(conn);
    until("nobody looks any more", async || {
        let before = sent(conn.get_mut()).await;
        sleep(Duration::from_millis(400)).await;
        sent(conn.get_mut()).await == before
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_looks_for_a_waiter_whose_place_is_over_or_that_went() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    let one = store(&format!("{}?place_ttl=1s", server.url()));
    let ask_to_wait = ask(owner(2), Intent::Wait { position: None }, LONG);
    let _wakeups = one.wakeups(&name("lock"), &owner(2));
    for gives_up in [true, false] {
        take(&one, "lock", owner(1)).await;
        one.acquire(&name("lock"), &ask_to_wait).await.unwrap();
        let before = sent(&mut conn).await;
        until("it looks", async || sent(&mut conn).await >= before + 3).await;
        if gives_up {
            one.release(&name("lock"), &owner(2), Duration::ZERO).await.unwrap();
        }
        // Else it is gone without a word, and nobody else uses the row.
        no_more_looks(&mut conn).await;
    }
}
