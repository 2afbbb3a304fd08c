//! Connections, encrypted or not, and what is let through of them.

use std::{
    error::Error as _,
    future::{Ready, poll_fn, ready},
    io,
    path::Path,
    pin::pin,
    sync::Arc,
    task::{Context, Poll},
};

use tenure_core::Fault;
use tokio::net::UnixStream;
use tokio_postgres::{
    AsyncMessage, Client, Config, Connection, Error, NoTls, SimpleQueryMessage, Socket,
    config::{Host, SslMode, SslNegotiation, TargetSessionAttrs},
    tls::{MakeTlsConnect, NoTlsStream, TlsConnect},
};

use crate::{
    PostgresOptions,
    config::logins::AuthenticationPolicy,
    protocol::{answers::AnswerTracker, bounded::CheckedStream},
};

/// How connections are made.
#[derive(Clone)]
pub(crate) struct Connectors {
    plain: AuthenticationPolicy,
    local: LocalConnector,
    /// Whether a connection is made in the clear to a server that has no TLS.
    #[cfg(feature = "tls")]
    may_be_plain: bool,
    #[cfg(feature = "tls")]
    encrypted: Option<encrypted::Connector>,
}

/// What has to be polled for a connection to be alive.
pub(crate) enum PolledConnection {
    Plain(Box<Connection<Socket, CheckedStream<Socket>>>),
    /// By a socket in the file system.
    Local(Box<Connection<CheckedStream<UnixStream>, NoTlsStream>>),
    #[cfg(feature = "tls")]
    Encrypted(Box<Connection<Socket, encrypted::Stream>>),
}

impl PolledConnection {
    /// The next message that nobody asked for. None once the connection is over.
    pub(crate) fn poll(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<AsyncMessage, Error>>> {
        match self {
            Self::Plain(connection) => connection.poll_message(context),
            Self::Local(connection) => connection.poll_message(context),
            #[cfg(feature = "tls")]
            Self::Encrypted(connection) => connection.poll_message(context),
        }
    }
}

impl Connectors {
    /// Warns of what is not protected on the way, once for each store that is opened.
    pub(crate) fn of(options: &PostgresOptions) -> Result<Self, Fault> {
        let tls = Self::silently(options)?;
        if options.sql.tls.is_wanted()
            && let Some(warning) = options.unprotected()
        {
            let (location, found) = (options.location(), warning.found);
            let help = warning.help.unwrap_or_default();
            tracing::warn!(store = "postgres", location, help, "{found}");
        }
        Ok(tls)
    }

    #[cfg(not(feature = "tls"))]
    fn silently(options: &PostgresOptions) -> Result<Self, Fault> {
        if options.sql.tls.is_wanted() {
            return Err(Fault::new(
                tenure_core::FaultKind::Unsupported,
                "this build has no TLS for PostgreSQL",
                "turn on the feature `postgres-tls`",
            ));
        }
        let of = |is_known| AuthenticationPolicy::of(options.logins, is_known);
        Ok(Self { plain: of(false), local: LocalConnector(of(true)) })
    }

    #[cfg(feature = "tls")]
    fn silently(options: &PostgresOptions) -> Result<Self, Fault> {
        let of = |is_known| AuthenticationPolicy::of(options.logins, is_known);
        let tls = &options.sql.tls;
        let connector = || encrypted::Connector::new(tls, of(tls.knows_server()));
        let encrypted = tls.is_wanted().then(connector).transpose()?;
        let may_be_plain = !tls.is_required();
        Ok(Self { plain: of(false), local: LocalConnector(of(true)), may_be_plain, encrypted })
    }

