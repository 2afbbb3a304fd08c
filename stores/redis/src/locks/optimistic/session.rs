//! One transaction at a time over a connection that nobody else uses meanwhile.
//!
//! What is to be decided upon is watched before it is read, and the transaction is begun with it: the server
//! writes what was decided only as long as nobody else has written there, and nothing has ended, since before it
//! was read. Were it begun later, a server that refuses that would take what follows for writes of their own.

use tenure_core::Fault;

use super::decide::{ContenderSummary, HolderState, LockSnapshot, TokenClock, WriteOperation};
use crate::{
    client::{Failure, ServerError, UnknownOutcome, Value, error, pool::PoolGuard},
    locks::{
        Context,
        error::{of_transaction, without_effect},
        layout::keys::{Key, Keys, release_channel},
    },
    servers::{links::LiveConnection, transport::lending::PoolKind},
};

pub(super) struct WatchTransaction<'a> {
    context: &'a Context,
    pooled: PoolGuard<LiveConnection>,
    /// A transaction is begun.
    begun: bool,
}

/// What is watched beside the keys of the locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WatchScope {
    /// Nothing, and they neither: nothing will be written.
    Nothing,
    /// Nothing: no token is made.
    Locks,
    /// The clock of the one lock, which a token is made of.
    Clock,
}

impl<'a> WatchTransaction<'a> {
    pub(super) async fn open(context: &'a Context, purpose: PoolKind) -> Result<Self, Fault> {
        Ok(Self { context, pooled: context.transport.lend(purpose).await?, begun: false })
    }

