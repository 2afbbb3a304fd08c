//! The store's own files: which there are, and what stands in them.

pub(crate) mod clock_file;
pub(crate) mod floor;
pub(crate) mod history_file;
pub(crate) mod history_wire;
pub(crate) mod layout;
pub(crate) mod open_files;
pub(crate) mod record_wire;
pub(crate) mod removal;
pub(crate) mod slot_records;
pub(crate) mod state_file;
pub(crate) mod tidying;
pub(crate) mod wire;
