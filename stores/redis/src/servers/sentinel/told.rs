//! What a sentinel answers, and where it says that others are.

use std::time::Duration;

use super::verdict::{Primary, SentinelReport};
use crate::{
    client::{Value, text},
    options::HostPort,
};

/// Flags by which a sentinel says that it thinks that the primary is down.
const DOWN: [&str; 2] = ["s_down", "o_down"];

/// What a sentinel with this id says of the primary; `None` if it is no such answer.
///
/// As soon as a replica has been made the primary, its address is at `before` and `after`, and the number of
/// the failover in `about`. The address in there is that of the old one for as long as the other
/// replicas take to follow the new one.
pub(super) fn parse_report(
    id: &Value,
    before: &Value,
    about: &Value,
    after: &Value,
) -> Option<SentinelReport> {
    let (host, port) = place(before).filter(|now| Some(now) == place(after).as_ref())?;
    let epoch = number(about, "config-epoch")?;
    let flags = field(about, "flags")?;
    let is = |flag: &str| flags.split(',').any(|one| one == flag);
    let is_new = (field(about, "ip")?, self::port(about)?) != (host.clone(), port);
    let down_after = number(about, "down-after-milliseconds")?;
    // Since when a question of the sentinel's has had no answer.
    let silent = match number(about, "last-ping-sent")? {
        0 if is("disconnected") => number(about, "last-ok-ping-reply")?,
        silent => silent,
    };
    let patience = if is_new {
        down_after
    } else if DOWN.into_iter().any(is) {
        0
    } else {
        down_after.saturating_sub(silent)
    };
    Some(SentinelReport {
        id: text(id).filter(|id| !id.is_empty())?,
        others: usize::try_from(number(about, "num-other-sentinels")?).ok()?,
        replicas: u32::try_from(number(about, "num-slaves")?).ok()?,
        primary: Primary { host, port, epoch },
        patience: Duration::from_millis(patience),
        down_after: Duration::from_millis(down_after),
        quorum: number(about, "quorum").and_then(|quorum| usize::try_from(quorum).ok()),
        replaces: !is_new && is("failover_in_progress"),
    })
}

/// Where the other sentinels are.
pub(super) fn others(list: &Value) -> impl Iterator<Item = HostPort> {
    let list = if let Value::Array(list) = list { list.as_slice() } else { &[] };
    let place = |about| Some((field(about, "ip").filter(|host| !host.is_empty())?, port(about)?));
    list.iter().filter_map(place)
}

/// A host and a port, told alone.
fn place(told: &Value) -> Option<HostPort> {
    let Value::Array(told) = told else { return None };
    let [host, port] = told.as_slice() else { return None };
    let port = text(port)?.parse().ok().filter(|port| *port != 0)?;
    Some((text(host).filter(|host| !host.is_empty())?, port))
}

fn port(about: &Value) -> Option<u16> {
    field(about, "port")?.parse().ok().filter(|port| *port != 0)
}

fn number(about: &Value, name: &str) -> Option<u64> {
    field(about, name)?.parse().ok()
}

