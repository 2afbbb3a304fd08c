//! Many processes that each have many waiters on one name: how long it takes until all of them have had it.

use std::{
    collections::BTreeMap,
    io::{Write, stdout},
    path::Path,
    time::{Duration, Instant},
};

use clap::Args;
use comfy_table::{Table, presets};
use serde::Serialize;
use tenure::{AcquireError, Tenure};
use tokio::task::JoinSet;

use crate::{
    contestants::runtime,
    failure::Failure,
    process::child::{Player, await_order, now, say},
    process::cpu,
    servers::place::{Place, Store},
};

/// The waiters are spread over so many processes, if there are as many.
const PROCESSES: usize = 20;
/// For how long each holds it.
const HOLD: Duration = Duration::from_millis(1);
/// After so long a waiter gives up.
const PATIENCE: Duration = Duration::from_secs(300);

/// Has many wait for one name at once, and tells how long it takes until all have had it.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// On these stores: all that have a queue unless some are named.
    stores: Vec<Store>,
    /// So many waiters.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 100, 1_000, 2_000])]
    waiters: Vec<usize>,
    /// Only those that are fair, or that are not.
    #[arg(long)]
    fair: Option<bool>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
    /// Where the stores' files are made; a temporary directory if nothing is said.
    #[arg(long)]
    dir: Option<std::path::PathBuf>,
}

/// One that is refused, as so many wait already, asks again after this time.
const PAUSE: Duration = Duration::from_millis(50);

/// What it came to.
#[derive(Debug, Serialize)]
struct Row {
    store: &'static str,
    fair: bool,
    waiters: usize,
    processes: usize,
    /// From the beginning until the last had had it.
    seconds: f64,
    /// Between two grants, or before the first.
    longest_gap_ms: f64,
    clients_cpu_s: f64,
    /// Missing where there is no server, or the system does not tell.
    server_cpu_s: Option<f64>,
    /// How often a waiter was refused, as so many waited already, and asked again.
    refused: usize,
    /// Waiters that ended without it.
    without: usize,
    /// What these were told, and how many of them.
    told: BTreeMap<String, usize>,
}

pub(crate) fn main(arguments: &Arguments) -> Result<(), Failure> {
    let dir = match &arguments.dir {
        Some(parent) => tempfile::tempdir_in(parent)?,
        None => tempfile::tempdir()?,
    };
    let all = Store::ALL.to_vec();
    let stores = if arguments.stores.is_empty() { &all } else { &arguments.stores };
    let mut rows = Vec::new();
    for &store in stores {
        let place = Place::start(store, dir.path())?;
        for fair in [true, false] {
            if arguments.fair.is_some_and(|wanted| wanted != fair) {
                continue;
            }
            for &waiters in &arguments.waiters {
                let row = measure(store, &place, fair, waiters, dir.path())?;
                if !arguments.json {
                    // A run takes long.
                    writeln!(std::io::stderr(), "{row:?}")?;
                }
                rows.push(row);
            }
        }
    }
    let mut out = stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &rows)?;
        writeln!(out)?;
    } else {
        writeln!(out, "{}", table(&rows))?;
    }
    Ok(())
}

