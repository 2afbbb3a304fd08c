//! Connections, encrypted or not, and what is let through of them.

use std::{
    future::{Ready, ready},
    io,
    task::{Context, Poll},
};

use tenure_core::Fault;
use tokio_postgres::{
    AsyncMessage, Client, Config, Connection, Error, Socket,
    config::{SslMode, SslNegotiation},
    tls::{MakeTlsConnect, TlsConnect},
};

use crate::{PostgresOptions, bounded::Bounded, logins::Logins};

/// How connections are made.
#[derive(Clone)]
pub(crate) enum Tls {
    No(Plain),
    #[cfg(feature = "tls")]
    Yes(encrypted::Connector),
}

/// What has to be polled for a connection to be alive.
pub(crate) enum Polled {
    Plain(Box<Connection<Socket, Bounded<Socket>>>),
    #[cfg(feature = "tls")]
    Encrypted(Box<Connection<Socket, encrypted::Stream>>),
}

impl Polled {
    /// The next message that nobody asked for. None once the connection is over.
    pub(crate) fn poll(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<AsyncMessage, Error>>> {
        match self {
            Self::Plain(connection) => connection.poll_message(context),
            #[cfg(feature = "tls")]
            Self::Encrypted(connection) => connection.poll_message(context),
        }
    }
}

impl Tls {
    #[cfg(not(feature = "tls"))]
    pub(crate) fn of(options: &PostgresOptions) -> Result<Self, Fault> {
        if options.sql.tls {
            return Err(Fault::new(
                tenure_core::FaultKind::Unsupported,
                "this build has no TLS for PostgreSQL",
                "turn on the feature `postgres-tls`",
            ));
        }
        Ok(Self::No(Plain(options.logins)))
    }

    #[cfg(feature = "tls")]
    pub(crate) fn of(options: &PostgresOptions) -> Result<Self, Fault> {
        if options.sql.tls {
            let ca = options.sql.ca.as_deref();
            return encrypted::Connector::new(ca, options.logins).map(Self::Yes);
        }
        Ok(Self::No(Plain(options.logins)))
    }

    pub(crate) async fn connect(&self, config: &Config) -> Result<(Client, Polled), Error> {
        let mut config = config.clone();
        match self {
            Self::No(plain) => {
                let is_local =
                    !matches!(config.get_hosts(), [tokio_postgres::config::Host::Tcp(_)]);
                if is_local {
                    // Whoever may listen at a socket of this machine's files is trusted: the driver reads it itself.
                    config.ssl_mode(SslMode::Disable);
                } else {
                    // The driver has one place for a stream of ours: where it would speak TLS from the first byte on.
                    config.ssl_mode(SslMode::Require).ssl_negotiation(SslNegotiation::Direct);
                }
                let (client, connection) = config.connect(*plain).await?;
                Ok((client, Polled::Plain(Box::new(connection))))
            }
            #[cfg(feature = "tls")]
            Self::Yes(connector) => {
                config.ssl_mode(SslMode::Require);
                let (client, connection) = config.connect(connector.clone()).await?;
                Ok((client, Polled::Encrypted(Box::new(connection))))
            }
        }
    }
}

/// Leads to a server in the clear.
#[derive(Clone, Copy)]
pub(crate) struct Plain(Logins);

impl MakeTlsConnect<Socket> for Plain {
    type Stream = Bounded<Socket>;
    type TlsConnect = Self;
    type Error = io::Error;

    fn make_tls_connect(&mut self, _: &str) -> io::Result<Self> {
        Ok(*self)
    }
}

impl TlsConnect<Socket> for Plain {
    type Stream = Bounded<Socket>;
    type Error = io::Error;
    type Future = Ready<io::Result<Bounded<Socket>>>;

    fn connect(self, stream: Socket) -> Self::Future {
        ready(Ok(Bounded::new(stream, self.0)))
    }
}

#[cfg(feature = "tls")]
mod encrypted;
