//! A holder that freezes at any step of its transaction, and the next one meanwhile.

use std::time::Duration;

use tenure_core::{
    LockName, Owner, Store, Token,
    proto::queue::{Answer, Ask, Intent, Kind, Mode, Order},
};
use tenure_postgres::{Fence, FenceError, PostgresStore};
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::{Client, NoTls, error::SqlState};

use crate::support::quiet_server;

const PATIENCE: Duration = Duration::from_secs(30);

/// A shop with a table of its own, whose lock's leases nobody renews: as if its holders were frozen.
struct Shop {
    store: PostgresStore,
    url: String,
    table: String,
    fence: Fence,
    lock: LockName,
}

impl Shop {
    async fn open(table: &str) -> Self {
        let url = quiet_server().url();
        let store = PostgresStore::open(&format!("{url}?lock_schema={table}_locks")).await.unwrap();
        let fence = Fence::new("public", &format!("{table}_fence")).unwrap();
        let (table, lock) = (format!("public.{table}"), LockName::new("stock").unwrap());
        let shop = Self { store, url, table, fence, lock };
        let client = shop.client().await;
        let counter =
            format!("create table {0} (left_over int); insert into {0} values (100);", shop.table);
        client.batch_execute(&format!("{} {counter}", shop.fence.table())).await.unwrap();
        shop
    }

    async fn client(&self) -> Client {
        let (client, connection) = tokio_postgres::connect(&self.url, NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    /// The next one to have the lock, once whoever has it has lost it.
    async fn lock(&self, owner: u8) -> Token {
        let ask = Ask {
            owner: Owner::from_bytes([owner; 16]),
            kind: Kind::Mutex,
            mode: Mode::Exclusive,
            order: Order::Fifo,
            intent: Intent::Try,
            ttl: Duration::from_millis(100),
            label: "".into(),
        };
        let begun = Instant::now();
        loop {
            if let Answer::Granted { token, .. } =
                self.store.acquire(&self.lock, &ask).await.unwrap()
            {
                return token;
            }
            assert!(begun.elapsed() < PATIENCE);
            sleep(Duration::from_millis(5)).await;
        }
    }

    async fn read(&self, client: &(impl tokio_postgres::GenericClient + Sync)) -> i32 {
        let read = format!("select left_over from {}", self.table);
        client.query_one(&read, &[]).await.unwrap().get(0)
    }

    async fn write(&self, client: &(impl tokio_postgres::GenericClient + Sync), left: i32) {
        let write = format!("update {} set left_over = $1", self.table);
        client.execute(&write, &[&left]).await.unwrap();
    }

    /// Claims, reads, writes one less and looks whether it may, with a pause at each step. Whether it was committed.
    async fn sell(&self, token: Token, pause: impl AsyncFn(Step)) -> bool {
        let mut client = self.client().await;
        pause(Step::Claim).await;
        if stale(self.fence.claim(&client, &self.lock, token).await) {
            return false;
        }
        pause(Step::Begin).await;
        let transaction = client.transaction().await.unwrap();
        pause(Step::Read).await;
        let left = self.read(&transaction).await;
        pause(Step::Write).await;
        self.write(&transaction, left - 1).await;
        pause(Step::Check).await;
        if stale(self.fence.check(&transaction, &self.lock, token).await) {
            transaction.rollback().await.unwrap();
            return false;
        }
        pause(Step::Commit).await;
        transaction.commit().await.unwrap();
        true
    }
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

fn stale(outcome: Result<(), FenceError>) -> bool {
    match outcome {
        Ok(()) => false,
        Err(FenceError::Stale { .. }) => true,
        Err(error) => panic!("{error:#}"),
    }
}

#[tokio::test]
async fn a_holder_frozen_at_any_step_of_its_transaction_commits_nothing_stale() {
    for step in [Step::Claim, Step::Begin, Step::Read, Step::Write, Step::Check, Step::Commit] {
        let shop = Shop::open(&format!("frozen_{}", format!("{step:?}").to_lowercase())).await;
        let late = shop.lock(1).await;
        // Where the late one has locked a row the next one waits for it, and goes on once it is over.
        let next = async {
            let token = shop.lock(2).await;
            assert!(token > late);
            shop.sell(token, async |_| ()).await
        };
        let mut next = Box::pin(next);
        let mut sold_next = None;
        let sold_late = {
            let next = tokio::sync::Mutex::new((&mut next, &mut sold_next));
            shop.sell(late, async |now| {
                if now == step {
                    // Frozen for as long as the next one gets on.
                    let (next, sold) = &mut *next.lock().await;
                    if let Ok(done) = timeout(Duration::from_millis(700), next.as_mut()).await {
                        **sold = Some(done);
                    }
                }
            })
            .await
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
        let sold = i32::from(sold_late) + i32::from(sold_next);
        assert_eq!(
            shop.read(&shop.client().await).await,
            100 - sold,
            "{step:?}: none is sold twice"
        );
    }
}

#[tokio::test]
async fn a_fence_that_is_looked_at_first_lets_a_stale_write_in() {
    let shop = Shop::open("looked_first").await;
    let (late, mut client) = (shop.lock(1).await, shop.client().await);
    shop.fence.claim(&client, &shop.lock, late).await.unwrap();
    let transaction = client.transaction().await.unwrap();
    let look = "select 1 from public.looked_first_fence where token = $1";
    assert_eq!(transaction.execute(look, &[&late.as_i64()]).await.unwrap(), 1);
    let left = shop.read(&transaction).await;
    // It is frozen here, and the next one sells.
    let token = shop.lock(2).await;
    assert!(shop.sell(token, async |_| ()).await);
    shop.write(&transaction, left - 1).await;
    transaction.commit().await.unwrap();
    assert_eq!(shop.read(&client).await, 99, "two were sold, and one is gone");
}

#[tokio::test]
async fn a_fence_that_is_raised_first_keeps_the_next_holder_out_for_as_long_as_the_late_one_is_frozen()
 {
    let shop = Shop::open("raised_first").await;
    let (late, mut client) = (shop.lock(1).await, shop.client().await);
    shop.fence.claim(&client, &shop.lock, late).await.unwrap();
    let transaction = client.transaction().await.unwrap();
    let raise = "update public.raised_first_fence set token = $1 where token <= $1";
    assert_eq!(transaction.execute(raise, &[&late.as_i64()]).await.unwrap(), 1);
    // It is frozen here: the next one has the lock, and cannot begin.
    let (token, next) = (shop.lock(2).await, shop.client().await);
    next.batch_execute("set lock_timeout = '300ms'").await.unwrap();
    let kept_out = shop.fence.claim(&next, &shop.lock, token).await;
    let Err(FenceError::Database(error)) = kept_out else { panic!("{kept_out:?}") };
    assert_eq!(error.code(), Some(&SqlState::LOCK_NOT_AVAILABLE));
    // And what the late one does then is accepted.
    shop.write(&transaction, 42).await;
    transaction.commit().await.unwrap();
    assert_eq!(shop.read(&client).await, 42);
}
