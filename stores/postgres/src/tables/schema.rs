//! The tables, and the statements that create them.

use tenure_core::{Fault, FaultKind};

use crate::{
    config::options::check_schema,
    tables::side_table::{HISTORY, SLOTS},
};

/// The number of the format that this version reads and writes.
pub(crate) const FORMAT: i32 = 2;

/// Returns the statements that create the tables in this schema, if you create them by hand. They change nothing that
/// exists.
///
/// # Errors
/// A fault if `schema` cannot be the name of a schema.
///
/// ```
/// let statements = tenure_postgres::schema("tenure")?;
/// assert!(statements.contains("create table if not exists tenure.locks"));
/// # Ok::<(), tenure_core::Fault>(())
/// ```
pub fn schema(schema: &str) -> Result<String, Fault> {
    check_schema(schema)?;
    Ok(format!(
        r#"-- All of it or nothing.
begin;

{}
commit;

-- A role that uses the locks needs no more than this (put its name for app):
-- grant usage on schema {schema} to app;
-- grant select, insert, update, delete on {schema}.locks to app;
-- grant select, insert, update, delete on {schema}.slots to app;
-- grant select, insert, update, delete on {schema}.history to app;
-- grant select, update on {schema}.meta to app;
"#,
        tables(schema)
    ))
}

/// The same statements for one transaction.
pub(crate) fn tables(schema: &str) -> String {
    let columns = |columns: &[&str]| columns.join("', '");
    let (locks, meta) = (columns(&COLUMNS), columns(&META));
    let (slots, history) = (SLOTS.create(schema), HISTORY.create(schema));
    format!(
        r#"-- Nothing is made beside what has one of these names and is somebody else's.
do $$
declare
    taken text;
begin
    select min(ours.called) into taken
    from (values ('locks', array['{locks}']::name[]), ('meta', array['{meta}']::name[])) as ours(called, columns)
    join pg_catalog.pg_namespace n on n.nspname = '{schema}'
    left join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = ours.called
    left join pg_catalog.pg_type t on t.typnamespace = n.oid and t.typname = ours.called
    where (c.oid is not null or t.oid is not null)
        and (c.relkind is distinct from 'r' or not ours.columns <@ array(
            select a.attname from pg_catalog.pg_attribute a where a.attrelid = c.oid and not a.attisdropped));
    if taken is not null then
        raise exception '{schema}.% exists and does not belong to tenure: it was not changed', taken
            using errcode = '{OF_ANOTHER}', hint = 'Name another schema.';
    end if;
end
$$;

create schema if not exists {schema};

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

{slots}
{history}
-- For people, who need no more than this to look: grant usage on the schema, and select on the view. Whatever has that
-- name already stays.
do $$
begin
    if not exists (
        select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where n.nspname = '{schema}' and c.relname = 'holders'
        union all select from pg_catalog.pg_type t join pg_catalog.pg_namespace n on n.oid = t.typnamespace
        where n.nspname = '{schema}' and t.typname = 'holders'
    ) then
        create view {schema}.holders as
            select name, label, token, to_timestamp(since / 1e6) as since, to_timestamp(expires / 1e6) as expires,
                waiting, others is not null as and_others
            from {schema}.locks
            where others is not null or expires > extract(epoch from clock_timestamp()) * 1e6;
    end if;
end
$$;
"#
    )
}

/// The columns by which a table is recognized as ours.
const COLUMNS: [&str; 16] = [
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
    "next_owner",
    "next_client",
    "next_is_last",
    "next_until",
];
const META: [&str; 4] = ["one", "format", "floor", "raised"];

/// Asks whether tables of ours are in the schema `public`.
pub(crate) fn public_tables_query() -> String {
    let columns = |columns: &[&str]| columns.join("', '");
    let (locks, meta) = (columns(&COLUMNS), columns(&META));
    format!(
        "(select count(*) = 2 from (values ('locks', array['{locks}']::name[]), ('meta', array['{meta}']::name[])) \
         as ours(called, columns) \
         join pg_catalog.pg_class c on c.relname = ours.called and c.relkind = 'r' \
         join pg_catalog.pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public' \
         where ours.columns <@ array(select a.attname from pg_catalog.pg_attribute a \
         where a.attrelid = c.oid and not a.attisdropped))::text"
    )
}

/// What the statements above report about another program's table.
const OF_ANOTHER: &str = "TENUR";

/// The fault if something of another program has one of our names.
pub(crate) fn of_another(error: &tokio_postgres::Error) -> Option<Fault> {
    let said = error.as_db_error().filter(|said| said.code().code() == OF_ANOTHER)?;
    let help = "name another schema in the URL: lock_schema=";
    Some(Fault::new(FaultKind::Misconfigured, said.message().to_owned(), help))
}
