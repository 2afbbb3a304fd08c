//! Opening connections, step by step.

use std::{io::ErrorKind, sync::Arc};

use futures_util::future::join;
use tenure_core::{Fault, FaultKind};

use crate::{
    client::{
        BatchKind, CompareAndDelete, ConnectStep, ConnectTrace, Connection, Endpoint, Failure,
        HighestEpoch, PushHandler, ReplicaConfirmation, ServerError, error, greet, text,
    },
    options::RedisOptions,
    servers::{
        Topology, cluster,
        error::{another_node, sent_around},
        format, keys,
        route::{Role, Server},
    },
};

/// What a connection is for.
pub(crate) enum ConnectionPurpose {
    /// Calls about locks, of which these kinds go together.
    Calls(&'static [&'static BatchKind]),
    /// What the server says of its own accord. It is dropped when the connection ends.
    Hints(PushHandler),
}

/// Opens a connection in the runtime of the caller. It ends as soon as another server has the locks.
pub(crate) async fn connect(
    options: &RedisOptions,
    route: &Arc<Topology>,
    server: &Server,
    purpose: ConnectionPurpose,
) -> Result<Connection, Fault> {
    let confirm = match purpose {
        ConnectionPurpose::Calls(_) => route.confirm(options, server)?,
        ConnectionPurpose::Hints(_) => None,
    };
    let walked =
        connect_traced(options, route, server, purpose, confirm, &mut ConnectTrace::new()).await;
    let mut connection = walked.inspect_err(|fault| {
        let failure = fault.cause().and_then(|cause| cause.downcast_ref::<Failure>());
        if !failure.is_some_and(Failure::is_lack_of_files) {
            route.suspect(server);
        }
    })?;
    let epoch = connection.epoch_then;
    route.trust(server);
    if route.can_fail_over() {
        let (route, server) = (route.clone(), server.clone());
        connection.close_after(async move { route.wait_until_replaced(&server, epoch).await });
    }
    Ok(connection)
}

/// The same, and writes down how far it came.
pub(crate) async fn connect_traced(
    options: &RedisOptions,
    route: &Topology,
    server: &Server,
    purpose: ConnectionPurpose,
    confirm: Option<ReplicaConfirmation>,
    journal: &mut ConnectTrace,
) -> Result<Connection, Fault> {
    let place = &server.place;
    let (batches, hear) = match purpose {
        ConnectionPurpose::Calls(batches) => (Some(batches), None),
        ConnectionPurpose::Hints(hear) => (None, Some(hear)),
    };
    let opened = async {
        let whom = Endpoint {
            address: &server.address,
            certificates: &options.certificates,
            login: &options.login,
            secret: options.login.secret(place, options.connect_timeout).await?,
            patience: options.response_timeout,
        };
        let (mut connection, greeting) = match greet(&whom, hear, journal).await {
            Ok(greeted) => greeted,
            Err(failure) => {
                let is_refused = failure.is_wrong_password();
                let fault = error::of_step(place, journal.at, failure);
                return Err(options.login.failed(place, whom.secret.as_ref(), is_refused, fault));
            }
        };
        options.login.accepted(place);
        if greeting.is_sentinel() {
            return Err(a_sentinel(place));
        }
        if matches!(server.role, Role::Primary(_)) && greeting.is_replica() {
            let replica = ServerError::new("READONLY as it says itself");
            return Err(error::of_connecting(place, Failure::Server(Box::new(replica))));
        }
        let epoch = match &server.role {
            Role::Alone => 0,
            Role::Primary(named) => {
                connection.make_tokens_ahead(&HighestEpoch::new(named.epoch));
                named.epoch
            }
            Role::Node { .. } if !greeting.is_in_cluster() => {
                return Err(cluster::no_cluster(place));
            }
            Role::Node { id, .. } => {
                let told = connection.send(&["CLUSTER", "NODES"]).await;
                let told = told.map_err(|failure| error::of_step(place, journal.at, failure))?;
                let failed = || error::of_step(place, journal.at, Failure::Nonsense);
                let told = text(&told).ok_or_else(failed)?;
                let myself = cluster::myself(&told).ok_or_else(failed)?;
                // Hints come from replicas as well.
                if batches.is_some() && !myself.is_primary || !id.is_empty() && *id != myself.id {
                    return Err(another_node(place));
                }
                if let Some(cluster) = route.cluster() {
                    cluster.epoch.raise_to(cluster::newest(&told));
                    connection.make_tokens_ahead(&cluster.epoch);
                }
                myself.epoch
            }
        };
        connection.epoch_then = epoch;
        // There each goes alone: names are in many slots.
        let is_node = matches!(server.role, Role::Node { .. });
        if options.database != 0 {
            journal.begin(ConnectStep::Database);
            if greeting.is_in_cluster() {
                return Err(no_databases(place));
            }
            let selected = connection.send(&["SELECT", &options.database.to_string()]).await;
            selected.map_err(|failure| error::of_step(place, journal.at, failure))?;
            journal.done(format!("number {}", options.database));
        }
        // Together they take one round trip.
        let look = async {
            if let Some(batches) = batches {
                let key = keys::any_lock(&options.prefix);
                if options.scripts {
                    let question = CompareAndDelete::question(&key);
                    let learn = async {
                        if !is_node {
                            connection.load_batch_scripts(batches).await;
                        }
                    };
                    let (told, ()) = join(connection.send(&question), learn).await;
                    connection.compare.record_support(told);
                } else {
                    let tried =
                        connection.call_sequence(&CompareAndDelete::trial(&key), None).await;
                    connection.compare.record_support(tried.map(CompareAndDelete::of_trial));
                }
            }
        };
        // In a cluster it is asked for with the locks of each tag.
        if is_node {
            look.await;
        } else {
            journal.begin(ConnectStep::Format);
            let (format, ()) = join(format::check(&connection, options, place), look).await;
            journal.done(format?);
        }
        if let Some(confirm) = confirm {
            journal.begin(ConnectStep::Replicas);
            let asked = format!("writes can wait for {confirm} to confirm them");
            if greeting.is_in_cluster() && !is_node {
                return Err(no_confirmation_in_cluster(place));
            }
            let confirmed = connection.require_confirmation(confirm).await;
            confirmed.map_err(|failure| match failure.code() {
                // The slot of the mark has just gone.
                Some("MOVED" | "ASK") if is_node => sent_around(place, failure),
                _ => error::of_step(place, journal.at, failure),
            })?;
            journal.done(asked);
        }
        Ok(connection)
    };
    match tokio::time::timeout(options.connect_timeout, opened).await {
        Ok(opened) => opened,
        Err(_) => Err(error::of_step(place, journal.at, ErrorKind::TimedOut.into())),
    }
}

fn no_confirmation_in_cluster(place: &str) -> Fault {
    let what =
        format!("Redis at {place} is one node of a cluster, and which slots it has is not known");
    Fault::new(
        FaultKind::Misconfigured,
        what,
        "write redis-cluster:// and some of its nodes into the URL, or leave replicas= out of it",
    )
}

fn no_databases(place: &str) -> Fault {
    let what = format!("Redis at {place} is one node of a cluster, which has only database 0");
    let help = "write redis-cluster:// and some of its nodes into the URL, without a database";
    Fault::new(FaultKind::Misconfigured, what, help)
}

fn a_sentinel(place: &str) -> Fault {
    let what = format!("the server at {place} is a sentinel, which keeps no locks");
    let help = "write redis-sentinel:// with the name of the service: \
                redis-sentinel://host:26379/0?service=mymaster";
    Fault::new(FaultKind::Misconfigured, what, help)
}
