//! TLS by rustls.

use std::{io, pin::Pin, sync::Arc};

use rustls::{ClientConfig, pki_types::ServerName};
use tenure_core::Fault;
use tenure_sql::{TlsOptions, encryption};
use tokio_postgres::{
    Socket,
    tls::{MakeTlsConnect, TlsConnect},
};
use tokio_rustls::{TlsConnector, client};

use super::end_point::end_point;
use crate::{
    config::logins::AuthenticationPolicy,
    protocol::{answers::AnswerTracker, bounded::CheckedStream},
};

/// How encrypted connections are made.
#[derive(Clone)]
pub(crate) struct Connector(Arc<ClientConfig>, AuthenticationPolicy);

/// The same for one connection.
pub(crate) struct ConnectionTls(Connector, Arc<AnswerTracker>);

/// One that leads to a server.
pub(crate) struct ServerTlsConnect(
    TlsConnector,
    ServerName<'static>,
    AuthenticationPolicy,
    Arc<AnswerTracker>,
);

/// An encrypted stream.
pub(crate) type Stream = CheckedStream<client::TlsStream<Socket>>;

impl Connector {
    pub(crate) fn new(options: &TlsOptions, logins: AuthenticationPolicy) -> Result<Self, Fault> {
        Ok(Self(encryption(options)?, logins))
    }

    pub(crate) fn once(&self, answers: &Arc<AnswerTracker>) -> ConnectionTls {
        ConnectionTls(self.clone(), answers.clone())
    }
}

impl MakeTlsConnect<Socket> for ConnectionTls {
    type Stream = Stream;
    type TlsConnect = ServerTlsConnect;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<ServerTlsConnect> {
        let name = ServerName::try_from(domain.to_owned()).map_err(io::Error::other)?;
        let Self(Connector(tls, logins), answers) = self;
        Ok(ServerTlsConnect(TlsConnector::from(tls.clone()), name, *logins, answers.clone()))
    }
}

impl TlsConnect<Socket> for ServerTlsConnect {
    type Stream = Stream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream>> + Send>>;

    fn connect(self, stream: Socket) -> Self::Future {
        let Self(tls, name, logins, answers) = self;
        Box::pin(async move {
            let stream = tls.connect(name, stream).await?;
            let shown = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
            let end_point = shown.and_then(|certificate| end_point(certificate));
            Ok(CheckedStream::new(stream, logins, answers).bound_to(end_point))
        })
    }
}
