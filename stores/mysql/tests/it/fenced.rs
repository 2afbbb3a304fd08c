//! A holder that freezes at any step of its transaction, and the next one meanwhile.

use std::time::Duration;

use mysql_async::{Error, TxOpts, prelude::Queryable};
use tenure_core::{
    LockName, Owner, Store, Token,
    proto::queue::{Answer, Intent},
};
use tenure_mysql::{Fence, FenceError, MysqlStore};
use tokio::{
    sync::Mutex,
    time::{Instant, sleep, timeout},
};

use crate::{
    places::{fresh_url, server},
    support::{PATIENCE, ask, name, outside, owner, run, store},
};

/// A shop with a table of its own, whose lock's leases nobody renews: as if its holders were frozen.
struct Shop {
    store: MysqlStore,
    table: String,
    fence: Fence,
    lock: LockName,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Claim,
    Begin,
    Read,
    Write,
    Check,
    Commit,
}

impl Shop {
    async fn open(table: &str) -> Self {
        let mut conn = outside(server()).await;
        run(&mut conn, &format!("create table {table} (left_over int) engine = InnoDB")).await;
        run(&mut conn, &format!("insert into {table} values (100)")).await;
        let fence = Fence::new(&format!("{table}_fence")).unwrap();
        run(&mut conn, &fence.table()).await;
        Self { store: store(&fresh_url()), table: table.to_owned(), fence, lock: name("stock") }
    }

    /// The next one to have the lock, once whoever has it has lost it.
    async fn lock(&self, owner: Owner) -> Token {
        let ask = ask(owner, Intent::Try, Duration::from_millis(100));
        let begun = Instant::now();
        loop {
            let answer = self.store.acquire(&self.lock, &ask).await.unwrap();
            if let Answer::Granted { token, .. } = answer {
                return token;
            }
            assert!(begun.elapsed() < PATIENCE);
            sleep(Duration::from_millis(5)).await;
        }
    }

    async fn read(&self, by: &mut impl Queryable) -> i64 {
        by.query_first(format!("select left_over from {}", self.table)).await.unwrap().unwrap()
    }

    /// Whether the server wrote it. MariaDB 11.6.2 and later refuse a row that has changed since it was read.
    async fn write(&self, by: &mut impl Queryable, left: i64) -> bool {
        let write = format!("update {} set left_over = {left}", self.table);
        match by.query_drop(write).await {
            Err(Error::Server(said)) if said.code == 1020 => false,
            written => written.map(|()| true).unwrap(),
        }
    }

    /// Claims, reads, writes one less and looks whether it may, with a pause at each step. Whether it was committed.
    async fn sell(&self, token: Token, pause: impl AsyncFn(Step)) -> bool {
        let mut conn = outside(server()).await;
        pause(Step::Claim).await;
        if stale(self.fence.claim(&mut conn, &self.lock, token).await) {
            return false;
        }
        pause(Step::Begin).await;
        let mut transaction = conn.start_transaction(TxOpts::default()).await.unwrap();
        pause(Step::Read).await;
        let left = self.read(&mut transaction).await;
        pause(Step::Write).await;
        if !self.write(&mut transaction, left - 1).await {
            transaction.rollback().await.unwrap();
            return false;
        }
        pause(Step::Check).await;
        if stale(self.fence.check(&mut transaction, &self.lock, token).await) {
            transaction.rollback().await.unwrap();
            return false;
        }
        pause(Step::Commit).await;
        transaction.commit().await.unwrap();
        true
    }
}

fn stale(outcome: Result<(), FenceError>) -> bool {
    match outcome {
        Ok(()) => false,
        Err(FenceError::Stale { .. }) => true,
        Err(error) => panic!("{error:#}"),
    }
}

#[tokio::test]
async fn a_holder_frozen_at_any_step_commits_nothing_stale_on_these_servers_too() {
    for step in [Step::Claim, Step::Begin, Step::Read, Step::Write, Step::Check, Step::Commit] {
        let shop = Shop::open(&format!("frozen_{}", format!("{step:?}").to_lowercase())).await;
        let late = shop.lock(owner(1)).await;
        // Where the late one has locked a row the next one waits for it, and goes on once it is over.
        let mut next = Box::pin(async {
            let token = shop.lock(owner(2)).await;
            assert!(token > late);
            shop.sell(token, async |_| ()).await
        });
        let mut sold_next = None;
        let sold_late = {
            let next = Mutex::new((&mut next, &mut sold_next));
            let freeze = async |now| {
                if now == step {
                    // For as long as the next one gets on.
                    let (next, sold) = &mut *next.lock().await;
                    if let Ok(done) = timeout(Duration::from_millis(700), next.as_mut()).await {
                        **sold = Some(done);
                    }
                }
            };
            shop.sell(late, freeze).await
        };
        let waited = sold_next.is_none();
        let sold_next = match sold_next {
            Some(sold) => sold,
            None => timeout(PATIENCE, next).await.unwrap(),
        };
        assert!(sold_next, "{step:?}: the rightful holder sells");
        // Only behind the check it is still the late one's turn.
        assert_eq!(sold_late, step == Step::Commit, "{step:?}");
        assert_eq!(waited, matches!(step, Step::Check | Step::Commit), "{step:?}");
        let sold = i64::from(sold_late) + i64::from(sold_next);
        let left = shop.read(&mut outside(server()).await).await;
        assert_eq!(left, 100 - sold, "{step:?}: none is sold twice");
    }
}

