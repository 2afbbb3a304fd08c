//! TLS by rustls: the server's certificate is always checked.

use std::{
    fs, io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use tenure_core::{Fault, FaultKind};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::{
    Socket,
    tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream},
};
use tokio_rustls::{TlsConnector, client};

/// How encrypted connections are made.
#[derive(Clone)]
pub(crate) struct Connector(Arc<ClientConfig>);

/// One that leads to a server.
pub(crate) struct ToServer(TlsConnector, ServerName<'static>);

/// An encrypted stream.
pub(crate) struct Stream(client::TlsStream<Socket>);

impl Connector {
    pub(crate) fn new(ca: Option<&str>) -> Result<Self, Fault> {
        let mut roots = RootCertStore::empty();
        match ca {
            Some(file) => {
                let wrong = |error: String| {
                    let what = format!("the authorities in {file} cannot be read: {error}");
                    let cure = "name a file with certificates in PEM: ca= in the URL";
                    Fault::new(FaultKind::Misconfigured, what, cure)
                };
                let pem = fs::read(file).map_err(|error| wrong(error.to_string()))?;
                for certificate in CertificateDer::pem_slice_iter(&pem) {
                    let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
                    roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
                }
                if roots.is_empty() {
                    return Err(wrong("there is none".to_owned()));
                }
            }
            None => {
                for certificate in rustls_native_certs::load_native_certs().certs {
                    // Systems have some that nobody can read.
                    let _ = roots.add(certificate);
                }
            }
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| {
                let what = format!("TLS cannot be used: {error}");
                Fault::new(FaultKind::Misconfigured, what, "leave tls=yes out of the URL")
            })?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }
}

impl MakeTlsConnect<Socket> for Connector {
    type Stream = Stream;
    type TlsConnect = ToServer;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<ToServer> {
        let name = ServerName::try_from(domain.to_owned()).map_err(io::Error::other)?;
        Ok(ToServer(TlsConnector::from(self.0.clone()), name))
    }
}

impl TlsConnect<Socket> for ToServer {
    type Stream = Stream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream>> + Send>>;

    fn connect(self, stream: Socket) -> Self::Future {
        Box::pin(async move { Ok(Stream(self.0.connect(self.1, stream).await?)) })
    }
}

impl TlsStream for Stream {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
