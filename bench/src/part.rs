//! The parts that children play.

use std::path::Path;

use crate::{
    contestants,
    embedded::{crash, crowd, handoff, memory, recorder},
    failure::Failure,
    figures::{contestant, holds, turns},
    on_redis::handoff as redis_handoff,
    scale::waiters,
    servers::{mysql, postgres, zookeeper},
};

/// Plays a part, in a child.
pub(crate) fn play(part: &[String]) -> Result<(), Failure> {
    let part: Vec<&str> = part.iter().map(String::as_str).collect();
    match part.as_slice() {
        ["handoff", who, rounds, dir] => handoff::take_turns(who, rounds.parse()?, Path::new(dir)),
        ["turns", who, turns, dir] => {
            let dir = Path::new(dir);
            let mut lock = match *who {
                "zookeeper by hand" => contestant::<zookeeper::Bare>(dir)?,
                "postgres by hand" => contestant::<postgres::Row>(dir)?,
                "advisory" => contestant::<postgres::Advisory>(dir)?,
                "mysql by hand" => contestant::<mysql::Row>(dir)?,
                "GET_LOCK" => contestant::<mysql::GetLock>(dir)?,
                _ => contestants::open(who, dir)?,
            };
            turns::take(&mut *lock, turns.parse()?)
        }
        ["crowd", who, millis, dir] => crowd::take(who, millis.parse()?, Path::new(dir)),
        ["wait", url, name, fair, count, _] => {
            waiters::wait(url, name, fair.parse()?, count.parse()?)
        }
        ["receive", url, _] => redis_handoff::receive(url),
        ["hold", dir] => crash::hold(Path::new(dir)),
        ["holds", url, count, _] => holds::hold(url, count.parse()?),
        ["recorder", with, _] => recorder::play(*with == "yes"),
        ["memory", url, _] => memory::hold_many(url),
        _ => Err("no such part".into()),
    }
}
