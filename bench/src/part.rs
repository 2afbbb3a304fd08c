//! The parts that children play.

use std::path::Path;

use crate::{
    contestant,
    contestant::Contestant,
    crash, crowd,
    failure::Failure,
    handoff, memory, mysql, postgres, redis_handoff, redis_holds,
    sql::{self, Server},
    turns, waiters, zookeeper,
};

/// Plays a part, in a child.
pub(crate) fn play(part: &[String]) -> Result<(), Failure> {
    let part: Vec<&str> = part.iter().map(String::as_str).collect();
    match part.as_slice() {
        ["handoff", who, rounds, dir] => handoff::take_turns(who, rounds.parse()?, Path::new(dir)),
        ["turns", who, turns, dir] => {
            let dir = Path::new(dir);
            let mut lock = match *who {
                "zookeeper by hand" => zookeeper::Bare::contestant(dir)?,
                "postgres by hand" => by_hand::<postgres::Server>(dir)?,
                "advisory" => own::<postgres::Server>(dir)?,
                "mysql by hand" => by_hand::<mysql::Server>(dir)?,
                "GET_LOCK" => own::<mysql::Server>(dir)?,
                _ => contestant::open(who, dir)?,
            };
            turns::take(&mut *lock, turns.parse()?)
        }
        ["crowd", who, millis, dir] => crowd::take(who, millis.parse()?, Path::new(dir)),
        ["wait", url, name, fair, count, _] => {
            waiters::wait(url, name, fair.parse()?, count.parse()?)
        }
        ["receive", url, _] => redis_handoff::receive(url),
        ["hold", dir] => crash::hold(Path::new(dir)),
        ["holds", url, count, _] => redis_holds::hold(url, count.parse()?),
        ["memory", url, _] => memory::hold_many(url),
        _ => Err("no such part".into()),
    }
}

/// A row of that database.
fn by_hand<S: Server>(dir: &Path) -> Result<Box<dyn Contestant>, Failure> {
    sql::contestant::<S::Row>(dir)
}

/// A lock that the server itself has.
fn own<S: Server>(dir: &Path) -> Result<Box<dyn Contestant>, Failure> {
    sql::contestant::<S::Own>(dir)
}
