//! How the user wrote where servers are, by which a help is worded.

/// What the place of a cluster has in it.
pub(super) const CLUSTER: &str = "-cluster://";
/// The same of sentinels, and of the primary that they name.
const SENTINELS: [&str; 2] = ["-sentinel://", ", the primary of "];

/// What can be done when nobody is there. Where another server takes over, most often nothing.
pub(super) fn unreachable_help(place: &str) -> &'static str {
    match form(place) {
        DeploymentKind::Server => {
            "check that the server runs, that the URL is right, and that no firewall is in between"
        }
        DeploymentKind::Sentinel | DeploymentKind::Cluster => {
            "another server takes over soon if that one is dead: ask again, or wait for the lock; if it lasts, \
             check that it runs and that no firewall is between"
        }
    }
}

/// How the user wrote where servers are.
pub(super) enum DeploymentKind {
    Server,
    Sentinel,
    Cluster,
}

pub(super) fn form(place: &str) -> DeploymentKind {
    if place.contains(CLUSTER) {
        DeploymentKind::Cluster
    } else if SENTINELS.iter().any(|mark| place.contains(mark)) {
        DeploymentKind::Sentinel
    } else {
        DeploymentKind::Server
    }
}
