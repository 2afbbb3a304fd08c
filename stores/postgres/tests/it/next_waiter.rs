//! Whoever is next stands in columns, so that a hand-off takes one statement to let go and one to claim.

use std::time::Duration;

use tenure_core::{
    Store, Token,
    proto::queue::{Answer, Ask, Intent, Position, Released},
};
use tenure_postgres::PostgresStore;
use tenure_servers::PostgresServer;

use crate::support::{fresh_database, name, sql, store, tries, until};

const LOCK: &str = "lock";

fn waits(owner: u8, position: Option<Position>) -> Ask {
    Ask { intent: Intent::Wait { position }, ..tries(owner) }
}

async fn asked(store: &PostgresStore, ask: &Ask) -> Answer {
    store.acquire(&name(LOCK), ask).await.unwrap()
}

async fn granted(store: &PostgresStore, ask: &Ask) -> (Token, bool) {
    match asked(store, ask).await {
        Answer::Granted { token, others_waiting, .. } => (token, others_waiting),
        busy @ Answer::Busy { .. } => panic!("{busy:?}"),
    }
}

async fn queued(store: &PostgresStore, owner: u8) -> Ask {
    match asked(store, &waits(owner, None)).await {
        Answer::Busy { position, .. } => waits(owner, position),
        granted @ Answer::Granted { .. } => panic!("{granted:?}"),
    }
}

async fn let_go(store: &PostgresStore, ask: &Ask) {
    let released = store.release(&name(LOCK), &ask.owner, Duration::ZERO).await;
    assert_eq!(released.unwrap(), Released::Released);
}

/// What the row says of who is next: the owner, whether nobody else stands in line, whether the name is offered.
async fn next(url: &str) -> String {
    let row = "select concat_ws(' ', left(encode(next_owner, 'hex'), 2), next_is_last, next_until is not null, \
               others is not null) from tenure.locks";
    sql(url, row).await.remove(0)
}

async fn others(url: &str) -> String {
    sql(url, "select md5(others) from tenure.locks").await.remove(0)
}

/// Two that take turns see nobody else wait when they get the name, and yet the other one will.
#[tokio::test]
async fn a_turn_of_two_takes_two_statements_to_wait_one_to_let_go_and_one_to_claim() {
    let server = PostgresServer::with(&["shared_preload_libraries=pg_stat_statements"]);
    let url = server.url();
    sql(&url, "create extension pg_stat_statements").await;
    let (one, other) = (store(&url), store(&url));
    let (mut holder, mut waiter) = ((&one, tries(1)), (&other, 2));
    granted(holder.0, &holder.1).await;
    let mut turn = async |count: u32| {
        for _ in 0..count {
            let next = queued(waiter.0, waiter.1).await;
            let_go(holder.0, &holder.1).await;
            granted(waiter.0, &next).await;
            (holder, waiter) = ((waiter.0, next), (holder.0, 3 - waiter.1));
        }
    };
    let ran = async || {
        let ran =
            "select sum(calls) from pg_stat_statements where query like '%.locks%' and calls > 0";
        sql(&url, ran).await.remove(0).parse::<u32>().unwrap()
    };
    turn(3).await;
    let before = ran().await;
    turn(10).await;
    assert_eq!(ran().await - before, 40);
}

#[tokio::test]
async fn the_last_in_line_is_handed_the_name_by_columns_alone_and_leaves_nobody_behind() {
    let url = fresh_database().await;
    let store = store(&url);
    let first = tries(1);
    let (before, _) = granted(&store, &first).await;
    let second = queued(&store, 2).await;
    assert_eq!(next(&url).await, "02 t f t");
    let bytes = others(&url).await;
    let_go(&store, &first).await;
    assert_eq!(next(&url).await, "02 t t t");
    assert_eq!(others(&url).await, bytes, "the others were written anew");
    assert!(matches!(asked(&store, &tries(3)).await, Answer::Busy { .. }), "it was overtaken");
    let (token, others_waiting) = granted(&store, &second).await;
    assert!(token > before && !others_waiting);
    assert_eq!(next(&url).await, "f f");
    // Asked once more, it has what it got.
    assert_eq!(granted(&store, &second).await.0, token);
    let_go(&store, &second).await;
    assert!(granted(&store, &tries(4)).await.0 > token);
}

#[tokio::test]
async fn whoever_claimed_does_not_stand_in_line_any_more_and_the_others_keep_their_order() {
    let url = fresh_database().await;
    let store = store(&url);
    let first = tries(1);
    granted(&store, &first).await;
    let second = queued(&store, 2).await;
    let third = queued(&store, 3).await;
    assert_eq!(next(&url).await, "02 f f t");
    let_go(&store, &first).await;
    assert!(matches!(asked(&store, &third).await, Answer::Busy { .. }), "it was overtaken");
    assert!(granted(&store, &second).await.1, "somebody waits");
    let seen = store.inspect(&name(LOCK)).await.unwrap();
    assert_eq!((seen.holders.len(), seen.waiters.len()), (1, 1));
    // Who came behind meanwhile is behind.
    let fourth = queued(&store, 4).await;
    assert_eq!(next(&url).await, "03 f f t");
    let_go(&store, &second).await;
    assert!(matches!(asked(&store, &fourth).await, Answer::Busy { .. }), "it was overtaken");
    assert!(granted(&store, &third).await.1);
    let_go(&store, &third).await;
    assert!(!granted(&store, &fourth).await.1);
}

#[tokio::test]
async fn an_offer_by_columns_ends_like_any_other() {
    let url = format!("{}?claim_window=60ms", fresh_database().await);
    let store = store(&url);
    let first = tries(1);
    granted(&store, &first).await;
    queued(&store, 2).await;
    let third = queued(&store, 3).await;
    let_go(&store, &first).await;
    until("the third is let in", async || {
        matches!(asked(&store, &third).await, Answer::Granted { .. })
    })
    .await;
}

#[tokio::test]
async fn who_is_offered_the_name_and_leaves_lets_the_next_one_in() {
    let url = fresh_database().await;
    let store = store(&url);
    let first = tries(1);
    granted(&store, &first).await;
    let second = queued(&store, 2).await;
    let third = queued(&store, 3).await;
    let_go(&store, &first).await;
    let_go(&store, &second).await;
    assert_eq!(next(&url).await, "03 t t t");
    granted(&store, &third).await;
}

#[tokio::test]
async fn a_claim_of_another_owner_is_none() {
    let url = fresh_database().await;
    let store = store(&url);
    let first = tries(1);
    granted(&store, &first).await;
    let second = queued(&store, 2).await;
    // It says that it waited, and never did.
    let stranger = waits(9, Some(Position(7)));
    assert!(matches!(asked(&store, &stranger).await, Answer::Busy { .. }));
    let_go(&store, &first).await;
    assert!(matches!(asked(&store, &stranger).await, Answer::Busy { .. }));
    granted(&store, &second).await;
}
