//! What a sentinel answers, and where it says that others are.

use std::time::Duration;

use super::verdict::{Primary, Told};
use crate::{info::text, protocol::Value};

/// What a sentinel with this id says of the primary; `None` if it is no such answer.
pub(super) fn told(id: &Value, about: &Value) -> Option<Told> {
    let field = |name| field(about, name);
    let number = |name| field(name)?.parse::<u64>().ok();
    let primary = Primary {
        host: field("ip").filter(|host| !host.is_empty())?,
        port: port(about)?,
        epoch: number("config-epoch")?,
    };
    // It is asked once a second, and may have been silent for a while.
    let silent = number("last-ok-ping-reply")?;
    let down_after = number("down-after-milliseconds")?;
    Some(Told {
        id: text(id).filter(|id| !id.is_empty())?,
        others: usize::try_from(number("num-other-sentinels")?).ok()?,
        primary,
        patience: Duration::from_millis(down_after.saturating_sub(silent)),
    })
}

/// Where the other sentinels are.
pub(super) fn others(list: &Value) -> impl Iterator<Item = (String, u16)> {
    let list = if let Value::Array(list) = list { list.as_slice() } else { &[] };
    let place = |about| Some((field(about, "ip").filter(|host| !host.is_empty())?, port(about)?));
    list.iter().filter_map(place)
}

fn port(about: &Value) -> Option<u16> {
    field(about, "port")?.parse().ok().filter(|port| *port != 0)
}

fn field(about: &Value, name: &str) -> Option<String> {
    let Value::Map(pairs) = about else { return None };
    pairs.iter().find(|(key, _)| text(key).as_deref() == Some(name)).and_then(|(_, is)| text(is))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> Value {
        let bytes = |text: &str| Value::Bytes(text.as_bytes().to_vec());
        Value::Map(pairs.iter().map(|(key, value)| (bytes(key), bytes(value))).collect())
    }

    const PRIMARY: [(&str, &str); 6] = [
        ("ip", "10.0.0.7"),
        ("port", "6379"),
        ("config-epoch", "3"),
        ("num-other-sentinels", "2"),
        ("down-after-milliseconds", "5000"),
        ("last-ok-ping-reply", "700"),
    ];

    #[test]
    fn an_answer_is_read() {
        let told = told(&Value::Bytes(b"abc".to_vec()), &map(&PRIMARY)).unwrap();
        let primary = Primary { host: "10.0.0.7".to_owned(), port: 6379, epoch: 3 };
        assert_eq!((told.id.as_str(), told.others, &told.primary), ("abc", 2, &primary));
        assert_eq!(told.patience, Duration::from_millis(4_300));
    }

    #[test]
    fn half_an_answer_is_none() {
        let id = Value::Bytes(b"abc".to_vec());
        for (missing, (name, _)) in PRIMARY.into_iter().enumerate() {
            let mut pairs = PRIMARY.to_vec();
            pairs.remove(missing);
            assert_eq!(told(&id, &map(&pairs)), None, "{name}");
            pairs.push((name, ""));
            assert_eq!(told(&id, &map(&pairs)), None, "{name}");
        }
        assert_eq!(told(&Value::Nil, &map(&PRIMARY)), None);
    }

    #[test]
    fn others_are_found_and_what_has_no_place_is_left_out() {
        let list = Value::Array(vec![
            map(&[("ip", "10.0.0.8"), ("port", "26379")]),
            map(&[("ip", ""), ("port", "26379")]),
            map(&[("ip", "10.0.0.9"), ("port", "0")]),
            Value::Nil,
        ]);
        assert_eq!(others(&list).collect::<Vec<_>>(), [("10.0.0.8".to_owned(), 26379)]);
        assert_eq!(others(&Value::Nil).count(), 0);
    }
}
