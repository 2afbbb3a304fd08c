//! The server that has the locks now.

use std::sync::Arc;

use tenure_core::Fault;

use crate::{
    Address, RedisOptions,
    confirm::{Confirm, Needed},
    keys,
    options::{Deployment, Replicas},
    sentinel::{Group, Panel, Primary},
};

/// A server to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    pub(crate) address: Address,
    /// Where it is, for people.
    pub(crate) place: String,
    /// What sentinels said of it.
    pub(crate) named: Option<Primary>,
}

/// How the server is found, for all connections of a store.
#[derive(Debug)]
pub(crate) enum Route {
    Always(Server),
    Sentinels(Box<Group>),
}

impl Route {
    pub(crate) fn new(options: &Arc<RedisOptions>) -> Self {
        match &options.deployment {
            Deployment::One(address) => {
                let (address, place) = (address.clone(), options.location());
                Self::Always(Server { address, place, named: None })
            }
            Deployment::Sentinels(sentinels) => {
                Self::Sentinels(Box::new(Group::new(options.clone(), sentinels.clone())))
            }
        }
    }

    /// The server now. `panel` has the connections to those who have to be asked for it.
    pub(crate) async fn server(&self, panel: &Panel) -> Result<Server, Fault> {
        if let Self::Sentinels(group) = self
            && let Some(named) = group.primary()
        {
            return Ok(server(group, named));
        }
        self.ask(panel).await
    }

    /// The same, asked for now.
    pub(crate) async fn ask(&self, panel: &Panel) -> Result<Server, Fault> {
        match self {
            Self::Always(server) => Ok(server.clone()),
            Self::Sentinels(group) => group.ask(panel).await.map(|named| server(group, named)),
        }
    }

    /// What makes a write count, if more than the server's word.
    pub(crate) fn confirm(&self, options: &RedisOptions) -> Option<Confirm> {
        let needed = match (&options.replicas, self) {
            (Replicas::Count(0), _) => return None,
            (Replicas::Count(count), _) => Needed::Count(*count),
            (Replicas::All, Self::Sentinels(group)) => Needed::All(group.replicas.clone()),
            // Nobody could say how many there are.
            (Replicas::All, Self::Always(_)) => return None,
        };
        let channel = keys::channel(&options.prefix, [0; 16]);
        Some(Confirm::new(needed, options.replica_timeout, channel))
    }

    /// Whether this is still the server, as far as was asked lately.
    pub(crate) fn trusts(&self, server: &Server) -> bool {
        match (self, &server.named) {
            (Self::Sentinels(group), Some(named)) => group.trusts(named),
            _ => true,
        }
    }

    /// This server did not do what it should: whether it is still the one is asked before it is used.
    pub(crate) fn suspect(&self, server: &Server) {
        if let (Self::Sentinels(group), Some(named)) = (self, &server.named) {
            group.suspect(named);
        }
    }

    /// Returns when another server has the locks.
    pub(crate) async fn leaves(&self, server: &Server) {
        match (self, &server.named) {
            (Self::Sentinels(group), Some(named)) => group.is_not(named).await,
            _ => std::future::pending().await,
        }
    }

    /// By how many microseconds tokens are ahead of the server's time now.
    pub(crate) fn ahead(&self) -> u64 {
        match self {
            Self::Always(_) => 0,
            Self::Sentinels(group) => group.named().map_or(0, |named| named.ahead() * 1_000_000),
        }
    }

    /// Whether it is known that there is such a server, if not which.
    pub(crate) fn is_there(&self) -> bool {
        matches!(self, Self::Sentinels(group) if group.is_there())
    }

    /// Whether the server may become another one.
    pub(crate) const fn changes(&self) -> bool {
        matches!(self, Self::Sentinels(_))
    }

    /// Keeps what is known of it new, for as long as it runs. `moved` is called when it is another one.
    pub(crate) async fn follow(&self, moved: impl Fn() + Send) {
        match self {
            Self::Always(_) => std::future::pending().await,
            Self::Sentinels(group) => group.follow(moved).await,
        }
    }
}

/// The server that is named so.
fn server(group: &Group, named: Primary) -> Server {
    let address = Address::of(group.options.tls, &named.host, named.port);
    let at = group.options.location_of(&address);
    let place = format!("{at}, the primary of {:?},", group.service());
    Server { address, place, named: Some(named) }
}