    pub(crate) async fn connect(
        &self,
        config: &Config,
        answers: &Arc<AnswerTracker>,
    ) -> Result<(Client, PolledConnection), ConnectError> {
        let mut config = config.clone();
        // As for libpq: what others can reach of it are its permissions.
        if let [Host::Unix(folder)] = config.get_hosts() {
            let port = config.get_ports().first().copied().unwrap_or_default();
            let path = folder.join(format!(".s.PGSQL.{port}"));
            return self.local.connect(config, &path, answers).await;
        }
        config.ssl_mode(SslMode::Require);
        #[cfg(feature = "tls")]
        if let Some(connector) = &self.encrypted {
            match config.connect(connector.once(answers)).await {
                Ok((client, connection)) => {
                    return Ok((client, PolledConnection::Encrypted(Box::new(connection))));
                }
                Err(error) if self.may_be_plain && is_without_tls(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // The driver has one place for a stream of ours: where it would speak TLS from the first byte on.
        config.ssl_negotiation(SslNegotiation::Direct);
        let (client, connection) =
            config.connect(PlainConnector(self.plain, answers.clone())).await?;
        Ok((client, PolledConnection::Plain(Box::new(connection))))
    }
}

/// Whether the server says that it has no TLS, or somebody in its place does.
pub(crate) fn is_without_tls(error: &Error) -> bool {
    error.source().is_some_and(|source| source.to_string() == "server does not support TLS")
}

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum ConnectError {
    /// The driver says so.
    Told(Error),
    /// The socket in the file system cannot be used.
    Socket(io::Error),
    /// The server takes no writes.
    ReadOnly,
}

impl From<Error> for ConnectError {
    fn from(error: Error) -> Self {
        Self::Told(error)
    }
}

/// Leads to a server by a socket in the file system. Whoever may listen there is trusted, unless the URL names the ways
/// to log in.
#[derive(Clone, Copy)]
pub(crate) struct LocalConnector(AuthenticationPolicy);

impl LocalConnector {
    async fn connect(
        self,
        mut config: Config,
        path: &Path,
        answers: &Arc<AnswerTracker>,
    ) -> Result<(Client, PolledConnection), ConnectError> {
        config.ssl_mode(SslMode::Disable);
        let stream = UnixStream::connect(path).await.map_err(ConnectError::Socket)?;
        let stream = CheckedStream::new(stream, self.0, answers.clone());
        let (client, connection) = config.connect_raw(stream, NoTls).await?;
        let mut polled = PolledConnection::Local(Box::new(connection));
        // Of a stream of ours the driver does not ask it.
        if config.get_target_session_attrs() == TargetSessionAttrs::ReadWrite
            && is_read_only(&client, &mut polled).await?
        {
            return Err(ConnectError::ReadOnly);
        }
        Ok((client, polled))
    }
}

/// Whether the server takes no writes, where nobody else polls the connection.
async fn is_read_only(
    client: &Client,
    polled: &mut PolledConnection,
) -> Result<bool, ConnectError> {
    let mut said = pin!(client.simple_query("show transaction_read_only"));
    let said = poll_fn(|context| {
        loop {
            match polled.poll(context) {
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(Some(Err(error))) => {
                    return Poll::Ready(Err(ConnectError::Told(error)));
                }
                Poll::Ready(None) => {
                    let broke = io::ErrorKind::ConnectionAborted.into();
                    return Poll::Ready(Err(ConnectError::Socket(broke)));
                }
                Poll::Pending => return said.as_mut().poll(context).map_err(ConnectError::Told),
            }
        }
    });
    let rows = said.await?;
    Ok(rows
        .iter()
        .any(|message| matches!(message, SimpleQueryMessage::Row(row) if row.get(0) == Some("on"))))
}

/// Leads to a server in the clear.
#[derive(Clone)]
pub(crate) struct PlainConnector(AuthenticationPolicy, Arc<AnswerTracker>);

impl MakeTlsConnect<Socket> for PlainConnector {
    type Stream = CheckedStream<Socket>;
    type TlsConnect = Self;
    type Error = io::Error;

    fn make_tls_connect(&mut self, _: &str) -> io::Result<Self> {
        Ok(self.clone())
    }
}

impl TlsConnect<Socket> for PlainConnector {
    type Stream = CheckedStream<Socket>;
    type Error = io::Error;
    type Future = Ready<io::Result<CheckedStream<Socket>>>;

    fn connect(self, stream: Socket) -> Self::Future {
        ready(Ok(CheckedStream::new(stream, self.0, self.1)))
    }
}

#[cfg(feature = "tls")]
mod encrypted;
#[cfg(feature = "tls")]
mod end_point;
