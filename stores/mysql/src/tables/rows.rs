//! From rows of the server to ours, and back.

use std::time::Duration;

use tenure_core::{Fault, FaultKind, LockName};
use tenure_sql::{RowSnapshot, SoleHolder};

use crate::client::{FromValue, Row, Value};

/// A value of a row.
pub(crate) fn value<T: FromValue>(row: &Row, index: usize) -> Result<T, Fault> {
    row.get(index).and_then(T::from_value).ok_or_else(odd)
}

/// What no server says whose tables are ours.
pub(crate) fn odd() -> Fault {
    let what = "the answer of the database makes no sense";
    Fault::new(FaultKind::InDoubt, what, "check that its tables are tenure's")
}

/// What is seen where there is no row.
pub(crate) fn no_row(row: &Row) -> Result<RowSnapshot, Fault> {
    let floor = value::<Option<i64>>(row, 1)?.ok_or_else(odd)?;
    Ok(RowSnapshot { now: value(row, 0)?, floor, ..RowSnapshot::default() })
}

/// What stands behind the first `skip` columns.
pub(crate) fn snapshot(row: &Row, skip: usize) -> Result<RowSnapshot, Fault> {
    let now = value(row, skip)?;
    let floor = value::<Option<i64>>(row, skip + 1)?.ok_or_else(odd)?;
    let version = value(row, skip + 2)?;
    let bytes = |index| -> Result<[u8; 16], Fault> {
        value::<Vec<u8>>(row, index)?.try_into().map_err(|_| odd())
    };
    let owner: Option<Vec<u8>> = value(row, skip + 4)?;
    let sole = match owner {
        None => None,
        Some(_) => Some(SoleHolder {
            owner: bytes(skip + 4)?,
            client: bytes(skip + 5)?,
            kind: value(row, skip + 6)?,
            token: value(row, skip + 7)?,
            since: value(row, skip + 8)?,
            expires: value(row, skip + 9)?,
            label: value::<Option<String>>(row, skip + 10)?.unwrap_or_default(),
        }),
    };
    let row = tenure_sql::Row {
        version,
        last_time: value(row, skip + 3)?,
        sole,
        waiting: value(row, skip + 11)?,
        others: value(row, skip + 12)?,
        next: None,
    };
    Ok(RowSnapshot { now, floor, row })
}

/// The name in the first column.
pub(crate) fn name(row: &Row) -> Result<LockName, Fault> {
    LockName::new(value::<String>(row, 0)?).map_err(|_| odd())
}

/// A name as the statements have it.
pub(crate) fn name_value(name: &LockName) -> Value {
    hex(name.as_str().as_bytes()).into()
}

/// From the last time to the others, in the order of the statements.
pub(crate) fn columns(row: &tenure_sql::Row) -> Vec<Value> {
    let sole = row.sole.as_ref();
    vec![
        row.last_time.into(),
        sole.map(|sole| hex(&sole.owner)).into(),
        sole.map(|sole| hex(&sole.client)).into(),
        sole.map(|sole| sole.kind).into(),
        sole.map(|sole| sole.token).into(),
        sole.map(|sole| sole.since).into(),
        sole.map(|sole| sole.expires).into(),
        sole.map(|sole| hex(sole.label.as_bytes())).into(),
        row.waiting.into(),
        row.others.as_deref().map(hex).into(),
    ]
}

/// A length of time as the tables have it.
pub(crate) fn micros(length: Duration) -> i64 {
    i64::try_from(length.as_micros()).unwrap_or(i64::MAX / 4).min(i64::MAX / 4)
}

/// The first of all that come behind the names that begin so. No such name is longer than a column.
pub(crate) fn prefix_end(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    match end.last_mut() {
        // Of UTF-8 none is the highest.
        Some(last) => *last = last.saturating_add(1),
        None => end.resize(LockName::MAX_BYTES + 1, u8::MAX),
    }
    end
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let digit = |number: u8| DIGITS.get(usize::from(number)).copied().unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
