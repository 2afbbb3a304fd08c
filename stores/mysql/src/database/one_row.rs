//! The row of one name, read and written in a session.

use tenure_core::LockName;
use tenure_sql::{Row, RowSnapshot};

use crate::{
    connection::session::Session,
    error::Failure,
    tables::{
        rows::{columns, name_value, no_row, odd, snapshot},
        statements::Statements,
    },
};

/// Looks at a name.
pub(crate) async fn read_snapshot(
    session: &mut Session,
    statements: &Statements,
    name: &LockName,
) -> Result<RowSnapshot, Failure> {
    if let [row] = &*session.rows(&statements.read, vec![name_value(name)]).await? {
        return Ok(snapshot(row, 0)?);
    }
    let rows = session.rows(&statements.no_row, Vec::new()).await?;
    Ok(no_row(rows.first().ok_or_else(odd)?)?)
}

/// Writes a row on the condition that it is as it was seen. Whether it was.
pub(crate) async fn write_if_unchanged(
    session: &mut Session,
    statements: &Statements,
    name: &LockName,
    row: &Row,
) -> Result<bool, Failure> {
    let before = row.version - 1;
    let mut values = columns(row);
    let statement = if before == 0 {
        values.insert(0, name_value(name));
        values.push(row.last_time.into());
        &statements.insert
    } else {
        values.extend([name_value(name), before.into()]);
        &statements.update
    };
    // Who was in the way has written mostly, and whoever waits for somebody else's lock does so in vain.
    match session.write_once(statement, values).await {
        Ok(written) => Ok(written.rows > 0),
        Err(Failure::Crossed | Failure::Duplicate) => Ok(false),
        Err(failure) => Err(failure),
    }
}
