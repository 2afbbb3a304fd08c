//! Hand-offs on Redis, beside a message from one process to another.

use std::{path::Path, sync::Arc, time::Duration};

use redis::PushKind;
use tenure::Tenure;

use crate::{
    contestants::{URL, runtime},
    embedded::handoff::handoffs,
    failure::Failure,
    figures::Server as _,
    process::child::{Player, now, say},
    report::Figure,
    servers::redis::Server,
};

pub(crate) fn measure(dir: &Path, rounds: usize) -> Result<Vec<Figure>, Failure> {
    let server = Server::start(dir)?;
    std::fs::write(dir.join(URL), server.url())?;
    let mut two = Figure::new(
        "Redis: hand-off between two processes",
        "µs from a release to the other's grant",
        "Two processes take turns, as in the figure for files; the message is PUBLISH in one \
               process, received in another.",
    )
    .goal(Some("at most 2.5 times the message"));
    two.row("a message", messages(&server, rounds)?);
    two.row("tenure, Redis", handoffs("redis", rounds, dir)?);
    let mut figures = vec![two];
    let titles = [
        (16, "Redis: hand-offs with 16 waiters", "Redis: calls per hand-off, 16 waiters"),
        (256, "Redis: hand-offs with 256 waiters", "Redis: calls per hand-off, 256 waiters"),
    ];
    for (waiters, title, calls_title) in titles {
        let run = crowd(&server, waiters, rounds.max(2) * 4)?;
        let mut figure = Figure::new(
            title,
            "µs from a release to the next grant",
            "Fair waiters of two clients, holding the lock for a moment each.",
        )
        .goal(Some("at most 2.5 times the message"));
        figure.row("a message", messages(&server, rounds)?);
        figure.row("tenure, Redis", run.latencies);
        figures.push(figure);
        let mut calls = Figure::new(
            calls_title,
            "calls, µs, or grants",
            "Clients send scripts and nothing else; the server's time in them bounds how \
                   short a hand-off can get. Grants show how even the order is.",
        )
        .goal(Some("at most 3 commands sent by clients"));
        calls.row("scripts sent", vec![run.scripts]);
        calls.row("commands inside of them", vec![run.inside]);
        calls.row("µs the server spends in them", vec![run.micros]);
        calls.row("grants per waiter", run.grants);
        figures.push(calls);
    }
    Ok(figures)
}

struct Crowd {
    latencies: Vec<f64>,
    scripts: f64,
    inside: f64,
    micros: f64,
    grants: Vec<f64>,
}

fn crowd(server: &Server, waiters: usize, rounds: usize) -> Result<Crowd, Failure> {
    let runtime = runtime()?;
    let url = server.url();
    let (holds, calls) = runtime.block_on(async {
        let clients = [Tenure::open(&url).await?, Tenure::open(&url).await?];
        let start = Arc::new(tokio::sync::Barrier::new(waiters + 1));
        let left = Arc::new(std::sync::atomic::AtomicUsize::new(rounds));
        let mut tasks = tokio::task::JoinSet::new();
        for waiter in 0..waiters {
            let mutex = clients[waiter % 2].mutex("crowd");
            let (start, left) = (start.clone(), left.clone());
            tasks.spawn(async move {
                let mut holds = Vec::new();
                drop(mutex.lock().fair().await?);
                start.wait().await;
                let one_less = |left: usize| left.checked_sub(1);
                let relaxed = std::sync::atomic::Ordering::Relaxed;
                while left.fetch_update(relaxed, relaxed, one_less).is_ok() {
                    let guard = mutex.lock().fair().await?;
                    let granted = now()?;
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    let released = now()?;
                    guard.release().await?;
                    holds.push((granted, released));
                }
                Ok::<_, Failure>(holds)
            });
        }
        start.wait().await;
        server.calls()?;
        let mut all = Vec::new();
        while let Some(ended) = tasks.join_next().await {
            all.push(ended??);
        }
        Ok::<_, Failure>((all, server.calls()?))
    })?;
    let grants = holds.iter().map(|holds| holds.len() as f64).collect();
    let mut holds: Vec<_> = holds.into_iter().flatten().collect();
    holds.sort_unstable();
    let latency = |pair: &[(u64, u64)]| pair[1].0.saturating_sub(pair[0].1) as f64 / 1e3;
    let latencies: Vec<_> = holds.windows(2).map(latency).collect();
    let per = |calls: u64| calls as f64 / holds.len().max(1) as f64;
    let (scripts, inside, micros) = (per(calls.scripts), per(calls.inside), per(calls.micros));
    Ok(Crowd { latencies, scripts, inside, micros, grants })
}

pub(crate) fn messages(server: &Server, rounds: usize) -> Result<Vec<f64>, Failure> {
    let mut receiver = Player::start(&["receive", &server.url()], Path::new(""))?;
    receiver.hear()?;
    let runtime = runtime()?;
    let mut connection = runtime.block_on(async {
        let client = redis::Client::open(server.url())?;
        Ok::<_, Failure>(client.get_multiplexed_async_connection().await?)
    })?;
    let mut values = Vec::new();
    for _ in 0..rounds {
        std::thread::sleep(Duration::from_millis(1));
        let sent = now()?;
        let publish = async {
            let mut publish = redis::cmd("PUBLISH");
            publish.arg("bench").arg("x");
            publish.query_async::<u64>(&mut connection).await
        };
        runtime.block_on(publish)?;
        values.push(receiver.hear()?.parse::<u64>()?.saturating_sub(sent) as f64 / 1e3);
    }
    Ok(values)
}

/// A child: says when each message came.
pub(crate) fn receive(url: &str) -> Result<(), Failure> {
    runtime()?.block_on(async {
        let (sender, mut pushed) = tokio::sync::mpsc::unbounded_channel();
        let config = redis::AsyncConnectionConfig::new().set_push_sender(sender);
        let client = redis::Client::open(format!("{url}/?protocol=resp3"))?;
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        connection.subscribe("bench").await?;
        say("ready")?;
        while let Some(push) = pushed.recv().await {
            if push.kind == PushKind::Message {
                say(now()?)?;
            }
        }
        Ok(())
    })
}
