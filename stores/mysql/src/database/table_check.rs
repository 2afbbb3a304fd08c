//! Whether the tables are there, are ours, and are made as they have to be. What is somebody else's stays as it is.

use std::collections::HashMap;

use tenure_core::{Fault, FaultKind};

use crate::{
    client::Row,
    connection::{open::ConnectionFactory, session::Session},
    error::Failure,
    tables::{
        rows::value,
        schema::{COLUMNS, FORMAT, HOLDERS, META, statements},
    },
};

/// What has one of our names.
struct FoundTable {
    is_view: bool,
    /// How many of our columns it has.
    columns: i64,
}

impl ConnectionFactory {
    pub(crate) async fn check_tables(&self, session: &mut Session) -> Result<(), Fault> {
        let tables = &self.options.tables;
        let look = self.inspection_query();
        let mut found = session.query_text(&look).await;
        let is_missing = match &found {
            Ok(rows) => rows.is_empty(),
            Err(failure) => matches!(failure, Failure::NoTables(_)),
        };
        if is_missing && self.options.creates {
            self.create(session).await?;
            found = session.query_text(&look).await;
        }
        let found = found.map_err(Failure::fault)?;
        let Some(row) = found.first() else {
            let what = format!("the table {tables}_meta is empty");
            let help = "fill it as `tenure schema mysql` says";
            return Err(Fault::new(FaultKind::Misconfigured, what, help));
        };
        let format: i64 = value(row, 0)?;
        if format != FORMAT {
            let what = format!(
                "the tables {tables}_… have format {format}, and this version knows {FORMAT}"
            );
            let help = "use a version of tenure that knows it, or other tables: tables= in the URL; \
                        https://github.com/tenure-rs/tenure/blob/main/docs/upgrading.md#a-database says how to change";
            return Err(Fault::new(FaultKind::Misconfigured, what, help));
        }
        self.check_make(row)
    }

    /// The format, and how the tables are made.
    fn inspection_query(&self) -> String {
        let tables = &self.options.tables;
        let of = |table: &str| {
            format!("where table_schema = database() and table_name = '{tables}_{table}'")
        };
        let (locks, meta) = (of("locks"), of("meta"));
        let columns = |of: &str, ours: &[&str]| {
            format!(
                "(select count(*) from information_schema.columns {of} and column_name in ('{}'))",
                ours.join("', '")
            )
        };
        format!(
            "select format, (select engine from information_schema.tables {locks}), \
             (select engine from information_schema.tables {meta}), {}, {}, \
             (select group_concat(lower(column_name), coalesce(sub_part, '')) \
             from information_schema.statistics {locks} and index_name = 'PRIMARY'), \
             (select lower(data_type) from information_schema.columns {locks} and column_name = 'name'), \
             (select count(*) from {tables}_locks where false) from {tables}_meta",
            columns(&locks, &COLUMNS),
            columns(&meta, &META),
        )
    }

    /// Whether each name has one row at most, names are compared by their bytes, and what is committed is kept. Tables
    /// made by hand, or restored without their indexes, may lack that.
    fn check_make(&self, row: &Row) -> Result<(), Fault> {
        let tables = &self.options.tables;
        let text = |index| -> Result<String, Fault> {
            Ok(value::<Option<String>>(row, index)?.unwrap_or_default())
        };
        // First of all: nobody is to change a table on our word that is not ours.
        for (table, columns, ours) in
            [("locks", value(row, 3)?, COLUMNS.len()), ("meta", value(row, 4)?, META.len())]
        {
            if has_all(columns, ours) {
                continue;
            }
            return Err(of_another(&format!("{tables}_{table}")));
        }
        for (table, engine) in [("locks", text(1)?), ("meta", text(2)?)] {
            if !engine.eq_ignore_ascii_case("InnoDB") {
                let what = format!("the table {tables}_{table} uses the engine {engine}");
                let help = "alter table … engine = InnoDB: no other engine keeps what it committed";
                return Err(Fault::new(FaultKind::Misconfigured, what, help));
            }
        }
        let (key, kind) = (text(5)?, text(6)?);
        let (what, help) = if key != "name" {
            let what =
                "has another primary key than name, so a name can have two rows, and two holders";
            (what, "alter table … add primary key (name)")
        } else if kind != "varbinary" {
            let what = "does not compare names by their bytes, so two names can be one lock";
            (what, "make the column name varbinary(512)")
        } else {
            return Ok(());
        };
        let help =
            format!("{help}, as `tenure schema mysql` has it, or name other tables: tables=");
        Err(Fault::new(FaultKind::Misconfigured, format!("the table {tables}_locks {what}"), help))
    }

