//! The tables, and the statements that create them.

use tenure_core::Fault;

use crate::{
    config::options::check_tables,
    tables::side_table::{HISTORY, SLOTS},
};

/// The number of the format that this version reads and writes.
pub(crate) const FORMAT: i64 = 1;

/// The columns by which a table or a view is recognized as ours.
pub(crate) const COLUMNS: [&str; 12] = [
    "name",
    "version",
    "last_time",
    "owner",
    "client",
    "kind",
    "token",
    "since",
    "expires",
    "label",
    "waiting",
    "others",
];
pub(crate) const META: [&str; 5] = ["one", "format", "floor", "raised", "id"];
pub(crate) const HOLDERS: [&str; 7] =
    ["name", "label", "token", "since", "expires", "waiting", "and_others"];

/// Returns the statements that create the tables with names that begin with `tables`, if you create them by hand. They
/// change nothing that exists.
///
/// # Errors
/// A fault if the names of tables cannot begin with `tables`.
///
/// ```
/// let statements = tenure_mysql::schema("tenure")?;
/// assert!(statements.contains("create table if not exists tenure_locks"));
/// # Ok::<(), tenure_core::Fault>(())
/// ```
pub fn schema(tables: &str) -> Result<String, Fault> {
    check_tables(tables)?;
    let [locks, meta, first, slots, history, view] = statements(tables);
    let columns = COLUMNS.join(", ");
    Ok(format!(
        r"-- One row for each lock. Who has it alone stands in columns, all else in `others`.
{locks};
-- Where somebody else has a table of that name, it ends here.
select {columns} from {tables}_locks limit 0;

-- One row: the format, the last token of all rows that were taken away, and which tables these are.
{meta};
{first};

-- The records of slots, each for a while. What has that name already stays.
{slots};

-- The events of the histories of locks, each for a while. What has that name already stays.
{history};

-- For people, who need no more than this to look: grant select on the view. Before MySQL 9.1 it is an error where
-- there is one already.
{view};

-- A user of the locks needs no more than this (put its name for app):
-- grant select, insert, update, delete on {tables}_locks to app;
-- grant select, insert, update, delete on {tables}_slots to app;
-- grant select, insert, update, delete on {tables}_history to app;
-- grant select, update on {tables}_meta to app;
"
    ))
}

/// The statements one by one. The last is only for people.
pub(crate) fn statements(tables: &str) -> [String; 6] {
    [
        // Names are compared by their bytes.
        format!(
            "create table if not exists {tables}_locks (
    name varbinary(512) not null primary key,
    version bigint not null,
    last_time bigint not null,      -- of its last token, in microseconds since 1970
    owner varbinary(16),
    client varbinary(16),
    kind smallint,
    token bigint,
    since bigint,                   -- microseconds since 1970
    expires bigint,                 -- the same
    label varchar(256) character set utf8mb4,
    waiting integer not null,
    others longblob
) engine = InnoDB row_format = dynamic"
        ),
        format!(
            "create table if not exists {tables}_meta (
    one tinyint not null primary key,
    format integer not null,
    floor bigint not null,
    raised bigint not null,
    id varbinary(16) not null
) engine = InnoDB row_format = dynamic"
        ),
        format!(
            "insert ignore into {tables}_meta (one, format, floor, raised, id)
    values (1, {FORMAT}, 0, 0, unhex(replace(uuid(), '-', '')))"
        ),
        SLOTS.create(tables),
        HISTORY.create(tables),
        format!(
            // Does not replace another program's view. MySQL supports the condition from 9.1 on.
            "create view /*M! if not exists */ /*!90100 if not exists */ {tables}_holders as
    select convert(name using utf8mb4) as name, label, token, from_unixtime(since / 1e6) as since,
        from_unixtime(expires / 1e6) as expires, waiting, others is not null as and_others
    from {tables}_locks
    where others is not null or expires > timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))"
        ),
    ]
}
