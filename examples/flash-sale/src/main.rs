//! A shop that sells a voucher to a crowd, from several instances at once, with each lock that people try.
//!
//! `flash-sale serve` is the shop; `flash-sale demo` starts instances of it, lets the crowd in, makes
//! trouble, and counts what was sold. `docs/flash-sale.md` walks through it.

mod args;
mod chapter;
mod database;
mod demo;
mod records;
mod service;
mod shop;
mod signals;
mod strategy;

use std::{error::Error, process::ExitCode};

use clap::Parser;
use tracing::error;

use self::args::{Action, Args};

#[tokio::main]
async fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(tracing::Level::WARN)
        .init();
    let done = match Args::parse().action {
        Action::Serve(serve) => serve_shop(serve).await,
        Action::Chapter(chapter) => chapter::make(&chapter),
        Action::Demo(demo) => demo::run(demo.settings()).await,
    };
    done.unwrap_or_else(|error| {
        error!("{error:#}");
        ExitCode::FAILURE
    })
}

async fn serve_shop(serve: args::Serve) -> Result<ExitCode, Box<dyn Error>> {
    serve.dies_with_parent()?;
    service::serve(serve.settings()).await?;
    Ok(ExitCode::SUCCESS)
}