    /// However many begin at once: what is there stays as it is. Where a part of it is somebody else's, nothing is made.
    async fn create(&self, session: &mut Session) -> Result<(), Fault> {
        let tables = &self.options.tables;
        let there = self.existing_tables(session).await?;
        for (table, ours) in [("locks", COLUMNS.len()), ("meta", META.len())] {
            if let Some(found) = there.get(table)
                && (found.is_view || !has_all(found.columns, ours))
            {
                return Err(of_another(&format!("{tables}_{table}")));
            }
        }
        let [locks, meta, first, slots, history, view] = statements(tables);
        for statement in [locks, meta, first, slots, history] {
            session.create(&statement).await.map_err(|failure| {
                let fault = failure.fault();
                if fault.kind() != FaultKind::Misconfigured {
                    return fault;
                }
                let what = format!("this user cannot create the tables {tables}_…");
                let help = "let their owner run what `tenure schema mysql` prints, and grant this user what it says";
                Fault::new(FaultKind::Misconfigured, what, help).because(format!("{fault:#}"))
            })?;
        }
        match there.get("holders") {
            // Only people look at it, and not everybody may make one.
            None => drop(session.say(&view).await),
            Some(found) if found.is_view && has_all(found.columns, HOLDERS.len()) => {}
            Some(_) => tracing::warn!(
                store = "mysql",
                location = self.options.location(),
                "{tables}_holders does not belong to tenure and was not changed: there is no view \
                 of the holders"
            ),
        }
        Ok(())
    }

    /// What has our names, by what they end with.
    async fn existing_tables(
        &self,
        session: &mut Session,
    ) -> Result<HashMap<String, FoundTable>, Fault> {
        let tables = &self.options.tables;
        let ours = |table: &str, columns: &[&str]| {
            format!("when '{tables}_{table}' then c.column_name in ('{}')", columns.join("', '"))
        };
        let look = format!(
            "select substr(t.table_name, {}), t.table_type, (select count(*) from information_schema.columns c \
             where c.table_schema = database() and c.table_name = t.table_name \
             and case c.table_name {} {} {} end) from information_schema.tables t \
             where t.table_schema = database() \
             and t.table_name in ('{tables}_locks', '{tables}_meta', '{tables}_holders')",
            tables.len() + 2,
            ours("locks", &COLUMNS),
            ours("meta", &META),
            ours("holders", &HOLDERS),
        );
        let rows = session.query_text(&look).await.map_err(Failure::fault)?;
        let found = rows.iter().map(|row| {
            let kind: String = value(row, 1)?;
            let columns = value(row, 2)?;
            Ok((value(row, 0)?, FoundTable { is_view: kind.eq_ignore_ascii_case("VIEW"), columns }))
        });
        found.collect::<Result<_, Fault>>()
    }
}

fn has_all(columns: i64, ours: usize) -> bool {
    usize::try_from(columns).is_ok_and(|columns| columns == ours)
}

fn of_another(table: &str) -> Fault {
    let what = format!("{table} exists and does not belong to tenure: it was not changed");
    Fault::new(FaultKind::Misconfigured, what, "name other tables in the URL: tables=")
}
