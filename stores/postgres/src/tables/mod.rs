//! The tables, the statements on them, and what stands in their rows.

pub(crate) mod columns;
pub(crate) mod history;
pub(crate) mod messages;
pub(crate) mod schema;
pub(crate) mod side_table;
pub(crate) mod slots;
pub(crate) mod statements;
