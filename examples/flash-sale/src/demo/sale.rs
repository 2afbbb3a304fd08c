//! One sale under one strategy, from the start of its instances to the count of its orders.

use std::{
    error::Error,
    path::Path,
    time::{Duration, SystemTime},
};

use futures_util::future::{join_all, select_all};
use indicatif::ProgressBar;
use reqwest::Client;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::{
    Settings,
    balancer::{Balancer, Kind},
    crowd::{Crowd, Seen},
    instance::{Instance, Orders, tail},
    report::Row,
    trouble::{Fate, Happened},
};
use crate::{
    database::Database,
    records::{Moment, Tally, Voucher},
    strategy::Name,
};

/// How long before the opening the instances are there.
const AHEAD: Duration = Duration::from_millis(300);

/// How long a sale may take. A lock that is never released ends it.
const LONGEST: Duration = Duration::from_secs(120);

/// How long what is under way at the end may take, such as a write that comes late.
const SETTLING: Duration = Duration::from_millis(300);

/// Sells, and counts.
pub(super) async fn sell(
    name: Name,
    settings: &Settings,
    balancer: Kind,
    bar: &ProgressBar,
) -> Result<Row, Box<dyn Error>> {
    let folder = tempfile::Builder::new().prefix("flash-sale-").tempdir()?;
    let database = settings
        .database
        .clone()
        .unwrap_or_else(|| format!("sqlite:{}", folder.path().join("shop.db").display()));
    let orders = orders(name, settings, folder.path(), &database);
    let fates: Vec<_> = (0..settings.instances)
        .map(|number| Fate::of(number, settings.calm, settings.ttl))
        .collect();
    let mut instances = Vec::new();
    for fate in &fates {
        let words = fate.words(settings.ttl);
        instances.push(Instance::start(&orders, None, &words).await?);
    }
    let addresses: Vec<_> = instances.iter().map(|instance| instance.address).collect();
    let balancer = Balancer::start(balancer, folder.path(), &addresses).await?;
    let begin = Moment::now().after(AHEAD);
    let shop = format!("http://{}/vouchers", balancer.address);
    let voucher = announce(&shop, settings.size.stock, begin).await?;

    let crowd = Crowd::new(balancer.address, voucher, bar)?;
    sleep(begin.since(Moment::now())).await;
    let mut happened = vec![Happened::default(); instances.len()];
    let troubles: Vec<_> = instances
        .iter_mut()
        .zip(&mut happened)
        .zip(&fates)
        .map(|((instance, happened), fate)| Box::pin(fate.befall(instance, &orders, happened)))
        .collect();
    let seen = tokio::select! {
        seen = timeout(LONGEST, crowd.come(settings.size)) => seen.ok(),
        (failed, ..) = select_all(troubles) => {
            let Err(error) = failed;
            return Err(error);
        }
    };
    sleep(SETTLING).await;
    if let Some((seen, what)) =
        seen.as_ref().and_then(|seen| Some((seen, seen.first_wrong.as_ref()?)))
        && seen.wrong > 0
    {
        let log = tail(&orders.log);
        return Err(format!("{} answers were wrong, the first: {what}\n{log}", seen.wrong).into());
    }
    let database = Database::open(&database).await?;
    let sold = database.voucher(voucher).await?.ok_or("the voucher is gone")?;
    let tally = database.tally(voucher).await?;
    let lost = match &seen {
        Some(seen) => lost(&database, voucher, seen).await?,
        None => 0,
    };
    let after = |moment: Option<Moment>| {
        let database = &database;
        async move {
            let Some(moment) = moment else { return Ok(None) };
            let first = database.first_after(voucher, moment).await?;
            Ok::<_, Box<dyn Error>>(first.map(|first| first.since(moment)))
        }
    };
    let killed = after(happened.iter().find_map(|happened| happened.killed)).await?;
    let frozen = after(happened.iter().find_map(|happened| happened.frozen)).await?;
    // The locks are released before their store is, and the database is closed.
    join_all(instances.iter_mut().map(Instance::kill)).await;
    Ok(row(name, &Counted { sold, tally, lost, begin, killed, frozen }, seen.as_ref()))
}

/// What was found out of a sale.
struct Counted {
    sold: Voucher,
    tally: Tally,
    lost: usize,
    begin: Moment,
    killed: Option<Duration>,
    frozen: Option<Duration>,
}

fn row(name: Name, counted: &Counted, seen: Option<&Seen>) -> Row {
    let Counted { sold, tally, lost, begin, killed, frozen } = counted;
    let length = tally.last.since(*begin).as_secs_f64();
    let at = |quantile| {
        seen.map(|seen| {
            Duration::from_micros(seen.answers.value_at_quantile(quantile)).as_secs_f64() * 1000.0
        })
    };
    let orders = u32::try_from(tally.orders).unwrap_or(u32::MAX);
    Row {
        strategy: name.text(),
        holds: name.holds().iter().map(|&lock| lock.to_owned()).collect(),
        is_safe: name.is_safe(),
        orders: tally.orders,
        stock: sold.terms.stock,
        oversold: tally.oversold(sold.terms.stock),
        duplicates: tally.duplicates(),
        lost: *lost,
        refused: sold.refused,
        per_second: if length > 0.0 { f64::from(orders) / length } else { 0.0 },
        p50_ms: at(0.5),
        p99_ms: at(0.99),
        gave_up: seen.map(|seen| seen.gave_up),
        after_kill_ms: killed.map(millis),
        after_freeze_ms: frozen.map(millis),
    }
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

/// How many were told that they have an order, and have none.
async fn lost(database: &Database, voucher: i64, seen: &Seen) -> Result<usize, Box<dyn Error>> {
    let have = database.customers(voucher, 0, i64::from(i32::MAX)).await?;
    Ok(seen.told.difference(&have).count())
}

/// Puts a voucher on sale; gives its number.
async fn announce(shop: &str, stock: i64, begin: Moment) -> Result<i64, Box<dyn Error>> {
    let time = |moment| humantime::format_rfc3339_millis(SystemTime::from(moment)).to_string();
    let end = begin.after(Duration::from_secs(3600));
    let body = json!({ "stock": stock, "begin": time(begin), "end": time(end) });
    let client = Client::builder().no_proxy().build()?;
    let answer: Value = client.post(shop).json(&body).send().await?.json().await?;
    answer["voucher"].as_i64().ok_or_else(|| format!("no voucher: {answer}").into())
}

/// What all instances are told.
fn orders(name: Name, settings: &Settings, folder: &Path, database: &str) -> Orders {
    let store = settings.store.clone();
    let store = store.unwrap_or_else(|| format!("file:{}", folder.join("locks").display()));
    let ttl = humantime::format_duration(settings.ttl).to_string();
    let words = ["--strategy", &name.text(), "--ttl", &ttl].map(str::to_owned).into();
    let mut variables =
        vec![("FLASH_SALE_DATABASE", database.to_owned()), ("FLASH_SALE_STORE", store)];
    variables.extend(settings.redis.clone().map(|redis| ("FLASH_SALE_REDIS", redis)));
    Orders { words, variables, log: folder.join("instances.log") }
}
