//! Everything that is logged in this process, of whatever target, by `tracing` or by `log`, at TRACE.

use std::{
    fmt::{self, Write},
    sync::{Mutex, MutexGuard, Once, PoisonError},
};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

static ALL: Mutex<String> = Mutex::new(String::new());

fn all() -> MutexGuard<'static, String> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Listens from now on, to all threads.
pub(crate) fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        tracing::subscriber::set_global_default(Hears).unwrap();
        log::set_logger(&Hears).unwrap();
        log::set_max_level(log::LevelFilter::Trace);
    });
}

/// What was logged since it was asked for last.
pub(crate) fn take() -> String {
    std::mem::take(&mut all())
}

struct Hears;

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = write!(self.0, " {field}={value:?}");
    }
}

impl Subscriber for Hears {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        let mut all = all();
        let _ = write!(all, "\n{} {}", span.metadata().target(), span.metadata().name());
        span.record(&mut Fields(&mut all));
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        values.record(&mut Fields(&mut all()));
    }

    fn event(&self, event: &Event<'_>) {
        let mut all = all();
        let _ = write!(all, "\n{}", event.metadata().target());
        event.record(&mut Fields(&mut all));
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

impl log::Log for Hears {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let _ = write!(all(), "\n{} {}", record.target(), record.args());
    }

    fn flush(&self) {}
}
