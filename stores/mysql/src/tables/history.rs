//! The statements for the histories of locks.

use std::time::Duration;

use crate::tables::{
    rows::{hex, micros},
    time::NOW,
};

/// How many events of other names whose time is over a write takes away at most, and how many a sweep does.
const TAKEN_AWAY: u32 = 16;
pub(crate) const SWEPT: usize = 512;
/// How many rows one statement looks up.
const AT_A_TIME: usize = 128;

/// The statements. Those that write are texts with literals, so that several go by one message, and none is kept
/// prepared.
#[derive(Debug)]
pub(crate) struct HistoryStatements {
    /// One row without an event if there is none.
    pub(crate) read: String,
    /// How many columns the table has, and how many of them are as ours. None if it is not there for this user.
    pub(crate) columns: String,
    history: String,
}

/// The number of columns of the table.
pub(crate) const COLUMNS: i64 = 5;

impl HistoryStatements {
    pub(crate) fn new(tables: &str) -> Self {
        let (history, meta) = (format!("{tables}_history"), format!("{tables}_meta"));
        let read = format!(
            "select {NOW}, h.at, h.event from {meta} m \
             left join {history} h on h.name = unhex(?) and h.kept_until > {NOW} where m.one = 1 order by h.number"
        );
        let columns = format!(
            "select count(*), coalesce(sum(concat_ws(' ', lower(column_name), lower(data_type), lower(extra)) in \
             ('number bigint auto_increment', 'name varbinary ', 'at bigint ', 'event varbinary ', 'kept_until bigint ')), 0) \
             from information_schema.columns where table_schema = database() and table_name = '{history}'"
        );
        Self { read, columns, history }
    }

    /// Which events of a name are to go when so many others are to stay, or end earlier as their retention was longer.
    /// Only what nobody has locked: no write waits for another one.
    pub(crate) fn changing(&self, name: &str, others: u32, time: Duration) -> String {
        let (history, time) = (&self.history, micros(time));
        let goes = format!("(nr > {others} or at < {NOW} - {time} or kept_until <= {NOW})");
        // Read without locks first: those that others have locked count, too.
        format!(
            "select h.number, r.goes from (select number, {goes} as goes from (select number, at, kept_until, \
             row_number() over (order by number desc) as nr from {history} where name = x'{name}') n \
             where {goes} or kept_until > at + {time}) r \
             straight_join {history} h force index (primary) on h.number = r.number for update skip locked"
        )
    }

    /// A few events of other names whose time is over, as far as nobody has locked them.
    pub(crate) fn over(&self, name: &str) -> String {
        format!(
            "select number from {} where kept_until <= {NOW} and name <> x'{name}' \
             order by kept_until limit {TAKEN_AWAY} for update skip locked",
            self.history
        )
    }

    /// Some events of any name whose time is over, as far as nobody has locked them.
    pub(crate) fn swept(&self) -> String {
        format!(
            "select number from {} where kept_until <= {NOW} \
             order by kept_until limit {SWEPT} for update skip locked",
            self.history
        )
    }

    /// Adds events, which happened so long ago.
    pub(crate) fn add(&self, name: &str, events: &[(String, Duration)], time: Duration) -> String {
        let time = micros(time);
        let rows = events.iter().map(|(text, ago)| {
            let (text, ago) = (hex(text.as_bytes()), micros(*ago));
            format!("(x'{name}', {NOW} - {ago}, x'{text}', {NOW} - {ago} + {time})")
        });
        let rows: Vec<_> = rows.collect();
        format!(
            "insert into {} (name, at, event, kept_until) values {}",
            self.history,
            rows.join(", ")
        )
    }

    /// Takes away these events.
    pub(crate) fn take_away(&self, numbers: &[i64]) -> Vec<String> {
        let deletes = |rows| format!("delete h from {rows}");
        self.rows(numbers).map(deletes).collect()
    }

    /// Lets these events end with a shorter retention.
    pub(crate) fn shorten(&self, numbers: &[i64], time: Duration) -> Vec<String> {
        let time = micros(time);
        let updates = |rows| format!("update {rows} set h.kept_until = h.at + {time}");
        self.rows(numbers).map(updates).collect()
    }

    /// The rows with these numbers, as `h`, some by each text. They are looked up one by one: a scan, which the server
    /// prefers where they are many, waits for any row that somebody has locked.
    fn rows(&self, numbers: &[i64]) -> impl Iterator<Item = String> {
        numbers.chunks(AT_A_TIME).map(|numbers| {
            let numbers: Vec<_> =
                numbers.iter().map(|number| format!("select {number} as number")).collect();
            let numbers = numbers.join(" union all ");
            let history = &self.history;
            format!(
                "({numbers}) n straight_join {history} h force index (primary) on h.number = n.number"
            )
        })
    }
}
