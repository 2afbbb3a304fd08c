//! What is no truth on PostgreSQL.

use super::{RogueBehavior, RogueReply, at_once, later, zeros};

/// It wants the password as it is.
pub const ASKS_IN_CLEAR: RogueBehavior = at_once("the password asked for in the clear", |asked| {
    if asked.starts_with(b"p") {
        RogueReply::Leave(Vec::new())
    } else {
        RogueReply::Say(message(b'R', &3_u32.to_be_bytes()))
    }
});

/// It wants the password as an MD5 hash, mixed with bytes that it chose.
pub const ASKS_FOR_A_SUM: RogueBehavior = at_once("the password asked for by MD5", |asked| {
    if asked.starts_with(b"p") {
        RogueReply::Leave(Vec::new())
    } else {
        RogueReply::Say(message(b'R', b"\0\0\0\x05salt"))
    }
});

pub(super) fn lies() -> Vec<RogueBehavior> {
    vec![
        at_once("a message of 2 GiB before the login", |_| {
            RogueReply::Flood(head(b'R', i32::MAX), zeros)
        }),
        at_once("notices without end before the login", |_| RogueReply::Flood(let_in(), notices)),
        at_once("settings without end before the login", |_| RogueReply::Flood(let_in(), settings)),
        at_once("rounds of SCRAM without end", scram),
        at_once("rows without end once it is let in", |asked| match asked.first() {
            Some(b'Q') => RogueReply::Flood(column(BYTES), full_rows),
            _ => RogueReply::Say([let_in(), message(b'Z', b"I")].concat()),
        }),
        at_once("rows of nothing without end once it is let in", |asked| match asked.first() {
            Some(b'Q') => RogueReply::Flood(message(b'T', &[0, 0]), empty_rows),
            _ => RogueReply::Say([let_in(), message(b'Z', b"I")].concat()),
        }),
        at_once("a message cut before the login", |_| RogueReply::Leave(head(b'R', 8))),
        at_once("another protocol", |_| {
            RogueReply::Leave(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec())
        }),
        later("a message of 2 GiB", |_| RogueReply::Flood(head(b'D', i32::MAX), zeros)),
        later("a message of less than nothing", |_| RogueReply::Say(head(b'D', -1))),
        later("a row of 2 GiB", |asked| {
            rows(asked, RogueReply::Flood(head(b'D', i32::MAX), zeros))
        }),
        later("rows without end", |asked| rows(asked, RogueReply::Flood(Vec::new(), full_rows))),
        later("rows of nothing without end", |asked| {
            rows(asked, RogueReply::Flood(Vec::new(), empty_rows))
        }),
        later("notices without end", |_| RogueReply::Flood(Vec::new(), notices)),
        later("notifications without end", |_| RogueReply::Flood(Vec::new(), notifications)),
        later("settings without end", |_| RogueReply::Flood(Vec::new(), settings)),
        later("answers without end", |_| RogueReply::Flood(Vec::new(), |_| message(b'Z', b"I"))),
        later("types of types without end", deep),
        later("a statement of other parameters", |asked| match asked.first() {
            Some(b'P') => RogueReply::Say(prepared(BYTES)),
            _ => RogueReply::Pass,
        }),
        later("a row cut", |asked| rows(asked, RogueReply::Leave(head(b'D', 100)))),
        later("values of another type", |asked| {
            let row = [&[0, 1, 0, 0, 0, 1][..], &[0xff]].concat();
            let done = [message(b'D', &row), message(b'C', b"SELECT 1\0"), message(b'Z', b"I")];
            rows(asked, RogueReply::Say(done.concat()))
        }),
        later("a message that there is not", |_| RogueReply::Say(message(b'?', b"what"))),
    ]
}

fn head(tag: u8, length: i32) -> Vec<u8> {
    [&[tag], &length.to_be_bytes()[..]].concat()
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = i32::try_from(body.len() + 4).unwrap_or(i32::MAX);
    [head(tag, length), body.to_vec()].concat()
}

fn let_in() -> Vec<u8> {
    message(b'R', &[0; 4])
}

fn notices(_: u64) -> Vec<u8> {
    let fields = b"SNOTICE\0VNOTICE\0C00000\0M";
    message(b'N', &[&fields[..], &[b'x'; 1_000], &[0, 0]].concat())
}

fn notifications(number: u64) -> Vec<u8> {
    message(b'A', format!("\0\0\0\x01tenure_{number:032x}\0{}\0", "x".repeat(900)).as_bytes())
}

fn settings(number: u64) -> Vec<u8> {
    message(b'S', format!("setting_{number}\0{}\0", "x".repeat(100)).as_bytes())
}

fn full_rows(_: u64) -> Vec<u8> {
    message(b'D', &[&[0, 1, 0, 0, 0x03, 0xe8][..], &[b'x'; 1_000]].concat())
}

fn empty_rows(_: u64) -> Vec<u8> {
    message(b'D', &[0, 0])
}

/// One column of this type.
fn column(kind: u32) -> Vec<u8> {
    let about = [&[0; 6], &kind.to_be_bytes()[..], &[0xff; 6], &[0; 2]].concat();
    message(b'T', &[&[0, 1], &b"column\0"[..], &about].concat())
}

const BYTES: u32 = 17;

fn prepared(kind: u32) -> Vec<u8> {
    [message(b'1', b""), message(b't', &[0, 0]), column(kind), message(b'Z', b"I")].concat()
}

/// This, to what finds something.
fn rows(asked: &[u8], then: RogueReply) -> RogueReply {
    let before = match asked.first() {
        Some(b'P') => return RogueReply::Pass,
        Some(b'B') => message(b'2', b""),
        _ => column(BYTES),
    };
    match then {
        RogueReply::Say(bytes) => RogueReply::Say([before, bytes].concat()),
        RogueReply::Leave(bytes) => RogueReply::Leave([before, bytes].concat()),
        RogueReply::Flood(bytes, more) => RogueReply::Flood([before, bytes].concat(), more),
        RogueReply::Pass => RogueReply::Pass,
    }
}

/// A column of a type that nobody knows. What it is may be asked; the answer has such a column, too.
fn deep(asked: &[u8]) -> RogueReply {
    match asked.first() {
        Some(b'P') => RogueReply::Say(prepared(900_000)),
        _ => RogueReply::Pass,
    }
}

fn scram(asked: &[u8]) -> RogueReply {
    let text = String::from_utf8_lossy(asked);
    match text.split_once(",r=") {
        Some((_, nonce)) => {
            let body = format!("\0\0\0\x0br={}server,s=c2FsdA==,i=2147483647", nonce.trim_end());
            RogueReply::Say(message(b'R', body.as_bytes()))
        }
        None => RogueReply::Say(message(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0")),
    }
}
