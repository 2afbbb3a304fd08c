//! What tenure logs, for Python's `logging`: the logger `tenure`.
//!
//! An event may come while a lock of the core is held, so it is never handed to Python where it comes. It goes into a
//! queue, and a thread apart calls the logger. Events that find the queue full are lost.

use std::{
    fmt::{self, Write as _},
    sync::{
        Once,
        atomic::{AtomicU8, Ordering},
    },
};

use pyo3::prelude::*;
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span,
    subscriber::Interest,
};

use crate::process::{Process, log_thread::Line};

/// The numbers of Python's levels. It has none below `DEBUG`.
const fn number(level: Level) -> u8 {
    match level {
        Level::ERROR => 40,
        Level::WARN => 30,
        Level::INFO => 20,
        Level::DEBUG => 10,
        Level::TRACE => 5,
    }
}

/// The lowest number that the logger wants.
static LOWEST: AtomicU8 = AtomicU8::new(30);
static SUBSCRIBES: Once = Once::new();

/// Reads which levels the logger wants. Called where a store is made.
pub(crate) fn follow_levels(py: Python<'_>) -> PyResult<()> {
    let logger = py.import("logging")?.call_method1("getLogger", ("tenure",))?;
    let lowest: u32 = logger.call_method0("getEffectiveLevel")?.extract()?;
    LOWEST.store(u8::try_from(lowest).unwrap_or(u8::MAX), Ordering::Relaxed);
    SUBSCRIBES.call_once(|| {
        // If the program that embeds Python has one, it stays.
        drop(tracing::subscriber::set_global_default(ToPython));
    });
    Ok(())
}

/// Hands events of tenure to Python's logging. It keeps no spans.
struct ToPython;

impl Subscriber for ToPython {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if metadata.is_event() && metadata.target().starts_with("tenure") {
            // The level can change.
            Interest::sometimes()
        } else {
            Interest::never()
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event()
            && metadata.target().starts_with("tenure")
            && number(*metadata.level()) >= LOWEST.load(Ordering::Relaxed)
    }

    fn event(&self, event: &Event<'_>) {
        let Some(process) = Process::find() else { return };
        let mut text = Text::default();
        event.record(&mut text);
        let line = Line { level: number(*event.metadata().level()), text: text.whole() };
        // If Python is too slow, this line is lost. A wait here could hold up renewals.
        drop(process.logs.try_send(line));
    }

    fn new_span(&self, _span: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _span: &span::Id, _values: &span::Record<'_>) {}

    fn record_follows_from(&self, _span: &span::Id, _follows: &span::Id) {}

    fn enter(&self, _span: &span::Id) {}

    fn exit(&self, _span: &span::Id) {}
}

/// The message of an event, and its fields behind it.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Text {
    fn whole(self) -> String {
        self.message + &self.fields
    }
}

impl Visit for Text {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.message.push_str(value);
        } else {
            self.record_debug(field, &value);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // A `String` takes everything.
        let _ = if field.name() == "message" {
            write!(self.message, "{value:?}")
        } else {
            write!(self.fields, " {}={value:?}", field.name())
        };
    }
}
