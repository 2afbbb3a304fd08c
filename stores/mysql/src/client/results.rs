//! Answers: what was found, or what was done.

use std::sync::Arc;

use super::{
    Conn, Error, PreparedStatement, StatementResult,
    bits::{can, status},
    packets::{ByteBudget, OF_ANSWER},
    read::{Column, ColumnSource, OkPacket, PrepareOk, Reader, Row, refusal},
};

/// What a row takes beside its bytes, and each of its values.
const OF_ROW: usize = 64;
const OF_VALUE: usize = 72;

impl Conn {
    async fn packet(&mut self, room: &mut ByteBudget) -> Result<Vec<u8>, Error> {
        let packet = self.packets.read(room).await?;
        match refusal(&packet) {
            Some(said) => Err(said?),
            None => Ok(packet),
        }
    }

    /// What each of the statements came to that were sent together. The columns become what they are by now: the
    /// server names them anew where they changed, and counts on that from then on.
    pub(super) async fn answers(
        &mut self,
        mut prepared: Option<&mut Arc<[Column]>>,
    ) -> Result<Vec<StatementResult>, Error> {
        let mut room = ByteBudget(OF_ANSWER);
        let mut all = Vec::new();
        loop {
            let done = self.one_answer(prepared.as_deref_mut(), &mut room).await?;
            room.take(OF_ROW)?;
            all.push(done);
            if self.status & status::MORE_RESULTS_EXISTS == 0 {
                return Ok(all);
            }
        }
    }

    async fn one_answer(
        &mut self,
        prepared: Option<&mut Arc<[Column]>>,
        room: &mut ByteBudget,
    ) -> Result<StatementResult, Error> {
        let packet = self.packet(room).await?;
        if let Some(word) = packet.strip_prefix(&[0]) {
            let word = OkPacket::read(Reader(word))?;
            self.status = word.status;
            let OkPacket { affected, number, .. } = word;
            return Ok(StatementResult { rows: Vec::new(), affected, number });
        }
        let is_prepared = prepared.is_some();
        let columns = match ColumnSource::read(&packet, prepared.as_deref())? {
            ColumnSource::AsBefore => prepared.map(|columns| columns.clone()).unwrap_or_default(),
            ColumnSource::Follow(count) => {
                let columns = self.columns(count, room).await?;
                if let Some(known) = prepared {
                    *known = columns.clone();
                }
                columns
            }
        };
        let rows = self.rows(&columns, is_prepared, room).await?;
        Ok(StatementResult { rows, affected: 0, number: 0 })
    }

    async fn rows(
        &mut self,
        columns: &[Column],
        is_prepared: bool,
        room: &mut ByteBudget,
    ) -> Result<Vec<Row>, Error> {
        let mut rows = Vec::new();
        loop {
            let packet = self.packet(room).await?;
            // A row that begins so is longer than any answer may be.
            if let Some(end) = packet.strip_prefix(&[0xfe]) {
                let word = if self.uses_eof_packets() {
                    OkPacket::read_old(Reader(end))?
                } else {
                    OkPacket::read(Reader(end))?
                };
                self.status = word.status;
                return Ok(rows);
            }
            room.take(OF_ROW + columns.len() * OF_VALUE)?;
            rows.push(if is_prepared {
                Row::of_prepared(&packet, columns)?
            } else {
                Row::of_text(&packet, columns)?
            });
        }
    }

    async fn columns(
        &mut self,
        count: usize,
        room: &mut ByteBudget,
    ) -> Result<Arc<[Column]>, Error> {
        let mut columns = Vec::new();
        for _ in 0..count {
            columns.push(Column::read(&self.packet(room).await?)?);
        }
        if count > 0 && self.uses_eof_packets() {
            self.packet(room).await?;
        }
        Ok(columns.into())
    }

    /// A statement as it was prepared.
    pub(super) async fn read_prepared(&mut self, text: &str) -> Result<PreparedStatement, Error> {
        let room = &mut ByteBudget(OF_ANSWER);
        let made = PrepareOk::read(&self.packet(room).await?)?;
        self.columns(made.parameters.into(), room).await?;
        let columns = self.columns(made.columns.into(), room).await?;
        Ok(PreparedStatement {
            text: text.to_owned(),
            id: made.id,
            parameters: made.parameters,
            columns,
        })
    }

    fn uses_eof_packets(&self) -> bool {
        self.capabilities & can::DEPRECATE_EOF == 0
    }
}
