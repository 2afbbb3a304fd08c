//! A holder that freezes at any step of its transaction, and the next one meanwhile: the fence of docs/fencing.md
//! in the words of these servers.

use std::time::Duration;

use mysql_async::{Conn, prelude::Queryable};
use tenure_core::{
    Owner, Store, Token,
    proto::queue::{Answer, Intent},
};
use tenure_mysql::MysqlStore;
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
        let fence = "(name varbinary(512) primary key, token bigint not null) engine = InnoDB";
        run(&mut conn, &format!("create table {table}_fence {fence}")).await;
        Self { store: store(&fresh_url()), table: table.to_owned() }
    }

    /// The next one to have the lock, once whoever has it has lost it.
    async fn lock(&self, owner: Owner) -> Token {
        let ask = ask(owner, Intent::Try, Duration::from_millis(100));
        let begun = Instant::now();
        loop {
            let answer = self.store.acquire(&name("stock"), &ask).await.unwrap();
            if let Answer::Granted { token, .. } = answer {
                return token;
            }
            assert!(begun.elapsed() < PATIENCE);
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// By itself. A later claim stays.
    async fn claim(&self, conn: &mut Conn, token: Token) {
        let claim = format!(
            "insert into {}_fence (name, token) values ('stock', {token}) \
             on duplicate key update token = greatest(token, values(token))",
            self.table
        );
        run(conn, &claim).await;
    }

    /// The last statement before the commit.
    async fn is_ours(&self, conn: &mut Conn, token: Token) -> bool {
        let look = format!(
            "select 1 from {}_fence where name = 'stock' and token = {token} for update",
            self.table
        );
        conn.query_first::<i64, _>(look).await.unwrap().is_some()
    }

    async fn read(&self, conn: &mut Conn) -> i64 {
        let read = format!("select left_over from {}", self.table);
        conn.query_first(read).await.unwrap().unwrap()
    }

    /// Claims, reads, writes one less and looks whether it may, with a pause at each step. Whether it was committed.
    async fn sell(&self, token: Token, pause: impl AsyncFn(Step)) -> bool {
        let mut conn = outside(server()).await;
        pause(Step::Claim).await;
        self.claim(&mut conn, token).await;
        pause(Step::Begin).await;
        run(&mut conn, "begin").await;
        pause(Step::Read).await;
        let left = self.read(&mut conn).await;
        pause(Step::Write).await;
        run(&mut conn, &format!("update {} set left_over = {}", self.table, left - 1)).await;
        pause(Step::Check).await;
        if !self.is_ours(&mut conn, token).await {
            run(&mut conn, "rollback").await;
            return false;
        }
        pause(Step::Commit).await;
        run(&mut conn, "commit").await;
        true
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
