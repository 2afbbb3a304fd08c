//! When holds, offers and places of a lock end, as its keys have it: `h`, `o` and `k` before an owner.

use tenure_testkit::server::{RedisServer, redis::Reply};

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
