//! Records of slots are read and written.

use std::{sync::Arc, time::Duration};

use tenure_core::{
    Fault, LockName, Owner,
    store::{SlotsWrite, SlotsWritten},
};
use tenure_sql::SlotsSnapshot;

use crate::{
    client::Value,
    connection::session::Session,
    database::Mysql,
    error::Failure,
    tables::{
        rows::{hex, micros, name_value, odd, value},
        side_table::SLOTS,
        slots::SlotStatements,
    },
};

/// How often a write is tried that another transaction kept from having an effect.
const TRIES: u32 = 5;

impl Mysql {
    pub(super) async fn look_at_slots(&self, name: &LockName) -> Result<SlotsSnapshot, Fault> {
        let (statements, name) = (self.common.statements.clone(), name_value(name));
        self.with_side_table(self.lane(), &SLOTS, None, move |session| {
            let (statements, name) = (statements.clone(), name.clone());
            Box::pin(async move {
                let rows = session.rows(&statements.slots.read, vec![name]).await?;
                let row = rows.first().ok_or_else(odd)?;
                Ok(SlotsSnapshot { now: value(row, 0)?, record: value(row, 1)? })
            })
        })
        .await
    }

    pub(super) async fn replace_slots(
        &self,
        name: &LockName,
        owner: &Owner,
        write: &SlotsWrite,
    ) -> Result<SlotsWritten, Fault> {
        let statements = self.common.statements.clone();
        let (name, owner) = (name_value(name), Value::from(hex(owner.as_bytes())));
        let record = Value::from(hex(write.text.as_bytes()));
        let (keep, write) = (Value::from(micros(write.keep)), Arc::new(write.clone()));
        let held = vec![name.clone(), owner];
        let put = vec![record.clone(), keep.clone(), name.clone(), record, keep];
        self.with_side_table(self.lane(), &SLOTS, None, move |session| {
            let (statements, compares) = (statements.clone(), write.clone());
            let (name, held, put) = (name.clone(), held.clone(), put.clone());
            Box::pin(async move {
                take_away_what_is_over(session, &statements.slots, name.clone()).await?;
                let mut tries = 0;
                loop {
                    tries += 1;
                    match write_held(session, &statements.slots, (&name, &held, &put), &compares)
                        .await
                    {
                        Err(Failure::Crossed) if tries < TRIES => {
                            tokio::time::sleep(Duration::from_millis(tries.into())).await;
                        }
                        done => return done,
                    }
                }
            })
        })
        .await
    }
}

/// Writes in one transaction, in which nobody else changes the row of the lock.
async fn write_held(
    session: &mut Session,
    statements: &SlotStatements,
    parameters: (&Value, &[Value], &[Value]),
    write: &SlotsWrite,
) -> Result<SlotsWritten, Failure> {
    session.begin().await?;
    let done = match try_to_write(session, statements, parameters, write).await {
        Ok(SlotsWritten::Written) => match session.commit().await {
            Ok(()) => return Ok(SlotsWritten::Written),
            Err(failure) => Err(failure),
        },
        done => done,
    };
    session.roll_back().await;
    done
}

async fn try_to_write(
    session: &mut Session,
    statements: &SlotStatements,
    (name, held, put): (&Value, &[Value], &[Value]),
    write: &SlotsWrite,
) -> Result<SlotsWritten, Failure> {
    if session.write(&statements.hold, held.to_vec()).await?.rows == 0 {
        return Ok(SlotsWritten::NotHeld);
    }
    let rows = session.rows(&statements.known, vec![name.clone()]).await?;
    let known: Option<Vec<u8>> = rows.first().map(|row| value(row, 0)).transpose()?;
    // One that is no text is not the one to be replaced.
    let known = known.map(|known| String::from_utf8_lossy(&known).into_owned());
    if !write.replaces(known.as_deref()) {
        return Ok(SlotsWritten::Changed);
    }
    let put = session.write(&statements.put, put.to_vec()).await?;
    Ok(if put.rows == 0 { SlotsWritten::NotHeld } else { SlotsWritten::Written })
}

/// Before the write, and apart from it: no transaction waits for a row of another name.
async fn take_away_what_is_over(
    session: &mut Session,
    statements: &SlotStatements,
    name: Value,
) -> Result<(), Failure> {
    let rows = session.rows(&statements.over, vec![name]).await?;
    if rows.is_empty() {
        return Ok(());
    }
    let names: Result<Vec<Vec<u8>>, _> = rows.iter().map(|row| value(row, 0)).collect();
    match session.write_once(&statements.take_away(&names?), Vec::new()).await {
        // The next write finds them.
        Ok(_) | Err(Failure::Crossed) => Ok(()),
        Err(failure) => Err(failure),
    }
}
