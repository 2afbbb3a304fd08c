//! A client of MySQL and MariaDB that takes nothing on trust: whatever the server says is bounded before it is kept.
//!
//! It has what a store needs and nothing else. One that serves all programs reads what it is told to read: a header
//! that names two billion columns is memory for two billion columns, and the process ends by that.

mod auth;
mod bits;
mod error;
mod key;
mod packets;
mod proof;
mod read;
mod results;
mod rsa;
mod stream;
mod value;
mod write;

use std::{collections::VecDeque, sync::Arc};

pub(crate) use self::{
    auth::Endpoint,
    bits::status,
    error::{Error, ServerError},
    read::Row,
    stream::Encryption,
    value::{FromValue, Value},
};
use self::{packets::PacketStream, read::Column};

/// How many statements a connection keeps prepared.
const PREPARED: usize = 32;

const QUIT: u8 = 0x01;
const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;

/// A connection that has logged in.
pub(crate) struct Conn {
    packets: PacketStream,
    capabilities: u32,
    /// The one that was used last is the last.
    prepared: VecDeque<PreparedStatement>,
    status: u16,
    /// Whether an answer is under way: of a call that was given up it may come yet.
    is_asking: bool,
}

/// A statement that the server keeps.
pub(crate) struct PreparedStatement {
    text: String,
    id: u32,
    parameters: u16,
    columns: Arc<[Column]>,
}

/// What a statement came to.
#[derive(Debug, Default)]
pub(crate) struct StatementResult {
    /// The rows that it found.
    pub(crate) rows: Vec<Row>,
    /// How many it wrote.
    pub(crate) affected: u64,
    /// The number that it left.
    pub(crate) number: u64,
}

impl Conn {
    /// Connects, and logs in.
    pub(crate) async fn open(way: &Endpoint<'_>) -> Result<Self, Error> {
        let packets = PacketStream::new(stream::connect(way.host, way.port).await?);
        let (packets, capabilities) = auth::log_in(packets, way).await?;
        Ok(Self { packets, capabilities, prepared: VecDeque::new(), status: 0, is_asking: false })
    }

    /// What the server said of the session with its last answer.
    pub(crate) const fn status(&self) -> u16 {
        self.status
    }

    /// Carries out a text of one or more statements. What each of them came to.
    pub(crate) async fn query(&mut self, text: &str) -> Result<Vec<StatementResult>, Error> {
        self.begin()?;
        self.packets.command(QUERY, text.as_bytes()).await?;
        let done = self.answers(None).await;
        self.end(done)
    }

    /// Carries out one statement with these values in the place of its `?`.
    pub(crate) async fn execute(
        &mut self,
        text: &str,
        values: &[Value],
    ) -> Result<StatementResult, Error> {
        let prepared = self.prepare(text).await?;
        let (id, mut columns) = (prepared.id, prepared.columns.clone());
        if usize::from(prepared.parameters) != values.len() {
            return Err(Error::odd("it counts the parameters of a statement otherwise"));
        }
        let bytes = write::execute(id, values)?;
        self.begin()?;
        self.packets.send(&bytes).await?;
        let done = self.answers(Some(&mut columns)).await;
        let mut done = self.end(done)?;
        if let Some(used) = self.prepared.back_mut() {
            used.columns = columns;
        }
        done.pop().ok_or_else(|| Error::odd("it answers nothing"))
    }

    /// Prepares a statement, unless it is.
    pub(crate) async fn prepare(&mut self, text: &str) -> Result<&PreparedStatement, Error> {
        if let Some(at) = self.prepared.iter().position(|prepared| prepared.text == text) {
            if let Some(used) = self.prepared.remove(at) {
                self.prepared.push_back(used);
            }
        } else {
            self.begin()?;
            if self.prepared.len() >= PREPARED
                && let Some(over) = self.prepared.pop_front()
            {
                self.packets.send(&write::close(over.id)).await?;
            }
            self.packets.command(PREPARE, text.as_bytes()).await?;
            let made = self.read_prepared(text).await;
            let made = self.end(made)?;
            self.prepared.push_back(made);
        }
        self.prepared.back().ok_or_else(|| Error::odd("it answers nothing"))
    }

    /// Says goodbye, and waits for nothing: the connection ends, whether or not that arrives. One that is dropped says
    /// nothing, as that of a forked process must not.
    pub(crate) fn quit(mut self) {
        self.packets.send_at_once(&[1, 0, 0, 0, QUIT]);
    }

    fn begin(&mut self) -> Result<(), Error> {
        if std::mem::replace(&mut self.is_asking, true) {
            return Err(Error::odd("an answer to somebody else is still to come"));
        }
        Ok(())
    }

    /// What it refuses by a word of its own is a whole answer.
    fn end<T>(&mut self, done: Result<T, Error>) -> Result<T, Error> {
        self.is_asking = !matches!(done, Ok(_) | Err(Error::Server(_)));
        done
    }
}

impl std::fmt::Debug for Conn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conn").finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use tenure_servers::MariadbServer;

    use super::*;

    #[tokio::test]
    async fn columns_that_change_from_one_execution_to_the_next_are_read_as_they_are() {
        let server = MariadbServer::start();
        let port = server.url().split([':', '/']).nth(4).unwrap().parse().unwrap();
        let way = Endpoint {
            host: "127.0.0.1",
            port,
            user: Some("root"),
            password: None,
            database: "tenure",
            encryption: None,
            may_be_plain: true,
            trusts_key: false,
        };
        let mut conn = Conn::open(&way).await.unwrap();
        let (one, text) = (Value::Int(1), Value::Bytes(b"a text".to_vec()));
        for value in [&one, &one, &text, &text, &one, &Value::Null, &text, &one] {
            // MySQL keeps to the type that a parameter had first, and converts the others.
            if server.is_mysql() && *value == text {
                continue;
            }
            let done = conn.execute("select ?", std::slice::from_ref(value)).await.unwrap();
            assert_eq!(done.rows[0].get(0), Some(value));
        }
        // Each is prepared once, and the oldest is forgotten.
        for number in 0..2 * PREPARED {
            let done = conn.execute(&format!("select {number} + ?"), &[Value::Int(1)]).await;
            assert_eq!(done.unwrap().rows.len(), 1);
        }
        assert_eq!(conn.prepared.len(), PREPARED);
        conn.query("select 1; select 2, 3; set @a = 4").await.unwrap();
        conn.execute("select nothing", &[]).await.unwrap_err();
        assert!(!conn.is_asking, "what is refused is answered");
    }
}
