//! What a look at the real ensemble brings up.

use std::time::Duration;

use tenure_core::{Clock, Fault, SystemClock, store::Finding};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use zookeeper_client::{CreateMode, Error};

use crate::{session::Session, store::Shared};

/// How long a server may take for a word of four letters.
const PATIENCE: Duration = Duration::from_secs(2);

impl Shared {
    pub(crate) async fn health(&self) -> Result<Vec<Finding>, Fault> {
        let session = match self.sessions.get().await {
            Ok(session) => session,
            Err(fault) => return Ok(vec![Finding::failed("connection", &fault).touches("S6")]),
        };
        let mut findings = vec![Finding::good("connection", self.place.clone())];
        findings.extend(self.servers().await);
        findings.push(self.session_length(&session));
        findings.push(self.full_cycle(&session).await);
        findings.push(self.containers(&session).await);
        Ok(findings)
    }

    /// What each server says of itself, where it may be asked.
    async fn servers(&self) -> Vec<Finding> {
        if self.options.tls.is_some() {
            return Vec::new();
        }
        let mut findings = Vec::new();
        for (host, port) in &self.options.servers {
            let what = format!("server {host}:{port}");
            let told = timeout(PATIENCE, four_letters(host, *port, "srvr")).await;
            findings.push(match told {
                Ok(Ok(told)) => of_server(what, &told),
                Ok(Err(error)) => {
                    Finding::warning(what, error.to_string(), "S6", "see that it runs")
                }
                Err(_) => Finding::warning(what, "it does not answer", "S6", "see that it runs"),
            });
        }
        findings
    }

    fn session_length(&self, session: &Session) -> Finding {
        let (asked, granted) = (self.options.session, session.length());
        let found = format!(
            "{granted:?} granted, {asked:?} asked for, with a tick of {:?} by the URL: a holder that is cut off stops \
             after {:?}",
            self.options.tick,
            session.validity()
        );
        if granted == asked {
            return Finding::good("session", found);
        }
        let cure = "set minSessionTimeout and maxSessionTimeout of all servers alike, or session= in the URL";
        Finding::warning("session", found, "S5", cure)
    }

    /// A node is made and gone again, as a lock's is.
    async fn full_cycle(&self, session: &Session) -> Finding {
        let began = SystemClock.now();
        match session.prove(&[]).await {
            Ok(_) => {
                let took = SystemClock.now().since(began);
                Finding::good("full cycle", format!("a committed write took {took:?}"))
            }
            Err(fault) => Finding::failed("full cycle", &fault).touches("S1"),
        }
    }

    /// Whether empty directories go away by themselves.
    async fn containers(&self, session: &Session) -> Finding {
        let path = format!("{}/%container", self.options.base);
        let options = session.creates(CreateMode::Container);
        let made = session.write(session.client().create(&path, b"", &options)).await;
        let gone = session.write(session.client().delete(&path, None)).await;
        match (made, gone) {
            (Ok(Ok(_) | Err(Error::NodeExists)), Ok(_)) => {
                Finding::good("containers", "empty directories of locks go away by themselves")
            }
            (Err(fault), _) | (_, Err(fault)) => Finding::failed("containers", &fault),
            (Ok(Err(error)), _) => Finding::failed("containers", &session.fault(error, false)),
        }
    }
}

fn of_server(what: String, told: &str) -> Finding {
    let value = |name: &str| told.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let Some(mode) = value("Mode:") else {
        let found = told.lines().next().unwrap_or("it says nothing");
        let cure = "allow it: 4lw.commands.whitelist=srvr; nothing depends on it";
        return Finding::warning(what, found.to_owned(), "S6", cure);
    };
    let version = value("Zookeeper version:").unwrap_or("unknown");
    let version = version.split(['-', ',']).next().unwrap_or(version);
    let zxid =
        value("Zxid:").and_then(|zxid| u64::from_str_radix(zxid.trim_start_matches("0x"), 16).ok());
    let epoch = zxid.map_or(0, |zxid| zxid >> 32);
    Finding::good(what, format!("{mode}, version {version}, epoch {epoch}"))
}

/// Asks a server as administrators do.
async fn four_letters(host: &str, port: u16, word: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect((host, port)).await?;
    stream.write_all(word.as_bytes()).await?;
    let mut told = Vec::new();
    stream.take(64 * 1024).read_to_end(&mut told).await?;
    Ok(String::from_utf8_lossy(&told).into_owned())
}
