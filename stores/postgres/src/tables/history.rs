//! The statements for the histories of locks.

/// How many events of other names whose time is over a write takes away at most.
const TAKEN_AWAY: u32 = 16;
/// How many events of any name a sweep takes away at most.
pub(crate) const SWEPT: u32 = 512;

/// The columns of the table that are as ours, by the numbers of the types that they have in every server.
fn own_columns(history: &str) -> String {
    format!(
        "from pg_catalog.pg_attribute where attrelid = pg_catalog.to_regclass('{history}') and (attname, atttypid, attidentity) in \
         (('number', 20, 'a'), ('name', 25, ''), ('at', 20, ''), ('event', 17, ''), ('kept_until', 20, ''))"
    )
}

/// Whether there is a table of ours from which this user may delete. It locks no table, nor waits for one.
pub(crate) fn has(schema: &str, tag: &str) -> String {
    let history = format!("{schema}.history");
    let may = ["select", "update", "delete"].map(|right| {
        format!(
            "pg_catalog.has_table_privilege(pg_catalog.to_regclass('{history}')::oid, '{right}')"
        )
    });
    format!(
        "select pg_catalog.count(*) = 5 and coalesce({}, false){tag} {}",
        may.join(" and "),
        own_columns(&history)
    )
}

/// Takes away events of any name whose time is over, as far as nobody has locked them, and returns how many went.
pub(crate) fn sweep(schema: &str, now: &str, sure: &str, tag: &str) -> String {
    let history = format!("{schema}.history");
    format!(
        "with t as materialized (select {now} as now where {sure}), \
         o as materialized (select number from {history} where kept_until <= (select now from t) \
         order by kept_until limit {SWEPT} for update skip locked), \
         d as (delete from {history} where number = any(array(select number from o)) returning 1) \
         select pg_catalog.count(*){tag} from d"
    )
}

/// Reads the events of a name, and the time: one row without an event if there is none.
pub(crate) fn read(schema: &str, now: &str, tag: &str) -> String {
    format!(
        "with t as materialized (select {now} as now) \
         select t.now, h.at, h.event{tag} from t left join {schema}.history h on h.name = $1 and h.kept_until > t.now \
         order by h.number"
    )
}

/// Adds events ($2) to those of a name, which happened so long ago ($3). What is older than the retention ($4) goes, and
/// so do the oldest ones beyond a number ($5). Those of a longer retention end earlier from now on.
///
/// Does nothing in a table that another program made, and returns how many events it added, and whether the table is ours.
///
/// It waits for no other statement: what it deletes or changes is what nobody has locked, and the rest is left to a later
/// write. Whether somebody has locked a row is looked at row by row, whatever the planner thinks of the table.
pub(crate) fn add(schema: &str, now: &str, sure: &str, tag: &str) -> String {
    let history = format!("{schema}.history");
    let ours = own_columns(&history);
    let goes = "(nr > $5 or at < t.now - $4 or kept_until <= t.now)";
    format!(
        "with c as materialized (select pg_catalog.count(*) = 5 as ours {ours}), \
         t as materialized (select {now} as now from c where {sure} and c.ours), \
         n as materialized (select number, at, kept_until, pg_catalog.row_number() over (order by number desc) as nr \
         from {history} where name = $1), \
         k as materialized (select l.number, {goes} as goes from t, n, \
         lateral (select h.number from {history} h where h.number = n.number for update skip locked) l \
         where {goes} or kept_until > at + $4), \
         o as materialized (select number from {history} where kept_until <= (select now from t) and name <> $1 \
         order by kept_until limit {TAKEN_AWAY} for update skip locked), \
         d as (delete from {history} where number = any(array(select number from k where goes \
         union all select number from o))), \
         u as (update {history} set kept_until = at + $4 where number = any(array(select number from k where not goes))), \
         w as (insert into {history} (name, at, event, kept_until) \
         select $1, t.now - e.ago, e.event, t.now - e.ago + $4 \
         from t, unnest($2::bytea[], $3::bigint[]) with ordinality as e(event, ago, nr) order by e.nr returning 1) \
         select pg_catalog.count(*), (select ours from c){tag} from w"
    )
}
