//! Tables beside those of the locks.
//!
//! Databases that an earlier version set up lack them. So each is only looked for when it is needed.

/// A table that no lock needs.
#[derive(Debug)]
pub(crate) struct SideTable {
    /// Behind what the names of all tables begin with.
    pub(crate) name: &'static str,
    /// What it keeps, for an error.
    pub(crate) keeps: &'static str,
    columns: &'static str,
}

/// The records of slots.
pub(crate) const SLOTS: SideTable = SideTable {
    name: "slots",
    keeps: "what ran in which slot",
    columns: "name varbinary(512) not null primary key,
    record varbinary(4096) not null,  -- text in UTF-8, whatever the character set of a session
    kept_until bigint not null,       -- microseconds since 1970
    index (kept_until)",
};

/// The histories of locks, a row for each event.
pub(crate) const HISTORY: SideTable = SideTable {
    name: "history",
    keeps: "the histories of locks",
    columns: "number bigint not null auto_increment primary key,  -- in this order they came
    name varbinary(512) not null,
    at bigint not null,               -- microseconds since 1970
    event varbinary(1024) not null,   -- text in UTF-8, whatever the character set of a session
    kept_until bigint not null,       -- microseconds since 1970
    index (name, number),
    index (kept_until)",
};

impl SideTable {
    /// Makes the table, unless something has its name already.
    pub(crate) fn create(&self, tables: &str) -> String {
        let Self { name, columns, .. } = self;
        format!(
            "create table if not exists {tables}_{name} (
    {columns}
) engine = InnoDB row_format = dynamic"
        )
    }
}
