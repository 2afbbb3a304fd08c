//! How the sentinels of a service are reached.

use tenure_core::{Fault, FaultKind};
use tenure_url::Certificates;

use super::certificates::certificate_setters;
use crate::options::{HostPort, login::Login};

/// The sentinels that know which server is the primary of a service.
///
/// One that answers is enough to find the others. Which server is the primary a majority of all of them has
/// to say.
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
    /// Where sentinels listen unless told otherwise.
    pub const DEFAULT_PORT: u16 = 26379;
    /// How many of one service are asked at most.
    pub const MOST: usize = 32;

    /// Sentinels at these hosts and ports, and the name by which they know the servers. They are reached
    /// without TLS and without a password.
    ///
    /// # Errors
    /// A fault when there is none, when there are too many, or when the service has no name.
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
    /// Whether sentinels are reached over TLS.
    #[must_use]
    pub fn tls(mut self, yes: bool) -> Self {
        self.tls = yes;
        self
    }
}
