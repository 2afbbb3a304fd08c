//! The statements.
//!
//! They mean the same whether the server counts rows that were found or rows that were changed, since each that
//! writes changes the version. They mean the same whatever the order in which the server computes new values, since
//! none reads a column that was given a value before. Names, labels and bytes go to the server as hexadecimal digits and
//! come back as bytes: no character set that a session has by then makes others of them.

use tenure_core::{LockName, store::Renewal};
use tenure_sql::{COVERED, PAGE};

use crate::tables::{history::HistoryStatements, rows::hex, slots::SlotStatements, time::NOW};

/// All of them.
#[derive(Debug)]
pub(crate) struct Statements {
    pub(crate) grant: String,
    pub(crate) grant_first: String,
    pub(crate) release: String,
    locks: String,
    meta: String,
    extended: String,
    pub(crate) read: String,
    pub(crate) no_row: String,
    pub(crate) update: String,
    pub(crate) insert: String,
    pub(crate) append: String,
    pub(crate) list: String,
    pub(crate) mark: String,
    pub(crate) page: String,
    pub(crate) make_mark: String,
    pub(crate) move_mark: String,
    pub(crate) raise_floor: String,
    pub(crate) remove: String,
    pub(crate) watch: String,
    pub(crate) rows: String,
    pub(crate) slots: SlotStatements,
    pub(crate) history: HistoryStatements,
}

/// Times from here on fit no token.
const LIMIT: &str = "9007199254740992";
/// A label that is put in.
const LABEL: &str = "convert(unhex(?) using utf8mb4)";
const COLUMNS: &str = "l.version, l.last_time, l.owner, l.client, l.kind, l.token, l.since, l.expires, \
                       cast(convert(l.label using utf8mb4) as binary), l.waiting, l.others";
const INTO: &str =
    "name, version, last_time, owner, client, kind, token, since, expires, label, waiting, others";

impl Statements {
    pub(crate) fn new(tables: &str) -> Self {
        let (locks, meta) = (format!("{tables}_locks"), format!("{tables}_meta"));
        let world = format!("{NOW}, (select floor from {meta})");
        let next = format!("greatest({NOW}, last_time + 1)");
        let first = format!("greatest({NOW}, m.floor + 1)");
        // A server that thinks the table small would look at all rows, and wait for each that another call has locked.
        let by_name = "force index (primary)";
        // One parameter, however many holds there are, so that it is prepared once. Rows are locked in its order.
        let holds = "json_table(?, '$[*]' columns (place for ordinality, name varchar(1024) character set ascii path '$[0]', \
                     owner varchar(32) character set ascii path '$[1]', ttl bigint path '$[2]')) as a";
        Self {
            grant: format!(
                "update {locks} set version = version + 1, token = last_insert_id({next} * 1024), \
                 last_time = {next}, owner = unhex(?), client = unhex(?), kind = ?, since = {NOW}, \
                 expires = {NOW} + ?, label = {LABEL}, waiting = 0 \
                 where name = unhex(?) and others is null and (owner is null or expires <= {NOW}) \
                 and {next} < {LIMIT}"
            ),
            grant_first: format!(
                "insert into {locks} ({INTO}) \
                 select unhex(?), {NOW}, {first}, unhex(?), unhex(?), ?, last_insert_id({first} * 1024), {NOW}, {NOW} + ?, \
                 {LABEL}, \
                 0, null from {meta} m where {first} < {LIMIT}"
            ),
            release: format!(
                "update {locks} set version = version + 1, owner = null, client = null, kind = null, token = null, \
                 since = null, expires = null, label = null, waiting = 0 \
                 where name = unhex(?) and owner = unhex(?) and others is null and expires > {NOW}"
            ),
            extended: format!(
                "select a.place, l.expires - {NOW}, l.waiting > 0 \
                 from {holds} straight_join {locks} l {by_name} on l.name = unhex(a.name) \
                 where l.owner = unhex(a.owner) and l.expires > {NOW}"
            ),
            // The floor counts where there is no row alone.
            read: format!("select {NOW}, 0, {COLUMNS} from {locks} l where l.name = unhex(?)"),
            no_row: format!("select {world}"),
            update: format!(
                "update {locks} set version = version + 1, last_time = ?, owner = unhex(?), client = unhex(?), \
                 kind = ?, token = ?, since = ?, expires = ?, label = {LABEL}, waiting = ?, others = unhex(?) \
                 where name = unhex(?) and version = ?"
            ),
            insert: format!(
                "insert into {locks} ({INTO}) \
                 select unhex(?), {NOW}, ?, unhex(?), unhex(?), ?, ?, ?, ?, {LABEL}, ?, unhex(?) from {meta} where floor <= ?"
            ),
            append: format!(
                "update {locks} set version = version + 1, others = concat(coalesce(others, unhex(?)), unhex(?)) \
                 where name = unhex(?)"
            ),
            // No text has a byte of eight ones.
            list: format!(
                "select l.name, {world}, {COLUMNS} from {locks} l \
                 where l.name >= unhex(?) and l.name < unhex(?) and l.name > unhex(?) \
                 and (l.others is not null or l.owner is not null) order by l.name limit ?"
            ),
            // The row without a name says how far the present round has come.
            mark: format!(
                "select {NOW}, m.floor, m.raised, l.version, cast(convert(l.label using utf8mb4) as binary), l.token \
                 from {meta} m left join {locks} l on l.name = ''"
            ),
            // No more rows are read than these.
            page: format!(
                "select l.name, {world}, {}, \
                 l.last_time < {NOW} - ? and l.last_time <= (select floor from {meta}) \
                 and (select raised from {meta}) <= {NOW} - {COVERED} \
                 and (l.owner is null or l.expires <= {NOW}), l.others is not null \
                 from {locks} l {by_name} where l.name > unhex(?) order by l.name limit {PAGE}",
                COLUMNS.replace("l.others", "null")
            ),
            // Its time makes it too young to be taken away, whoever sweeps.
            make_mark: format!(
                "insert ignore into {locks} (name, version, last_time, waiting) values ('', 1, {LIMIT}, 0)"
            ),
            move_mark: format!(
                "update {locks} set version = version + 1, label = {LABEL}, token = ? \
                 where name = '' and version = ?"
            ),
            raise_floor: format!(
                "update {meta} set floor = ?, raised = {NOW} where floor < ? \
                 and raised <= {NOW} - 2 * {COVERED}"
            ),
            locks: locks.clone(),
            meta: meta.clone(),
            remove: format!(
                "delete from {locks} where name = unhex(?) and version = ? \
                 and last_time <= (select floor from {meta})"
            ),
            // In the place of a ttl stands the version that was seen.
            watch: format!(
                "select l.name, l.version, {NOW}, l.others \
                 from {holds} straight_join {locks} l {by_name} on l.name = unhex(a.name) \
                 where l.version <> a.ttl"
            ),
            rows: format!(
                "select (select count(*) from {locks} where name <> ''), \
                 (select count(*) from {locks} where others is not null or expires > {NOW})"
            ),
            slots: SlotStatements::new(tables),
            history: HistoryStatements::new(tables),
        }
    }

