//! The statements, and the types of what is put into them.

use tenure_sql::{COVERED, PAGE};
use tokio_postgres::types::Type;

use crate::{
    protocol::answers::QueryTag,
    tables::{
        history,
        messages::{CHANNEL, WAKE},
        slots,
    },
};

/// One statement.
#[derive(Debug)]
pub(crate) struct Statement {
    /// Its place among those that a connection has prepared.
    pub(crate) number: usize,
    pub(crate) text: String,
    /// The same for a session that others use, too.
    shared: String,
    pub(crate) types: &'static [Type],
}

impl Statement {
    /// What is sent in a session that others use, too, whose answer has a column of this name.
    pub(crate) fn shared(&self, tag: QueryTag) -> String {
        self.shared.replace(TAG, &format!(", true as {tag}"))
    }
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Statements {
    pub(crate) grant: Statement,
    pub(crate) release: Statement,
    pub(crate) release_to_next: Statement,
    pub(crate) claim: Statement,
    pub(crate) extend: Statement,
    pub(crate) read: Statement,
    pub(crate) update: Statement,
    pub(crate) update_and_tell: Statement,
    pub(crate) insert: Statement,
    pub(crate) append: Statement,
    pub(crate) write_all: Statement,
    pub(crate) list: Statement,
    pub(crate) page: Statement,
    pub(crate) make_mark: Statement,
    pub(crate) take_away: Statement,
    pub(crate) raise_floor: Statement,
    pub(crate) remove: Statement,
    pub(crate) read_slots: Statement,
    pub(crate) write_slots: Statement,
    pub(crate) read_history: Statement,
    pub(crate) add_history: Statement,
    pub(crate) has_history: Statement,
    pub(crate) sweep_history: Statement,
    pub(crate) notify: Statement,
    pub(crate) incarnation: Statement,
    pub(crate) which_server: Statement,
    pub(crate) server: Statement,
}

/// How many there are.
pub(crate) const COUNT: usize = 27;

/// The server's time. Not `now()`, which is when the transaction began.
const NOW: &str = "(extract(epoch from pg_catalog.clock_timestamp()) * 1000000)::bigint";
/// Stands where nothing is written unless it is so: in each statement that writes, before anything is locked.
const SURE: &str = "<sure>";
/// Stands where each answer has a column more by which it is known, in a session that others use, too.
const TAG: &str = "<tag>";
/// Times from here on fit no token.
const LIMIT: &str = "9007199254740992";
const COLUMNS: &str = "l.version, l.last_time, l.owner, l.client, l.kind, l.token, l.since, l.expires, l.label, \
                       l.waiting, l.others, l.next_owner, l.next_client, l.next_is_last, l.next_until";
/// The columns of what a caller decided.
const DECIDED: &str = "last_time, owner, client, kind, token, since, expires, label, waiting, others, next_owner, \
                       next_client, next_is_last, next_until";

/// What a statement makes sure of itself in a session that others use, too. Whatever they set there, its commit waits
/// until it is on disk, and on replicas where the server waits for these; who is told of doubt hears it; it waits for
/// nobody's lock for long, nor has an effect if it had to wait for the tables; and names are told in the encoding
/// that they are written in.
fn session_guard_sql(lock_limit: u128) -> String {
    format!(
        "(select pg_catalog.concat(pg_catalog.set_config('synchronous_commit', 'on', true), \
         pg_catalog.set_config('client_min_messages', 'warning', true), \
         pg_catalog.set_config('lock_timeout', '{lock_limit}', true)) is not null \
         and pg_catalog.clock_timestamp() < pg_catalog.now() + interval '{lock_limit} milliseconds' \
         and case pg_catalog.pg_client_encoding() when 'UTF8' then true \
         else pg_catalog.concat('client_encoding is ', pg_catalog.pg_client_encoding())::int is null end)"
    )
}

impl Statements {
    /// Those of the tables in this schema; `lock_limit` is how long one waits for what others have locked, in
    /// milliseconds.
    pub(crate) fn new(schema: &str, lock_limit: u128) -> Self {
        let sure = session_guard_sql(lock_limit);
        let (locks, meta) = (format!("{schema}.locks"), format!("{schema}.meta"));
        let now = format!(
            "with t as materialized (select {NOW} as now, (select floor from {meta}) as floor)"
        );
        let seen =
            format!("t.now, t.floor, {COLUMNS}{TAG} from t left join {locks} l on l.name = $1");
        let decided = DECIDED
            .split(", ")
            .map(|column| format!("v.{}", column.trim()))
            .collect::<Vec<_>>()
            .join(", ");
        let nobody = "owner = null, client = null, kind = null, token = null, since = null, expires = null, label = null";
        // Not rolled back when nothing was written, as there is nothing to tell then.
        let told = format!(
            "n as (select pg_catalog.pg_notify(c, p) from w, unnest($17::text[], $18::text[]) as x(c, p)) \
                    select (select pg_catalog.count(*) from w), (select pg_catalog.count(*) from n){TAG}"
        );
        let mut number = 0;
        let mut statement = |text: String, types: &'static [Type]| {
            number += 1;
            let shared = text.replace(SURE, &sure);
            let text = text.replace(SURE, "true").replace(TAG, "");
            Statement { number: number - 1, text, shared, types }
        };
        Self {
            // No more than this: what else there is to see is read only where nothing was done, which a statement
            // that also looks would pay for each time.
            grant: statement(
                format!(
                    "insert into {locks} as l (name, version, last_time, owner, client, kind, token, \
                     since, expires, label, waiting) \
                     select $1, t.now, t.next, $2, $3, $4, t.next << 10, t.now, t.now + $5, $6, 0 \
                     from (select n.now, greatest(n.now, n.floor + 1) as next from (select {NOW} as now, floor \
                     from {meta}) n) t where {SURE} and t.next < {LIMIT} \
                     on conflict (name) do update set version = l.version + 1, \
                     last_time = greatest(excluded.since, l.last_time + 1), owner = excluded.owner, \
                     client = excluded.client, kind = excluded.kind, \
                     token = greatest(excluded.since, l.last_time + 1) << 10, since = excluded.since, \
                     expires = excluded.expires, label = excluded.label, waiting = 0 \
                     where l.others is null and (l.owner is null or l.expires <= excluded.since) \
                     and l.last_time + 1 < {LIMIT} returning token, version = since{TAG}"
                ),
                &[Type::TEXT, Type::BYTEA, Type::BYTEA, Type::INT2, Type::INT8, Type::TEXT],
            ),
            release: statement(
                format!(
                    "update {locks} set version = version + 1, {nobody}, waiting = 0 where {SURE} and name = $1 \
                     and owner = $2 and others is null and expires > {NOW} returning true{TAG}"
                ),
                &[Type::TEXT, Type::BYTEA],
            ),
            release_to_next: statement(
                format!(
                    "with r as (update {locks} set version = version + 1, {nobody}, \
                     next_until = case when others is not null then {NOW} + $3 end where {SURE} and name = $1 and owner = $2 \
                     and (others is null or next_owner is not null) and expires > {NOW} \
                     returning next_owner, next_client, next_until) \
                     select case when next_until is not null then pg_catalog.pg_notify('{CHANNEL}' || pg_catalog.encode(next_client, 'hex'), \
                     '{WAKE}' || pg_catalog.encode(next_owner, 'hex')) is null end{TAG} from r"
                ),
                &[Type::TEXT, Type::BYTEA, Type::INT8],
            ),
            // Whoever takes it stays among the others until somebody writes them.
            claim: statement(
                format!(
                    "update {locks} l set version = l.version + 1, last_time = greatest(t.now, l.last_time + 1), \
                     owner = $2, client = $3, kind = $4, token = greatest(t.now, l.last_time + 1) << 10, since = t.now, \
                     expires = t.now + $5, label = $6, waiting = greatest(l.waiting - 1, 0), \
                     others = case when l.next_is_last then null else l.others end, \
                     next_owner = null, next_client = null, next_is_last = null, next_until = null \
                     from (select {NOW} as now) t where {SURE} and l.name = $1 and l.owner is null and l.next_owner = $2 \
                     and l.next_until > t.now and greatest(t.now, l.last_time + 1) < {LIMIT} \
                     returning l.token, l.waiting > 0{TAG}"
                ),
                &[Type::TEXT, Type::BYTEA, Type::BYTEA, Type::INT2, Type::INT8, Type::TEXT],
            ),
            extend: statement(
                format!(
                    "{now}, a as (select * from unnest($1::text[], $2::bytea[], $3::bigint[]) with ordinality \
                     as a(name, owner, ttl, nr)), \
                     k as materialized (select l.name, l.owner, a.ttl, a.nr from a join {locks} l on l.name = a.name \
                     and l.owner = a.owner where {SURE} for update of l skip locked) \
                     update {locks} l set version = l.version + 1, expires = greatest(l.expires, t.now + k.ttl) \
                     from k, t where l.name = k.name and l.owner = k.owner and l.expires > t.now \
                     returning k.nr, l.expires - t.now, l.waiting > 0{TAG}"
                ),
                &[Type::TEXT_ARRAY, Type::BYTEA_ARRAY, Type::INT8_ARRAY],
            ),
            read: statement(format!("{now} select {seen}"), &[Type::TEXT]),
            // Whoever has the row locked changes it mostly, and then this would be in vain. And it holds up what is sent
            // after it over the same connection.
            update: statement(
                format!(
                    "update {locks} l set version = version + 1, ({DECIDED}) = \
                     ($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) \
                     from (select name from {locks} where {SURE} and name = $1 and version = $2 \
                     for update skip locked) k \
                     where l.name = k.name and l.version = $2 returning 1::bigint{TAG}"
                ),
                WRITE.first_chunk::<16>().map_or(&[], |types| types),
            ),
            update_and_tell: statement(
                format!(
                    "with k as materialized (select name from {locks} where {SURE} and name = $1 and version = $2 \
                     for update skip locked), \
                     w as (update {locks} l set version = version + 1, ({DECIDED}) = \
                     ($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) \
                     from k where l.name = k.name and l.version = $2 returning 1), {told}"
                ),
                &WRITE,
            ),
            insert: statement(
                format!(
                    "with w as (insert into {locks} (name, version, {DECIDED}) select $1, {NOW} + $2, \
                     $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16 \
                     where {SURE} and $3 >= (select floor from {meta}) on conflict do nothing returning 1), {told}"
                ),
                &WRITE,
            ),
            append: statement(
                format!(
                    "update {locks} set version = version + 1, others = coalesce(others, $2) || $3, \
                     next_is_last = false where {SURE} and name = $1 returning true{TAG}"
                ),
                &[Type::TEXT, Type::BYTEA, Type::BYTEA],
            ),
            // Nothing is written unless all is: the division fails.
            write_all: statement(
                format!(
                    "with v as materialized (select * from unnest($1::text[], $2::bigint[], $3::bigint[], \
                     $4::bytea[], $5::bytea[], $6::smallint[], $7::bigint[], $8::bigint[], $9::bigint[], \
                     $10::text[], $11::integer[], $12::bytea[], $13::bytea[], $14::bytea[], $15::boolean[], \
                     $16::bigint[]) as v(name, version, {DECIDED})), \
                     k as materialized (select l.name from {locks} l where {SURE} and l.name = any($1) \
                     order by l.name for update), \
                     u as (update {locks} l set version = l.version + 1, ({DECIDED}) = ({decided}) from v \
                     where {SURE} and v.version > 0 and l.name = v.name and l.version = v.version \
                     and (select pg_catalog.count(*) from k) >= 0 returning 1), \
                     i as (insert into {locks} (name, version, {DECIDED}) select name, {NOW}, {DECIDED} from v \
                     where {SURE} and v.version = 0 and last_time >= (select floor from {meta}) \
                     order by name on conflict do nothing returning 1), \
                     w as materialized (select 1 / case when (select pg_catalog.count(*) from u) \
                     + (select pg_catalog.count(*) from i) = pg_catalog.cardinality($1) then 1 else 0 end as done), \
                     n as (select pg_catalog.pg_notify(c, p) from w, unnest($17::text[], $18::text[]) as x(c, p)) \
                     select (select pg_catalog.count(*) from w), (select pg_catalog.count(*) from n){TAG}"
                ),
                &WRITE_ALL,
            ),
            list: statement(
                format!(
                    "{now} select l.name, t.now, t.floor, {COLUMNS}{TAG} from t, {locks} l \
                     where pg_catalog.starts_with(l.name, $1) and l.name > $2 and (l.others is not null or l.owner is not null) \
                     order by l.name limit $3"
                ),
                &[Type::TEXT, Type::TEXT, Type::INT8],
            ),
            // How far it has come is in the row without a name. No more rows are read than these.
            page: statement(
                format!(
                    "with t as materialized (select {NOW} as now, floor, raised from {meta}), \
                     m as materialized (select version, label, token from {locks} where name = ''), \
                     l as materialized (select name, version, last_time, owner, client, kind, token, since, expires, \
                     label, waiting, null::bytea as others, next_owner, next_client, next_is_last, next_until, \
                     others is not null as has_others from {locks} \
                     where name > coalesce((select label from m), '') order by name limit {PAGE}) \
                     select m.version, m.label, m.token, t.raised, e.name, l.name, t.now, t.floor, {COLUMNS}, l.has_others{TAG} \
                     from t left join m on true \
                     left join (select pg_catalog.max(name) as name from l having pg_catalog.count(*) >= {PAGE}) e on true \
                     left join l on l.last_time < t.now - $1 and l.last_time <= t.floor \
                     and t.raised <= t.now - {COVERED} and (l.owner is null or l.expires <= t.now)"
                ),
                &[Type::INT8],
            ),
            // Its time makes it too young to be taken away, whoever sweeps.
            make_mark: statement(
                format!(
                    "insert into {locks} (name, version, last_time, waiting) select '', 1, {LIMIT}, 0 where {SURE} \
                     on conflict do nothing returning true{TAG}"
                ),
                &[],
            ),
            // It waits for nobody, and looks at one row after the other, whatever the planner thinks of the table.
            take_away: statement(
                format!(
                    "with m as materialized (select version from {locks} where {SURE} and name = '' and version = $1 \
                     for update skip locked), \
                     w as (update {locks} l set version = l.version + 1, label = $2, token = $3 from m \
                     where l.name = '' and l.version = $1 returning 1), \
                     k as materialized (select l.ctid as at from unnest($4::text[], $5::bigint[]) as a(name, version), \
                     lateral (select ctid from {locks} where name = a.name and version = a.version \
                     and last_time <= (select floor from {meta}) and exists (select from m) \
                     for update skip locked) l), \
                     d as (delete from {locks} where ctid = any(array(select at from k)) returning 1) \
                     select (select pg_catalog.count(*) from w), (select pg_catalog.count(*) from d){TAG}"
                ),
                &[Type::INT8, Type::TEXT, Type::INT8, Type::TEXT_ARRAY, Type::INT8_ARRAY],
            ),
            raise_floor: statement(
                format!(
                    "update {meta} set floor = $1, raised = {NOW} where {SURE} and floor < $1 \
                     and raised <= {NOW} - 2 * {COVERED} returning true{TAG}"
                ),
                &[Type::INT8],
            ),
            remove: statement(
                format!(
                    "delete from {locks} where {SURE} and name = $1 and version = $2 \
                     and last_time <= (select floor from {meta}) returning true{TAG}"
                ),
                &[Type::TEXT, Type::INT8],
            ),
            read_slots: statement(slots::read(schema, NOW, TAG), &[Type::TEXT]),
            write_slots: statement(
                slots::write(schema, NOW, SURE, TAG),
                &[Type::TEXT, Type::BYTEA, Type::BYTEA, Type::INT8, Type::BYTEA],
            ),
            read_history: statement(history::read(schema, NOW, TAG), &[Type::TEXT]),
            add_history: statement(
                history::add(schema, NOW, SURE, TAG),
                &[Type::TEXT, Type::BYTEA_ARRAY, Type::INT8_ARRAY, Type::INT8, Type::INT8],
            ),
            has_history: statement(history::has(schema, TAG), &[]),
            sweep_history: statement(history::sweep(schema, NOW, SURE, TAG), &[]),
            incarnation: statement(
                format!(
                    "select (select system_identifier from pg_control_system())::text || '/' \
                 || left(pg_walfile_name(pg_current_wal_lsn()), 8) || case current_setting('fsync') when 'on' \
                 then '' else '/' || extract(epoch from pg_postmaster_start_time())::bigint end{TAG}"
                ),
                &[],
            ),
            which_server: statement(
                format!(
                    "select 'system ' || (select system_identifier from pg_control_system())::text || ' since ' \
                 || to_char(pg_postmaster_start_time() at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'){TAG}"
                ),
                &[],
            ),
            // What is not told to this user is null.
            server: statement(
                format!(
                    "select current_setting('server_version'), current_setting('fsync'), \
                     current_setting('full_page_writes'), current_setting('synchronous_commit'), \
                     current_setting('synchronous_standby_names'), \
                     (select count(*) from pg_stat_replication r where not exists (select from pg_replication_slots s \
                     where s.active_pid = r.pid and s.slot_type = 'logical')), \
                     pg_is_in_recovery(), current_setting('idle_in_transaction_session_timeout'), \
                     pg_notification_queue_usage(), \
                     (select count(*) from {locks} where others is not null or expires > {NOW}), \
                     (select count(*) from {locks} where name <> ''), \
                     (select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum')), \
                     (select count(*) from pg_replication_slots where slot_type = 'physical' and not active){TAG}"
                ),
                &[],
            ),
            notify: statement(
                format!("select pg_catalog.pg_notify($1, $2){TAG}"),
                &[Type::TEXT, Type::TEXT],
            ),
        }
    }
}

