//! A service of which one replica works and the others stand by.
//!
//! `docs/tutorials/leader.md` walks through it. Start it twice, with the same store and two addresses:
//! `cargo run -p scheduler -- file: 127.0.0.1:8081`.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "an example shows what happens")]

use std::{error::Error, time::Duration};

use axum::{Router, extract::State, http::StatusCode, routing::get};
use tenure::{AcquireError, Leadership, Tenure, Token};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::watch,
    time::sleep,
};

/// How long to wait before asking a store again that cannot be reached.
const PAUSE: Duration = Duration::from_secs(1);

/// How long a shutdown waits for leadership to be released.
const GRACE: Duration = Duration::from_secs(10);

/// The term of this replica, while it leads.
type Term = Option<Token>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().ok_or("usage: scheduler STORE-URL [ADDRESS]")?;
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8081".to_owned());

    let tenure = Tenure::open(&url).await?;
    let listener = TcpListener::bind(address).await?;
    let label = listener.local_addr()?.to_string();
    println!("listening on http://{label}");
    let (term, seen) = watch::channel(None);
    tokio::spawn(axum::serve(listener, health(seen)).into_future());

    let mut terminate = signal(SignalKind::terminate())?;
    loop {
        let leadership = tokio::select! {
            leadership = campaign(&tenure, &label) => leadership?,
            _ = terminate.recv() => break,
        };
        println!("leading, term {}", leadership.term());
        term.send_replace(Some(leadership.term()));
        tokio::select! {
            // Ends as soon as leadership is lost. The work is dropped where it stands.
            outcome = leadership.run(work(leadership.term())) => {
                term.send_replace(None);
                if let Err(lost) = outcome {
                    eprintln!("{lost:#}");
                }
            }
            _ = terminate.recv() => {
                term.send_replace(None);
                // The next candidate leads at once, and need not wait for the end of a lease.
                leadership.resign().await?;
                break;
            }
        }
    }
    tenure.shutdown(GRACE).await?;
    Ok(())
}

/// Waits until this replica leads, through any outage of the store.
async fn campaign(tenure: &Tenure, label: &str) -> Result<Leadership, AcquireError> {
    loop {
        match tenure.election("scheduler").label(label).campaign().await {
            Err(error) if error.is_transient() => {
                eprintln!("{error:#}");
                sleep(PAUSE).await;
            }
            decided => return decided,
        }
    }
}

/// What the leader does, until it is dropped.
async fn work(term: Token) {
    loop {
        // Pass the term on with each command: the receiver refuses one that is smaller than the greatest it has seen.
        println!("scheduling under term {term}");
        sleep(Duration::from_secs(1)).await;
    }
}

/// What a supervisor and a load balancer ask.
fn health(seen: watch::Receiver<Term>) -> Router {
    let leads = async |State(seen): State<watch::Receiver<Term>>| match *seen.borrow() {
        Some(term) => (StatusCode::OK, format!("leading, term {term}\n")),
        None => (StatusCode::SERVICE_UNAVAILABLE, "standing by\n".to_owned()),
    };
    Router::new()
        .route("/health/live", get(|| async { "alive\n" }))
        .route("/health/leader", get(leads))
        .with_state(seen)
}
