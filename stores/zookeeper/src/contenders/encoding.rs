//! Names of locks as names of nodes, and back. This is a wire format: [docs/stores/zookeeper.md](https://github.com/tenure-rs/tenure/blob/main/docs/stores/zookeeper.md) has it.

use percent_encoding::percent_decode_str;
use tenure_core::LockName;

/// A node that belongs to the server itself.
const RESERVED: &str = "zookeeper";

/// What the name of a probe begins with, of which there is one for each session. No lock's name is written so.
pub(crate) const PROBE: &str = "%probe-";

/// Whether a node with this name is a probe.
pub(crate) fn is_probe(name: &str) -> bool {
    name.starts_with(PROBE)
}

/// The name of the node that stands for a lock.
///
/// Everything stands as it is but what ZooKeeper refuses in a name, `/`, and `%`, which announces such a
/// byte.
pub(crate) fn node_of(name: &LockName) -> String {
    let text = name.as_str();
    if text == RESERVED || text.bytes().all(|byte| byte == b'.') && text.len() <= 2 {
        let (first, rest) = text.split_at(1);
        return encoded(first, |_| true) + rest;
    }
    encoded(text, is_refused)
}

/// The lock that a node stands for, if it stands for one.
pub(crate) fn name_of(node: &str) -> Option<LockName> {
    let text = percent_decode_str(node).decode_utf8().ok()?;
    let name = LockName::new(&*text).ok()?;
    // Two nodes are never one lock.
    (node_of(&name) == node).then_some(name)
}

fn encoded(text: &str, refused: impl Fn(char) -> bool) -> String {
    let mut node = String::with_capacity(text.len());
    let mut bytes = [0; 4];
    for letter in text.chars() {
        if refused(letter) {
            for byte in letter.encode_utf8(&mut bytes).bytes() {
                node.push_str(&format!("%{byte:02X}"));
            }
        } else {
            node.push(letter);
        }
    }
    node
}

/// What may not stand in the name of a node, by the server's own rules, and what separates and announces.
const fn is_refused(letter: char) -> bool {
    matches!(
        letter,
        '/' | '%'
            | '\u{0}'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{e000}'..='\u{f8ff}'
            // The server counts two units for each of the last ones, and refuses both.
            | '\u{fff0}'..
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(text: &str) -> String {
        node_of(&LockName::new(text).unwrap())
    }

    #[test]
    fn names_are_nodes() {
        for (name, expected) in [
            ("order:pay:42", "order:pay:42"),
            ("a/b", "a%2Fb"),
            ("100%", "100%25"),
            ("a%2Fb", "a%252Fb"),
            (".", "%2E"),
            ("..", "%2E."),
            ("...", "..."),
            ("zookeeper", "%7Aookeeper"),
            ("ein Größe", "ein Größe"),
            ("\u{e000}", "%EE%80%80"),
            ("\u{fffd}", "%EF%BF%BD"),
            ("\u{1f600}", "%F0%9F%98%80"),
        ] {
            assert_eq!(node(name), expected);
            assert_eq!(name_of(expected).unwrap().as_str(), name);
        }
    }

    #[test]
    fn a_node_that_is_no_lock_is_none() {
        for strange in ["", "a/b", "%2f", "%", "%zz", "%41", "zookeeper", "%FF"] {
            assert_eq!(name_of(strange), None, "{strange}");
        }
    }
}
