//! What to do about a lock as it was seen: an answer, and what has to be written for it unless somebody
//! else writes first.

use std::time::Duration;

use tenure_core::{
    HoldId, Token,
    proto::{
        Renewed,
        queue::{Answer, Ask, Contender, Grant, QueueError, Raised, Released, TakeOver, TakenOver},
        time::ceil_millis,
    },
};

use crate::locks::layout::{
    fields::{ParseResult, ReplyError},
    lone_record::{self, ParsedRecord},
    reply::SHORTEST_RETRY,
    wire::LAST_TIME,
};

/// How long a waiter sleeps at most: who lets a lock go by a script tells nobody who waits without.
pub(crate) const LOOK: Duration = Duration::from_millis(250);

/// A lock as it was at one moment.
#[derive(Debug, Default)]
pub(super) struct LockSnapshot {
    pub(super) held: HolderState,
    /// For how many milliseconds yet; below zero for ever.
    pub(super) left: i64,
    /// What its clock has.
    pub(super) clock: TokenClock,
    /// The server's time in microseconds, and by how much tokens are ahead of it.
    pub(super) now: u64,
    pub(super) ahead: u64,
}

/// Who has it.
#[derive(Debug, Default)]
pub(super) enum HolderState {
    #[default]
    Nobody,
    /// One, with this record.
    Alone(Vec<u8>),
    /// Several, or some wait for it by scripts; what is known of them.
    Crowd(Option<ContenderSummary>),
}

/// What the head of a crowd says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ContenderSummary {
    /// Who has the lock alone or is offered it so; empty when several share it.
    pub(super) sole: String,
    /// When that ends, in microseconds.
    pub(super) end: u64,
    /// How many share it.
    pub(super) sharing: u64,
    /// Whether the one who asks is among them.
    pub(super) ours: bool,
}

/// The clock of a lock.
#[derive(Debug, Default)]
pub(super) enum TokenClock {
    #[default]
    New,
    At(Vec<u8>),
    /// Something else lies there.
    Other,
}

/// What is to be written, all of it or nothing.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WriteOperation {
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
    With(Vec<WriteOperation>, T),
}

pub(super) type DecisionResult<T> = ParseResult<Decision<T>>;

impl<T> Decision<T> {
    /// What it does, and what is answered then.
    pub(super) fn apart(self) -> (Decision<()>, T) {
        match self {
            Said(answer) => (Said(()), answer),
            Before(answer) => (Before(()), answer),
            With(changes, answer) => (With(changes, ()), answer),
        }
    }
}

use Decision::{Before, Said, With};

impl LockSnapshot {
    fn record(&self) -> ParseResult<Option<ParsedRecord<'_>>> {
        match &self.held {
            HolderState::Nobody => Ok(None),
            HolderState::Alone(record) => ParsedRecord::read(record).map(Some),
            HolderState::Crowd(_) => Err(ReplyError::Crowd),
        }
    }

    /// The record, if this owner has it.
    fn of(&self, owner: &str) -> ParseResult<Option<ParsedRecord<'_>>> {
        if self.is_of_others() {
            return Ok(None);
        }
        Ok(self.record()?.filter(|record| record.owner == owner))
    }

    /// Whether several have it, and surely not the one who asks.
    fn is_of_others(&self) -> bool {
        match &self.held {
            HolderState::Crowd(Some(crowd)) => !crowd.ours,
            HolderState::Nobody | HolderState::Alone(_) | HolderState::Crowd(None) => false,
        }
    }

    /// The last time of the clock.
    fn last(&self) -> ParseResult<u64> {
        let text = match &self.clock {
            TokenClock::New => return Ok(0),
            TokenClock::Other => return Err(ReplyError::Corrupt),
            TokenClock::At(text) => std::str::from_utf8(text).map_err(|_| ReplyError::Corrupt)?,
        };
        let digits = text.len() <= 16 && text.bytes().all(|byte| byte.is_ascii_digit());
        let at = text.parse().ok().filter(|at| digits && *at < LAST_TIME);
        at.ok_or(ReplyError::Corrupt)
    }

    /// The next time of the clock, and the token that is made of it.
    fn tick(&self) -> ParseResult<(u64, Token)> {
        let time = self.now.saturating_add(self.ahead).max(self.last()? + 1);
        Ok((time, Token::from_time(time).ok_or(ReplyError::Corrupt)?))
    }

    fn left(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.left).unwrap_or(0))
    }
}