#[tokio::test]
async fn a_fence_that_is_looked_at_first_lets_a_stale_write_in() {
    let shop = Shop::open("looked_first").await;
    let (late, mut conn) = (shop.lock(owner(1)).await, outside(server()).await);
    shop.fence.claim(&mut conn, &shop.lock, late).await.unwrap();
    let mut transaction = conn.start_transaction(TxOpts::default()).await.unwrap();
    let look = format!("select 1 from looked_first_fence where token = {late}");
    assert_eq!(transaction.query_first(look).await.unwrap(), Some(1));
    let left = shop.read(&mut transaction).await;
    // It is frozen here, and the next one sells.
    let token = shop.lock(owner(2)).await;
    assert!(shop.sell(token, async |_| ()).await);
    let written = shop.write(&mut transaction, left - 1).await;
    let checks_reads: Option<(String, String)> = transaction
        .query_first(
            "show variables where variable_name = 'innodb_snapshot_isolation' and value = 'ON'",
        )
        .await
        .unwrap();
    assert_eq!(written, checks_reads.is_none());
    transaction.commit().await.unwrap();
    // Without that check two were sold, and one is gone.
    assert_eq!(shop.read(&mut conn).await, 99);
}

#[tokio::test]
async fn a_fence_that_is_raised_first_keeps_the_next_holder_out_for_as_long_as_the_late_one_is_frozen()
 {
    let shop = Shop::open("raised_first").await;
    let (late, mut conn) = (shop.lock(owner(1)).await, outside(server()).await);
    shop.fence.claim(&mut conn, &shop.lock, late).await.unwrap();
    let mut transaction = conn.start_transaction(TxOpts::default()).await.unwrap();
    let raise = format!(
        "update raised_first_fence set token = greatest(token, {late}) where token <= {late}"
    );
    transaction.query_drop(raise).await.unwrap();
    // It is frozen here: the next one has the lock, and cannot begin.
    let (token, mut next) = (shop.lock(owner(2)).await, outside(server()).await);
    run(&mut next, "set innodb_lock_wait_timeout = 1").await;
    let kept_out = shop.fence.claim(&mut next, &shop.lock, token).await;
    let Err(FenceError::Database(Error::Server(said))) = kept_out else { panic!("{kept_out:?}") };
    assert_eq!(said.code, 1205, "{said}");
    // And what the late one does then is accepted.
    assert!(shop.write(&mut transaction, 42).await);
    transaction.commit().await.unwrap();
    assert_eq!(shop.read(&mut conn).await, 42);
}

#[tokio::test]
async fn a_claim_counts_in_a_session_that_commits_nothing_by_itself() {
    let shop = Shop::open("by_hand").await;
    let (first, second) = (shop.lock(owner(1)).await, shop.lock(owner(2)).await);
    let (mut one, mut two) = (outside(server()).await, outside(server()).await);
    for conn in [&mut one, &mut two] {
        run(conn, "set autocommit = 0").await;
        // What it has seen is forgotten by the claim.
        assert_eq!(shop.read(conn).await, 100);
    }
    shop.fence.claim(&mut one, &shop.lock, first).await.unwrap();
    assert!(shop.write(&mut one, 99).await);
    run(&mut one, "commit").await;
    shop.fence.claim(&mut two, &shop.lock, second).await.unwrap();
    assert_eq!(shop.read(&mut two).await, 99);
    let late = shop.fence.claim(&mut one, &shop.lock, first).await;
    let late = format!("{:#}", late.unwrap_err());
    let words =
        format!("a later holder of lock \"stock\" got here before token {first}; roll back");
    assert!(late.starts_with(&words), "{late}");
}

#[tokio::test]
async fn a_fence_tells_names_apart_by_their_bytes() {
    let shop = Shop::open("bytes").await;
    let (token, mut conn) = (shop.lock(owner(1)).await, outside(server()).await);
    let later = shop.lock(owner(2)).await;
    shop.fence.claim(&mut conn, &name("Stock"), later).await.unwrap();
    shop.fence.claim(&mut conn, &shop.lock, token).await.unwrap();
    assert!(
        format!("{:#}", Fence::new("of shop").unwrap_err())
            .contains("\"of shop\" cannot be the table")
    );
}

/// What was written before the claim was checked by nothing.
#[tokio::test]
async fn a_claim_takes_back_what_the_session_had_begun() {
    let shop = Shop::open("begun").await;
    let (token, mut conn) = (shop.lock(owner(1)).await, outside(server()).await);
    run(&mut conn, "set autocommit = 0").await;
    assert!(shop.write(&mut conn, 42).await);
    shop.fence.claim(&mut conn, &shop.lock, token).await.unwrap();
    assert_eq!(shop.read(&mut outside(server()).await).await, 100);
}
