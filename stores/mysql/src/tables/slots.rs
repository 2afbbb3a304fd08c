//! The statements for the records of slots.

use crate::tables::{rows::hex, time::NOW};

/// How many records whose time is over a write takes away at most.
const TAKEN_AWAY: u32 = 16;

/// The statements.
#[derive(Debug)]
pub(crate) struct SlotStatements {
    pub(crate) read: String,
    pub(crate) hold: String,
    pub(crate) known: String,
    pub(crate) put: String,
    pub(crate) over: String,
    tables: (String, String),
}

impl SlotStatements {
    pub(crate) fn new(tables: &str) -> Self {
        let (locks, slots) = (format!("{tables}_locks"), format!("{tables}_slots"));
        Self {
            read: format!(
                "select {NOW}, (select record from {slots} where name = unhex(?) and kept_until > {NOW})"
            ),
            // The columns of the row name an owner that has the name alone: one that stays taken after a release stands
            // among the others. In a cluster only a row that is written conflicts with what other nodes write.
            hold: format!(
                "update {locks} set version = version + 1 \
                 where name = unhex(?) and owner = unhex(?) and expires > {NOW}"
            ),
            // Only after the row of the lock is written: from then on nobody writes the record, and the transaction sees
            // what was written before.
            known: format!(
                "select record from {slots} where name = unhex(?) and kept_until > {NOW}"
            ),
            // A lease that ended while the row was waited for is over by the time of this one.
            put: format!(
                "insert into {slots} (name, record, kept_until) \
                 select l.name, unhex(?), {NOW} + ? from {locks} l where l.name = unhex(?) and l.expires > {NOW} \
                 on duplicate key update record = unhex(?), kept_until = {NOW} + ?"
            ),
            // It waits for none that others have locked.
            over: format!(
                "select name from {slots} where kept_until <= {NOW} and name <> unhex(?) \
                 order by kept_until limit {TAKEN_AWAY} for update skip locked"
            ),
            tables: (slots, format!("{tables}_meta")),
        }
    }

    /// Takes away the records of these names, as far as their time is over still. By their names, so that it waits for
    /// no other row: only with another table an index can be named.
    pub(crate) fn take_away(&self, names: &[Vec<u8>]) -> String {
        let (slots, meta) = &self.tables;
        let names: Vec<_> = names.iter().map(|name| format!("x'{}'", hex(name))).collect();
        format!(
            "delete s from {slots} s force index (primary) join {meta} m on m.one = 1 \
             where s.name in ({}) and s.kept_until <= {NOW}",
            names.join(", ")
        )
    }
}
