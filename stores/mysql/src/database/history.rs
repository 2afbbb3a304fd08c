//! Histories are read and added to, over sessions of which no lock waits for one.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tenure_core::{Fault, FaultKind, LockName, store::HistoryWrite};
use tenure_sql::{Database, HistorySnapshot};

use crate::{
    connection::session::{Session, TRIES},
    database::Mysql,
    error::{Failure, NO_RIGHTS, REFUSED},
    tables::{
        history::{COLUMNS, HistoryStatements, SWEPT},
        rows::{hex, name_value, odd, value},
        side_table::HISTORY,
    },
};

/// More than what one event adds to a text beside its name and its bytes, and more than what a text has beside its events
/// and the name.
const ONE_MORE: usize = 256;
const REST_OF_TEXT: usize = 4_096;

/// Of a table with which the server does not do what we ask.
const NOT_OURS: &str = "is not there for this user, or is not one that tenure made";

impl Mysql {
    pub(super) async fn look_at_history(&self, name: &LockName) -> Result<HistorySnapshot, Fault> {
        let (statements, of) = (self.common.statements.clone(), name_value(name));
        let read = self.call_by(&self.common.histories, false, move |session| {
            Box::pin(async move {
                let rows = session.rows(&statements.history.read, vec![of]).await?;
                let now = value(rows.first().ok_or_else(odd)?, 0)?;
                let mut events = Vec::new();
                for row in &rows {
                    if let Some(at) = value::<Option<i64>>(row, 1)? {
                        events.push((at, value(row, 2)?));
                    }
                }
                Ok(HistorySnapshot { now, events })
            })
        });
        match read.await {
            // Nobody has added anything, and whoever only looks makes nothing.
            Err(Failure::NoTables(_)) => {
                let now = self.read(name).await?.now;
                Ok(HistorySnapshot { now, events: Vec::new() })
            }
            read => read.map_err(|failure| self.unusable(failure.fault())),
        }
    }

    pub(super) async fn write_history(
        &self,
        name: &LockName,
        write: &HistoryWrite,
    ) -> Result<(), Fault> {
        let statements = self.common.statements.clone();
        let (name, write) = (hex(name.as_str().as_bytes()), Arc::new(write.clone()));
        let is_ours = self.common.has_own_history.clone();
        let (lane, refusal) = (&self.common.histories, Some(&self.common.history_refusal));
        let done = self.with_side_table(lane, &HISTORY, refusal, move |session| {
            let (statements, name, write) = (statements.clone(), name.clone(), write.clone());
            let is_ours = is_ours.clone();
            Box::pin(async move {
                if !is_ours.load(Ordering::Relaxed) {
                    is_ours.store(check(session, &statements.history).await?, Ordering::Relaxed);
                }
                add(session, &statements.history, &name, &write).await
            })
        });
        done.await.map_err(|fault| self.unusable(fault))
    }

    /// Takes away a few events whose time is over, and returns whether there may be more.
    pub(super) async fn sweep_histories(&self) -> Result<bool, Fault> {
        let statements = self.common.statements.clone();
        let is_ours = self.call(move |session| {
            Box::pin(async move { check(session, &statements.history).await })
        });
        if !is_ours.await? {
            return Ok(false);
        }
        let statements = self.common.statements.clone();
        let swept = self.call_by(&self.common.histories, false, move |session| {
            Box::pin(async move { sweep(session, &statements.history).await })
        });
        swept.await.map_err(|failure| self.unusable(failure.fault()))
    }

    /// What the server says of the table itself names it.
    fn unusable(&self, fault: Fault) -> Fault {
        let is_of_table = fault.kind() == FaultKind::Misconfigured
            && [NO_RIGHTS, REFUSED].contains(&fault.message());
        if !is_of_table {
            return fault;
        }
        self.no_table(&HISTORY, NOT_OURS, fault)
    }
}