fn measure(
    store: Store,
    place: &Place,
    fair: bool,
    waiters: usize,
    dir: &Path,
) -> Result<Row, Failure> {
    let processes = PROCESSES.min(waiters);
    let (url, name) = (place.url(), format!("waiters-{waiters}-{fair}"));
    let mut players = Vec::new();
    for process in 0..processes {
        let count = waiters / processes + usize::from(process < waiters % processes);
        let part = ["wait", &url, &name, &fair.to_string(), &count.to_string()];
        players.push(Player::start(&part, dir)?);
    }
    for player in &mut players {
        player.hear()?;
    }
    let (server, began) = (place.cpu(), now()?);
    for player in &mut players {
        player.go_on()?;
    }
    let (mut grants, mut told, mut used) = (vec![began], BTreeMap::new(), 0.0);
    let (mut refused, mut without) = (0, 0);
    for player in &mut players {
        loop {
            let line = player.hear()?;
            match line.split_once(' ') {
                Some(("granted", told)) => {
                    let (at, times) = told.split_once(' ').ok_or("a child said nonsense")?;
                    grants.push(at.parse()?);
                    refused += times.parse::<usize>()?;
                }
                Some(("without", why)) => {
                    without += 1;
                    *told.entry(message(why)).or_default() += 1;
                }
                Some(("used", micros)) => {
                    used += micros.parse::<f64>()?;
                    break;
                }
                _ => return Err("a child said nonsense".into()),
            }
        }
    }
    let server = (place.cpu() - server) / 1e6;
    grants.sort_unstable();
    let longest = grants.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
    let last = grants.last().copied().unwrap_or(began);
    Ok(Row {
        store: store.name(),
        fair,
        waiters,
        processes,
        seconds: (last - began) as f64 / 1e9,
        longest_gap_ms: longest as f64 / 1e6,
        clients_cpu_s: used / 1e6,
        server_cpu_s: server.is_finite().then_some(server),
        refused,
        without,
        told,
    })
}

/// An error without its lock and store, and without its numbers: one text for all that are told the same.
fn message(error: &str) -> String {
    let text = error.split_once(": ").map_or(error, |(_, text)| text);
    let mut message = String::new();
    for letter in text.chars() {
        if !letter.is_ascii_digit() {
            message.push(letter);
        } else if !message.ends_with('N') {
            message.push('N');
        }
    }
    message
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header([
        "store",
        "fair",
        "waiters",
        "processes",
        "s until all had it",
        "longest gap, ms",
        "CPU of clients, s",
        "of the server, s",
        "refused at first",
        "ended without it",
    ]);
    for row in rows {
        table.add_row([
            row.store.to_owned(),
            if row.fair { "yes" } else { "no" }.to_owned(),
            row.waiters.to_string(),
            row.processes.to_string(),
            format!("{:.2}", row.seconds),
            format!("{:.0}", row.longest_gap_ms),
            format!("{:.2}", row.clients_cpu_s),
            row.server_cpu_s.map_or("-".to_owned(), |used| format!("{used:.2}")),
            format!("{:#}", row.refused),
            row.without.to_string(),
        ]);
    }
    table
}

/// A child: has so many wait for the name, and says when each was granted it.
pub(crate) fn wait(url: &str, name: &str, fair: bool, count: usize) -> Result<(), Failure> {
    let runtime = runtime()?;
    let tenure = runtime.block_on(async {
        let tenure = Tenure::open(url).await?;
        // Connections are there before it begins.
        let first = tenure.mutex(format!("{name}-{}", std::process::id()));
        first.lock().await?.release().await?;
        Ok::<_, Failure>(tenure)
    })?;
    say("ready")?;
    await_order()?;
    let before = cpu::own()?;
    runtime.block_on(async {
        let mut waiters = JoinSet::new();
        for _ in 0..count {
            let mutex = tenure.mutex(name);
            let mutex = if fair { mutex.fair() } else { mutex };
            waiters.spawn(async move {
                let (until, mut refused) = (Instant::now() + PATIENCE, 0);
                let guard = loop {
                    match mutex.lock().wait(PATIENCE).await {
                        Err(AcquireError::Full(_)) if Instant::now() < until => refused += 1,
                        got => break got?,
                    }
                    tokio::time::sleep(PAUSE).await;
                };
                let granted = now()?;
                tokio::time::sleep(HOLD).await;
                guard.check()?;
                guard.release().await?;
                Ok::<_, Failure>((granted, refused))
            });
        }
        while let Some(ended) = waiters.join_next().await {
            match ended? {
                Ok((granted, refused)) => say(format_args!("granted {granted} {refused:#}"))?,
                Err(why) => say(format_args!("without {}", why.to_string().replace('\n', " ")))?,
            }
        }
        Ok::<_, Failure>(())
    })?;
    say(format_args!("used {}", cpu::own()? - before))?;
    // Its connections are counted while it lives.
    await_order().map(|_| ())
}