/// The name, the version before, the row, and whom to tell what.
static WRITE: [Type; 18] = [
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
    Type::BYTEA,
    Type::BYTEA,
    Type::BOOL,
    Type::INT8,
    Type::TEXT_ARRAY,
    Type::TEXT_ARRAY,
];

/// The same of several.
const WRITE_ALL: [Type; 18] = [
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
    Type::BYTEA_ARRAY,
    Type::BYTEA_ARRAY,
    Type::BOOL_ARRAY,
    Type::INT8_ARRAY,
    Type::TEXT_ARRAY,
    Type::TEXT_ARRAY,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_to_each_statement_is_known_by_a_column() {
        for statement in all(&Statements::new("tenure", 500)) {
            assert_eq!(statement.shared.matches(TAG).count(), 1, "{}", statement.shared);
            assert!(!statement.text.contains(TAG));
            assert!(statement.shared(QueryTag::of(7)).contains(", true as tenure_0"));
        }
    }

    fn all(all: &Statements) -> [&Statement; COUNT] {
        let Statements { grant, release, release_to_next, claim, extend, read, update, .. } = all;
        let Statements { update_and_tell, insert, append, write_all, list, page, .. } = all;
        let Statements {
            make_mark,
            take_away,
            raise_floor,
            remove,
            notify,
            read_slots,
            write_slots,
            read_history,
            add_history,
            has_history,
            sweep_history,
            ..
        } = all;
        let Statements { incarnation, which_server, server, .. } = all;
        [
            grant,
            release,
            release_to_next,
            claim,
            extend,
            read,
            update,
            update_and_tell,
            insert,
            append,
            write_all,
            list,
            page,
            make_mark,
            take_away,
            raise_floor,
            remove,
            read_slots,
            write_slots,
            read_history,
            add_history,
            has_history,
            sweep_history,
            notify,
            incarnation,
            which_server,
            server,
        ]
    }

    /// One without a place is taken for one that a pooler forgot.
    #[test]
    fn each_statement_has_a_place_where_it_is_kept_prepared() {
        let last = Statements::new("tenure", 500).notify;
        assert_eq!(last.number + 1, COUNT);
    }
}
