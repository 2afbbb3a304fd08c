//! A mutex of the process: right, until there are two processes.

use async_trait::async_trait;
use tokio::sync::Mutex;

use super::{Strategy, none::sell};
use crate::{
    records::Click,
    shop::{Refusal, Till},
};

pub(super) struct Local {
    till: Till,
    mutex: Mutex<()>,
}

impl Local {
    pub(super) fn new(till: Till) -> Self {
        Self { till, mutex: Mutex::new(()) }
    }
}

#[async_trait]
impl Strategy for Local {
    async fn order(&self, click: Click) -> Result<(), Refusal> {
        let _guard = self.mutex.lock().await;
        sell(&self.till, click).await
    }
}
