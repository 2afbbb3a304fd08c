//! Who this process is for those who see its holds.

use tenure_proto::queue::{Identity, Label};

/// The identity of this process, and the label of a contender that adds nothing to it.
#[derive(Debug)]
pub(crate) struct OwnIdentity {
    identity: Identity,
    label: Label,
}

impl OwnIdentity {
    /// The identity of this process, which belongs to a service and runs as a user if they are known.
    pub(crate) fn new(service: Option<String>, user: Option<String>) -> Self {
        let mut identity = Identity::default();
        (identity.host, identity.pid) = (Some(host()), Some(std::process::id()));
        (identity.service, identity.user) = (service, user);
        let label = identity.label(None);
        Self { identity, label }
    }

    /// The identity of this process, with the reason for something that it does to others.
    pub(crate) fn because(&self, reason: Option<String>) -> Identity {
        let mut identity = self.identity.clone();
        identity.reason = reason;
        identity
    }

    /// The label of a contender with these fields.
    pub(crate) fn label(
        &self,
        label: Option<&str>,
        operation: Option<String>,
        reason: Option<String>,
    ) -> Label {
        if label.is_none() && operation.is_none() && reason.is_none() {
            return self.label.clone();
        }
        let mut identity = self.identity.clone();
        (identity.operation, identity.reason) = (operation, reason);
        identity.label(label)
    }
}

fn host() -> String {
    #[cfg(unix)]
    let name = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    #[cfg(not(unix))]
    let name = std::env::var("COMPUTERNAME").ok();
    name.unwrap_or_else(|| "localhost".to_owned())
}
