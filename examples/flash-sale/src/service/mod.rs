//! The shop as a service over HTTP.

mod live;
mod order;
mod reply;
mod voucher;

use std::{error::Error, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{DefaultBodyLimit, State},
    http::{StatusCode, header},
    response::{Html, IntoResponse},
    routing::{get, post},
};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tenure::Tenure;
use tokio::{net::TcpListener, sync::Semaphore};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{info, warn};

use crate::{
    database::Database,
    shop::{Drill, Till},
    signals,
    strategy::{self, Means, Name, Strategy},
};

/// Orders that an instance works on at a time; who comes beyond that is told to try again.
const MOST_ORDERS: usize = 4096;

/// The largest body of a request, in bytes.
const LARGEST: usize = 4096;

/// How often the figures for `/metrics` are condensed.
const UPKEEP: Duration = Duration::from_secs(5);

/// How long a shutdown waits for what is under way.
const PATIENCE: Duration = Duration::from_secs(10);

/// What an instance is told.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) listen: SocketAddr,
    pub(crate) database: String,
    pub(crate) strategy: Name,
    pub(crate) means: Means,
    pub(crate) drill: Drill,
}

/// What all requests share.
#[derive(Clone)]
struct Shop {
    database: Arc<Database>,
    till: Till,
    strategy: Arc<dyn Strategy>,
    name: Name,
    /// For looks at who holds and who waits.
    tenure: Option<Tenure>,
    places: Arc<Semaphore>,
    orders: TaskTracker,
    metrics: PrometheusHandle,
}

/// Serves until it is told to end, and then ends what is under way.
pub(crate) async fn serve(settings: Settings) -> Result<(), Box<dyn Error>> {
    let metrics = PrometheusBuilder::new().install_recorder()?;
    let kept = metrics.clone();
    tokio::spawn(async move {
        // Else what nobody scrapes would pile up.
        loop {
            tokio::time::sleep(UPKEEP).await;
            kept.run_upkeep();
        }
    });
    let database = Arc::new(Database::open(&settings.database).await?);
    let till = Till::new(database.clone(), settings.drill);
    let opened = strategy::open(settings.strategy, &till, &settings.means).await?;
    let shop = Shop {
        database,
        till,
        strategy: opened.strategy,
        name: settings.strategy,
        tenure: opened.tenure,
        places: Arc::new(Semaphore::new(MOST_ORDERS)),
        orders: TaskTracker::new(),
        metrics,
    };
    let listener = TcpListener::bind(settings.listen).await?;
    // Before the first request can come: who is told to end at once ends well.
    let ended = signals::end()?;
    announce(listener.local_addr()?, settings.strategy);
    let told = CancellationToken::new();
    let tell = told.clone();
    let served = axum::serve(listener, routes(shop.clone())).with_graceful_shutdown(async move {
        ended.await;
        tell.cancel();
    });
    let too_long = async {
        told.cancelled().await;
        tokio::time::sleep(PATIENCE).await;
    };
    tokio::select! {
        served = served => served?,
        // Somebody has sent half a request, and says no more.
        () = too_long => warn!("some connections were still open"),
    }
    info!("no new requests; ending what is under way");
    shop.orders.close();
    let ended = async {
        shop.orders.wait().await;
        shop.till.close().await;
    };
    let in_time = tokio::time::timeout(PATIENCE, ended).await;
    if let Some(tenure) = shop.tenure {
        tenure.shutdown(PATIENCE).await?;
    }
    in_time.map_err(|_| "some orders were still under way".into())
}

/// What an instance says once it can be asked.
pub(crate) const LISTENING: &str = "listening on";

#[allow(clippy::print_stdout, reason = "whoever started it wants to know where it is")]
fn announce(address: SocketAddr, strategy: Name) {
    println!("{LISTENING} http://{address} strategy {}", strategy.text());
}

fn routes(shop: Shop) -> Router {
    Router::new()
        .route("/", get(page))
        .route("/vouchers", post(voucher::create).get(voucher::latest))
        .route("/vouchers/{id}", get(voucher::show))
        .route("/vouchers/{id}/orders", post(order::place).get(order::list))
        .route("/vouchers/{id}/live", get(live::live))
        .route("/metrics", get(metrics_text))
        .route("/health/live", get(|| async { "ok\n" }))
        .route("/health/ready", get(ready))
        .fallback(reply::no_such_page)
        .method_not_allowed_fallback(reply::no_such_method)
        .layer(DefaultBodyLimit::max(LARGEST))
        .with_state(shop)
}

async fn page() -> impl IntoResponse {
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    ([(header::CONTENT_SECURITY_POLICY, policy)], Html(include_str!("page.html")))
}

async fn metrics_text(State(shop): State<Shop>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], shop.metrics.render())
}

/// Whether the database answers, and the store of the locks.
async fn ready(State(shop): State<Shop>) -> (StatusCode, &'static str) {
    if let Err(error) = shop.database.latest().await {
        warn!(%error, "not ready");
        return (StatusCode::SERVICE_UNAVAILABLE, "the database cannot be used\n");
    }
    if let Some(tenure) = &shop.tenure
        && let Err(error) = tenure.mutex("flash-sale:ready").inspect().await
    {
        warn!(%error, "not ready");
        return (StatusCode::SERVICE_UNAVAILABLE, "the store of the locks cannot be used\n");
    }
    (StatusCode::OK, "ready\n")
}
