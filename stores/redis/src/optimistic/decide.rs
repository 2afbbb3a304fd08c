//! What to do about a lock as it was seen: an answer, and what has to be written for it unless somebody
//! else writes first.

use std::time::Duration;

use tenure_core::{
    Token,
    proto::{
        Renewed,
        queue::{Answer, Ask, Contender, Grant, QueueError, Raised, Released, TakeOver, TakenOver},
        time::ceil_millis,
    },
};

use super::record::{self, Record};
use crate::{
    fields::{Parsed, Refused},
    wire::LAST_TIME,
};

/// How long a waiter sleeps at most: who lets a lock go by a script tells nobody who waits without.
pub(crate) const LOOK: Duration = Duration::from_millis(250);
const SHORTEST_RETRY: Duration = Duration::from_millis(1);

/// A lock as it was at one moment.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) held: Held,
    /// For how many milliseconds yet; below zero for ever.
    pub(super) left: i64,
    /// What its clock has.
    pub(super) clock: Clock,
    /// The time by which tokens are made, in microseconds.
    pub(super) now: u64,
}

/// Who has it.
#[derive(Debug, Default)]
pub(super) enum Held {
    #[default]
    Nobody,
    /// One, with this record.
    Alone(Vec<u8>),
    /// Several, or some wait for it by scripts.
    Crowd,
}

/// The clock of a lock.
#[derive(Debug, Default)]
pub(super) enum Clock {
    #[default]
    New,
    At(Vec<u8>),
    /// Something else lies there.
    Other,
}

/// What is to be written, all of it or nothing.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The clock goes on to this.
    Clock(u64),
    /// This record, and for how many milliseconds.
    Grant(String, u64),
    /// Another record for as long as the one before.
    Rewrite(String),
    /// From now on it lasts for so many milliseconds.
    Extend(u64),
    Delete,
}

/// What was decided.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision<T> {
    /// Nothing has to be written.
    Said(T),
    /// Nothing either: it was written before, perhaps over another connection.
    Before(T),
    /// Only with these.
    With(Vec<Change>, T),
}

pub(super) type Decided<T> = Parsed<Decision<T>>;

use Decision::{Before, Said, With};

impl Seen {
    fn record(&self) -> Parsed<Option<Record<'_>>> {
        match &self.held {
            Held::Nobody => Ok(None),
            Held::Alone(record) => Record::read(record).map(Some),
            Held::Crowd => Err(Refused::Crowd),
        }
    }

    /// The record, if this owner has it.
    fn of(&self, owner: &str) -> Parsed<Option<Record<'_>>> {
        Ok(self.record()?.filter(|record| record.owner == owner))
    }

    /// The last time of the clock.
    fn last(&self) -> Parsed<u64> {
        let text = match &self.clock {
            Clock::New => return Ok(0),
            Clock::Other => return Err(Refused::Corrupt),
            Clock::At(text) => std::str::from_utf8(text).map_err(|_| Refused::Corrupt)?,
        };
        let digits = text.len() <= 16 && text.bytes().all(|byte| byte.is_ascii_digit());
        let at = text.parse().ok().filter(|at| digits && *at < LAST_TIME);
        at.ok_or(Refused::Corrupt)
    }

    /// The next time of the clock, and the token that is made of it.
    fn tick(&self) -> Parsed<(u64, Token)> {
        let time = self.now.max(self.last()? + 1);
        Ok((time, Token::from_time(time).ok_or(Refused::Corrupt)?))
    }

    fn left(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.left).unwrap_or(0))
    }
}

