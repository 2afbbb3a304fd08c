//! The leases of many holds are extended.

use std::collections::{BTreeMap, HashMap, HashSet};

use tenure_core::{Clock, SystemClock, store::Renewal};
use tenure_sql::ExtendedLease;

use crate::{
    connection::session::Session,
    error::Failure,
    tables::{
        rows::{hex, micros, name, odd, value},
        statements::Statements,
    },
};

/// More than what one hold adds to a text beside its name, where no other has its ttl, and more than what a text has
/// beside its holds.
const ONE_MORE: usize = 768;
const REST_OF_STATEMENT: usize = 2_048;

/// Extends the leases of those that can be, and says which these are by their places. A row that somebody has locked
/// holds up none of the others.
pub(crate) async fn extend(
    session: &mut Session,
    statements: &Statements,
    holds: &[Renewal],
) -> Result<HashMap<usize, ExtendedLease>, Failure> {
    let mut extended = HashMap::new();
    let mut rest = holds;
    while !rest.is_empty() {
        let before = holds.len() - rest.len();
        let (part, others) = rest.split_at(fitting(rest, session.max_packet));
        let found = extend_part(session, statements, part).await?;
        extended.extend(found.into_iter().map(|(place, found)| (before + place, found)));
        rest = others;
    }
    Ok(extended)
}

/// How many of these one statement has room for. One is always tried.
fn fitting(holds: &[Renewal], max_packet: usize) -> usize {
    // The longest text has each name three times and its owner twice, in hexadecimal digits, and some signs.
    let mut room = max_packet.saturating_sub(REST_OF_STATEMENT);
    let mut fitting = 0;
    for hold in holds {
        let length = hold.name.as_str().len() * 6 + ONE_MORE;
        if length > room {
            break;
        }
        room -= length;
        fitting += 1;
    }
    fitting.max(1)
}

async fn extend_part(
    session: &mut Session,
    statements: &Statements,
    holds: &[Renewal],
) -> Result<HashMap<usize, ExtendedLease>, Failure> {
    let names = holds.iter().map(|hold| &hold.name);
    let found = session.query_verified(&statements.unlocked(names)).await?;
    let unlocked: Result<HashSet<_>, _> = found.iter().map(name).collect();
    let unlocked = unlocked?;
    let mut by_ttl: BTreeMap<i64, Vec<&Renewal>> = BTreeMap::new();
    for hold in holds.iter().filter(|hold| unlocked.contains(&hold.name)) {
        by_ttl.entry(micros(hold.ttl)).or_default().push(hold);
    }
    let mut extended = HashMap::new();
    if by_ttl.is_empty() {
        return Ok(extended);
    }
    let look = statements.extended(&json(holds));
    let mut texts: Vec<_> =
        by_ttl.iter().map(|(ttl, holds)| statements.extend(holds, *ttl)).collect();
    texts.push(look.clone());
    let sent = SystemClock.now();
    // By one message, since a short lease has no time for many over a long way.
    let rows = match session.write_then_query(&texts.join("; ")).await {
        Err(Failure::Crossed) => {
            // Some may have been extended before, which the look says.
            session.in_doubt = true;
            let rows = session.query_text(&look).await?;
            session.in_doubt = false;
            rows
        }
        done => done?,
    };
    for row in &rows {
        let place = value::<i64>(row, 0)? - 1;
        let place = usize::try_from(place).map_err(|_| odd())?;
        let hold = holds.get(place).ok_or_else(odd)?;
        let found = ExtendedLease { left: value(row, 1)?, others_waiting: value(row, 2)? };
        // One that ends earlier was not extended, or the clock went ahead meanwhile.
        let passed = micros(SystemClock.now().since(sent));
        if found.left.saturating_add(passed) >= micros(hold.ttl) {
            extended.insert(place, found);
        }
    }
    Ok(extended)
}

/// What a statement is told of all of them. Digits need no escaping.
fn json(holds: &[Renewal]) -> String {
    let holds: Vec<_> = holds
        .iter()
        .map(|hold| {
            let (name, owner) = (hex(hold.name.as_str().as_bytes()), hex(hold.owner.as_bytes()));
            format!("[\"{name}\",\"{owner}\",{}]", micros(hold.ttl))
        })
        .collect();
    format!("[{}]", holds.join(","))
}
