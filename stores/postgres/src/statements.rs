//! The statements, and the types of what is put into them.

use tokio_postgres::types::Type;

/// One statement.
#[derive(Debug)]
pub(crate) struct Statement {
    /// Its place among those that a connection has prepared.
    pub(crate) number: usize,
    pub(crate) text: String,
    pub(crate) types: &'static [Type],
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Statements {
    pub(crate) grant: Statement,
    pub(crate) release: Statement,
    pub(crate) extend: Statement,
    pub(crate) read: Statement,
    pub(crate) update: Statement,
    pub(crate) insert: Statement,
    pub(crate) write_all: Statement,
    pub(crate) list: Statement,
    pub(crate) idle: Statement,
    pub(crate) raise_floor: Statement,
    pub(crate) remove: Statement,
    pub(crate) notify: Statement,
    pub(crate) incarnation: Statement,
    pub(crate) server: Statement,
}

/// How many there are.
pub(crate) const COUNT: usize = 14;

/// The server's time. Not `now()`, which is when the transaction began.
const NOW: &str = "(extract(epoch from clock_timestamp()) * 1000000)::bigint";
/// Times from here on fit no token.
const LIMIT: &str = "9007199254740992";
/// How long the floor has to cover a row before that is taken away, in microseconds: longer than any call takes.
const COVERED: &str = "120000000";
const COLUMNS: &str = "l.version, l.last_time, l.owner, l.client, l.kind, l.token, l.since, l.expires, l.label, \
                       l.waiting, l.others";

impl Statements {
    pub(crate) fn new(schema: &str) -> Self {
        let (locks, meta) = (format!("{schema}.locks"), format!("{schema}.meta"));
        let now = format!(
            "with t as materialized (select {NOW} as now, (select floor from {meta}) as floor)"
        );
        let seen = format!("t.now, t.floor, {COLUMNS} from t left join {locks} l on l.name = $1");
        // Not rolled back when nothing was written, as there is nothing to tell then.
        let told = "n as (select pg_notify(c, p) from w, unnest($13::text[], $14::text[]) as x(c, p)) \
                    select (select count(*) from w), (select count(*) from n)";
        let busy = "(l.others is not null or l.owner is not null and l.expires > t.now)";
        let mut number = 0;
        let mut statement = |text: String, types: &'static [Type]| {
            number += 1;
            Statement { number: number - 1, text, types }
        };
        Self {
            grant: statement(
                format!(
                    "{now}, g as (insert into {locks} as l (name, version, last_time, owner, client, kind, token, \
                     since, expires, label, waiting) \
                     select $1, t.now, greatest(t.now, t.floor + 1), $2, $3, $4, greatest(t.now, t.floor + 1) << 10, \
                     t.now, t.now + $5, $6, 0 from t where greatest(t.now, t.floor + 1) < {LIMIT} \
                     and not exists (select 1 from {locks} l where l.name = $1 and {busy}) \
                     on conflict (name) do update set version = l.version + 1, \
                     last_time = greatest(excluded.since, l.last_time + 1), owner = excluded.owner, \
                     client = excluded.client, kind = excluded.kind, \
                     token = greatest(excluded.since, l.last_time + 1) << 10, since = excluded.since, \
                     expires = excluded.expires, label = excluded.label, waiting = 0 \
                     where l.others is null and (l.owner is null or l.expires <= excluded.since) \
                     and l.last_time + 1 < {LIMIT} returning token) \
                     select (select token from g), {seen}"
                ),
                &[Type::TEXT, Type::BYTEA, Type::BYTEA, Type::INT2, Type::INT8, Type::TEXT],
            ),
            release: statement(
                format!(
                    "{now}, r as (update {locks} l set version = l.version + 1, owner = null, client = null, \
                     kind = null, token = null, since = null, expires = null, label = null, waiting = 0 from t \
                     where l.name = $1 and l.owner = $2 and l.others is null and l.expires > t.now returning 1) \
                     select (select count(*) from r), {seen}"
                ),
                &[Type::TEXT, Type::BYTEA],
            ),
            extend: statement(
                format!(
                    "{now}, a as (select * from unnest($1::text[], $2::bytea[], $3::bigint[]) with ordinality \
                     as a(name, owner, ttl, nr)), \
                     k as materialized (select l.name, l.owner, a.ttl, a.nr from a join {locks} l on l.name = a.name \
                     and l.owner = a.owner for update of l skip locked) \
                     update {locks} l set version = l.version + 1, expires = greatest(l.expires, t.now + k.ttl) \
                     from k, t where l.name = k.name and l.owner = k.owner and l.expires > t.now \
                     returning k.nr, l.expires - t.now, l.waiting > 0"
                ),
                &[Type::TEXT_ARRAY, Type::BYTEA_ARRAY, Type::INT8_ARRAY],
            ),
            read: statement(format!("{now} select {seen}"), &[Type::TEXT]),
            update: statement(
                format!(
                    "with w as (update {locks} set version = version + 1, last_time = $3, owner = $4, client = $5, \
                     kind = $6, token = $7, since = $8, expires = $9, label = $10, waiting = $11, others = $12 \
                     where name = $1 and version = $2 returning 1), {told}"
                ),
                &WRITE,
            ),
            insert: statement(
                format!(
                    "with w as (insert into {locks} (name, version, last_time, owner, client, kind, token, since, \
                     expires, label, waiting, others) select $1, {NOW} + $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12 \
                     where $3 >= (select floor from {meta}) on conflict do nothing returning 1), {told}"
                ),
                &WRITE,
            ),
            // Nothing is written unless all is: the division fails.
            write_all: statement(
                format!(
                    "with v as materialized (select * from unnest($1::text[], $2::bigint[], $3::bigint[], \
                     $4::bytea[], $5::bytea[], $6::smallint[], $7::bigint[], $8::bigint[], $9::bigint[], \
                     $10::text[], $11::integer[], $12::bytea[]) as v(name, version, last_time, owner, client, kind, \
                     token, since, expires, label, waiting, others)), \
                     k as materialized (select l.name from {locks} l where l.name = any($1) order by l.name for update), \
                     u as (update {locks} l set version = l.version + 1, last_time = v.last_time, owner = v.owner, \
                     client = v.client, kind = v.kind, token = v.token, since = v.since, expires = v.expires, \
                     label = v.label, waiting = v.waiting, others = v.others from v \
                     where v.version > 0 and l.name = v.name and l.version = v.version \
                     and (select count(*) from k) >= 0 returning 1), \
                     i as (insert into {locks} (name, version, last_time, owner, client, kind, token, since, expires, \
                     label, waiting, others) select name, {NOW}, last_time, owner, client, kind, token, since, expires, \
                     label, waiting, others from v where v.version = 0 and last_time >= (select floor from {meta}) \
                     order by name on conflict do nothing returning 1), \
                     w as materialized (select 1 / case when (select count(*) from u) + (select count(*) from i) \
                     = cardinality($1) then 1 else 0 end as done), \
                     n as (select pg_notify(c, p) from w, unnest($13::text[], $14::text[]) as x(c, p)) \
                     select (select count(*) from w), (select count(*) from n)"
                ),
                &WRITE_ALL,
            ),
            list: statement(
                format!(
                    "{now} select l.name, t.now, t.floor, {COLUMNS} from t, {locks} l \
                     where starts_with(l.name, $1) and l.name > $2 and (l.others is not null or l.owner is not null) \
                     order by l.name limit $3"
                ),
                &[Type::TEXT, Type::TEXT, Type::INT8],
            ),
            idle: statement(
                format!(
                    "{now} select l.name, t.now, t.floor, {COLUMNS}, \
                     l.last_time <= t.floor and (select raised from {meta}) <= t.now - {COVERED} \
                     from t, {locks} l where l.last_time < t.now - $1 \
                     and (l.owner is null or l.expires <= t.now) \
                     order by l.others is not null, l.last_time > t.floor, random() limit $2"
                ),
                &[Type::INT8, Type::INT8],
            ),
            raise_floor: statement(
                format!("update {meta} set floor = $1, raised = {NOW} where floor < $1 \
                     and raised <= {NOW} - 2 * {COVERED}"),
                &[Type::INT8],
            ),
            remove: statement(
                format!(
                    "delete from {locks} where name = $1 and version = $2 \
                     and last_time <= (select floor from {meta})"
                ),
                &[Type::TEXT, Type::INT8],
            ),
            incarnation: statement(
                "select (select system_identifier from pg_control_system())::text || '/' \
                 || left(pg_walfile_name(pg_current_wal_lsn()), 8) || case current_setting('fsync') when 'on' \
                 then '' else '/' || pg_postmaster_start_time()::text end"
                    .to_owned(),
                &[],
            ),
            // What is not told to this user is null.
            server: statement(
                format!(
                    "select current_setting('server_version'), current_setting('fsync'), \
                     current_setting('full_page_writes'), current_setting('synchronous_commit'), \
                     current_setting('synchronous_standby_names'), (select count(*) from pg_stat_replication), \
                     pg_is_in_recovery(), current_setting('idle_in_transaction_session_timeout'), \
                     pg_notification_queue_usage(), \
                     (select count(*) from {locks} where others is not null or owner is not null), \
                     (select count(*) from {locks})"
                ),
                &[],
            ),
            notify: statement(
                "select pg_notify($1, $2)".to_owned(),
                &[Type::TEXT, Type::TEXT],
            ),
        }
    }
}

/// The name, the version before, the row, and whom to tell what.
const WRITE: [Type; 14] = [
    Type::TEXT,
    Type::INT8,
    Type::INT8,
    Type::BYTEA,
    Type::BYTEA,
    Type::INT2,
    Type::INT8,
    Type::INT8,
    Type::INT8,
    Type::TEXT,
    Type::INT4,
    Type::BYTEA,
    Type::TEXT_ARRAY,
    Type::TEXT_ARRAY,
];

/// The same of several.
const WRITE_ALL: [Type; 14] = [
    Type::TEXT_ARRAY,
    Type::INT8_ARRAY,
    Type::INT8_ARRAY,
    Type::BYTEA_ARRAY,
    Type::BYTEA_ARRAY,
    Type::INT2_ARRAY,
    Type::INT8_ARRAY,
    Type::INT8_ARRAY,
    Type::INT8_ARRAY,
    Type::TEXT_ARRAY,
    Type::INT4_ARRAY,
    Type::BYTEA_ARRAY,
    Type::TEXT_ARRAY,
    Type::TEXT_ARRAY,
];
