//! Who we are to the servers, and whom connections trust.

use super::{Deployment, certificates::certificate_setters};
use crate::options::RedisOptions;

tenure_url::login_setters!(RedisOptions, login);
certificate_setters!(RedisOptions, "server");

impl RedisOptions {
    /// Whether servers are reached over TLS, their certificates checked: one server, those that sentinels name, or the
    /// nodes of a cluster. A unix socket never is.
    #[must_use]
    pub fn tls(mut self, yes: bool) -> Self {
        self.tls = yes;
        if let Deployment::One(address) = self.deployment {
            self.deployment = Deployment::One(address.with_tls(yes));
        }
        self
    }
}