    /// Sees these locks, and watches them. Of one that several share it is seen whether these owners are
    /// among them.
    pub(super) async fn watch_locks(
        &mut self,
        locks: &[Keys<'_>],
        watched: WatchScope,
        owners: &[String],
    ) -> Result<Vec<LockSnapshot>, Fault> {
        let mut seen = self.read(locks, watched).await.map_err(without_effect)?;
        if let ([keys], [one]) = (locks, &mut *seen)
            && let HolderState::Crowd(crowd) = &mut one.held
        {
            *crowd = self.read_summary(keys, owners).await.map_err(without_effect)?;
        }
        Ok(seen)
    }

    async fn read(
        &mut self,
        locks: &[Keys<'_>],
        watched: WatchScope,
    ) -> Result<Vec<LockSnapshot>, Fault> {
        let clock = locks.first().filter(|_| watched == WatchScope::Clock);
        let clock = clock.map(|keys| keys.text(Key::Clock));
        let keys: Vec<_> = locks.iter().map(|keys| keys.text(Key::Lock)).collect();
        // Who was here before may have left something begun, or watched.
        let mut row = vec![vec!["DISCARD"], vec!["UNWATCH"], vec!["TIME"]];
        let writes = watched != WatchScope::Nothing;
        if writes {
            let all = keys.iter().chain(&clock).map(String::as_str);
            row.insert(2, ["WATCH"].into_iter().chain(all).collect());
        }
        row.extend(keys.iter().flat_map(|key| [vec!["GET", key], vec!["PTTL", key]]));
        row.extend(clock.iter().map(|key| vec!["GET", key]));
        row.extend(writes.then(|| vec!["MULTI"]));
        let mut told = self.send(&row, None).await?.into_iter();
        // Mostly there is nothing to discard; who may not is told so.
        if let Some(Value::Error(error)) = told.next()
            && error.code() != "ERR"
        {
            return Err(self.failed(Failure::Server(error)));
        }
        self.expect_ok(told.next())?;
        if writes {
            self.expect_ok(told.next())?;
        }
        let now = self.time(told.next())?;
        let ahead = self.pooled.connection.seconds_ahead().saturating_mul(1_000_000);
        let mut seen = Vec::with_capacity(locks.len());
        for _ in locks {
            let held = match told.next() {
                Some(Value::Bytes(record)) => HolderState::Alone(record),
                Some(Value::Nil) => HolderState::Nobody,
                Some(Value::Error(error)) if error.code() == "WRONGTYPE" => {
                    HolderState::Crowd(None)
                }
                other => return Err(self.odd(other)),
            };
            let left = match told.next() {
                Some(Value::Int(left)) => left,
                other => return Err(self.odd(other)),
            };
            seen.push(LockSnapshot { held, left, now, ahead, ..LockSnapshot::default() });
        }
        if let (Some(first), true) = (seen.first_mut(), clock.is_some()) {
            first.clock = match told.next() {
                Some(Value::Bytes(text)) => TokenClock::At(text),
                Some(Value::Nil) => TokenClock::New,
                Some(Value::Error(error)) if error.code() == "WRONGTYPE" => TokenClock::Other,
                other => return Err(self.odd(other)),
            };
        }
        if writes {
            self.expect_ok(told.next())?;
            self.begun = true;
        }
        Ok(seen)
    }

    /// What the head of a crowd says, as far as this user may see it. Nothing is watched any more.
    async fn read_summary(
        &mut self,
        keys: &Keys<'_>,
        owners: &[String],
    ) -> Result<Option<ContenderSummary>, Fault> {
        let key = keys.text(Key::Lock);
        let holds: Vec<_> = owners.iter().map(|owner| format!("h{owner}")).collect();
        let fields = ["x", "end", "n"].into_iter().chain(holds.iter().map(String::as_str));
        let head = ["HMGET", &key].into_iter().chain(fields).collect();
        let told = self.send(&[vec!["DISCARD"], vec!["UNWATCH"], head], None).await?;
        self.begun = false;
        let Some(Value::Array(fields)) = told.into_iter().nth(2) else { return Ok(None) };
        let [Value::Bytes(sole), end, sharing, holds @ ..] = &*fields else { return Ok(None) };
        let Ok(sole) = String::from_utf8(sole.clone()) else { return Ok(None) };
        let is_sole = |owner: &String| sole.get(1..).is_some_and(|sole| sole.starts_with(owner));
        let ours = owners.iter().any(is_sole) || holds.iter().any(|hold| *hold != Value::Nil);
        let (Some(end), Some(sharing)) = (number(end), number(sharing)) else { return Ok(None) };
        Ok(Some(ContenderSummary { sole, end, sharing, ours }))
    }

    /// Writes all of this, unless somebody has written since; then it is `false`, and nothing is written.
    pub(super) async fn write(
        &mut self,
        changes: &[(&Keys<'_>, WriteOperation)],
    ) -> Result<bool, Fault> {
        if !self.begun {
            return Err(error::mismatched_reply(self.context.place()));
        }
        let texts = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let mut row: Vec<Vec<String>> =
            changes.iter().map(|(keys, change)| words(keys, change)).collect();
        row.push(texts(&["EXEC"]));
        // Whoever may not tell others lets it go all the same.
        let gone = changes.iter().filter(|(_, change)| *change == WriteOperation::Delete);
        row.extend(gone.map(|(keys, _)| {
            let key = keys.text(Key::Lock);
            texts(&["PUBLISH", &release_channel(&self.context.shared.options, &key), &key])
        }));
        let row: Vec<Vec<&str>> =
            row.iter().map(|words| words.iter().map(String::as_str).collect()).collect();
        self.begun = false;
        let mut told = self.send(&row, Some(changes.len())).await?;
        told.truncate(changes.len() + 1);
        match told.pop() {
            Some(Value::Nil) => Ok(false),
            Some(Value::Array(done)) => {
                let torn = done.iter().any(|one| matches!(one, Value::Error(_)));
                if torn || done.len() != changes.len() {
                    return Err(self.failed(Failure::Server(Box::new(torn_apart()))));
                }
                // A key that is gone was not extended.
                Ok(!done.contains(&Value::Int(0)))
            }
            // Why one of them was refused, and so all, stands with that one, or behind this.
            Some(Value::Error(all)) => {
                let first = told.into_iter().find(|one| matches!(one, Value::Error(_)));
                let why = all.detail().split_once("because of: ").map(|(_, why)| why);
                let all =
                    Value::Error(why.map_or(all.clone(), |why| Box::new(ServerError::new(why))));
                Err(self.odd(Some(first.unwrap_or(all))))
            }
            _ => Err(self.odd(None)),
        }
    }

    /// Deletes a lock that has this record, by one command that compares; `false` when it has another, and
    /// where the server has no such command.
    pub(super) async fn delete_if(&mut self, keys: &Keys<'_>, record: &str) -> Result<bool, Fault> {
        let connection = self.pooled.connection.clone();
        let compare = &connection.compare;
        let Some((verb, condition)) = compare.words() else { return Ok(false) };
        let key = keys.text(Key::Lock);
        let freed = release_channel(&self.context.shared.options, &key);
        let delete = [verb, &key].into_iter().chain(condition).chain([record]).collect();
        let row = [vec!["DISCARD"], delete, vec!["PUBLISH", &freed, &key]];
        let told = match self.send(&row, Some(1)).await?.into_iter().nth(1) {
            Some(Value::Error(error)) => Err(Failure::Server(error)),
            Some(told) => Ok(told),
            None => Err(Failure::Nonsense),
        };
        compare.outcome(told).map_err(|none| match none {
            UnknownOutcome::MixedUp => self.odd(None),
            UnknownOutcome::Failed(failure) => self.failed(failure),
        })
    }

    /// What was written before counts, as far as that has to be confirmed.
    pub(super) async fn confirm(&mut self) -> Result<(), Fault> {
        let end = if self.begun { "DISCARD" } else { "UNWATCH" };
        self.begun = false;
        let told = self.send(&[vec![end]], Some(0)).await?;
        self.expect_ok(told.into_iter().next())
    }

    async fn send(
        &mut self,
        row: &[Vec<&str>],
        counts: Option<usize>,
    ) -> Result<Vec<Value>, Fault> {
        let sent = self.pooled.connection.call_sequence(row, counts).await;
        sent.map_err(|failure| self.failed(failure))
    }

    /// The server's time in microseconds.
    fn time(&mut self, told: Option<Value>) -> Result<u64, Fault> {
        match told {
            Some(Value::Array(parts)) => {
                let part = |at: usize| parts.get(at).and_then(number);
                let time = part(0).zip(part(1)).and_then(|(seconds, micros)| {
                    seconds.checked_mul(1_000_000)?.checked_add(micros)
                });
                time.ok_or_else(|| self.odd(None))
            }
            other => Err(self.odd(other)),
        }
    }

    fn expect_ok(&mut self, told: Option<Value>) -> Result<(), Fault> {
        match told {
            Some(Value::Text(ok)) if ok == "OK" => Ok(()),
            other => Err(self.odd(other)),
        }
    }

    /// What was told is an error, or no answer to what was asked.
    fn odd(&mut self, told: Option<Value>) -> Fault {
        match told {
            Some(Value::Error(error)) => self.failed(Failure::Server(error)),
            _ => {
                self.pooled.give_up();
                error::mismatched_reply(self.context.place())
            }
        }
    }

    fn failed(&mut self, failure: Failure) -> Fault {
        let meant = of_transaction(self.context.place(), failure.code());
        let said = format!("{failure:#}");
        let fault = self.context.transport.failed_over(&mut self.pooled, failure);
        meant.map_or(fault, |meant| meant.because(said))
    }
}

fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Bytes(digits) => std::str::from_utf8(digits).ok()?.parse().ok(),
        _ => None,
    }
}

/// The command that makes this change.
fn words(keys: &Keys<'_>, change: &WriteOperation) -> Vec<String> {
    let (lock, clock) = (keys.text(Key::Lock), keys.text(Key::Clock));
    let words = |words: [&str; 3]| words.map(str::to_owned).to_vec();
    match change {
        WriteOperation::Clock(time) => words(["SET", &clock, &time.to_string()]),
        WriteOperation::Grant(record, ttl) => {
            let mut set = words(["SET", &lock, record]);
            set.extend(["PX".to_owned(), ttl.to_string()]);
            set
        }
        WriteOperation::Rewrite(record) => {
            let mut set = words(["SET", &lock, record]);
            set.push("KEEPTTL".to_owned());
            set
        }
        WriteOperation::Extend(ttl) => words(["PEXPIRE", &lock, &ttl.to_string()]),
        WriteOperation::Delete => vec!["DEL".to_owned(), lock],
    }
}

/// A part was done and a part was not.
fn torn_apart() -> ServerError {
    ServerError::new("TORN a transaction was refused midway")
}
