//! Starts the engine on tenure's own thread, even if the system has no thread to spare at first.

use std::{
    fmt,
    future::Future,
    io,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use super::Slots;
use crate::runtime;

/// An engine that is to run on tenure's own thread.
pub(crate) struct EngineStarter {
    has_started: AtomicBool,
    slots: Arc<Slots>,
    engine: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
}

impl EngineStarter {
    /// Makes the starter of an engine for these slots.
    pub(crate) fn new(
        slots: &Arc<Slots>,
        engine: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        let engine = Mutex::new(Some(Box::pin(engine) as _));
        Self { has_started: AtomicBool::new(false), slots: slots.clone(), engine }
    }

    /// Ensures that the engine runs.
    pub(crate) fn start(&self) -> io::Result<()> {
        if self.has_started.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
        let thread = runtime::own()?;
        if let Some(engine) = engine.take() {
            let runs = self.slots.mark_engine_running();
            thread.spawn(async move {
                engine.await;
                drop(runs);
            });
        }
        self.has_started.store(true, Ordering::Release);
        Ok(())
    }
}

impl fmt::Debug for EngineStarter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineStarter")
            .field("has_started", &self.has_started)
            .finish_non_exhaustive()
    }
}
