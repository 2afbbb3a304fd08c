//! Connections that are cut in the middle of anything.

use std::{sync::Arc, time::Duration};

use mysql_async::{Conn, Row, prelude::Queryable};
use tenure_servers::MariadbServer;
use tokio::{task::JoinSet, time::Instant};

use crate::support::{hold, outside, process, run};

const TASKS: u32 = 6;
const EACH: u32 = 25;

/// Ends all sessions of the locks, as a proxy or an operator may.
async fn kill_all(conn: &mut Conn) -> usize {
    let all: Vec<Row> = conn.query("show processlist").await.unwrap();
    let ours: Vec<u64> = all
        .iter()
        .filter(|row| row.get::<String, _>(1).unwrap() == "locks")
        .map(|row| row.get(0).unwrap())
        .collect();
    let mut killed = 0;
    for id in ours {
        killed += usize::from(conn.query_drop(format!("kill {id}")).await.is_ok());
    }
    killed
}

#[tokio::test(flavor = "multi_thread")]
async fn no_increment_is_lost_while_connections_are_killed() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    run(&mut conn, "create user locks identified by 'secret'").await;
    run(&mut conn, "grant all on tenure.* to locks").await;
    run(&mut conn, "create table counted (n int)").await;
    run(&mut conn, "insert into counted values (0)").await;
    let url = server.url().replace("root@", "locks:secret@") + "?get_server_public_key=yes";
    let processes = [process(&url), process(&url)];
    let mut tasks = JoinSet::new();
    for number in 0..TASKS {
        let (process, mut conn) = (processes[number as usize % 2].clone(), outside(&server).await);
        tasks.spawn(async move {
            for _ in 0..EACH {
                let guard = hold(&process, "counted").await;
                let n: i32 = conn.query_first("select n from counted").await.unwrap().unwrap();
                tokio::time::sleep(Duration::from_millis(2)).await;
                assert!(guard.check().is_ok(), "no lease ends here");
                run(&mut conn, &format!("update counted set n = {}", n + 1)).await;
                let _ = guard.release().await;
            }
        });
    }
    let began = Instant::now();
    let mut killed = 0;
    while !tasks.is_empty() {
        killed += kill_all(&mut conn).await;
        let pause = tokio::time::sleep(Duration::from_millis(40));
        tokio::select! {
            Some(ended) = tasks.join_next() => ended.unwrap(),
            () = pause => {}
        }
    }
    eprintln!("{killed} connections killed in {:?}", began.elapsed());
    assert!(killed > 10, "{killed}");
    let n: u32 = conn.query_first("select n from counted").await.unwrap().unwrap();
    assert_eq!(n, TASKS * EACH);
    drop(Arc::new(processes));
}
