//! What is no truth on Redis.

use super::{RogueBehavior, RogueReply, at_once, later, zeros};

pub(super) fn lies() -> Vec<RogueBehavior> {
    vec![
        at_once("a text without end before the login", |_| RogueReply::Flood(b"+".to_vec(), signs)),
        at_once("another protocol", |_| {
            RogueReply::Leave(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec())
        }),
        later("a text of 2 GiB", |_| RogueReply::Flood(b"$2147483647\r\n".to_vec(), zeros)),
        later("a text of 2^63", |_| RogueReply::Flood(b"$9223372036854775807\r\n".to_vec(), zeros)),
        later("a line without end", |_| RogueReply::Flood(b"+".to_vec(), signs)),
        later("a list of 2^31", |_| RogueReply::Flood(b"*2147483647\r\n".to_vec(), texts)),
        later("a list of 9 million", |_| RogueReply::Flood(b"*9000000\r\n".to_vec(), texts)),
        later("a list of 2^63", |_| RogueReply::Say(b"*9223372036854775807\r\n".to_vec())),
        later("lists in lists without end", |_| {
            RogueReply::Flood(Vec::new(), |_| b"*1\r\n".to_vec())
        }),
        later("messages without end", |_| RogueReply::Flood(Vec::new(), messages)),
        later("answers without end", |_| RogueReply::Flood(Vec::new(), |_| b":1\r\n".to_vec())),
        later("an answer of another type", |_| RogueReply::Say(b"%1\r\n:1\r\n*0\r\n".to_vec())),
        later("a text cut", |_| RogueReply::Leave(b"$100\r\nabc".to_vec())),
        later("names without end", |asked| scanned(asked, names)),
        later("a walk over keys without end", |asked| scanned(asked, |_| Vec::new())),
        later("a type that there is not", |_| RogueReply::Say(b"\x01what\r\n".to_vec())),
    ]
}

fn signs(_: u64) -> Vec<u8> {
    vec![b'x'; 64 * 1024]
}

fn texts(_: u64) -> Vec<u8> {
    b"$1\r\nx\r\n".to_vec()
}

fn messages(_: u64) -> Vec<u8> {
    let text = "x".repeat(1_000);
    format!(">3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$1000\r\n{text}\r\n").into_bytes()
}

/// This, page after page, of a server that has three keys.
fn scanned(asked: &[u8], page: fn(u64) -> Vec<Vec<u8>>) -> RogueReply {
    let asked = String::from_utf8_lossy(asked);
    let mut words = asked.split("\r\n").filter(|word| !word.starts_with(['*', '$']));
    match words.next() {
        Some("SCAN") => {
            let cursor: u64 = words.next().and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
            let next = text((cursor + 1).to_string().as_bytes());
            let keys = page(cursor);
            let head = format!("*{}\r\n", keys.len()).into_bytes();
            RogueReply::Say([b"*2\r\n".to_vec(), next, head, keys.concat()].concat())
        }
        Some("INFO") => RogueReply::Say(text(b"# Keyspace\r\ndb0:keys=3,expires=0,avg_ttl=0\r\n")),
        // Else a lock is held, and no lie was told about it.
        _ => RogueReply::Leave(b"-ERR not now\r\n".to_vec()),
    }
}

fn text(bytes: &[u8]) -> Vec<u8> {
    [format!("${}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// As many as are asked for, each with the tag that belongs to it.
fn names(page: u64) -> Vec<Vec<u8>> {
    let name = |number| format!("{:x<480}{number:020}", "");
    let names = (page * 1_000..(page + 1) * 1_000).map(name);
    names.map(|name| text(format!("tenure:{{{:03x}}}lock:{name}", tag(&name)).as_bytes())).collect()
}

/// By FNV-1a, folded.
fn tag(name: &str) -> u32 {
    let hash = name
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (hash ^ (hash >> 16)) % 1024
}