pub(super) fn acquire(seen: &LockSnapshot, ask: &Ask) -> DecisionResult<Answer> {
    let busy = |left: Option<Duration>, holder| {
        let retry_after = left.unwrap_or(LOOK).clamp(SHORTEST_RETRY, LOOK);
        Ok(Said(Answer::Busy { retry_after, ahead: 0, holder, position: None }))
    };
    match seen.record() {
        Err(ReplyError::Crowd) => busy(None, None),
        Err(refused) => Err(refused),
        Ok(Some(record)) if record.owner == ask.owner.to_hex() => {
            if !record.is_exclusive() {
                return Err(ReplyError::Queue(QueueError::OtherMode));
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
            let changes = vec![
                WriteOperation::Clock(time),
                WriteOperation::Grant(lone_record::granted(ask, time), ttl),
            ];
            Ok(With(changes, Answer::Granted { token, left, others_waiting: false }))
        }
    }
}

pub(super) fn renew(seen: &LockSnapshot, owner: &str, ttl: Duration) -> DecisionResult<Renewed> {
    if seen.of(owner)?.is_none() {
        return Ok(Said(Renewed::Lost));
    }
    let wanted = ceil_millis(ttl);
    let renewed = |left| Renewed::Renewed { left, others_waiting: false };
    // It shortens nothing, and ends what somebody made endless.
    if u64::try_from(seen.left).is_ok_and(|left| left >= wanted) {
        return Ok(Before(renewed(seen.left())));
    }
    Ok(With(vec![WriteOperation::Extend(wanted)], renewed(Duration::from_millis(wanted))))
}

pub(super) fn release(
    seen: &LockSnapshot,
    owner: &str,
    keep: Duration,
) -> DecisionResult<Released> {
    Ok(match seen.of(owner)? {
        Some(_) if keep.is_zero() => With(vec![WriteOperation::Delete], Released::Released),
        Some(record) => {
            let lingers = WriteOperation::Grant(record.lingering(), ceil_millis(keep));
            With(vec![lingers], Released::Released)
        }
        // It may have been given up over another connection.
        None => Before(Released::NotHeld),
    })
}

pub(super) fn take_over(seen: &LockSnapshot, over: &TakeOver) -> DecisionResult<TakenOver> {
    if seen.is_of_others() {
        return Ok(Said(TakenOver::NotHeld));
    }
    let Some(record) = seen.record()? else { return Ok(Said(TakenOver::NotHeld)) };
    let repeats = record.owner == over.owner.to_hex();
    if !repeats && record.owner != over.from.to_hex() {
        return Ok(Said(TakenOver::NotHeld));
    }
    if !record.is_exclusive() {
        return Err(ReplyError::Queue(QueueError::OtherMode));
    }
    let granted = |token, left| TakenOver::Granted(Grant { token, left, others_waiting: false });
    if repeats {
        return Ok(Before(granted(record.token()?, seen.left())));
    }
    let (time, token) = seen.tick()?;
    let ttl = ceil_millis(over.ttl);
    let record = lone_record::granted(&over.as_ask(), time);
    let changes = vec![WriteOperation::Clock(time), WriteOperation::Grant(record, ttl)];
    Ok(With(changes, granted(token, Duration::from_millis(ttl))))
}

pub(super) fn raise(seen: &LockSnapshot, owner: &str, token: Token) -> DecisionResult<Raised> {
    let Some(record) = seen.of(owner)? else { return Ok(Said(Raised::NotHeld)) };
    let last = seen.last()?;
    if token < record.token()? {
        return Ok(Said(Raised::Stale));
    }
    let mut changes = vec![WriteOperation::Rewrite(record.raised(token)?)];
    if token.time() > last {
        changes.insert(0, WriteOperation::Clock(token.time()));
    }
    Ok(With(changes, Raised::Raised))
}

/// Who had it, as far as that can be read: what makes no sense is nobody's.
pub(super) fn evict(seen: &LockSnapshot) -> DecisionResult<Vec<Contender>> {
    match seen.record().and_then(|record| record.map(|record| record.holder(seen.left)).transpose())
    {
        // It may have been evicted over another connection.
        Ok(None) => Ok(Before(Vec::new())),
        Ok(Some(holder)) => Ok(With(vec![WriteOperation::Delete], vec![holder])),
        Err(ReplyError::Corrupt) => Ok(With(vec![WriteOperation::Delete], Vec::new())),
        Err(refused) => Err(refused),
    }
}

/// The one of this id, if that has it.
pub(super) fn evict_hold(seen: &LockSnapshot, hold: HoldId) -> DecisionResult<Option<Contender>> {
    let holder = seen.record()?.map(|record| record.holder(seen.left)).transpose()?;
    match holder.filter(|holder| holder.id == Some(hold)) {
        Some(holder) => Ok(With(vec![WriteOperation::Delete], Some(holder))),
        None => Ok(Before(None)),
    }
}

/// Who has it; nobody knows without scripts who waits.
pub(super) fn inspect(seen: &LockSnapshot) -> ParseResult<Option<Contender>> {
    let HolderState::Crowd(Some(crowd)) = &seen.held else {
        return seen.record()?.map(|record| record.holder(seen.left)).transpose();
    };
    let left = crowd.end.saturating_sub(seen.now) / 1_000;
    match (crowd.sole.split_at_checked(1), crowd.sharing) {
        (Some((kind @ ("h" | "l"), record)), _) if left > 0 => {
            let left = i64::try_from(left).map_err(|_| ReplyError::Corrupt)?;
            let mut holder = ParsedRecord::read(record.as_bytes())?.holder(left)?;
            holder.lingering = kind == "l";
            Ok(Some(holder))
        }
        // It is offered to one who waits, or was left by one who is gone.
        (Some(_), _) | (None, 0) => Ok(None),
        (None, _) => Err(ReplyError::Crowd),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_700_000_000_000_000;
    const OWNER: &str = "00112233445566778899aabbccddeeff";

    fn crowd(sole: &str, end: u64, sharing: u64) -> LockSnapshot {
        let crowd = ContenderSummary { sole: sole.to_owned(), end, sharing, ours: false };
        LockSnapshot { held: HolderState::Crowd(Some(crowd)), now: NOW, ..LockSnapshot::default() }
    }

    #[test]
    fn of_a_crowd_its_one_holder_is_seen() {
        let record = format!("h{OWNER}{NOW} a label");
        let seen = inspect(&crowd(&record, NOW + 1_500_000, 0)).unwrap().unwrap();
        assert_eq!(seen.label, "a label");
        assert_eq!((seen.left, seen.lingering), (Some(Duration::from_millis(1_500)), false));
        let lingers = record.replacen('h', "l", 1);
        assert!(inspect(&crowd(&lingers, NOW + 1_000, 0)).unwrap().unwrap().lingering);
        assert_eq!(inspect(&crowd(&record, NOW, 0)).unwrap(), None);
        assert_eq!(inspect(&crowd(&format!("o{OWNER}"), NOW + 1_000, 0)).unwrap(), None);
        assert_eq!(inspect(&crowd("", 0, 0)).unwrap(), None);
        assert!(matches!(inspect(&crowd("", NOW + 1_000, 2)), Err(ReplyError::Crowd)));
        let unknown = LockSnapshot { held: HolderState::Crowd(None), ..LockSnapshot::default() };
        assert!(matches!(inspect(&unknown), Err(ReplyError::Crowd)));
    }

    #[test]
    fn who_is_not_in_a_crowd_has_lost_what_it_had() {
        let others = crowd("", 0, 2);
        assert_eq!(renew(&others, OWNER, LOOK).unwrap(), Said(Renewed::Lost));
        assert_eq!(release(&others, OWNER, Duration::ZERO).unwrap(), Before(Released::NotHeld));
        let ours = ContenderSummary { ours: true, ..ContenderSummary::default() };
        for held in [HolderState::Crowd(Some(ours)), HolderState::Crowd(None)] {
            let seen = LockSnapshot { held, ..LockSnapshot::default() };
            assert!(matches!(renew(&seen, OWNER, LOOK), Err(ReplyError::Crowd)));
            assert!(matches!(release(&seen, OWNER, Duration::ZERO), Err(ReplyError::Crowd)));
        }
    }
}
