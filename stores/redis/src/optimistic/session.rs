//! One transaction at a time over a connection that nobody else uses meanwhile.
//!
//! What is to be decided upon is watched before it is read. So what was decided is written only as long as
//! nobody else has written there, and nothing has ended, since before it was read.

use tenure_core::Fault;

use super::decide::{Change, Clock, Held, Seen};
use crate::{
    compare::NoOutcome,
    error,
    failure::Failure,
    keys::{Key, Keys, freed},
    lent::Loan,
    lines::Open,
    protocol::{ServerError, Value},
    store::RedisStore,
};

/// What a transaction is made of.
type Words = Vec<String>;

pub(super) struct Session<'a> {
    store: &'a RedisStore,
    loan: Loan<Open>,
}

/// What is watched beside the keys of the locks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Watched {
    /// Nothing: no token is made.
    Locks,
    /// The clock of the one lock, which a token is made of.
    Clock,
}

impl<'a> Session<'a> {
    pub(super) async fn open(store: &'a RedisStore) -> Result<Self, Fault> {
        Ok(Self { store, loan: store.transport.lend().await? })
    }

    /// Sees these locks, and watches them.
    pub(super) async fn look(
        &mut self,
        locks: &[Keys<'_>],
        watched: Watched,
    ) -> Result<Vec<Seen>, Fault> {
        let clock = locks.first().filter(|_| watched == Watched::Clock);
        let clock = clock.map(|keys| keys.text(Key::Clock));
        let keys: Vec<_> = locks.iter().map(|keys| keys.text(Key::Lock)).collect();
        let all = keys.iter().chain(&clock).map(String::as_str);
        // Who was here before may have left something watched.
        let mut row =
            vec![vec!["UNWATCH"], ["WATCH"].into_iter().chain(all).collect(), vec!["TIME"]];
        for key in &keys {
            row.extend([vec!["GET", key], vec!["PTTL", key]]);
        }
        row.extend(clock.iter().map(|key| vec!["GET", key]));
        let told = self.send(&row, false).await?;
        let mut told = told.into_iter();
        for _ in ["UNWATCH", "WATCH"] {
            self.fine(told.next())?;
        }
        let now = self.time(told.next())?;
        let mut seen = Vec::with_capacity(locks.len());
        for _ in locks {
            let held = match told.next() {
                Some(Value::Bytes(record)) => Held::Alone(record),
                Some(Value::Nil) => Held::Nobody,
                Some(Value::Error(error)) if error.code() == "WRONGTYPE" => Held::Crowd,
                other => return Err(self.odd(other)),
            };
            let left = match told.next() {
                Some(Value::Int(left)) => left,
                other => return Err(self.odd(other)),
            };
            seen.push(Seen { held, left, now, ..Seen::default() });
        }
        if let (Some(first), true) = (seen.first_mut(), clock.is_some()) {
            first.clock = match told.next() {
                Some(Value::Bytes(text)) => Clock::At(text),
                Some(Value::Nil) => Clock::New,
                Some(Value::Error(error)) if error.code() == "WRONGTYPE" => Clock::Other,
                other => return Err(self.odd(other)),
            };
        }
        Ok(seen)
    }

    /// Writes all of this, unless somebody has written since; then it is `false`, and nothing is written.
    pub(super) async fn write(&mut self, changes: &[(&Keys<'_>, Change)]) -> Result<bool, Fault> {
        let multi = [vec!["MULTI".to_owned()]].into_iter();
        let writes = changes.iter().map(|(keys, change)| words(keys, change));
        let exec = [vec!["EXEC".to_owned()]];
        let tells = changes.iter().filter(|(_, change)| *change == Change::Delete);
        let prefix = self.store.prefix();
        // Whoever may not tell others lets it go all the same.
        let tells =
            tells.map(|(keys, _)| vec!["PUBLISH".to_owned(), freed(prefix), keys.text(Key::Lock)]);
        let row: Vec<Words> = multi.chain(writes).chain(exec).chain(tells).collect();
        let row: Vec<Vec<&str>> =
            row.iter().map(|words| words.iter().map(String::as_str).collect()).collect();
        let told = self.send(&row, true).await?;
        match told.get(changes.len() + 1) {
            Some(Value::Nil) => Ok(false),
            Some(Value::Array(done)) => {
                let torn = done.iter().any(|one| matches!(one, Value::Error(_)));
                if torn || done.len() != changes.len() {
                    return Err(self.failed(Failure::Server(Box::new(torn_apart()))));
                }
                // A key that is gone was not extended.
                Ok(!done.contains(&Value::Int(0)))
            }
            // Why one of them was refused, and so all, stands with that one.
            Some(Value::Error(_)) => {
                let mut errors = told.into_iter().filter(|one| matches!(one, Value::Error(_)));
                Err(self.odd(errors.next()))
            }
            _ => Err(self.odd(None)),
        }
    }

    /// Deletes a lock that has this record, by one command that compares; `false` when it has another, and
    /// where the server has no such command.
    pub(super) async fn delete_if(&mut self, keys: &Keys<'_>, record: &str) -> Result<bool, Fault> {
        let connection = self.loan.connection.clone();
        let compare = &connection.compare;
        let Some((verb, condition)) = compare.words() else { return Ok(false) };
        let (key, freed) = (keys.text(Key::Lock), freed(self.store.prefix()));
        let delete = [verb, &key].into_iter().chain(condition).chain([record]).collect();
        let told = self.send(&[delete, vec!["PUBLISH", &freed, &key]], true).await?;
        let told = match told.into_iter().next() {
            Some(Value::Error(error)) => Err(Failure::Server(error)),
            Some(told) => Ok(told),
            None => Err(Failure::Nonsense),
        };
        compare.outcome(told).map_err(|none| match none {
            NoOutcome::MixedUp => self.odd(None),
            NoOutcome::Failed(failure) => self.failed(failure),
        })
    }

    /// What was written before counts, as far as that has to be confirmed.
    pub(super) async fn confirm(&mut self) -> Result<(), Fault> {
        let told = self.send(&[vec!["UNWATCH"]], true).await?;
        self.fine(told.into_iter().next())
    }

    async fn send(&mut self, row: &[Vec<&str>], counts: bool) -> Result<Vec<Value>, Fault> {
        let sent = self.loan.connection.in_a_row(row, counts).await;
        sent.map_err(|failure| self.failed(failure))
    }

    /// The time by which tokens are made.
    fn time(&mut self, told: Option<Value>) -> Result<u64, Fault> {
        let read = |value: &Value| match value {
            Value::Bytes(digits) => std::str::from_utf8(digits).ok()?.parse::<u64>().ok(),
            _ => None,
        };
        let seconds_ahead = self.loan.connection.seconds_ahead;
        match told {
            Some(Value::Array(parts)) => {
                let part = |number: usize| parts.get(number).and_then(read);
                let time = part(0).zip(part(1)).and_then(|(seconds, micros)| {
                    let seconds = seconds.checked_add(seconds_ahead)?;
                    seconds.checked_mul(1_000_000)?.checked_add(micros)
                });
                time.ok_or_else(|| self.odd(None))
            }
            other => Err(self.odd(other)),
        }
    }

    fn fine(&mut self, told: Option<Value>) -> Result<(), Fault> {
        match told {
            Some(Value::Error(_)) | None => Err(self.odd(told)),
            Some(_) => Ok(()),
        }
    }

    /// What was told is an error, or no answer to what was asked.
    fn odd(&mut self, told: Option<Value>) -> Fault {
        match told {
            Some(Value::Error(error)) => self.failed(Failure::Server(error)),
            _ => {
                self.loan.give_up();
                error::mixed_up(self.store.place())
            }
        }
    }

    fn failed(&mut self, failure: Failure) -> Fault {
        self.store.transport.failed_over(&mut self.loan, failure)
    }
}

/// The command that makes this change.
fn words(keys: &Keys<'_>, change: &Change) -> Words {
    let (lock, clock) = (keys.text(Key::Lock), keys.text(Key::Clock));
    let words = |words: [&str; 3]| words.map(str::to_owned).to_vec();
    match change {
        Change::Clock(time) => words(["SET", &clock, &time.to_string()]),
        Change::Grant(record, ttl) => {
            let mut set = words(["SET", &lock, record]);
            set.extend(["PX".to_owned(), ttl.to_string()]);
            set
        }
        Change::Rewrite(record) => {
            let mut set = words(["SET", &lock, record]);
            set.push("KEEPTTL".to_owned());
            set
        }
        Change::Extend(ttl) => words(["PEXPIRE", &lock, &ttl.to_string()]),
        Change::Delete => vec!["DEL".to_owned(), lock],
    }
}

/// A part was done and a part was not.
fn torn_apart() -> ServerError {
    ServerError::new("TORN a transaction was refused midway")
}
