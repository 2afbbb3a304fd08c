//! What scripts are told and what they answer, in words of the contract.

use std::{time::Duration, vec::IntoIter};

use redis::Value;
use tenure_core::{
    Fault, FaultKind, Token,
    proto::{
        Renewed,
        queue::{
            Answer, Ask, Contender, Intent, Limits, Mode, Order, Place, QueueError, Raised,
            Released, Snapshot, Waiting,
        },
        time::ceil_millis,
    },
};

/// The shortest time after which a waiter is told to ask again.
const SHORTEST_RETRY: Duration = Duration::from_millis(1);

/// The fields of one reply, after the echo of its owner.
pub(crate) struct Reply(pub(crate) IntoIter<Value>);

/// Why a reply was no answer.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The reply, or what the server keeps, makes no sense.
    Corrupt,
    /// The rules of the queue say no.
    Queue(QueueError),
}

type Parsed<T> = Result<T, Refused>;

/// The mode as scripts write it.
pub(crate) fn mode(mode: Mode) -> String {
    match mode {
        Mode::Exclusive => "x".to_owned(),
        Mode::Shared => "s".to_owned(),
        Mode::Permits { take, of } => format!("p {take} {of}"),
    }
}

/// Order and intent as scripts write them.
pub(crate) fn manner(ask: &Ask) -> &'static str {
    match (ask.order, ask.intent) {
        (Order::Fifo, Intent::Try) => "ft",
        (Order::Fifo, Intent::Wait { .. }) => "fw",
        (Order::Barging, Intent::Try) => "bt",
        (Order::Barging, Intent::Wait { .. }) => "bw",
    }
}

/// The place asked for, as scripts write it. They count in doubles.
pub(crate) fn place(intent: Intent) -> String {
    const MOST: u64 = 1 << 52;
    match intent {
        Intent::Wait { place: Some(Place(place)) } => place.min(MOST).to_string(),
        Intent::Wait { place: None } | Intent::Try => String::new(),
    }
}

/// The bounds of queues as scripts write them: lengths in microseconds, then counts.
pub(crate) fn limits(limits: &Limits) -> String {
    format!(
        "{} {} {} {} {}",
        limits.claim_window.as_micros(),
        limits.place_ttl.as_micros(),
        limits.look.as_micros(),
        limits.max_waiters,
        limits.max_holders
    )
}

/// A length in whole milliseconds, rounded up.
pub(crate) fn millis(length: Duration) -> String {
    ceil_millis(length).to_string()
}

impl Reply {
    /// Whether the script for a lock that is nobody else's found others there.
    pub(crate) fn is_crowd(&self) -> bool {
        matches!(self.0.as_slice(), [Value::BulkString(word)] if word == b"crowd")
    }

    /// The answer to an ask.
    pub(crate) fn answer(mut self) -> Parsed<Answer> {
        match self.text()?.as_str() {
            "granted" => {
                let (token, _) = self.grant()?;
                let left = Duration::from_millis(self.number()?);
                Ok(Answer::Granted { token, left, others_waiting: self.number()? == 1 })
            }
            "busy" => {
                let retry_after = Duration::from_micros(self.number()?).max(SHORTEST_RETRY);
                let ahead = u32::try_from(self.number()?).unwrap_or(u32::MAX);
                let place = self.text()?.parse().ok().map(Place);
                let holder = if self.0.len() == 0 { None } else { Some(self.contender()?) };
                Ok(Answer::Busy { retry_after, ahead, holder, place })
            }
            "full" => {
                let waiting = usize::try_from(self.number()?).unwrap_or(usize::MAX);
                Err(Refused::Queue(QueueError::Full { waiting }))
            }
            "mode" => Err(Refused::Queue(QueueError::OtherMode)),
            _ => Err(Refused::Corrupt),
        }
    }

    /// The answer to a renewal.
    pub(crate) fn renewed(mut self) -> Parsed<Renewed> {
        match self.text()?.as_str() {
            "renewed" => {
                let left = Duration::from_millis(self.number()?);
                Ok(Renewed::Renewed { left, others_waiting: self.number()? == 1 })
            }
            "lost" => Ok(Renewed::Lost),
            _ => Err(Refused::Corrupt),
        }
    }

    /// The answer to a release.
    pub(crate) fn released(mut self) -> Parsed<Released> {
        match self.text()?.as_str() {
            "released" => Ok(Released::Released),
            "not-held" => Ok(Released::NotHeld),
            _ => Err(Refused::Corrupt),
        }
    }

    /// The answer to the raising of a token.
    pub(crate) fn raised(mut self) -> Parsed<Raised> {
        match self.text()?.as_str() {
            "raised" => Ok(Raised::Raised),
            "stale" => Ok(Raised::Stale),
            "not-held" => Ok(Raised::NotHeld),
            _ => Err(Refused::Corrupt),
        }
    }

    /// Who was evicted.
    pub(crate) fn evicted(mut self) -> Parsed<Vec<Contender>> {
        match self.text()?.as_str() {
            "evicted" => self.0.map(|value| rows(value)?.contender()).collect(),
            _ => Err(Refused::Corrupt),
        }
    }

