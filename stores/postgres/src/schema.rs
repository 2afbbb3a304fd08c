//! The tables, and how they are made.

use tenure_core::Fault;

use crate::options::check_schema;

/// The number of the format that this version reads and writes.
pub(crate) const FORMAT: i32 = 2;

/// The statements that make the tables in this schema, for those who make them by hand. They change nothing that
/// is there.
///
/// # Errors
/// A fault if that cannot be the name of the schema.
///
/// ```
/// let statements = tenure_postgres::schema("tenure")?;
/// assert!(statements.contains("create table if not exists tenure.locks"));
/// # Ok::<(), tenure_core::Fault>(())
/// ```
pub fn schema(schema: &str) -> Result<String, Fault> {
    check_schema(schema)?;
    Ok(format!(
        r#"create schema if not exists {schema};

-- One row for each lock. Who has it alone stands in columns, all else in "others".
create table if not exists {schema}.locks (
    name text collate "C" primary key,
    version bigint not null,
    last_time bigint not null,      -- of its last token, in microseconds since 1970
    owner bytea,
    client bytea,
    kind smallint,
    token bigint,
    since bigint,                   -- microseconds since 1970
    expires bigint,                 -- the same
    label text,
    waiting integer not null,
    others bytea,
    next_owner bytea,               -- who of the others comes next
    next_client bytea,
    next_is_last boolean,
    next_until bigint               -- until when the name is offered, while nobody has it
) with (fillfactor = 60);

-- One row: the format, and the last token of all rows that were taken away.
create table if not exists {schema}.meta (
    one boolean primary key check (one),
    format integer not null,
    floor bigint not null,
    raised bigint not null
);
insert into {schema}.meta (one, format, floor, raised) values (true, {FORMAT}, 0, 0)
    on conflict do nothing;

-- For people, who need no more than this to look: grant usage on the schema, and select on the view
create or replace view {schema}.holders as
    select name, label, token, to_timestamp(since / 1e6) as since, to_timestamp(expires / 1e6) as expires,
        waiting, others is not null as and_others
    from {schema}.locks
    where others is not null or expires > extract(epoch from clock_timestamp()) * 1e6;

-- A role that uses the locks needs no more than this (put its name for app):
-- grant usage on schema {schema} to app;
-- grant select, insert, update, delete on {schema}.locks to app;
-- grant select, update on {schema}.meta to app;
"#
    ))
}
