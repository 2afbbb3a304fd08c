//! TLS by rustls: the server's certificate is always checked.

use std::{io, pin::Pin, sync::Arc};

use rustls::{ClientConfig, pki_types::ServerName};
use tenure_core::Fault;
use tenure_sql::encryption;
use tokio_postgres::{
    Socket,
    tls::{MakeTlsConnect, TlsConnect},
};
use tokio_rustls::{TlsConnector, client};

use crate::{bounded::Bounded, logins::Logins};

/// How encrypted connections are made.
#[derive(Clone)]
pub(crate) struct Connector(Arc<ClientConfig>, Logins);

/// One that leads to a server.
pub(crate) struct ToServer(TlsConnector, ServerName<'static>, Logins);

/// An encrypted stream.
pub(crate) type Stream = Bounded<client::TlsStream<Socket>>;

impl Connector {
    pub(crate) fn new(ca: Option<&str>, logins: Logins) -> Result<Self, Fault> {
        Ok(Self(encryption(ca)?, logins))
    }
}

impl MakeTlsConnect<Socket> for Connector {
    type Stream = Stream;
    type TlsConnect = ToServer;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<ToServer> {
        let name = ServerName::try_from(domain.to_owned()).map_err(io::Error::other)?;
        Ok(ToServer(TlsConnector::from(self.0.clone()), name, self.1))
    }
}

impl TlsConnect<Socket> for ToServer {
    type Stream = Stream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream>> + Send>>;

    fn connect(self, stream: Socket) -> Self::Future {
        Box::pin(async move { Ok(Bounded::new(self.0.connect(self.1, stream).await?, self.2)) })
    }
}
