//! A payment service with axum and sqlx that takes each payment once, on as many hosts as you like.
//!
//! `docs/tutorials/web-service.md` walks through it. Run it with the URL of a PostgreSQL database:
//! `cargo run -p web-service -- postgres://user@host/db 127.0.0.1:8080`.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "an example shows what happens")]

mod metrics;
mod payment;

use std::time::Duration;

use axum::{
    Router,
    extract::{Path, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use sqlx::{PgPool, postgres::PgPoolOptions};
use tenure::Tenure;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};

use crate::payment::PaymentError;

/// How long a request waits for a connection to the database. The default, 30 s, is longer than most probes wait.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a shutdown waits for locks to be released.
const GRACE: Duration = Duration::from_secs(10);

#[derive(Clone)]
struct Service {
    tenure: Tenure,
    pool: PgPool,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().ok_or("usage: web-service DATABASE-URL [ADDRESS]")?;
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned());

    // Before the store is opened, so that each metric is there from the start.
    let metrics = metrics::routes()?;

    // Locks and orders are in one database here. The locks may be in any other store.
    let pool = PgPoolOptions::new().acquire_timeout(DATABASE_TIMEOUT).connect(&url).await?;
    let service = Service { tenure: Tenure::open(&url).await?, pool };
    payment::create_tables(&service.tenure, &service.pool).await?;

    let routes = Router::new()
        .route("/orders/{order}/payment", post(pay))
        .route("/health/live", get(|| async { "alive" }))
        .route("/health/ready", get(ready))
        .with_state(service.clone())
        .merge(metrics);

    let mut terminate = signal(SignalKind::terminate())?;
    let listener = TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    // Requests under way are answered, and release their locks.
    let stop = async move {
        terminate.recv().await;
    };
    axum::serve(listener, routes).with_graceful_shutdown(stop).await?;
    service.tenure.shutdown(GRACE).await?;
    Ok(())
}

async fn pay(State(service): State<Service>, Path(order): Path<i64>) -> Response {
    match payment::pay(&service.tenure, &service.pool, order).await {
        Ok(payment) => format!("order {order}: {payment}\n").into_response(),
        Err(error) => {
            // The text names the lock and the store: it is for the log, not for the client.
            eprintln!("order {order}: {error:#}");
            refused(&error)
        }
    }
}

/// What a client needs to know: whether to try again, and when.
fn refused(error: &PaymentError) -> Response {
    let (status, text) = match error {
        PaymentError::NoSuchOrder => (StatusCode::NOT_FOUND, "no such order\n"),
        PaymentError::Lock(error) if error.is_busy() => {
            (StatusCode::CONFLICT, "this order is being paid\n")
        }
        PaymentError::Lock(error) if !error.is_transient() => {
            (StatusCode::INTERNAL_SERVER_ERROR, "this is our fault\n")
        }
        // Trying again is safe: it finds what was recorded, and the bank knows the order's number.
        PaymentError::Lock(_) | PaymentError::FencedOff | PaymentError::Database(_) => {
            (StatusCode::SERVICE_UNAVAILABLE, "try again\n")
        }
    };
    if status == StatusCode::CONFLICT || status == StatusCode::SERVICE_UNAVAILABLE {
        (status, [(header::RETRY_AFTER, "1")], text).into_response()
    } else {
        (status, text).into_response()
    }
}

/// Whether this instance can work at all. A lock that is busy does not count.
async fn ready(State(service): State<Service>) -> StatusCode {
    match sqlx::query("SELECT 1").execute(&service.pool).await {
        Ok(_) => StatusCode::OK,
        Err(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}
