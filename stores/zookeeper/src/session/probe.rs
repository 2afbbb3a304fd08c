//! Why no session begins: what each server does with who asks it for one.
//!
//! The client tells of all servers together that none was of use, so they are asked once more, one by one.

use std::{fmt, future::pending, io, time::Duration};

use futures_util::future::join_all;
use tenure_core::{Fault, FaultKind, runtime, store::Diagnostic};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::config::options::{ZookeeperOptions, place_of};

/// How long each step may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// How soon it is looked whether anybody listens, where no session has begun.
const SOON: Duration = Duration::from_millis(20);

/// A request for a new session of 4 s: protocol, last transaction, length, session and password of none, and not
/// for reading alone.
const BEGIN: [u8; 49] = {
    let mut request = [0; 49];
    request[3] = 45;
    request[18] = 15;
    request[19] = 160;
    request[31] = 16;
    request
};

/// A request to end it.
const END: [u8; 12] = [0, 0, 0, 8, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xf5];

/// The shortest and the longest answer to [`BEGIN`]; older servers leave the last byte out.
const ANSWERS: std::ops::RangeInclusive<u32> = 36..=37;

/// How far one server comes.
#[derive(Debug)]
pub(crate) enum ProbeResult {
    NoAddress(io::Error),
    Refused(io::Error),
    /// Nothing answers at its address.
    Away,
    #[cfg(feature = "tls")]
    NoTls(io::Error),
    /// It hangs up when it is asked for a session.
    HangsUp,
    /// After the handshake, whose last word a server may have on the client's certificate.
    #[cfg(feature = "tls")]
    HangsUpOverTls,
    Silent,
    Foreign,
    Begins,
}

impl ProbeResult {
    const fn help(&self) -> &'static str {
        match self {
            Self::NoAddress(_) => {
                "correct the host in the URL, or check that this machine's DNS knows it"
            }
            Self::Refused(_) => "start the server, or correct host and port in the URL",
            Self::Away => "start the server, or open the firewall in between",
            #[cfg(feature = "tls")]
            Self::NoTls(_) => {
                "check that this is the secureClientPort, that ca= names the authority of its certificate, which is for \
                 this host, and that cert= and key= are there if it wants them"
            }
            Self::HangsUp => {
                "check that a majority of the servers runs and that they reach each other; a port for TLS wants tls=yes"
            }
            #[cfg(feature = "tls")]
            Self::HangsUpOverTls => {
                "name a certificate with cert= and its key with key=, which the server trusts, if it wants them; see \
                 that a majority of the servers runs and that they reach each other"
            }
            Self::Silent => {
                "check that the server responds, and that a majority of the servers runs"
            }
            Self::Foreign => "correct host and port in the URL; a port for TLS wants tls=yes",
            Self::Begins => "try again",
        }
    }
}

impl fmt::Display for ProbeResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAddress(error) => write!(f, "its name does not resolve: {error:#}"),
            Self::Refused(error) => write!(f, "it accepts no connection: {error:#}"),
            Self::Away => write!(f, "it cannot be connected to within {PATIENCE:?}"),
            #[cfg(feature = "tls")]
            Self::NoTls(error) => {
                write!(f, "it accepts the connection, but not over TLS: {error:#}")
            }
            Self::HangsUp => f.write_str(
                "it accepts the connection and hangs up instead of beginning a session, as a \
                 server without a majority does",
            ),
            #[cfg(feature = "tls")]
            Self::HangsUpOverTls => f.write_str(
                "it accepts the connection over TLS and hangs up instead of beginning a session, \
                 as a server does that trusts no certificate of this client, or has no majority",
            ),
            Self::Silent => f.write_str("it accepts connections, but does not answer"),
            Self::Foreign => f.write_str("it does not answer as ZooKeeper does"),
            Self::Begins => f.write_str("it begins sessions"),
        }
    }
}

/// Returns once no server of all takes a connection, which is certain when each has refused one; else never. A client
/// that finds them so tries on until its time is up.
pub(crate) async fn wait_all_refused(options: &ZookeeperOptions) {
    // Where a session begins no server is to see a connection that says nothing.
    tokio::time::sleep(SOON).await;
    let each = options.servers.iter().map(|(host, port)| connected(host, *port));
    if join_all(each)
        .await
        .iter()
        .any(|came| !matches!(came, Err(ProbeResult::NoAddress(_) | ProbeResult::Refused(_))))
    {
        pending::<()>().await;
    }
}