    /// Who holds a name and who waits for it, in the order of grants and places.
    pub(crate) fn seen(mut self) -> Parsed<Snapshot> {
        if self.text()? != "seen" {
            return Err(Refused::Corrupt);
        }
        let (holders, waiters) = (self.rows()?, self.rows()?);
        let mut holders =
            holders.0.map(|value| rows(value)?.contender()).collect::<Parsed<Vec<_>>>()?;
        holders.sort_by_key(|holder| holder.token);
        let mut waiters =
            waiters.0.map(|value| rows(value)?.waiting()).collect::<Parsed<Vec<_>>>()?;
        waiters.sort_by_key(|(place, _)| *place);
        let waiters = waiters.into_iter().map(|(_, waiting)| waiting).collect();
        Ok(Snapshot { holders, waiters })
    }

    fn contender(&mut self) -> Parsed<Contender> {
        let mode = self.mode()?;
        let (token, since) = self.grant()?;
        let left = match self.0.next() {
            Some(Value::Int(left)) => u64::try_from(left).ok().map(Duration::from_millis),
            _ => return Err(Refused::Corrupt),
        };
        let lingering = self.number()? == 1;
        let label = self.text()?;
        Ok(Contender { label, token: Some(token), since: Some(since), left, mode, lingering })
    }

    fn waiting(&mut self) -> Parsed<(u64, Waiting)> {
        let mode = self.mode()?;
        let place = self.text()?.parse().map_err(|_| Refused::Corrupt)?;
        let since = self.text()?.parse().ok();
        Ok((place, Waiting { label: self.text()?, since, mode }))
    }

    fn mode(&mut self) -> Parsed<Mode> {
        let text = self.text()?;
        let mut words = text.split(' ');
        let number =
            |word: Option<&str>| word.and_then(|word| word.parse().ok()).ok_or(Refused::Corrupt);
        match words.next() {
            Some("x") => Ok(Mode::Exclusive),
            Some("s") => Ok(Mode::Shared),
            Some("p") => {
                let (take, of) = (number(words.next())?, number(words.next())?);
                Ok(Mode::Permits { take, of })
            }
            _ => Err(Refused::Corrupt),
        }
    }

    /// A grant is written as its time, and behind a slash the token it was raised to.
    fn grant(&mut self) -> Parsed<(Token, u64)> {
        let text = self.text()?;
        let (since, raised) = text.split_once('/').unwrap_or((&text, ""));
        let since = since.parse().map_err(|_| Refused::Corrupt)?;
        let token = match raised {
            "" => Token::from_time(since),
            raised => raised.parse().ok().and_then(Token::from_raw),
        };
        Ok((token.ok_or(Refused::Corrupt)?, since))
    }

    fn text(&mut self) -> Parsed<String> {
        match self.0.next() {
            Some(Value::BulkString(bytes)) => {
                String::from_utf8(bytes).map_err(|_| Refused::Corrupt)
            }
            _ => Err(Refused::Corrupt),
        }
    }

    fn number(&mut self) -> Parsed<u64> {
        match self.0.next() {
            // A lease that somebody made endless, or that is just over, shows as below zero.
            Some(Value::Int(number)) => Ok(u64::try_from(number).unwrap_or(0)),
            _ => Err(Refused::Corrupt),
        }
    }

    fn rows(&mut self) -> Parsed<Self> {
        rows(self.0.next().ok_or(Refused::Corrupt)?)
    }
}

fn rows(value: Value) -> Parsed<Reply> {
    match value {
        Value::Array(values) => Ok(Reply(values.into_iter())),
        _ => Err(Refused::Corrupt),
    }
}

impl Refused {
    /// What a caller is told.
    pub(crate) fn fault(self, place: &str) -> Fault {
        match self {
            Self::Corrupt => crate::error::corrupt(place),
            Self::Queue(QueueError::Clock(error)) => {
                Fault::new(FaultKind::Misconfigured, error.to_string(), "then try again")
            }
            Self::Queue(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(fields: Vec<Value>) -> Reply {
        Reply(fields.into_iter())
    }

    fn text(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    #[test]
    fn a_grant_carries_its_token_and_what_is_left() {
        let fields =
            vec![text("granted"), text("1700000000000000"), Value::Int(250), Value::Int(1)];
        let token = Token::from_time(1_700_000_000_000_000).unwrap();
        let left = Duration::from_millis(250);
        let granted = Answer::Granted { token, left, others_waiting: true };
        assert_eq!(reply(fields).answer().unwrap(), granted);
    }

    #[test]
    fn a_raised_token_keeps_its_low_bits() {
        let fields = vec![
            text("granted"),
            text("1700000000000000/1740800000000000007"),
            Value::Int(1),
            Value::Int(0),
        ];
        let Answer::Granted { token, .. } = reply(fields).answer().unwrap() else { panic!() };
        assert_eq!(token.get(), 1_740_800_000_000_000_007);
    }

    #[test]
    fn nonsense_is_no_answer() {
        for fields in [
            vec![],
            vec![text("granted")],
            vec![text("granted"), text("x"), Value::Int(1), Value::Int(0)],
            vec![text("granted"), text("0"), Value::Int(1), Value::Int(0)],
            vec![text("busy"), Value::Nil, Value::Int(1), text("")],
            vec![text("corrupt")],
            vec![Value::Int(3)],
        ] {
            assert!(matches!(reply(fields).answer(), Err(Refused::Corrupt)));
        }
    }
}
