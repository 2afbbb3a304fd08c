//! The statements for the records of slots.

/// How many records whose time is over a write takes away at most.
const TAKEN_AWAY: u32 = 16;

/// Reads the record of a name, and the time.
pub(crate) fn read(schema: &str, now: &str, tag: &str) -> String {
    format!(
        "with t as materialized (select {now} as now) \
         select t.now, (select record from {schema}.slots where name = $1 and kept_until > t.now){tag} from t"
    )
}

/// Replaces the record of a name, if the owner has the name alone, and the record is the one to be replaced or the new
/// one. Returns whether it was written, and whether the owner has the name. Only then do the columns of the row say so:
/// a name that stays taken after a release stands among the others.
///
/// Nobody changes the row of the lock, nor that of the record, until the record is committed. Both are locked before the
/// record is compared, and what was inserted meanwhile is compared where it conflicts: so each comparison is with the
/// latest record. That of a lease that ends during the wait for the row is not written: the time is read once the row is
/// locked. Those whose time is over go after that, as far as nobody has locked them, so that no two writes wait for each
/// other.
pub(crate) fn write(schema: &str, now: &str, sure: &str, tag: &str) -> String {
    let replaces = |known: &str| format!("({known} is not distinct from $5 or {known} = $3)");
    let (latest, conflicting) = (
        replaces("(select case when kept_until > t.now then record end from s)"),
        replaces(&format!("(case when kept.kept_until > {now} then kept.record end)")),
    );
    format!(
        "with k as materialized (select name, expires from {schema}.locks where {sure} and name = $1 and owner = $2 \
         and expires > {now} for update), \
         s as materialized (select s.record, s.kept_until from k join {schema}.slots s on s.name = k.name \
         for update of s), \
         t as materialized (select k.name, k.expires, {now} as now from k where (select pg_catalog.count(*) from s) >= 0), \
         w as (insert into {schema}.slots as kept (name, record, kept_until) \
         select name, $3, now + $4 from t where expires > now and {latest} \
         on conflict (name) do update set record = excluded.record, kept_until = excluded.kept_until \
         where {conflicting} returning 1), \
         d as (delete from {schema}.slots where ctid = any(array(select s.ctid from {schema}.slots s \
         where exists (select from w) and s.kept_until <= (select now from t) and s.name <> $1 \
         order by s.kept_until limit {TAKEN_AWAY} for update skip locked))) \
         select pg_catalog.count(*), (select pg_catalog.count(*) from t where expires > now){tag} from w"
    )
}
