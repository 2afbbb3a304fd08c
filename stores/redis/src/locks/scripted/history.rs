//! The history of a lock, in a list beside it.

use std::time::Duration;

use tenure_core::{
    Fault, FaultKind, LockName,
    proto::{
        history::{Event, Retention, StoredEvent},
        time::ceil_millis,
    },
    store::{HistoryWrite, StoredHistory},
};

use crate::{
    client::Value,
    locks::{
        layout::{
            fields::{ParseResult, ReplyError},
            keys::Key,
            reply::Reply,
        },
        scripted::ScriptedMethod,
        scripts,
    },
};

/// The length of the longest element: the time, a space, and the event.
const LONGEST: usize = 20 + 1 + Event::MAX;
/// How many events are read by one call, so that a long history lets other calls pass.
const PAGE: usize = 125;

impl ScriptedMethod {
    pub(crate) async fn read_events(&self, name: &LockName) -> Result<StoredHistory, Fault> {
        let most = 2 * Retention::MOST as usize;
        let (mut pages, mut now) = (Vec::new(), 0);
        // From the end: what is added or taken away meanwhile makes none of those that stay be missed.
        for behind in (0..most).step_by(PAGE) {
            let page = self.read_page(name, behind).await?;
            now = page.now;
            let is_first = page.events.len() < PAGE;
            pages.push(page.events);
            if is_first {
                break;
            }
        }
        Ok(StoredHistory { events: pages.into_iter().rev().flatten().collect(), now })
    }

    /// The events before the last ones, of which there are so many `behind`.
    async fn read_page(&self, name: &LockName, behind: usize) -> Result<StoredHistory, Fault> {
        let mut call = self.0.call(name, &[Key::History]);
        let echo = self.0.echo();
        call.argument(&[&echo]).number(LONGEST as u64);
        let (first, last) = (format!("-{}", behind + PAGE), format!("-{}", behind + 1));
        call.argument(&[first.as_bytes()]).argument(&[last.as_bytes()]);
        let reply = self.0.run(&scripts::READ_HISTORY, &echo, call).await?;
        self.unless_foreign(name, Key::History, seen(reply))
    }

    pub(crate) async fn add_events(
        &self,
        name: &LockName,
        write: &HistoryWrite,
    ) -> Result<(), Fault> {
        let mut call = self.0.call(name, &[Key::History]);
        let (echo, retention) = (self.0.echo(), write.retention);
        call.argument(&[&echo]).number(retention.most_events().into());
        call.number(ceil_millis(retention.time())).number(micros(retention.time()));
        call.number(LONGEST as u64);
        for (text, ago) in &write.events {
            check_event(text)?;
            call.number(micros(*ago)).argument(&[text.as_bytes()]);
        }
        let reply = self.0.run(&scripts::ADD_HISTORY, &echo, call).await?;
        self.unless_foreign(name, Key::History, added(reply))
    }
}

/// Refuses an event that could not be read again.
fn check_event(text: &str) -> Result<(), Fault> {
    if text.len() <= Event::MAX {
        return Ok(());
    }
    let what = format!("an event of {} bytes is longer than a history keeps", text.len());
    let help = "write at most 1,024 bytes";
    Err(Fault::new(FaultKind::Misconfigured, what, help))
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// The events that are kept; `None` where something else is stored.
fn seen(reply: Reply) -> ParseResult<Option<StoredHistory>> {
    let mut fields = reply.fields()?;
    match fields.text()?.as_str() {
        "seen" => {
            let now = fields.number()?;
            let elements = fields.rows()?;
            let events: Option<Vec<_>> = elements.0.as_slice().iter().map(event).collect();
            Ok(events.map(|events| StoredHistory { events, now }))
        }
        "foreign" => Ok(None),
        _ => Err(ReplyError::Corrupt),
    }
}

/// The event in an element; `None` where it is none.
fn event(element: &Value) -> Option<StoredEvent> {
    let Value::Bytes(element) = element else { return None };
    let (at, text) = std::str::from_utf8(element).ok()?.split_once(' ')?;
    Some(StoredEvent { at: at.parse().ok()?, text: text.to_owned() })
}

/// That events were added; `None` where something else is stored.
fn added(reply: Reply) -> ParseResult<Option<()>> {
    match reply.fields()?.text()?.as_str() {
        "added" => Ok(Some(())),
        "foreign" => Ok(None),
        _ => Err(ReplyError::Corrupt),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::protocol::echo::strip_echo;

    const NOW: i64 = 1_700_000_000_000_000;

    fn text(text: &str) -> Value {
        Value::Bytes(text.as_bytes().to_vec())
    }

    fn reply(fields: Vec<Value>) -> Reply {
        let fields = [text("owner")].into_iter().chain(fields).collect();
        Reply::from(strip_echo(b"owner", Value::Array(fields)).unwrap())
    }

    fn of(elements: Vec<Value>) -> Option<StoredHistory> {
        seen(reply(vec![text("seen"), Value::Int(NOW), Value::Array(elements)])).unwrap()
    }

    #[test]
    fn an_element_is_a_time_and_an_event() {
        let history = of(vec![text("7 one"), text("5 "), text("6  two\nlines")]).unwrap();
        let stored = |at, text: &str| StoredEvent { at, text: text.to_owned() };
        assert_eq!(history.events, [stored(7, "one"), stored(5, ""), stored(6, " two\nlines")]);
        assert_eq!(history.now, NOW.unsigned_abs());
        assert_eq!(of(vec![]).unwrap().events, []);
        assert_eq!(seen(reply(vec![text("foreign")])).unwrap(), None);
    }

    #[test]
    fn what_is_no_event_is_foreign() {
        let no_text = Value::Bytes(b"7 \xff".to_vec());
        for element in [text("one"), text("7"), text("x one"), text(" one"), no_text, Value::Nil] {
            assert_eq!(of(vec![text("7 one"), element]), None);
        }
    }

    #[test]
    fn nonsense_is_no_answer() {
        for fields in [
            vec![],
            vec![text("seen")],
            vec![text("seen"), Value::Int(NOW)],
            vec![text("seen"), Value::Int(NOW), text("7 one")],
            vec![text("corrupt")],
            vec![Value::Int(3)],
        ] {
            assert!(matches!(seen(reply(fields.clone())), Err(ReplyError::Corrupt)));
            assert!(matches!(added(reply(fields)), Err(ReplyError::Corrupt)));
        }
        assert_eq!(added(reply(vec![text("added")])).unwrap(), Some(()));
        assert_eq!(added(reply(vec![text("foreign")])).unwrap(), None);
    }
}
