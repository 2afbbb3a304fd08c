//! The crowd: customers who click several times at once, and again when the shop is busy.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use futures_util::{StreamExt, future::join_all, stream};
use hdrhistogram::Histogram;
use indicatif::ProgressBar;
use reqwest::{Client, StatusCode};
use serde_json::json;
use tokio::time::sleep;

use super::size::Size;

/// How long a customer waits for an answer.
const PATIENCE: Duration = Duration::from_secs(6);

/// How often a click is repeated when the shop is busy or does not answer.
const TRIES: u32 = 40;

/// What the crowd saw.
#[derive(Debug)]
pub(super) struct Seen {
    /// Who was told to have an order.
    pub(super) told: BTreeSet<i64>,
    /// How long answers took, in microseconds.
    pub(super) answers: Histogram<u64>,
    /// Clicks that nobody ever answered well.
    pub(super) gave_up: u64,
    /// Answers that no shop should give, and the first of them.
    pub(super) wrong: u64,
    pub(super) first_wrong: Option<String>,
}

pub(super) struct Crowd<'a> {
    shop: String,
    client: Client,
    seen: Mutex<Seen>,
    bar: &'a ProgressBar,
}

/// What came of one attempt.
enum Answer {
    Ordered,
    Refused,
    /// Try again.
    Busy,
    Wrong(String),
}

impl<'a> Crowd<'a> {
    pub(super) fn new(
        balancer: SocketAddr,
        voucher: i64,
        bar: &'a ProgressBar,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let client = Client::builder().no_proxy().timeout(PATIENCE).build()?;
        let seen = Seen {
            told: BTreeSet::new(),
            answers: Histogram::new(3)?,
            gave_up: 0,
            wrong: 0,
            first_wrong: None,
        };
        let shop = format!("http://{balancer}/vouchers/{voucher}/orders");
        Ok(Self { shop, client, seen: Mutex::new(seen), bar })
    }

    /// Everybody comes, so many at a time, and clicks until there is an answer.
    pub(super) async fn come(self, size: Size) -> Seen {
        let this = &self;
        stream::iter(1..=size.customers)
            .for_each_concurrent(size.at_once, |customer| {
                let clicks = (0..size.clicks_each).map(move |_| this.click(customer));
                async {
                    join_all(clicks).await;
                }
            })
            .await;
        self.seen.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    async fn click(&self, customer: i64) {
        for _ in 0..TRIES {
            let since = Instant::now();
            let answer = self.ask(customer).await;
            let took = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
            let over = self.note(customer, answer, took);
            if over {
                self.bar.inc(1);
                return;
            }
            let more = getrandom::u64().map_or(0, |more| more % 100);
            sleep(Duration::from_millis(50 + more)).await;
        }
        self.bar.inc(1);
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).gave_up += 1;
    }

    /// Whether this was the last word.
    fn note(&self, customer: i64, answer: Answer, took: u64) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = seen.answers.record(took);
        match answer {
            Answer::Ordered => {
                seen.told.insert(customer);
                if seen.told.len().is_multiple_of(10) {
                    self.bar.set_message(format!("{} customers have one", seen.told.len()));
                }
                true
            }
            Answer::Refused => true,
            Answer::Busy => false,
            Answer::Wrong(what) => {
                seen.wrong += 1;
                seen.first_wrong.get_or_insert(what);
                true
            }
        }
    }

    async fn ask(&self, customer: i64) -> Answer {
        let sent = self.client.post(&self.shop).json(&json!({ "user": customer })).send().await;
        // The body is read, or the connection could not be used again.
        let (status, body) = match sent {
            Ok(answer) => (answer.status(), answer.text().await.unwrap_or_default()),
            Err(_) => return Answer::Busy,
        };
        match status {
            StatusCode::CREATED | StatusCode::CONFLICT => Answer::Ordered,
            StatusCode::GONE => Answer::Refused,
            // It has not begun, or nobody can tell just now.
            StatusCode::FORBIDDEN
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::BAD_GATEWAY
            | StatusCode::GATEWAY_TIMEOUT => Answer::Busy,
            _ => Answer::Wrong(format!("{status}: {body}")),
        }
    }
}
