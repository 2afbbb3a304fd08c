//! Logins to the servers, and the certificates that connections trust.

use super::{Deployment, certificates::certificate_setters};
use crate::options::RedisOptions;

tenure_url::login_setters!(RedisOptions, login);
certificate_setters!(RedisOptions, "server");

impl RedisOptions {
    /// Sets whether to reach servers over TLS, with their certificates verified. This applies to one server, to those
    /// that sentinels name, and to the nodes of a cluster. A unix socket never uses TLS.
    #[must_use]
    pub fn tls(mut self, yes: bool) -> Self {
        self.tls = yes;
        if let Deployment::One(address) = self.deployment {
            self.deployment = Deployment::One(address.with_tls(yes));
        }
        self
    }
}