    /// Which of these rows nobody has locked. It waits for none, and locks none for longer than it takes.
    pub(crate) fn unlocked<'a>(&self, names: impl Iterator<Item = &'a LockName>) -> String {
        let names: Vec<_> =
            names.map(|name| format!("x'{}'", hex(name.as_str().as_bytes()))).collect();
        format!(
            "select name from {} force index (primary) where name in ({}) for update skip locked",
            self.locks,
            names.join(", ")
        )
    }

    /// Extends the leases of all of these by the same ttl, in microseconds.
    ///
    /// With the names and owners as literals, since a join would be carried out by a table in a file, which is slow,
    /// and fails where the folder for it is full.
    pub(crate) fn extend(&self, holds: &[&Renewal], ttl: i64) -> String {
        let mut names = Vec::new();
        let mut both = Vec::new();
        for hold in holds {
            let name = hex(hold.name.as_str().as_bytes());
            both.push(format!("x'{name}{}'", hex(hold.owner.as_bytes())));
            names.push(format!("x'{name}'"));
        }
        format!(
            "update {} force index (primary) \
             set version = version + 1, expires = greatest(expires, {NOW} + {ttl}) \
             where name in ({}) and concat(name, owner) in ({}) and expires > {NOW}",
            self.locks,
            names.join(", "),
            both.join(", ")
        )
    }

    /// What is left of the leases of those of these holds that are there. Of digits and signs that need no escaping.
    pub(crate) fn extended(&self, holds: &str) -> String {
        self.extended.replacen('?', &format!("'{holds}'"), 1)
    }

    /// Takes away these rows, if their versions are still these and the floor covers their tokens.
    pub(crate) fn take_away(&self, rows: &[&(LockName, i64)]) -> String {
        let (names, both): (Vec<_>, Vec<_>) = rows
            .iter()
            .map(|(name, version)| {
                let name = hex(name.as_str().as_bytes());
                let version = hex(version.to_string().as_bytes());
                // Digits have no slash.
                (format!("x'{name}'"), format!("x'{name}2f{version}'"))
            })
            .unzip();
        // Only with another table an index can be named.
        format!(
            "delete l from {} l force index (primary) join {} m on l.last_time <= m.floor \
             where l.name in ({}) and concat(l.name, x'2f', l.version) in ({})",
            self.locks,
            self.meta,
            names.join(", "),
            both.join(", ")
        )
    }
}
