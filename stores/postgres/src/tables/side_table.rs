//! Tables beside those of the locks.
//!
//! Databases that an earlier version set up lack them. So each is only looked for when it is needed.

/// A table that no lock needs.
#[derive(Debug)]
pub(crate) struct SideTable {
    pub(crate) name: &'static str,
    /// What it keeps, for an error.
    pub(crate) keeps: &'static str,
    /// The same, for whoever reads the statements.
    comment: &'static str,
    columns: &'static str,
    indexes: &'static [&'static str],
}

/// The records of slots.
pub(crate) const SLOTS: SideTable = SideTable {
    name: "slots",
    keeps: "what ran in which slot",
    comment: "The records of slots, each for a while.",
    columns: r#"name text collate "C" primary key,
            record bytea not null,          -- text in UTF-8, whatever the encoding of a session
            kept_until bigint not null      -- microseconds since 1970"#,
    indexes: &["kept_until"],
};

/// The histories of locks, a row for each event.
pub(crate) const HISTORY: SideTable = SideTable {
    name: "history",
    keeps: "the histories of locks",
    comment: "The events of the histories of locks, each for a while.",
    columns: r#"number bigint generated always as identity primary key,  -- in this order they came
            name text collate "C" not null,
            at bigint not null,             -- microseconds since 1970
            event bytea not null,           -- text in UTF-8, whatever the encoding of a session
            kept_until bigint not null      -- microseconds since 1970"#,
    indexes: &["name, number", "kept_until"],
};

impl SideTable {
    /// Makes the table, unless something has its name already.
    pub(crate) fn create(&self, schema: &str) -> String {
        let Self { name, comment, columns, indexes, .. } = self;
        let indexes: Vec<_> = indexes
            .iter()
            .map(|columns| format!("        create index on {schema}.{name} ({columns});\n"))
            .collect();
        let indexes = indexes.concat();
        format!(
            r#"-- {comment} Whatever has that name already stays.
do $$
begin
    if not exists (
        select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where n.nspname = '{schema}' and c.relname = '{name}'
        union all select from pg_catalog.pg_type t join pg_catalog.pg_namespace n on n.oid = t.typnamespace
        where n.nspname = '{schema}' and t.typname = '{name}'
    ) then
        create table {schema}.{name} (
            {columns}
        );
{indexes}    end if;
end
$$;
"#
        )
    }
}
