//! What a script repeats of its call, so that an answer cannot be taken for that of another one.

use super::Value;

/// What a reply begins with: whom it is for.
pub(crate) type CorrelationId = [u8; 32];

/// The reply behind its echo; `None` when it belongs to another call.
pub(crate) fn strip_echo(echo: &[u8], reply: Value) -> Option<Value> {
    match reply {
        Value::Bytes(mut record) if record.starts_with(echo) => {
            record.drain(..echo.len());
            Some(Value::Bytes(record))
        }
        Value::Array(mut fields) => {
            let is_ours = matches!(fields.first(), Some(Value::Bytes(first)) if first == echo);
            is_ours.then(|| {
                fields.remove(0);
                Value::Array(fields)
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::Bytes(text.as_bytes().to_vec())
    }

    #[test]
    fn a_reply_to_another_owner_is_none() {
        for value in [text("other"), Value::Array(vec![text("other")]), Value::Int(1)] {
            assert!(strip_echo(b"owner", value).is_none());
        }
    }
}
