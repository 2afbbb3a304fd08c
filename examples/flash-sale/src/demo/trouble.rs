//! What is done to whom: some are slow, one is killed, one is stopped for longer than its lease.

use std::{error::Error, time::Duration};

use tokio::time::sleep;

use super::instance::{Instance, Orders};
use crate::records::Moment;

/// What becomes of an instance that stops in the middle of a sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is killed, and started anew as a supervisor would.
    Killed,
    /// It goes on after so long, and knows nothing of it.
    Frozen(Duration),
    /// Nothing happens.
    Spared,
}

/// When it happened.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Happened {
    pub(super) killed: Option<Moment>,
    pub(super) frozen: Option<Moment>,
}

impl Fate {
    /// The first is killed and the second is frozen.
    pub(super) fn of(number: usize, calm: bool, ttl: Duration) -> Self {
        match number {
            _ if calm => Self::Spared,
            0 => Self::Killed,
            1 => Self::Frozen(ttl * 5 / 2),
            _ => Self::Spared,
        }
    }

    /// What the instance is told for it: early in the sale, so that there is something left to sell.
    pub(super) fn words(self, ttl: Duration) -> Vec<String> {
        let stop = match self {
            Self::Spared => return Vec::new(),
            // The freeze comes first: while the killed one starts again nobody but the frozen one would sell, and
            // nothing would come between.
            Self::Frozen(_) => 12,
            Self::Killed => 30,
        };
        // Not so long that it ends together with the freeze.
        let slow = humantime::format_duration(ttl * 7 / 4).to_string();
        let words = ["--slow-at", "6", "--slow-for", &slow, "--stop-at", &stop.to_string()];
        words.map(str::to_owned).into()
    }

    /// Waits for the moment, and does it. Returns only when something failed.
    pub(super) async fn befall(
        self,
        instance: &mut Instance,
        orders: &Orders,
        happened: &mut Happened,
    ) -> Result<std::convert::Infallible, Box<dyn Error>> {
        instance.stops().await;
        match self {
            Self::Killed => {
                instance.kill().await?;
                happened.killed = Some(Moment::now());
                let port = instance.address.port();
                *instance = Instance::start(orders, Some(port), &[]).await?;
            }
            Self::Frozen(length) => {
                happened.frozen = Some(Moment::now());
                sleep(length).await;
                instance.go_on()?;
            }
            Self::Spared => {}
        }
        std::future::pending().await
    }
}
