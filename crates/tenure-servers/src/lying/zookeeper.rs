//! What is no truth on ZooKeeper.

use super::{RogueBehavior, RogueReply, at_once, later, zeros};

/// Numbers of what is asked.
const CHILDREN: i32 = 8;
const PING: i32 = 11;

pub(super) fn lies() -> Vec<RogueBehavior> {
    vec![
        at_once("a frame of 2 GiB before the session", |_| {
            RogueReply::Flood(i32::MAX.to_be_bytes().to_vec(), zeros)
        }),
        at_once("a frame cut before the session", |_| RogueReply::Leave(vec![0, 0, 0, 40, 0])),
        at_once("another protocol", |_| {
            RogueReply::Leave(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec())
        }),
        at_once("a password of 2 GiB", |_| {
            let long = [&[0; 4], &10_000_i32.to_be_bytes()[..], &7_i64.to_be_bytes()].concat();
            RogueReply::Say(frame(&[&long[..], &i32::MAX.to_be_bytes()].concat()))
        }),
        later("a frame of 2 GiB", |_| RogueReply::Flood(i32::MAX.to_be_bytes().to_vec(), zeros)),
        later("a frame of less than nothing", |_| RogueReply::Say(vec![0xff; 4])),
        later("2^31 children", |asked| to_children(asked, i32::MAX)),
        later("10 million children", |asked| to_children(asked, 10_000_000)),
        later("children cut", |asked| to_children(asked, 3)),
        later("events without end", |_| RogueReply::Flood(Vec::new(), events)),
        later("pings without end", |_| RogueReply::Flood(Vec::new(), |_| frame(&header(-2)))),
        later("logins without end", |_| RogueReply::Flood(Vec::new(), |_| frame(&header(-4)))),
        later("answers without end", |_| {
            RogueReply::Flood(Vec::new(), |number| {
                frame(&header(i32::try_from(number % 1_000).unwrap_or_default()))
            })
        }),
        later("an answer cut", |_| RogueReply::Leave(vec![0, 0, 1, 0, 0])),
        later("sessions that end as soon as they have begun", |asked| match op(asked) {
            // Whoever connects says zero first, and gets a session.
            Some((0, _)) | None => RogueReply::Pass,
            Some((xid, _)) => RogueReply::Say(frame(&ended(xid))),
        }),
        later("an answer of nothing", |asked| match op(asked) {
            Some((_, PING)) | None => RogueReply::Pass,
            Some((xid, _)) => RogueReply::Say(frame(&header(xid))),
        }),
    ]
}

fn frame(body: &[u8]) -> Vec<u8> {
    let length = i32::try_from(body.len()).unwrap_or_default();
    [&length.to_be_bytes()[..], body].concat()
}

fn header(xid: i32) -> Vec<u8> {
    [&xid.to_be_bytes()[..], &1_i64.to_be_bytes(), &[0; 4]].concat()
}

/// The session has expired.
fn ended(xid: i32) -> Vec<u8> {
    [&xid.to_be_bytes()[..], &1_i64.to_be_bytes(), &(-112_i32).to_be_bytes()].concat()
}

/// The number of a request, and what it is.
fn op(asked: &[u8]) -> Option<(i32, i32)> {
    let numbers = asked.get(4..)?;
    let (xid, rest) = numbers.split_first_chunk()?;
    Some((i32::from_be_bytes(*xid), i32::from_be_bytes(*rest.first_chunk()?)))
}

fn to_children(asked: &[u8], count: i32) -> RogueReply {
    match op(asked) {
        Some((xid, CHILDREN)) => RogueReply::Say(frame(
            &[header(xid), count.to_be_bytes().to_vec(), vec![0; 8]].concat(),
        )),
        _ => RogueReply::Pass,
    }
}

fn events(number: u64) -> Vec<u8> {
    let path = format!("/tenure/{number:0200}");
    let length = i32::try_from(path.len()).unwrap_or_default();
    let event = [4_i32, 3, length].map(i32::to_be_bytes).concat();
    frame(&[header(-1), event, path.into_bytes()].concat())
}
