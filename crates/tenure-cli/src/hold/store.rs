//! The store of all holds of a process.

use std::{sync::OnceLock, time::Duration};

use tenure::{Tenure, config::Config};
use tokio::sync::Mutex;

use crate::{
    exit::Failure,
    explanation::Explanation,
    output::{Reporter, human},
    run::{acquire::open_store, patience::WaitTimer},
    settings::RunSettings,
    store,
};

/// A store that is opened by the hold that needs it first. Each waits for that as long as it would wait for its lock.
#[derive(Debug)]
pub(crate) struct SharedStore {
    config: Config,
    program: Reporter,
    opened: OnceLock<Tenure>,
    /// One at a time opens it.
    gate: Mutex<()>,
}

impl SharedStore {
    pub(crate) fn new(config: Config, program: Reporter) -> Self {
        Self { config, program, opened: OnceLock::new(), gate: Mutex::default() }
    }

    /// The store, if it is open.
    pub(crate) fn opened(&self) -> Option<&Tenure> {
        self.opened.get()
    }

    /// The store, for `name`. Cancel-safe.
    pub(crate) async fn open(
        &self,
        name: &str,
        plan: &RunSettings,
        wait: &WaitTimer,
        voice: &Reporter,
    ) -> Result<Tenure, Failure> {
        if let Some(tenure) = self.opened() {
            return Ok(tenure.clone());
        }
        let within = wait.left().unwrap_or(plan.ttl);
        let turn = tokio::time::timeout(within, self.gate.lock()).await;
        let _turn = turn.map_err(|_| Failure::Away(not_opened(within)))?;
        if let Some(tenure) = self.opened() {
            return Ok(tenure.clone());
        }
        let tenure = open_store(&self.config, name, plan, wait, voice).await?;
        store::report_location(&tenure, &self.config, &self.program);
        Ok(self.opened.get_or_init(|| tenure).clone())
    }
}

fn not_opened(within: Duration) -> Explanation {
    let within = human::length(within);
    Explanation::new(format!("the store cannot be opened: it did not answer within {within}"))
        .kind(Some("unreachable"))
        .advise("run tenure doctor, or wait longer")
}
