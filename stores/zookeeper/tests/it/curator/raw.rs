//! What is really there, by a client of its own.

use std::time::Duration;

use zookeeper_client::{Acls, Client, CreateMode, Error, SessionState};

use crate::support::{PATIENCE, until};

/// A client that is neither the store's nor Curator's.
#[derive(Debug)]
pub(super) struct Raw(Client);

/// A node as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) name: String,
    /// The transaction that made it.
    pub(super) czxid: u64,
    /// The session that it goes with.
    pub(super) owner: i64,
}

impl Raw {
    pub(super) async fn connect(servers: &str) -> Self {
        Self::with_session(servers, Duration::from_secs(10)).await
    }

    pub(super) async fn with_session(servers: &str, session: Duration) -> Self {
        let connector = Client::connector().with_session_timeout(session);
        Self(tokio::time::timeout(PATIENCE, connector.connect(servers)).await.unwrap().unwrap())
    }

    /// The names of the nodes below, by their numbers; none, if there is no such node.
    pub(super) async fn list(&self, dir: &str) -> Vec<String> {
        let mut names = match self.0.list_children(dir).await {
            Ok(names) => names,
            Err(Error::NoNode) => Vec::new(),
            Err(error) => panic!("{dir}: {error:#}"),
        };
        names.sort_by(|a, b| number(a).cmp(number(b)));
        names
    }

    /// The same with what they are.
    pub(super) async fn look(&self, dir: &str) -> Vec<Seen> {
        let mut all = Vec::new();
        for name in self.list(dir).await {
            let stat = self.0.check_stat(&format!("{dir}/{name}")).await.unwrap();
            let Some(stat) = stat else { continue };
            let czxid = u64::try_from(stat.czxid).unwrap();
            all.push(Seen { name, czxid, owner: stat.ephemeral_owner });
        }
        all
    }

    /// How many nodes of contenders there are at the path of a lock, and in the folders of a semaphore.
    pub(super) async fn contenders(&self, path: &str) -> usize {
        let mut all = 0;
        for dir in [path.to_owned(), format!("{path}/locks"), format!("{path}/leases")] {
            let names = self.list(&dir).await;
            all += names.iter().filter(|name| name.starts_with("_c_")).count();
        }
        all
    }

    /// Makes a node that stays whatever happens to sessions, as somebody's who holds for long.
    pub(super) async fn stands(&self, dir: &str, base: &str) -> String {
        let options = CreateMode::PersistentSequential.with_acls(Acls::anyone_all());
        let container = CreateMode::Container.with_acls(Acls::anyone_all());
        self.0.mkdir(dir, &container).await.unwrap();
        let prefix = format!("{dir}/_c_00000000-0000-4000-8000-000000000000-{base}");
        let (_, number) = self.0.create(&prefix, b"somebody", &options).await.unwrap();
        format!("{prefix}{number}")
    }

    /// Asks for the release of what this node holds, as Curator's `Revoker` does.
    pub(super) async fn revoke(&self, path: &str) {
        self.0.set_data(path, b"__REVOKE__", None).await.unwrap();
    }

    pub(super) async fn delete(&self, path: &str) {
        self.0.delete(path, None).await.unwrap();
    }

    /// Waits until it counts its own session as over, as every client of this length then does.
    pub(super) async fn expires(&self) {
        until("a session without its server is over", async || {
            self.0.state() == SessionState::Expired
        })
        .await;
    }
}

/// The number at the end of a contender's name.
fn number(name: &str) -> &str {
    &name[name.len().saturating_sub(10)..]
}
