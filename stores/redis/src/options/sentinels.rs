//! The sentinels of a service.

use tenure_core::{Fault, FaultKind};
use tenure_url::Certificates;

use super::certificates::certificate_setters;
use crate::options::{HostPort, login::Login};

/// The sentinels that know which server is the primary of a service.
///
/// One that answers is enough to find the others. A majority of all of them must agree on the primary.
///
/// ```
/// use tenure_redis::{RedisOptions, Sentinels};
///
/// let sentinels = Sentinels::new([("10.0.0.1", 26379), ("10.0.0.2", 26379)], "mymaster")?
///     .password("of the sentinels");
/// let options = RedisOptions::found_by(sentinels).user("tenure").password("of the servers");
/// assert_eq!(
///     options.location(),
///     "redis-sentinel://10.0.0.1:26379,10.0.0.2:26379/0?service=mymaster"
/// );
/// # Ok::<(), tenure_core::Fault>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sentinels {
    pub(crate) seeds: Vec<HostPort>,
    pub(crate) service: String,
    pub(crate) tls: bool,
    pub(crate) login: Login,
    pub(crate) certificates: Certificates,
}

impl Sentinels {
    /// The port of a sentinel, unless you name another.
    pub const DEFAULT_PORT: u16 = 26379;
    /// The most sentinels of one service that tenure asks.
    pub const MOST: usize = 32;

    /// Uses sentinels at these hosts and ports. `service` is the name by which they know the servers. They are reached
    /// without TLS and without a password.
    ///
    /// # Errors
    /// A fault if there is no sentinel, if there are too many, or if the service has no name.
    pub fn new<H: Into<String>>(
        seeds: impl IntoIterator<Item = (H, u16)>,
        service: &str,
    ) -> Result<Self, Fault> {
        let seeds: Vec<_> = seeds.into_iter().map(|(host, port)| (host.into(), port)).collect();
        let wrong = |what: String, help| Err(Fault::new(FaultKind::Misconfigured, what, help));
        if seeds.is_empty() || seeds.len() > Self::MOST {
            let what = format!("{} sentinels are named", seeds.len());
            return wrong(what, "name 1 to 32 of them");
        }
        let strange = |c: char| c.is_control() || c.is_whitespace();
        if service.is_empty() || service.contains(strange) {
            let what = format!("the sentinels' service cannot be called {service:?}");
            let help = "write the name by which they know the servers: service=mymaster; \
                        SENTINEL MASTERS lists them";
            return wrong(what, help);
        }
        Ok(Self {
            seeds,
            service: service.to_owned(),
            tls: false,
            login: Login::default(),
            certificates: Certificates::default(),
        })
    }
}

tenure_url::login_setters!(Sentinels, login);
certificate_setters!(Sentinels, "sentinel");

impl Sentinels {
    /// Sets whether to reach the sentinels over TLS.
    #[must_use]
    pub fn tls(mut self, yes: bool) -> Self {
        self.tls = yes;
        self
    }
}
