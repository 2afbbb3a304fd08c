//! The operations that a lock on ZooKeeper consists of, by hand over the same client, and nothing else: no lease,
//! no proof that the session lives, no look at who else is there.

use zookeeper_client::{Acls, Client, CreateMode, Error};

use crate::{
    failure::Failure,
    figures::{Lock, Session},
};

/// As long as the names that Curator gives.
const PREFIX: &str = "_c_01234567-89ab-cdef-0123-456789abcdef-";

/// Data as long as tenure's usual label.
const DATA: &[u8] = b"somehost/1234567";

/// A session on the directories of one name.
#[derive(Clone)]
pub(crate) struct Bare {
    client: Client,
    dir: String,
    /// The node by which it is held.
    held: Option<String>,
}

impl Bare {
    /// Creates a node and says its name.
    async fn create(&self, dir: &str, base: &str) -> Result<String, Failure> {
        let prefix = format!("{PREFIX}{base}");
        let mode = CreateMode::EphemeralSequential.with_acls(Acls::anyone_all());
        let path = format!("{}-{dir}/{prefix}", self.dir);
        let (_, number) = self.client.create(&path, DATA, &mode).await?;
        Ok(format!("{prefix}{number}"))
    }

    /// The names below a directory, in their order.
    async fn list(&self, dir: &str) -> Result<Vec<String>, Failure> {
        let mut nodes = self.client.list_children(&format!("{}-{dir}", self.dir)).await?;
        nodes.sort_unstable();
        Ok(nodes)
    }

    async fn delete(&self, dir: &str, node: &str) -> Result<(), Failure> {
        Ok(self.client.delete(&format!("{}-{dir}/{node}", self.dir), None).await?)
    }

    /// Takes and gives back the only permit as Curator's semaphore does: under a lock that is let go of again.
    pub(super) async fn permit(&mut self) -> Result<(), Failure> {
        self.acquire().await?;
        let lease = self.create("leases", "lease-").await?;
        if self.list("leases").await?.len() > 1 {
            return Err("somebody else has the permit".into());
        }
        self.release().await?;
        self.delete("leases", &lease).await
    }
}

impl Session for Bare {
    async fn open(url: &str, name: &str) -> Result<Self, Failure> {
        let hosts = url.split(['/', '?']).nth(2).unwrap_or_default();
        let connector = Client::connector().with_session_timeout(super::SESSION);
        let client = connector.connect(hosts).await?;
        let dir = format!("/bare/{name}");
        let keeps = CreateMode::Persistent.with_acls(Acls::anyone_all());
        for below in ["locks", "leases"] {
            client.mkdir(&format!("{dir}-{below}"), &keeps).await?;
        }
        Ok(Self { client, dir, held: None })
    }
}

impl Lock for Bare {
    async fn acquire(&mut self) -> Result<(), Failure> {
        let own = self.create("locks", "lock-").await?;
        loop {
            let nodes = self.list("locks").await?;
            let at = nodes.iter().position(|node| *node == own).ok_or("the node is gone")?;
            let Some(before) = at.checked_sub(1).and_then(|before| nodes.get(before)) else {
                self.held = Some(own);
                return Ok(());
            };
            let path = format!("{}-locks/{before}", self.dir);
            match self.client.get_and_watch_data(&path).await {
                Ok((_, _, watcher)) => {
                    watcher.changed().await;
                }
                Err(Error::NoNode) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn release(&mut self) -> Result<(), Failure> {
        let own = self.held.take().ok_or("nothing is held")?;
        self.delete("locks", &own).await
    }
}
