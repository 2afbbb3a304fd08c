//! What is no truth on MySQL and MariaDB.

use super::{RogueBehavior, RogueReply, at_once, later, zeros};

/// It wants the password as it is.
pub const ASKS_IN_CLEAR: RogueBehavior = RogueBehavior {
    speaks_first: true,
    ..at_once("the password asked for in the clear", |asked| match asked {
        [] => greeting(),
        [_, _, _, 1, ..] => RogueReply::Say(packet(2, b"\xfemysql_clear_password\0")),
        _ => RogueReply::Leave(Vec::new()),
    })
};

pub(super) fn lies() -> Vec<RogueBehavior> {
    let mut lies = vec![
        at_once("a greeting without end", |_| RogueReply::Flood(Vec::new(), full_packets)),
        at_once("a greeting cut", |_| RogueReply::Leave(vec![80, 0, 0, 0, 10, b'8'])),
        at_once("another protocol", |_| {
            RogueReply::Leave(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec())
        }),
        at_once("another way to log in without end", |asked| {
            if asked.is_empty() { greeting() } else { RogueReply::Flood(Vec::new(), switches) }
        }),
        at_once("a key that is none", |asked| match asked {
            [] => greeting(),
            // What asks for the key is one byte, and what comes before it longer.
            [_, _, _, 3, 2] => RogueReply::Say(packet(4, b"\x01-----BEGIN PUBLIC KEY-----\nAAAA")),
            _ => RogueReply::Say(packet(2, &[1, 4])),
        }),
    ];
    for lie in &mut lies {
        lie.speaks_first = true;
    }
    lies.extend([
        later("2^16 columns of a statement", |asked| match asked.get(4) {
            Some(&PREPARE) => {
                let made = [0, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0];
                RogueReply::Flood(packet(1, &made), |number| column(number, 2))
            }
            _ => RogueReply::Pass,
        }),
        later("a statement of other parameters", |asked| match asked.get(4) {
            Some(&PREPARE) => RogueReply::Say(packet(1, &[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
            _ => RogueReply::Pass,
        }),
        later("an answer of 2^31 columns", |asked| {
            found(asked, RogueReply::Say(packet(1, b"\xfe\0\0\0\x80\0\0\0\0")))
        }),
        later("an answer of 2^63 columns", |asked| {
            found(asked, RogueReply::Say(packet(1, b"\xfe\0\0\0\0\0\0\0\x80")))
        }),
        later("columns without end", |asked| {
            found(asked, RogueReply::Flood(packet(1, &[250]), |number| column(number, 2)))
        }),
        later("a row without end", |asked| {
            found(asked, RogueReply::Flood(one_column(), |number| full(number, 3)))
        }),
        later("rows without end", |asked| found(asked, RogueReply::Flood(one_column(), rows))),
        later("rows of nothing without end", |asked| {
            found(
                asked,
                RogueReply::Flood(one_column(), |number| packet(number_of(number, 3), &[0, 4])),
            )
        }),
        later("answers without end", |asked| {
            // Each says that one more comes.
            let more = |number| packet(number_of(number, 1), &[0, 0, 0, 10, 0, 0, 0]);
            found(asked, RogueReply::Flood(Vec::new(), more))
        }),
        later("a packet out of order", |_| RogueReply::Say(packet(77, &[0, 0, 0, 2, 0, 0, 0]))),
        later("a row cut", |asked| {
            found(asked, RogueReply::Leave([one_column(), vec![100, 0, 0, 3, 1]].concat()))
        }),
        later("a value longer than its row", |asked| {
            let row = b"\0\0\xfe\xff\xff\xff\xff\xff\xff\xff\x7fx";
            found(asked, RogueReply::Say([one_column(), packet(3, row)].concat()))
        }),
        later("a file of this machine asked for", |asked| {
            found(asked, RogueReply::Say(packet(1, b"\xfb/etc/passwd")))
        }),
        later("zeros without end", |_| RogueReply::Flood(Vec::new(), zeros)),
    ]);
    lies
}

/// What is asked to be prepared, and forgotten.
const PREPARE: u8 = 0x16;
const CLOSE: u8 = 0x19;

/// This, to what finds or does something.
fn found(asked: &[u8], then: RogueReply) -> RogueReply {
    if matches!(asked.get(4), Some(&(PREPARE | CLOSE))) { RogueReply::Pass } else { then }
}

fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let [a, b, c, _] = u32::try_from(body.len()).unwrap_or_default().to_le_bytes();
    [&[a, b, c, number], body].concat()
}

/// The number of a packet of many, of which the first has this one.
fn number_of(number: u64, first: u64) -> u8 {
    u8::try_from((number + first) % 256).unwrap_or_default()
}

fn greeting() -> RogueReply {
    // It says that it knows all that a client may want but TLS and compression.
    let mut body = b"\x0a8.4.0\0\x07\0\0\0abcdefgh\0".to_vec();
    body.extend(0xf7df_u16.to_le_bytes());
    body.extend([45, 2, 0]);
    body.extend(0x01ff_u16.to_le_bytes());
    body.push(21);
    body.extend([0; 10]);
    body.extend(b"ijklmnopqrst\0caching_sha2_password\0");
    RogueReply::Say(packet(0, &body))
}

fn switches(number: u64) -> Vec<u8> {
    packet(number_of(number, 2), b"\xfecaching_sha2_password\0abcdefghijklmnopqrst\0")
}

/// Of the longest, each of which has another one behind it.
fn full(number: u64, first: u64) -> Vec<u8> {
    let mut body = vec![0xff, 0xff, 0xff, number_of(number, first)];
    body.resize(4 + 0xff_ffff, 1);
    body
}

fn full_packets(number: u64) -> Vec<u8> {
    full(number, 0)
}

fn column(number: u64, first: u64) -> Vec<u8> {
    let mut body = b"\x03def\0\0\0\x01x\0\x0c\x3f\0".to_vec();
    body.extend([0xff, 0, 0, 0, 0xfd, 0, 0, 0, 0, 0]);
    packet(number_of(number, first), &body)
}

fn one_column() -> Vec<u8> {
    [packet(1, &[1]), column(0, 2)].concat()
}

fn rows(number: u64) -> Vec<u8> {
    packet(number_of(number, 3), &[&[0xfc, 0xe8, 3][..], &[b'x'; 1_000]].concat())
}
