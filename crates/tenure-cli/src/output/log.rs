//! The library's own log, which -v lets be heard.

use std::{
    io::{self, Write},
    sync::OnceLock,
};

use super::outbox::{Outbox, Priority};
use crate::exit::Failure;

/// Where the log goes while locks are held for another program.
static OUTBOX: OnceLock<Outbox> = OnceLock::new();

/// From now on nobody waits for the reader of the log: lines are left out if too many are unread.
pub(crate) fn write_in_background() -> Result<Outbox, Failure> {
    let outbox = Outbox::start_log()?;
    Ok(OUTBOX.get_or_init(|| outbox).clone())
}

/// Writes the log, one event each time.
#[derive(Debug)]
pub(super) struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match OUTBOX.get() {
            Some(outbox) => {
                let text = String::from_utf8_lossy(bytes);
                outbox.push(text.trim_end().to_owned(), Priority::Droppable);
                Ok(bytes.len())
            }
            None => io::stderr().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match OUTBOX.get() {
            Some(_) => Ok(()),
            None => io::stderr().flush(),
        }
    }
}