pub(super) fn acquire(seen: &Seen, ask: &Ask) -> Decided<Answer> {
    let busy = |left: Option<Duration>, holder| {
        let retry_after = left.unwrap_or(LOOK).clamp(SHORTEST_RETRY, LOOK);
        Ok(Said(Answer::Busy { retry_after, ahead: 0, holder, place: None }))
    };
    match seen.record() {
        Err(Refused::Crowd) => busy(None, None),
        Err(refused) => Err(refused),
        Ok(Some(record)) if record.owner == ask.owner.to_hex() => {
            if !record.is_exclusive() {
                return Err(Refused::Queue(QueueError::OtherMode));
            }
            let (token, left) = (record.token()?, seen.left());
            Ok(Before(Answer::Granted { token, left, others_waiting: false }))
        }
        Ok(Some(record)) => {
            let left = (seen.left >= 0).then(|| seen.left());
            busy(left, Some(record.holder(seen.left)?))
        }
        Ok(None) => {
            let (time, token) = seen.tick()?;
            let ttl = ceil_millis(ask.ttl);
            let left = Duration::from_millis(ttl);
            let changes = vec![Change::Clock(time), Change::Grant(record::granted(ask, time), ttl)];
            Ok(With(changes, Answer::Granted { token, left, others_waiting: false }))
        }
    }
}

pub(super) fn renew(seen: &Seen, owner: &str, ttl: Duration) -> Decided<Renewed> {
    if seen.of(owner)?.is_none() {
        return Ok(Said(Renewed::Lost));
    }
    let wanted = ceil_millis(ttl);
    let renewed = |left| Renewed::Renewed { left, others_waiting: false };
    // It shortens nothing, and ends what somebody made endless.
    if u64::try_from(seen.left).is_ok_and(|left| left >= wanted) {
        return Ok(Before(renewed(seen.left())));
    }
    Ok(With(vec![Change::Extend(wanted)], renewed(Duration::from_millis(wanted))))
}

pub(super) fn release(seen: &Seen, owner: &str) -> Decided<Released> {
    Ok(match seen.of(owner)? {
        Some(_) => With(vec![Change::Delete], Released::Released),
        // It may have been given up over another connection.
        None => Before(Released::NotHeld),
    })
}

pub(super) fn take_over(seen: &Seen, over: &TakeOver) -> Decided<TakenOver> {
    let Some(record) = seen.record()? else { return Ok(Said(TakenOver::NotHeld)) };
    let repeats = record.owner == over.owner.to_hex();
    if !repeats && record.owner != over.from.to_hex() {
        return Ok(Said(TakenOver::NotHeld));
    }
    if !record.is_exclusive() {
        return Err(Refused::Queue(QueueError::OtherMode));
    }
    let granted = |token, left| TakenOver::Granted(Grant { token, left, others_waiting: false });
    if repeats {
        return Ok(Before(granted(record.token()?, seen.left())));
    }
    let (time, token) = seen.tick()?;
    let ttl = ceil_millis(over.ttl);
    let record = record::granted(&over.as_ask(), time);
    let changes = vec![Change::Clock(time), Change::Grant(record, ttl)];
    Ok(With(changes, granted(token, Duration::from_millis(ttl))))
}

pub(super) fn raise(seen: &Seen, owner: &str, token: Token) -> Decided<Raised> {
    let Some(record) = seen.of(owner)? else { return Ok(Said(Raised::NotHeld)) };
    let last = seen.last()?;
    if token < record.token()? {
        return Ok(Said(Raised::Stale));
    }
    let mut changes = vec![Change::Rewrite(record.raised(token)?)];
    if token.time() > last {
        changes.insert(0, Change::Clock(token.time()));
    }
    Ok(With(changes, Raised::Raised))
}

/// Who had it, as far as that can be read: what makes no sense is nobody's.
pub(super) fn evict(seen: &Seen) -> Decided<Vec<Contender>> {
    match seen.record().and_then(|record| record.map(|record| record.holder(seen.left)).transpose())
    {
        Ok(None) => Ok(Said(Vec::new())),
        Ok(Some(holder)) => Ok(With(vec![Change::Delete], vec![holder])),
        Err(Refused::Corrupt) => Ok(With(vec![Change::Delete], Vec::new())),
        Err(refused) => Err(refused),
    }
}

/// Who has it.
pub(super) fn inspect(seen: &Seen) -> Parsed<Option<Contender>> {
    seen.record()?.map(|record| record.holder(seen.left)).transpose()
}
