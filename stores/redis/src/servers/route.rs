//! The server that has a lock now.

use std::sync::{Arc, atomic::Ordering};

use tenure_core::Fault;

use crate::{
    client::{
        HashTag, ReplicaConfirmation, connection::confirm::RequiredReplicas, protocol::epoch,
    },
    options::{Address, Deployment, HostPort, RedisOptions, Replicas},
    servers::{
        cluster::{self, Cluster, QueryMode},
        error, keys,
        sentinel::{self, Primary, SentinelGroup},
    },
};

/// A server to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    pub(crate) address: Address,
    /// Where it is, for people.
    pub(crate) place: String,
    /// What it is known as.
    pub(crate) role: Role,
}

/// As what a server is connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The only one.
    Alone,
    /// The primary that sentinels named.
    Primary(Primary),
    /// One of a cluster, and by what the others know it, if that is known.
    Node { place: HostPort, id: String },
}

/// Which of the servers there are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NodeRef {
    /// The one that has all locks, whichever that is.
    Only,
    /// A node of a cluster.
    Node(HostPort),
}

/// How servers are found, for all connections of a store.
#[derive(Debug)]
pub(crate) enum Topology {
    Always(Server),
    Sentinels(Box<SentinelGroup>),
    Cluster(Box<Cluster>),
}

/// Connections to those who are asked where servers are, of one task or one runtime.
#[derive(Debug, Default)]
pub(crate) struct TopologyClients {
    sentinels: sentinel::SentinelClients,
    nodes: cluster::NodeClients,
}

impl Topology {
    pub(crate) fn new(options: &Arc<RedisOptions>) -> Self {
        match &options.deployment {
            Deployment::One(address) => {
                let (address, place) = (address.clone(), options.location());
                Self::Always(Server { address, place, role: Role::Alone })
            }
            Deployment::Sentinels(sentinels) => {
                Self::Sentinels(Box::new(SentinelGroup::new(options.clone(), sentinels.clone())))
            }
            Deployment::Cluster(seeds) => {
                Self::Cluster(Box::new(Cluster::new(options.clone(), seeds.clone())))
            }
        }
    }

    /// Which server has the locks with this tag, as far as that is known.
    pub(crate) fn known(&self, tag: HashTag) -> Option<NodeRef> {
        match self {
            Self::Always(_) | Self::Sentinels(_) => Some(NodeRef::Only),
            Self::Cluster(cluster) => cluster.trusted_location(tag.slot()).map(NodeRef::Node),
        }
    }

    /// The same, asked for if it is not known. `panel` has the connections to those who have to be asked.
    pub(crate) async fn find(
        &self,
        clients: &TopologyClients,
        tag: HashTag,
    ) -> Result<NodeRef, Fault> {
        match self {
            Self::Always(_) | Self::Sentinels(_) => Ok(NodeRef::Only),
            Self::Cluster(cluster) => {
                cluster.find(&clients.nodes, tag.slot()).await.map(NodeRef::Node)
            }
        }
    }

    /// One of those who have locks.
    pub(crate) async fn any(&self, clients: &TopologyClients) -> Result<NodeRef, Fault> {
        match self {
            Self::Always(_) | Self::Sentinels(_) => Ok(NodeRef::Only),
            Self::Cluster(cluster) => cluster.any(&clients.nodes).await.map(NodeRef::Node),
        }
    }

    /// Whether this is still one of the servers that have locks.
    pub(crate) fn has(&self, node_ref: &NodeRef) -> bool {
        match (self, node_ref) {
            (Self::Cluster(cluster), NodeRef::Node(place)) => cluster.map().at(place).is_some(),
            _ => true,
        }
    }

    /// All who have locks.
    pub(crate) async fn node_refs(&self, clients: &TopologyClients) -> Result<Vec<NodeRef>, Fault> {
        let Self::Cluster(cluster) = self else { return Ok(vec![NodeRef::Only]) };
        cluster.ask(&clients.nodes, QueryMode::OneByOne).await?;
        Ok(cluster.map().nodes().iter().map(|node| NodeRef::Node(node.place.clone())).collect())
    }

    /// The server there now.
    pub(crate) async fn server(
        &self,
        clients: &TopologyClients,
        node_ref: &NodeRef,
    ) -> Result<Server, Fault> {
        match (self, node_ref) {
            (Self::Sentinels(group), _) => match group.primary() {
                Some(named) => Ok(primary(group, named)),
                None => self.ask(clients).await,
            },
            (Self::Cluster(cluster), NodeRef::Node(place)) => Ok(node(cluster, place)),
            _ => self.ask(clients).await,
        }
    }

    /// One that hears all hints.
    pub(crate) async fn hearing(&self, clients: &TopologyClients) -> Result<Server, Fault> {
        match self {
            Self::Always(_) | Self::Sentinels(_) => self.server(clients, &NodeRef::Only).await,
            Self::Cluster(_) => self.ask(clients).await,
        }
    }

    /// The same, asked for now.
    pub(crate) async fn ask(&self, clients: &TopologyClients) -> Result<Server, Fault> {
        match self {
            Self::Always(server) => Ok(server.clone()),
            Self::Sentinels(group) => {
                group.ask(&clients.sentinels).await.map(|named| primary(group, named))
            }
            Self::Cluster(cluster) => {
                cluster.any(&clients.nodes).await.map(|place| node(cluster, &place))
            }
        }
    }

