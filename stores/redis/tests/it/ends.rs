//! When holds, offers and places of a lock end, as its keys have it: `h`, `o` and `k` before an owner.

use std::time::Duration;

use tenure_servers::{RedisServer, redis::Reply};

/// Before every time that the server tells.
const LONG_AGO: &str = "1";

/// All that ends, in the order of kinds and owners.
pub(crate) fn ends(server: &RedisServer) -> Vec<String> {
    let mut all: Vec<_> = sole(server).into_iter().collect();
    for kind in ["ends:", "line:"] {
        let Some(key) = key(server, kind) else { continue };
        if let Reply::List(members) = server.command(&["ZRANGE", &key, "0", "-1"]) {
            all.extend(members.into_iter().filter_map(|member| match member {
                Reply::Text(member) if !member.starts_with('q') => Some(member),
                _ => None,
            }));
        }
    }
    all.sort_unstable();
    all
}

/// Lets one of them be over.
pub(crate) fn is_over(server: &RedisServer, member: &str) {
    let lock = key(server, "lock:").unwrap();
    if sole(server).as_deref() == Some(member) {
        server.command(&["HSET", &lock, "end", LONG_AGO]);
        return;
    }
    let place = member.starts_with('k');
    let set = key(server, if place { "line:" } else { "ends:" }).unwrap();
    server.command(&["ZADD", &set, "XX", LONG_AGO, member]);
    let end = server.command(&["ZSCORE", &set, member]);
    assert_eq!(end, Reply::Text(LONG_AGO.to_owned()), "{member}");
    server.command(&["HSET", &lock, if place { "due" } else { "end" }, LONG_AGO]);
}

/// Lets a waiter name a channel, as one whose process hears hints does.
pub(crate) fn listens(server: &RedisServer, owner: &str) {
    const LISTENS: &str = "if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then return 0 end \
        local waiter = redis.call('HGET', KEYS[1], 'w' .. ARGV[1]) \
        if not waiter then return 0 end \
        waiter = cmsgpack.unpack(waiter) \
        local spot = 'q' .. waiter[1] .. ARGV[1] \
        local place = waiter[5] == '' and redis.call('ZSCORE', KEYS[2], spot) \
        waiter[5] = 'ear' \
        redis.call('HSET', KEYS[1], 'w' .. ARGV[1], cmsgpack.pack(waiter)) \
        if not place then return 1 end \
        redis.call('ZREM', KEYS[2], spot) \
        return redis.call('ZADD', KEYS[2], place, spot .. 'ear')";
    let (Some(lock), Some(line)) = (key(server, "lock:"), key(server, "line:")) else { return };
    let done = server.command(&["EVAL", LISTENS, "2", &lock, &line, owner]);
    assert!(matches!(done, Reply::Text(_)), "{done:?}");
}

/// Lets a waiter be later than it said, whose place is kept for so much longer.
pub(crate) fn is_late(server: &RedisServer, owner: &str, kept: Duration) {
    const LATE: &str = "local waiter = cmsgpack.unpack(redis.call('HGET', KEYS[1], 'w' .. ARGV[1])) \
        waiter[9] = 1 \
        redis.call('HSET', KEYS[1], 'w' .. ARGV[1], cmsgpack.pack(waiter), 'due', 1) \
        local time = redis.call('TIME') \
        return redis.call('ZADD', KEYS[2], 'XX', 'CH', time[1] * 1000000 + time[2] + ARGV[2], 'k' .. ARGV[1])";
    let (lock, line) = (key(server, "lock:").unwrap(), key(server, "line:").unwrap());
    let kept = kept.as_micros().to_string();
    let changed = server.command(&["EVAL", LATE, "2", &lock, &line, owner, &kept]);
    assert_eq!(changed, Reply::Text("1".to_owned()), "{owner}");
}

/// Fails unless the head of a crowd counts what there is, and knows no end as later than it is.
pub(crate) fn head_is_right(server: &RedisServer) {
    let Some(lock) = key(server, "lock:") else { return };
    if server.command(&["TYPE", &lock]) != Reply::Text("hash".to_owned()) {
        return;
    }
    let of = |field: &str| match server.command(&["HGET", &lock, field]) {
        Reply::Text(text) => text,
        other => panic!("{field}: {other:?}"),
    };
    let scored = |kind: &str, from: &str, upto: &str| {
        let Some(key) = key(server, kind) else { return Vec::new() };
        match server.command(&["ZRANGEBYSCORE", &key, from, upto, "WITHSCORES"]) {
            Reply::List(all) => all.chunks(2).map(|pair| number(&pair[1])).collect(),
            other => panic!("{other:?}"),
        }
    };
    let (ends, places) = (scored("ends:", "-inf", "+inf"), scored("line:", "(0", "+inf"));
    assert_eq!(of("n"), ends.len().to_string(), "how many share it");
    assert_eq!(of("places"), places.len().to_string(), "how many places are kept");
    assert_eq!(
        of("present"),
        scored("line:", "-inf", "(0").len().to_string(),
        "how many are there"
    );
    if let (true, Some(first)) = (of("x").is_empty(), ends.first()) {
        assert!(of("end").parse::<f64>().unwrap() <= *first, "an end that is too late");
    }
    let sole = if of("x").is_empty() { 0.0 } else { of("end").parse().unwrap() };
    let last = ends.iter().chain(&places).fold(sole, |last, end| f64::max(last, *end));
    for kind in ["lock:", "line:", "ends:"] {
        let Some(key) = key(server, kind) else { continue };
        let kept = number(&server.command(&["PEXPIRETIME", &key])) * 1_000.0;
        assert!(kept >= last, "{kind} ends before what is in it");
    }
    if let Some(first) = places.first() {
        assert!(of("due").parse::<f64>().unwrap() <= *first, "a place that ends too late");
    }
}

fn number(reply: &Reply) -> f64 {
    match reply {
        Reply::Text(text) => text.parse().unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Who has the lock for itself or is offered it so, while others are there.
fn sole(server: &RedisServer) -> Option<String> {
    let lock = key(server, "lock:")?;
    match server.command(&["HGET", &lock, "x"]) {
        Reply::Text(sole) if sole.len() > 32 => Some(sole[..33].replacen('l', "h", 1)),
        _ => None,
    }
}

fn key(server: &RedisServer, kind: &str) -> Option<String> {
    server.keys().into_iter().find(|key| key.contains(&format!("}}{kind}")))
}
