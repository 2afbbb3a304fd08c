//! What was asked for is under way, and whoever asked is gone by the time that it is done.

use mysql_async::prelude::Queryable;
use tenure_testkit::server::MariadbServer;

use crate::support::{LONG, PATIENCE, hold, outside, process, run, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_waits_for_what_was_asked_for_and_given_up_however_long_it_takes() {
    let server = MariadbServer::start();
    let url = server.url();
    hold(&process(&url), "lock").await.release().await.unwrap();
    let mut looks = outside(&server).await;
    let slow = "create trigger slow before update on tenure_locks for each row \
                if new.owner is not null then do sleep(3); end if";
    run(&mut looks, slow).await;
    let under_way =
        "select count(*) from information_schema.processlist where state = 'User sleep'";
    let mut is_under_way = async || looks.query_first::<i64, _>(under_way).await.unwrap() > Some(0);
    let leaves = process(&format!("{url}?response_timeout=40s"));
    let asks = leaves.mutex("lock").ttl(LONG);
    let asked = tokio::spawn(async move { asks.lock().await.map(drop) });
    until("it is under way", &mut is_under_way).await;
    asked.abort();
    leaves.shutdown(PATIENCE).await.unwrap();
    assert!(!is_under_way().await, "it is under way still");
    let held = "select count(*) from tenure_locks where owner is not null";
    let held = looks.query_first::<i64, _>(held).await.unwrap();
    assert_eq!(held, Some(0), "nobody is there who holds it");
}

#[tokio::test(flavor = "multi_thread")]
async fn xtimed_out() {
    let server = MariadbServer::start();
    let url = server.url();
    hold(&process(&url), "lock").await.release().await.unwrap();
    let mut looks = outside(&server).await;
    let slow = "create trigger slow before update on tenure_locks for each row \
                if new.owner is not null then do sleep(3); end if";
    run(&mut looks, slow).await;
    let under_way =
        "select count(*) from information_schema.processlist where state = 'User sleep'";
    let mut is_under_way = async || looks.query_first::<i64, _>(under_way).await.unwrap() > Some(0);
    let leaves = process(&format!("{url}?response_timeout=1s"));
    let asks = leaves.mutex("lock").ttl(LONG);
    let asked = tokio::spawn(async move { asks.try_lock().await.map(drop) });
    until("it is under way", &mut is_under_way).await;
    eprintln!("{:?}", asked.await.unwrap());
    eprintln!("{:?}", leaves.shutdown(PATIENCE).await);
    eprintln!("under way {}", is_under_way().await);
    let held = "select count(*) from tenure_locks where owner is not null";
    for _ in 0..40 {
        let h = looks.query_first::<i64, _>(held).await.unwrap();
        eprint!("{h:?} ");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}
