//! What is no truth on Redis.

use super::{Lie, Turn, at_once, later, zeros};

pub(super) fn lies() -> Vec<Lie> {
    vec![
        at_once("a text without end before the login", |_| Turn::Flood(b"+".to_vec(), signs)),
        at_once("another protocol", |_| Turn::Leave(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec())),
        later("a text of 2 GiB", |_| Turn::Flood(b"$2147483647\r\n".to_vec(), zeros)),
        later("a text of 2^63", |_| Turn::Flood(b"$9223372036854775807\r\n".to_vec(), zeros)),
        later("a line without end", |_| Turn::Flood(b"+".to_vec(), signs)),
        later("a list of 2^31", |_| Turn::Flood(b"*2147483647\r\n".to_vec(), texts)),
        later("a list of 9 million", |_| Turn::Flood(b"*9000000\r\n".to_vec(), texts)),
        later("a list of 2^63", |_| Turn::Say(b"*9223372036854775807\r\n".to_vec())),
        later("lists in lists without end", |_| Turn::Flood(Vec::new(), |_| b"*1\r\n".to_vec())),
        later("messages without end", |_| Turn::Flood(Vec::new(), messages)),
        later("answers without end", |_| Turn::Flood(Vec::new(), |_| b":1\r\n".to_vec())),
        later("an answer of another type", |_| Turn::Say(b"%1\r\n:1\r\n*0\r\n".to_vec())),
        later("a text cut", |_| Turn::Leave(b"$100\r\nabc".to_vec())),
        later("a type that there is not", |_| Turn::Say(b"\x01what\r\n".to_vec())),
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
