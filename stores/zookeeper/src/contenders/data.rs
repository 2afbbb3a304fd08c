//! What stands in a contender's node: who it is, for people, and a token that is not the node's own.

use tenure_core::Token;

/// What asks a holder to let go, as Curator's `Revoker` writes it.
pub(crate) const REVOKE: &[u8] = b"__REVOKE__";

/// Stands before a token, on a line of its own behind the label.
const TOKEN: &str = "\ntoken ";

pub(crate) fn encode_data(label: &str, token: Option<Token>) -> Vec<u8> {
    let token = token.map(|token| format!("{TOKEN}{token}")).unwrap_or_default();
    format!("{label}{token}").into_bytes()
}

/// The label, and the token if there is one.
pub(crate) fn read(data: &[u8]) -> (String, Option<Token>) {
    // It took the place of whatever stood there.
    let data = if data == REVOKE { &[] } else { data };
    let text = String::from_utf8_lossy(data);
    let apart = text.rsplit_once(TOKEN);
    let token = apart.and_then(|(_, token)| token.parse().ok()).and_then(Token::from_raw);
    let label = match (apart, token) {
        (Some((label, _)), Some(_)) => label,
        _ => &text,
    };
    // Somebody else's data can be anything.
    let label = label.chars().filter(|letter| !letter.is_control()).take(256).collect();
    (label, token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let token = Token::from_raw(77);
        assert_eq!(read(&encode_data("host/7", None)), ("host/7".to_owned(), None));
        assert_eq!(read(&encode_data("host/7", token)), ("host/7".to_owned(), token));
        assert_eq!(read(b"192.168.1.2"), ("192.168.1.2".to_owned(), None));
        assert_eq!(read(b"\x1b[31m\xff"), ("[31m\u{fffd}".to_owned(), None));
        assert_eq!(read(b"a\ntoken x").1, None);
        assert_eq!(read(REVOKE), (String::new(), None));
    }

    #[test]
    fn any_data_are_a_label_and_perhaps_a_token() {
        let example = encode_data("host/7", Token::from_raw(77));
        tenure_testkit::fuzz(20_000, &[&example, REVOKE], |data| {
            let (label, token) = read(data);
            assert!(label.chars().count() <= 256 && !label.chars().any(char::is_control));
            token.is_some()
        });
    }
}
