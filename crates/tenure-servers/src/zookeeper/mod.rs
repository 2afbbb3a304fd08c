//! A ZooKeeper server on a free port of this machine.

mod ensemble;
mod network;
mod node;
mod way;

pub use ensemble::ZookeeperEnsemble;
pub use node::FrozenZookeeper;

use std::{io, net::SocketAddr, path::Path};

use self::node::{Node, is_taken};
use crate::{certificates::Certificates, port::free_port};

/// A ZooKeeper of its own for one test, alone. Dropping it ends the process and removes its folder, and so does
/// the end of the process that holds it.
#[derive(Debug)]
pub struct ZookeeperServer {
    node: Node,
    tls_port: Option<u16>,
}

impl ZookeeperServer {
    /// A server whose tick is 500 ms, so that sessions last from 1 s to 10 s. It does not wait for its disk.
    ///
    /// # Panics
    /// When there is no `java` or no ZooKeeper, or it does not start.
    #[must_use]
    pub fn start() -> Self {
        Self::with(&[])
    }

    /// A server with these lines in its `zoo.cfg`, which go before the usual ones: with
    /// `("forceSync", "yes")` it waits for its disk.
    ///
    /// # Panics
    /// As [`ZookeeperServer::start`].
    #[must_use]
    pub fn with(settings: &[(&str, &str)]) -> Self {
        Self::with_java(settings, &[])
    }

    /// The same with these words for `java`, such as `-Dname=value` or `-Xmx1g`.
    ///
    /// # Panics
    /// As [`ZookeeperServer::start`].
    #[must_use]
    pub fn with_java(settings: &[(&str, &str)], java: &[&str]) -> Self {
        Self::started(Node::new(settings, java), false)
    }

    /// A server to which clients may prove by SASL, with DIGEST-MD5, that they are one of these users; each
    /// comes with its password.
    ///
    /// # Panics
    /// As [`ZookeeperServer::start`].
    #[must_use]
    pub fn with_sasl(users: &[(&str, &str)], settings: &[(&str, &str)]) -> Self {
        let provider = "org.apache.zookeeper.server.auth.SASLAuthenticationProvider";
        let settings = [&[("authProvider.1", provider)], settings].concat();
        let node = Node::new(&settings, &[]).and_then(|mut node| {
            let users =
                users.iter().map(|(name, password)| format!("\nuser_{name}=\"{password}\""));
            let module = "org.apache.zookeeper.server.auth.DigestLoginModule required";
            let text = format!("Server {{\n{module}{};\n}};\n", users.collect::<String>());
            let file = node.write("jaas.conf", &text)?;
            node.add_java(format!("-Djava.security.auth.login.config={}", file.display()));
            Ok(node)
        });
        Self::started(node, false)
    }

    /// A server that speaks TLS too, and wants a certificate of every client over TLS if asked to. As ZooKeeper
    /// does by default it speaks TLS 1.2 only.
    ///
    /// # Panics
    /// As [`ZookeeperServer::start`].
    #[must_use]
    pub fn with_tls(certificates: &Certificates, of_clients: bool) -> Self {
        let node = Node::new(&[], &[]).and_then(|mut node| {
            let text = |name| std::fs::read_to_string(certificates.file(name));
            let key = node.write("key.pem", &(text("server.key")? + &text("server.pem")?))?;
            let trusted = node.write("trusted.pem", &text("ca.pem")?)?;
            node.set("serverCnxnFactory", "org.apache.zookeeper.server.NettyServerCnxnFactory");
            node.set("secureClientPortAddress", "127.0.0.1");
            node.set("ssl.keyStore.type", "PEM");
            node.set("ssl.keyStore.location", key.display());
            node.set("ssl.trustStore.type", "PEM");
            node.set("ssl.trustStore.location", trusted.display());
            node.set("ssl.clientAuth", if of_clients { "need" } else { "none" });
            Ok(node)
        });
        Self::started(node, true)
    }

    /// The same as [`with_java`](Self::with_java), with its folder in `dir`.
    ///
    /// # Errors
    /// When there is no `java` or no ZooKeeper, or it does not start.
    pub fn try_start_in(
        dir: &Path,
        settings: &[(&str, &str)],
        java: &[&str],
    ) -> Result<Self, String> {
        Self::try_started(Node::new_in(dir, settings, java), false)
    }

    #[allow(clippy::panic, reason = "a test without its server fails")]
    fn started(node: io::Result<Node>, tls: bool) -> Self {
        Self::try_started(node, tls).unwrap_or_else(|error| panic!("{error}"))
    }

    fn try_started(node: io::Result<Node>, tls: bool) -> Result<Self, String> {
        let mut node = node.map_err(|error| format!("no folder for a server: {error:#}"))?;
        let help = "ZooKeeper does not start; install it with: apt-get install zookeeper";
        let mut tries = 1;
        loop {
            node.set_port(free_port());
            let tls_port = tls.then(free_port);
            if let Some(port) = tls_port {
                node.set("secureClientPort", port);
            }
            match node.start() {
                Ok(()) => return Ok(Self { node, tls_port }),
                // Somebody else may take a port between its choice and its use.
                Err(said) if is_taken(&said) && tries < 10 => tries += 1,
                Err(said) => return Err(format!("{help}\n{said}")),
            }
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.node.address()
    }

    /// A URL of it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("zookeeper://{}", self.address())
    }

    /// Where it listens for TLS, if it speaks that, by the name in its certificate.
    #[must_use]
    pub fn tls_place(&self) -> Option<String> {
        self.tls_port.map(|port| format!("localhost:{port}"))
    }

    /// Its folder, with `zookeeper.log` in it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.node.folder()
    }

    /// Its process number, for signals; `None` when it does not run.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.node.pid()
    }

    /// Ends the process as `kill -9` does.
    pub fn kill(&mut self) {
        self.node.kill();
    }

    /// Starts the process again, on the same port and in the same folder, and returns when it serves. If it
    /// runs it is killed first.
    ///
    /// # Panics
    /// When it does not start.
    pub fn restart(&mut self) {
        self.node.restart(true);
    }

    /// Kills it, removes its data, and starts it again on the same port: one that was made anew.
    ///
    /// # Panics
    /// When it does not start.
    pub fn wipe(&mut self) {
        self.kill();
        self.node.forget();
        self.restart();
    }

    /// Stops the process, which keeps its connections and answers nothing, until what this returns is dropped.
    ///
    /// # Panics
    /// When it gets no signal.
    pub fn freeze(&self) -> FrozenZookeeper<'_> {
        self.node.freeze()
    }

    /// What it answers to a word of four letters, such as `srvr`, `cons`, `mntr`, `dump` or `wchp`; nothing if
    /// it does not answer within five seconds.
    #[must_use]
    pub fn four_letters(&self, word: &str) -> String {
        self.node.four_letters(word)
    }
}