fn field(about: &Value, name: &str) -> Option<String> {
    let Value::Map(pairs) = about else { return None };
    pairs.iter().find(|(key, _)| text(key).as_deref() == Some(name)).and_then(|(_, is)| text(is))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::protocol::reply;

    fn bytes(text: &str) -> Value {
        Value::Bytes(text.as_bytes().to_vec())
    }

    fn map(pairs: &[(&str, &str)]) -> Value {
        Value::Map(pairs.iter().map(|(key, value)| (bytes(key), bytes(value))).collect())
    }

    fn at(port: &str) -> Value {
        Value::Array(vec![bytes("10.0.0.7"), bytes(port)])
    }

    /// What is told of a primary at this port, with some fields otherwise.
    fn of(port: &str, other: &[(&str, &str)]) -> Option<SentinelReport> {
        let mut pairs = PRIMARY.to_vec();
        for (name, value) in other {
            pairs.retain(|(known, _)| known != name);
            pairs.push((name, value));
        }
        parse_report(&bytes("abc"), &at(port), &map(&pairs), &at(port))
    }

    const PRIMARY: [(&str, &str); 9] = [
        ("ip", "10.0.0.7"),
        ("port", "6379"),
        ("flags", "master"),
        ("config-epoch", "3"),
        ("num-other-sentinels", "2"),
        ("num-slaves", "4"),
        ("down-after-milliseconds", "5000"),
        ("last-ping-sent", "0"),
        ("last-ok-ping-reply", "700"),
    ];

    #[test]
    fn an_answer_is_read() {
        let told = of("6379", &[]).unwrap();
        let primary = Primary { host: "10.0.0.7".to_owned(), port: 6379, epoch: 3 };
        assert_eq!((told.id.as_str(), told.others, &told.primary), ("abc", 2, &primary));
        assert_eq!((told.patience, told.replaces), (Duration::from_secs(5), false));
        assert_eq!(told.replicas, 4);
    }

    #[test]
    fn its_patience_ends_as_its_questions_have_no_answer() {
        let millis = |other| of("6379", other).unwrap().patience.as_millis();
        assert_eq!(millis(&[("last-ping-sent", "1200")]), 3_800);
        assert_eq!(millis(&[("last-ping-sent", "9000")]), 0);
        assert_eq!(millis(&[("flags", "master,disconnected")]), 4_300);
        assert_eq!(millis(&[("flags", "s_down,master")]), 0);
        assert_eq!(millis(&[("flags", "s_down,o_down,master")]), 0);
    }

    #[test]
    fn a_new_primary_is_told_of_before_the_other_replicas_follow_it() {
        let replaced = [("flags", "master,failover_in_progress"), ("last-ping-sent", "9000")];
        let told = of("6380", &replaced).unwrap();
        assert_eq!((told.primary.port, told.primary.epoch), (6380, 3));
        assert_eq!((told.patience, told.replaces), (Duration::from_secs(5), false));
        // Before, the old one is being replaced.
        assert!(of("6379", &replaced).unwrap().replaces);
    }

    #[test]
    fn an_answer_in_the_midst_of_a_change_is_none() {
        assert_eq!(parse_report(&bytes("abc"), &at("6379"), &map(&PRIMARY), &at("6380")), None);
    }

    #[test]
    fn half_an_answer_is_none() {
        for (missing, (name, _)) in PRIMARY.into_iter().enumerate() {
            // Of a connected one nobody asks when it was heard.
            if name == "last-ok-ping-reply" {
                continue;
            }
            let mut pairs = PRIMARY.to_vec();
            pairs.remove(missing);
            assert_eq!(
                parse_report(&bytes("abc"), &at("6379"), &map(&pairs), &at("6379")),
                None,
                "{name}"
            );
        }
        for id in [Value::Nil, bytes("")] {
            assert_eq!(parse_report(&id, &at("6379"), &map(&PRIMARY), &at("6379")), None);
        }
        for place in [Value::Nil, at("0"), at(""), Value::Array(vec![bytes(""), bytes("1")])] {
            assert_eq!(
                parse_report(&bytes("abc"), &place, &map(&PRIMARY), &place),
                None,
                "{place:?}"
            );
        }
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

    #[test]
    fn any_answers_are_read_or_not() {
        let about: String = PRIMARY
            .iter()
            .map(|(key, value)| {
                format!("${}\r\n{key}\r\n${}\r\n{value}\r\n", key.len(), value.len())
            })
            .collect();
        let (id, place) = ("$3\r\nabc\r\n", "*2\r\n$8\r\n10.0.0.7\r\n$4\r\n6379\r\n");
        let all = format!("{id}{place}%9\r\n{about}{place}");
        tenure_testkit::fuzz(20_000, &[all.as_bytes()], |mut bytes| {
            let mut next = || {
                let (value, length) = reply(bytes).ok()?.ok()?;
                bytes = &bytes[length..];
                Some(value)
            };
            let (Some(id), Some(before), Some(about), Some(after)) =
                (next(), next(), next(), next())
            else {
                return false;
            };
            parse_report(&id, &before, &about, &after).is_some()
        });
    }
}
