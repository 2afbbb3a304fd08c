//! A page of rows is looked at, and those that nobody needs any more are taken away.

use std::{collections::HashSet, time::Duration};

use tenure_core::{Fault, LockName};
use tenure_sql::{IdleRow, PAGE, SweepCursor, SweepPage};

use crate::{
    connection::session::Session,
    error::Failure,
    tables::{
        rows::{hex, micros, name, odd, snapshot, value},
        statements::Statements,
    },
};

/// More than what one row adds to a statement beside its name, and more than what a statement has beside its rows.
const ONE_MORE: usize = 64;
const REST_OF_STATEMENT: usize = 2_048;

/// What is behind the mark.
pub(crate) async fn page(
    session: &mut Session,
    statements: &Statements,
    age: Duration,
) -> Result<SweepPage, Failure> {
    let found = session.rows(&statements.mark, Vec::new()).await?;
    let world = found.first().ok_or_else(odd)?;
    let number = |index| Ok::<_, Fault>(value::<Option<i64>>(world, index)?.unwrap_or_default());
    let label = value::<Option<String>>(world, 4)?.unwrap_or_default();
    let mark = SweepCursor { version: number(3)?, at: decode_mark(&label), reached: number(5)? };
    let floor = value::<Option<i64>>(world, 1)?.ok_or_else(odd)?;
    let (now, raised) = (value(world, 0)?, value(world, 2)?);
    let values = vec![micros(age).into(), hex(&mark.at).into()];
    let rows = session.rows(&statements.page, values).await?;
    let end = rows.get(PAGE - 1).map(|row| value::<Vec<u8>>(row, 0)).transpose()?;
    let mut idle = Vec::new();
    for row in &rows {
        if value(row, 14)? {
            // What makes no sense is not surely ours to remove.
            let (Ok(name), Ok(snapshot)) = (name(row), snapshot(row, 1)) else { continue };
            idle.push(IdleRow { name, snapshot, has_others: value(row, 15)? });
        }
    }
    Ok(SweepPage { now, floor, raised, mark, end, idle })
}

/// Moves the mark, and takes away these rows, unless they have changed or somebody has locked them.
pub(crate) async fn take_away(
    session: &mut Session,
    statements: &Statements,
    mark: &SweepCursor,
    rows: &[(LockName, i64)],
) -> Result<Option<usize>, Failure> {
    let values = vec![
        hex(encode_mark(&mark.at).as_bytes()).into(),
        mark.reached.into(),
        mark.version.into(),
    ];
    match session.write_once(&statements.move_mark, values).await {
        Ok(written) if written.rows > 0 => {}
        Ok(_) | Err(Failure::Crossed) => return Ok(None),
        Err(failure) => return Err(failure),
    }
    let mut went = 0;
    let mut rest = rows;
    while !rest.is_empty() {
        let (part, others) = rest.split_at(fitting(rest, session.max_packet));
        rest = others;
        let found =
            session.query_text(&statements.unlocked(part.iter().map(|(name, _)| name))).await?;
        let free: Result<HashSet<_>, _> = found.iter().map(name).collect();
        let free = free?;
        let part: Vec<_> = part.iter().filter(|(name, _)| free.contains(name)).collect();
        if part.is_empty() {
            continue;
        }
        match session.write_once(&statements.take_away(&part), Vec::new()).await {
            Ok(written) => went += written.rows,
            // There is another round.
            Err(Failure::Crossed) => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(Some(usize::try_from(went).unwrap_or(usize::MAX)))
}

/// How many of these one statement has room for. One is always tried.
fn fitting(rows: &[(LockName, i64)], max_packet: usize) -> usize {
    let mut room = max_packet.saturating_sub(REST_OF_STATEMENT);
    let mut fitting = 0;
    for (name, _) in rows {
        // Each name stands there twice, in hexadecimal digits.
        let length = name.as_str().len() * 4 + ONE_MORE;
        if length > room {
            break;
        }
        room -= length;
        fitting += 1;
    }
    fitting.max(1)
}

/// Pairs of bytes begin here, and the last byte where its number is odd.
const PAIRS: u32 = 0x1_0000;
const ODD: u32 = 0x2_0000;

/// A name as the column of labels has room for it, which is half as long: each two bytes are one character.
fn encode_mark(place: &[u8]) -> String {
    let characters = place.chunks(2).map(|bytes| match *bytes {
        [one, two] => PAIRS + u32::from(one) * 256 + u32::from(two),
        [one] => ODD + u32::from(one),
        _ => ODD,
    });
    characters.filter_map(char::from_u32).collect()
}

/// The name again. Whatever else stands there is no name: the round begins anew.
fn decode_mark(label: &str) -> Vec<u8> {
    let mut place = Vec::new();
    for character in label.chars() {
        let number = u32::from(character);
        match (number.checked_sub(PAIRS), number.checked_sub(ODD)) {
            (Some(pair), None) => place.extend(pair.to_be_bytes().into_iter().skip(2)),
            (_, Some(odd)) if odd < 256 => place.extend(odd.to_be_bytes().into_iter().skip(3)),
            _ => return Vec::new(),
        }
    }
    place
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_has_room_in_a_label_and_comes_back() {
        let long: Vec<u8> = (0..LockName::MAX_BYTES).map(|number| (number % 256) as u8).collect();
        for length in [0, 1, 2, 3, 511, 512] {
            let name = &long[..length];
            assert_eq!(decode_mark(&encode_mark(name)), name);
            assert!(encode_mark(name).chars().count() <= 256);
        }
        assert_eq!(decode_mark(&encode_mark(&[0xff; 511])), [0xff; 511]);
        assert!(decode_mark("of somebody else").is_empty());
    }

    #[test]
    fn a_statement_has_no_more_rows_than_it_has_room_for() {
        let row = |length: usize| (LockName::new("x".repeat(length)).unwrap(), 1);
        let rows: Vec<_> = (0..100).map(|_| row(512)).collect();
        assert_eq!(fitting(&rows, 0), 1);
        assert_eq!(fitting(&rows, REST_OF_STATEMENT + 3 * (512 * 4 + ONE_MORE)), 3);
        assert_eq!(fitting(&rows, 1 << 20), 100);
    }
}