/// What each server that the URL names does.
pub(crate) async fn probe_servers(options: &ZookeeperOptions) -> Vec<(String, ProbeResult)> {
    let each = options.servers.iter().map(|server| async move {
        let (host, port) = server;
        (place_of(server), one(options, host, *port).await)
    });
    join_all(each).await
}

/// The same as diagnostics.
pub(crate) fn diagnostics(all: &[(String, ProbeResult)]) -> Vec<Diagnostic> {
    let diagnostic = |(place, came): &(String, ProbeResult)| {
        let what = format!("server {place}");
        match came {
            ProbeResult::Begins => Diagnostic::good(what, came.to_string()),
            _ => Diagnostic::bad(what, came.to_string(), "S6", came.help()),
        }
    };
    all.iter().map(diagnostic).collect()
}

/// Whether no server is of use.
pub(crate) fn none_begins(all: &[(String, ProbeResult)]) -> bool {
    !all.iter().any(|(_, came)| matches!(came, ProbeResult::Begins))
}

/// The same as the cause of `fault`, which says that no session begins; nothing is added where one would.
pub(crate) fn add_probe_causes(fault: Fault, place: &str, all: &[(String, ProbeResult)]) -> Fault {
    if !none_begins(all) {
        return fault;
    }
    let causes: Vec<_> = all.iter().map(|(place, came)| format!("{place}: {came}")).collect();
    let mut helps: Vec<_> = all.iter().map(|(_, came)| came.help()).collect();
    helps.sort_unstable();
    helps.dedup();
    let what = format!("no session begins with ZooKeeper at {place}");
    Fault::new(FaultKind::Unreachable, what, helps.join("; ")).because(causes.join(", "))
}

async fn connected(host: &str, port: u16) -> Result<TcpStream, ProbeResult> {
    let addresses = match timeout(PATIENCE, runtime::addresses(host, port)).await {
        Ok(Ok(addresses)) => addresses,
        Ok(Err(error)) => return Err(ProbeResult::NoAddress(error)),
        Err(_) => return Err(ProbeResult::NoAddress(io::ErrorKind::TimedOut.into())),
    };
    match timeout(PATIENCE, TcpStream::connect(addresses.as_slice())).await {
        Ok(connected) => connected.map_err(ProbeResult::Refused),
        Err(_) => Err(ProbeResult::Away),
    }
}

async fn one(options: &ZookeeperOptions, host: &str, port: u16) -> ProbeResult {
    let stream = match connected(host, port).await {
        Ok(stream) => stream,
        Err(came) => return came,
    };
    #[cfg(feature = "tls")]
    if let Some(certificates) = &options.tls {
        return match timeout(PATIENCE, crate::config::tls::connect(host, stream, certificates))
            .await
        {
            Ok(Ok(stream)) => match request_session(stream).await {
                ProbeResult::HangsUp => ProbeResult::HangsUpOverTls,
                came => came,
            },
            Ok(Err(error)) => ProbeResult::NoTls(error),
            Err(_) => ProbeResult::NoTls(io::ErrorKind::TimedOut.into()),
        };
    }
    #[cfg(not(feature = "tls"))]
    let _ = options;
    request_session(stream).await
}

/// Asks for a session, which is ended at once.
async fn request_session(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> ProbeResult {
    let answer = async {
        stream.write_all(&BEGIN).await?;
        stream.flush().await?;
        let length = stream.read_u32().await?;
        if !ANSWERS.contains(&length) {
            return Ok(ProbeResult::Foreign);
        }
        let mut answer = [0; 36];
        stream.read_exact(&mut answer).await?;
        let _ = stream.write_all(&END).await;
        let _ = stream.flush().await;
        Ok::<_, io::Error>(ProbeResult::Begins)
    };
    match timeout(PATIENCE, answer).await {
        Ok(Ok(came)) => came,
        Ok(Err(_)) => ProbeResult::HangsUp,
        Err(_) => ProbeResult::Silent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_is_written_as_the_protocol_has_it() {
        let length = u32::try_from(BEGIN.len() - 4).unwrap();
        assert_eq!(BEGIN[..4], length.to_be_bytes());
        assert_eq!(BEGIN[16..20], 4_000_u32.to_be_bytes());
        assert_eq!(BEGIN[28..32], 16_u32.to_be_bytes());
        assert_eq!(END[8..], (-11_i32).to_be_bytes());
    }
}
