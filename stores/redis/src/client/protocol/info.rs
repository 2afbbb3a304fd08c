//! What a server says of itself.

use crate::client::Value;

/// What stands behind a name in the answer to `INFO`.
pub(crate) fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
}

/// A value as text, if it is one.
pub(crate) fn text(value: &Value) -> Option<String> {
    match value {
        Value::Bytes(bytes) => String::from_utf8(bytes.clone()).ok(),
        Value::Text(text) => Some(text.clone()),
        _ => None,
    }
}