    /// Asks those who know for which server has the locks, so that what is trusted is no older than the call.
    pub(crate) async fn ask_anew(&self, clients: &TopologyClients) -> Result<(), Fault> {
        match self {
            Self::Always(_) => Ok(()),
            Self::Sentinels(group) => group.ask_anew(&clients.sentinels).await,
            Self::Cluster(cluster) => {
                cluster.ask(&clients.nodes, QueryMode::OneByOne).await.map(drop)
            }
        }
    }

    /// What makes a write count, if more than the server's word.
    pub(crate) fn confirm(
        &self,
        options: &RedisOptions,
        server: &Server,
    ) -> Result<Option<ReplicaConfirmation>, Fault> {
        let needed = match (&options.replicas, self, &server.role) {
            (Replicas::Count(0), ..) => return Ok(None),
            (Replicas::Count(count), ..) => RequiredReplicas::Count(*count),
            (Replicas::All, Self::Sentinels(group), _) => {
                let replicas = group.replicas.clone();
                RequiredReplicas::All(Arc::new(move || replicas.load(Ordering::Relaxed)))
            }
            (Replicas::All, Self::Cluster(cluster), Role::Node { place, .. }) => {
                let (map, place) = (cluster.watch(), place.clone());
                RequiredReplicas::All(Arc::new(move || map.borrow().replicas_of(&place)))
            }
            // Nobody could say how many there are.
            (Replicas::All, ..) => return Ok(None),
        };
        let within = options.replica_timeout;
        if let (Self::Cluster(cluster), Role::Node { place, .. }) = (self, &server.role) {
            // One that gets its first slot has none yet in which something could be written.
            let number = cluster.map().random_number_at(place);
            let number = number.ok_or_else(|| error::moving(&server.place))?;
            return Ok(Some(ReplicaConfirmation::by_key(
                needed,
                within,
                &keys::mark(&options.prefix, number),
            )));
        }
        let channel = keys::channel(&options.prefix, [0; 16]);
        Ok(Some(ReplicaConfirmation::by_channel(needed, within, channel)))
    }

    /// Whether this is still the server, as far as was asked lately, and still has this epoch.
    pub(crate) fn trusts(&self, server: &Server, epoch: u64) -> bool {
        match (self, &server.role) {
            (Self::Sentinels(group), Role::Primary(named)) => group.trusts(named),
            (Self::Cluster(cluster), Role::Node { place, .. }) => cluster.is_same(place, epoch),
            _ => true,
        }
    }

    /// This server did not do what it should: whether it is still the one is asked before it is used.
    pub(crate) fn suspect(&self, server: &Server) {
        match (self, &server.role) {
            (Self::Sentinels(group), Role::Primary(named)) => group.suspect(named),
            (Self::Cluster(cluster), Role::Node { place, .. }) => cluster.suspect(place),
            _ => {}
        }
    }

    /// A connection to this server could be opened.
    pub(crate) fn trust(&self, server: &Server) {
        if let (Self::Cluster(cluster), Role::Node { place, .. }) = (self, &server.role) {
            cluster.trust(place);
        }
    }

    /// Returns when another server has the locks than this, which has this epoch.
    pub(crate) async fn wait_until_replaced(&self, server: &Server, epoch: u64) {
        match (self, &server.role) {
            (Self::Sentinels(group), Role::Primary(named)) => {
                group.wait_until_replaced(named).await
            }
            (Self::Cluster(cluster), Role::Node { place, .. }) => {
                cluster.wait_until_replaced(place, epoch).await
            }
            _ => std::future::pending().await,
        }
    }

    /// By how many microseconds tokens are ahead of their server's time now.
    pub(crate) fn micros_ahead(&self) -> u64 {
        let seconds = match self {
            Self::Always(_) => 0,
            Self::Sentinels(group) => group.named().map_or(0, |named| epoch::ahead(named.epoch)),
            Self::Cluster(cluster) => cluster.epoch.seconds_ahead(),
        };
        seconds * 1_000_000
    }

    /// Whether it is known that there is such a server, if not which.
    pub(crate) fn is_there(&self) -> bool {
        match self {
            Self::Always(_) => false,
            Self::Sentinels(group) => group.is_there(),
            Self::Cluster(cluster) => cluster.has_answered(),
        }
    }

    /// Whether the server may become another one.
    pub(crate) const fn can_fail_over(&self) -> bool {
        matches!(self, Self::Sentinels(_) | Self::Cluster(_))
    }

    /// The cluster, if it is one.
    pub(crate) const fn cluster(&self) -> Option<&Cluster> {
        match self {
            Self::Cluster(cluster) => Some(cluster),
            Self::Always(_) | Self::Sentinels(_) => None,
        }
    }

    /// Keeps what is known of it new, for as long as it runs. `moved` is called when it is another one.
    pub(crate) async fn follow(&self, moved: impl Fn() + Send) {
        match self {
            Self::Always(_) => std::future::pending().await,
            Self::Sentinels(group) => group.follow(moved).await,
            Self::Cluster(cluster) => cluster.follow(moved).await,
        }
    }
}

/// The server that is named so.
fn primary(group: &SentinelGroup, named: Primary) -> Server {
    let address = Address::of(group.options.tls, &named.host, named.port);
    let at = group.options.location_of(&address);
    let place = format!("{at}, the primary of {:?},", group.service());
    Server { address, place, role: Role::Primary(named) }
}

/// The node that is there.
fn node(cluster: &Cluster, place: &HostPort) -> Server {
    let address = Address::of(cluster.options.tls, &place.0, place.1);
    let at = cluster.options.location_of(&address);
    let id = cluster.map().at(place).map(|node| node.id.clone()).unwrap_or_default();
    let role = Role::Node { place: place.clone(), id };
    Server { address, place: format!("{at}, a node of {},", cluster.place()), role }
}
