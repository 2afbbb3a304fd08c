//! What clients and operators see of the service, on a real database.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../../common/instance.rs"]
mod instance;

use std::{
    process::Command,
    time::{Duration, Instant},
};

use instance::Instance;
use reqwest::{StatusCode, header::CONTENT_TYPE};
use sqlx::PgPool;
use tenure::{
    Tenure,
    observe::{METRICS, Metric, MetricKind},
};
use tenure_servers::PostgresServer;

const PATIENCE: Duration = Duration::from_secs(30);

struct Service(Instance);

impl Service {
    fn start(server: &PostgresServer, bank_takes: Duration) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_web-service"));
        let command = command
            .args([server.url().as_str(), "127.0.0.1:0"])
            .env("BANK_TAKES_MS", bank_takes.as_millis().to_string());
        Self(Instance::start(command))
    }

    async fn pay(&self, order: u32) -> (StatusCode, String) {
        let url = format!("{}/orders/{order}/payment", self.0.address);
        let response = reqwest::Client::new().post(url).send().await.unwrap();
        (response.status(), response.text().await.unwrap())
    }

    async fn get(&self, path: &str) -> StatusCode {
        self.0.get(path).await.0
    }
}

async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !condition().await {
        assert!(began.elapsed() < PATIENCE, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn is_held(tenure: &Tenure, order: u32) -> bool {
    tenure.mutex(format!("order:pay:{order}")).inspect().await.unwrap().is_held()
}

async fn is_paid(server: &PostgresServer, order: i64) -> bool {
    let pool = PgPool::connect(&server.url()).await.unwrap();
    let paid: Option<i64> =
        sqlx::query_scalar("SELECT paid_under FROM web_service_example.orders WHERE id = $1")
            .bind(order)
            .fetch_one(&pool)
            .await
            .unwrap();
    paid.is_some()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_impatient_customer_pays_once_on_two_instances() {
    let server = PostgresServer::start();
    let quick = Duration::from_millis(50);
    let [one, other] = [(); 2].map(|()| Service::start(&server, quick));
    let clicks = [one.pay(42), other.pay(42), one.pay(42), other.pay(42)];
    let [a, b, c, d] = clicks;
    let (a, b, c, d) = tokio::join!(a, b, c, d);
    let mut answers = [a, b, c, d].map(|(status, text)| {
        assert_eq!(status, StatusCode::OK, "{text}");
        text
    });
    answers.sort();
    let before = "order 42: paid before\n";
    assert_eq!(answers, [before, before, before, "order 42: paid now\n"]);
    assert_eq!(one.pay(1_000).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_order_is_a_conflict_and_a_lost_lock_pays_nothing() {
    let server = PostgresServer::start();
    let service = Service::start(&server, PATIENCE);
    let operator = Tenure::open(&server.url()).await.unwrap();
    let guard = operator.mutex("order:pay:7").lock().await.unwrap();
    assert_eq!(service.pay(7).await.0, StatusCode::CONFLICT);
    guard.release().await.unwrap();

    let (answer, ()) = tokio::join!(service.pay(8), async {
        until("it is being paid", async || is_held(&operator, 8).await).await;
        let seen = operator.inspect("order:pay:8").await.unwrap();
        operator.evict_seen("order:pay:8", &seen).await.unwrap();
    });
    assert_eq!(answer.0, StatusCode::SERVICE_UNAVAILABLE);
    assert!(!is_paid(&server, 8).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_database_it_is_alive_and_not_ready() {
    let mut server = PostgresServer::start();
    let service = Service::start(&server, Duration::ZERO);
    assert_eq!(service.get("/health/ready").await, StatusCode::OK);
    server.kill();
    assert_eq!(service.pay(9).await.0, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(service.get("/health/ready").await, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(service.get("/health/live").await, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_ends_it_after_the_payment_under_way() {
    let server = PostgresServer::start();
    let mut service = Service::start(&server, Duration::from_secs(1));
    let operator = Tenure::open(&server.url()).await.unwrap();
    let (answer, ()) = tokio::join!(service.pay(10), async {
        until("it is being paid", async || is_held(&operator, 10).await).await;
        service.0.terminate();
    });
    assert_eq!(answer, (StatusCode::OK, "order 10: paid now\n".to_owned()));
    let ended = tokio::task::spawn_blocking(move || service.0.child.wait().unwrap()).await.unwrap();
    assert!(ended.success(), "{ended}");
    assert!(!is_held(&operator, 10).await, "its lock is free");
}

/// What a scrape has to contain of a metric.
fn expected_in_scrape(metric: &Metric) -> Vec<String> {
    let name = metric.name;
    let labels = "store=\"postgres\",kind=\"mutex\"";
    let is_of_locks = metric.labels.starts_with(&["store", "kind"]);
    match metric.kind {
        MetricKind::Histogram { buckets } if is_of_locks => {
            let bucket = |end| format!("\n{name}_bucket{{{labels},le=\"{end}\"}} ");
            let mut lines: Vec<_> = buckets.iter().map(bucket).collect();
            lines.push(format!("# TYPE {name} histogram\n"));
            lines
        }
        MetricKind::Histogram { .. } => vec![format!("# TYPE {name} histogram\n")],
        // Some have one more label.
        _ if is_of_locks => vec![format!("\n{name}{{{labels}")],
        _ => vec![format!("\n{name}{{")],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_show_each_series_of_its_locks_with_their_buckets() {
    let server = PostgresServer::start();
    let service = Service::start(&server, Duration::ZERO);
    assert_eq!(service.pay(11).await.0, StatusCode::OK);
    let scrape = reqwest::get(format!("{}/metrics", service.0.address)).await.unwrap();
    assert_eq!(scrape.headers()[CONTENT_TYPE], "text/plain; version=0.0.4");
    let text = scrape.text().await.unwrap();
    for line in METRICS.iter().flat_map(expected_in_scrape) {
        assert!(text.contains(&line), "no {line} in {text}");
    }
    // The lock on the tables, and that on the order.
    assert!(
        text.contains("\ntenure_acquired_total{store=\"postgres\",kind=\"mutex\"} 2\n"),
        "{text}"
    );
}