/// Whether the table is there and is ours. One that another program made is refused, as nothing is to be deleted there.
async fn check(session: &mut Session, statements: &HistoryStatements) -> Result<bool, Failure> {
    let rows = session.query_text(&statements.columns).await?;
    let row = rows.first().ok_or_else(odd)?;
    let (all, ours): (i64, i64) = (value(row, 0)?, value(row, 1)?);
    if all > 0 && ours < COLUMNS {
        let help = "rename it: its columns are those of another program";
        return Err(Fault::new(FaultKind::Misconfigured, REFUSED, help).into());
    }
    Ok(all > 0)
}

/// Adds the events, and takes away what is to go: by one message where nothing is. No transaction is left open between
/// two of them.
async fn add(
    session: &mut Session,
    statements: &HistoryStatements,
    name: &str,
    write: &HistoryWrite,
) -> Result<(), Failure> {
    let (time, most) = (write.retention.time(), write.retention.most_events());
    let others = most.saturating_sub(u32::try_from(write.events.len()).unwrap_or(u32::MAX));
    let mut rest = &*write.events;
    let mut looks = vec![statements.changing(name, others, time), statements.over(name)];
    let (mut gone, mut shortened) = (Vec::new(), Vec::new());
    loop {
        let (part, later) = rest.split_at(fitting(rest, name, session.max_packet));
        rest = later;
        // The looks first: where another transaction was in the way nothing was added yet.
        let mut texts = std::mem::take(&mut looks);
        let looked = !texts.is_empty();
        if !part.is_empty() {
            texts.push(statements.add(name, part, time));
        }
        let found = session.write_text(&texts.join("; "), TRIES).await?;
        if looked && let [changing, over, ..] = &*found {
            for row in &changing.rows {
                let numbers = if value(row, 1)? { &mut gone } else { &mut shortened };
                numbers.push(value(row, 0)?);
            }
            for row in &over.rows {
                gone.push(value(row, 0)?);
            }
        }
        if rest.is_empty() {
            break;
        }
    }
    take_away(session, statements, (gone, shortened), time).await
}

async fn take_away(
    session: &mut Session,
    statements: &HistoryStatements,
    (mut gone, mut shortened): (Vec<i64>, Vec<i64>),
    time: Duration,
) -> Result<(), Failure> {
    // In one order, as others do that take away the same.
    gone.sort_unstable();
    shortened.sort_unstable();
    let mut texts = statements.take_away(&gone);
    texts.extend(statements.shorten(&shortened, time));
    if texts.is_empty() {
        return Ok(());
    }
    match session.write_text(&texts.join("; "), 1).await {
        // The next write finds them.
        Ok(_) | Err(Failure::Crossed) => Ok(()),
        Err(failure) => Err(failure),
    }
}

async fn sweep(session: &mut Session, statements: &HistoryStatements) -> Result<bool, Failure> {
    let rows = session.query_text(&statements.swept()).await?;
    let numbers: Result<Vec<i64>, Fault> = rows.iter().map(|row| value(row, 0)).collect();
    let numbers = numbers?;
    let most = numbers.len() >= SWEPT;
    take_away(session, statements, (numbers, Vec::new()), Duration::ZERO).await?;
    Ok(most)
}

/// How many of these events one text has room for. One is always tried.
fn fitting(events: &[(String, Duration)], name: &str, max_packet: usize) -> usize {
    let mut room = max_packet.saturating_sub(REST_OF_TEXT + 2 * name.len());
    let mut fitting = 0;
    for (text, _) in events {
        // The name is in hexadecimal digits already.
        let length = name.len() + text.len() * 2 + ONE_MORE;
        if length > room {
            break;
        }
        room -= length;
        fitting += 1;
    }
    fitting.max(1).min(events.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_no_more_events_than_it_has_room_for() {
        let events = vec![("e".repeat(1_024), Duration::ZERO); 64];
        let name = "6e".repeat(512);
        let one = name.len() + 2_048 + ONE_MORE;
        let rest = REST_OF_TEXT + 2 * name.len();
        assert_eq!(fitting(&events, &name, 0), 1);
        assert_eq!(fitting(&events, &name, rest + 3 * one), 3);
        assert_eq!(fitting(&events, &name, 1 << 20), 64);
        assert_eq!(fitting(&[], &name, 1 << 20), 0);
    }
}
