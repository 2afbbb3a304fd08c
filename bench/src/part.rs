//! The parts that children play.

use std::path::Path;

use crate::{Failure, crash, handoff, memory, redis_handoff, redis_holds, zookeeper};

/// Plays a part, in a child.
pub(crate) fn play(part: &[String]) -> Result<(), Failure> {
    let part: Vec<&str> = part.iter().map(String::as_str).collect();
    match part.as_slice() {
        ["handoff", who, rounds, dir] => handoff::take_turns(who, rounds.parse()?, Path::new(dir)),
        ["turns", who, turns, dir] => zookeeper::take_turns(who, turns.parse()?, Path::new(dir)),
        ["receive", url, _] => redis_handoff::receive(url),
        ["hold", dir] => crash::hold(Path::new(dir)),
        ["holds", url, count, _] => redis_holds::hold(url, count.parse()?),
        ["memory", url, _] => memory::hold_many(url),
        _ => Err("no such part".into()),
    }
}
