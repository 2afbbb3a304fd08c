//! What stands in a contender's node: who it is, for people, and a token that is not the node's own.

use tenure_core::{Token, proto::queue::Kind};

/// What asks a holder to let go, as Curator's `Revoker` writes it.
pub(crate) const REVOKE: &[u8] = b"__REVOKE__";

/// Stands before a token, on a line of its own behind the label.
const TOKEN: &str = "\ntoken ";

/// Stands before the kind in the same way.
const KIND: &str = "\nkind ";

/// What people and programs read of a contender in its node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ContenderData {
    pub(crate) label: String,
    /// The kind, where the name of the node does not tell it.
    pub(crate) kind: Option<Kind>,
    /// The token, if it is not the node's own.
    pub(crate) token: Option<Token>,
}

pub(crate) fn encode_data(label: &str, kind: Option<Kind>, token: Option<Token>) -> Vec<u8> {
    let kind = kind.map(|kind| format!("{KIND}{kind}")).unwrap_or_default();
    let token = token.map(|token| format!("{TOKEN}{token}")).unwrap_or_default();
    format!("{label}{kind}{token}").into_bytes()
}

pub(crate) fn read(data: &[u8]) -> ContenderData {
    // It took the place of whatever stood there.
    let data = if data == REVOKE { &[] } else { data };
    let text = String::from_utf8_lossy(data);
    let parse = |token: &str| token.parse().ok().and_then(Token::from_raw);
    let (text, token) = split(&text, TOKEN, parse);
    let (label, kind) = split(text, KIND, |kind| kind.parse().ok());
    // Somebody else's data can be anything.
    let label = label.chars().filter(|letter| !letter.is_control()).take(256).collect();
    ContenderData { label, kind, token }
}

/// What stands before the last of these marks, and what is behind it if that can be parsed.
fn split<'a, T>(
    text: &'a str,
    mark: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> (&'a str, Option<T>) {
    let parts = text.rsplit_once(mark).and_then(|(rest, part)| Some((rest, parse(part)?)));
    parts.map_or((text, None), |(rest, part)| (rest, Some(part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(label: &str, kind: Option<Kind>, token: Option<Token>) -> ContenderData {
        ContenderData { label: label.to_owned(), kind, token }
    }

    #[test]
    fn what_is_written_is_read() {
        let token = Token::from_raw(77);
        for kind in [None, Some(Kind::Mutex), Some(Kind::ReadWrite), Some(Kind::Election)] {
            for token in [None, token] {
                let written = encode_data("host/7", kind, token);
                assert_eq!(read(&written), data("host/7", kind, token));
            }
        }
        assert_eq!(encode_data("host/7", None, None), b"host/7");
        assert_eq!(read(b"192.168.1.2"), data("192.168.1.2", None, None));
        assert_eq!(read(b"\x1b[31m\xff"), data("[31m\u{fffd}", None, None));
        assert_eq!(read(b"a\ntoken x").token, None);
        assert_eq!(read(b"a\nkind of"), data("akind of", None, None));
        assert_eq!(read(REVOKE), ContenderData::default());
    }

    #[test]
    fn any_data_are_a_label_and_perhaps_a_token() {
        let example = encode_data("host/7", Some(Kind::Election), Token::from_raw(77));
        tenure_testkit::fuzz(20_000, &[&example, REVOKE], |bytes| {
            let ContenderData { label, token, .. } = read(bytes);
            assert!(label.chars().count() <= 256 && !label.chars().any(char::is_control));
            token.is_some()
        });
    }
}
