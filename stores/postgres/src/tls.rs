//! Connections, encrypted or not.

use std::task::{Context, Poll};

use tenure_core::Fault;
use tokio_postgres::{
    AsyncMessage, Client, Config, Connection, Error, NoTls, Socket, tls::NoTlsStream,
};

use crate::PostgresOptions;

/// How connections are made.
#[derive(Clone)]
pub(crate) enum Tls {
    No,
    #[cfg(feature = "tls")]
    Yes(encrypted::Connector),
}

/// What has to be polled for a connection to be alive.
pub(crate) enum Polled {
    Plain(Box<Connection<Socket, NoTlsStream>>),
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
        Ok(Self::No)
    }

    #[cfg(feature = "tls")]
    pub(crate) fn of(options: &PostgresOptions) -> Result<Self, Fault> {
        if options.sql.tls {
            return encrypted::Connector::new(options.sql.ca.as_deref()).map(Self::Yes);
        }
        Ok(Self::No)
    }

    pub(crate) async fn connect(&self, config: &Config) -> Result<(Client, Polled), Error> {
        let mut config = config.clone();
        match self {
            Self::No => {
                config.ssl_mode(tokio_postgres::config::SslMode::Disable);
                let (client, connection) = config.connect(NoTls).await?;
                Ok((client, Polled::Plain(Box::new(connection))))
            }
            #[cfg(feature = "tls")]
            Self::Yes(connector) => {
                config.ssl_mode(tokio_postgres::config::SslMode::Require);
                let (client, connection) = config.connect(connector.clone()).await?;
                Ok((client, Polled::Encrypted(Box::new(connection))))
            }
        }
    }
}

#[cfg(feature = "tls")]
mod encrypted;
