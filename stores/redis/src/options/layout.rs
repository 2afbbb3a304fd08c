//! How the keys of locks are laid out, so that other programs can take part.

use std::time::Duration;

use tenure_core::{Fault, FaultKind};

/// How the keys of locks are laid out on the server.
///
/// All programs that use the same locks must use the same layout. Locks of two layouts do not exclude each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// tenure's own keys, with every kind of lock and a queue of waiters.
    #[default]
    Tenure,
    /// One string for each name, as `SET key value NX PX` writes it. redis-py, redsync, bsm/redislock and many other
    /// libraries lock so.
    ///
    /// There are only mutexes and elections, and waiters are served in no order. tenure's own holders have tokens; the
    /// holders of other libraries have none, so a fence does not see them.
    /// [docs/together.md](https://github.com/tenure-rs/tenure/blob/main/docs/together.md) has the libraries and their
    /// settings.
    Plain,
    /// One hash for each name, as Redisson's `RLock`, `RFencedLock` and `RReadWriteLock` write it.
    ///
    /// There are mutexes, elections and read-write locks, and waiters are served in no order. tenure's own holders have
    /// tokens. Redisson's holders have none unless all programs use `RFencedLock`: see
    /// [`fenced_lock_tokens`](crate::RedisOptions::fenced_lock_tokens).
    /// [docs/together.md](https://github.com/tenure-rs/tenure/blob/main/docs/together.md) has the rest.
    Redisson,
}

impl Layout {
    /// As a URL has it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Tenure => "tenure",
            Self::Plain => "plain",
            Self::Redisson => "redisson",
        }
    }

    /// The layout that a URL calls so.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        [Self::Tenure, Self::Plain, Self::Redisson]
            .into_iter()
            .find(|layout| layout.as_str() == name)
    }

    /// Whether other libraries use the same keys.
    pub(crate) const fn is_shared(self) -> bool {
        matches!(self, Self::Plain | Self::Redisson)
    }
}

/// The layout, and the names that other libraries give to keys and channels in it.
#[derive(Clone, Debug)]
pub(crate) struct LayoutOptions {
    pub(crate) layout: Layout,
    /// What stands before a name in the key of its lock.
    pub(crate) key_prefix: String,
    /// Where a release is announced in the plain layout, unless it is tenure's own channel.
    pub(crate) unlock_channel: Option<String>,
    /// Whether tokens are the numbers of Redisson's fenced lock.
    pub(crate) fenced_tokens: bool,
    /// That of the Redisson clients.
    pub(crate) lock_watchdog_timeout: Duration,
}

/// Redisson's default.
const LOCK_WATCHDOG_TIMEOUT: Duration = Duration::from_secs(30);

impl Default for LayoutOptions {
    fn default() -> Self {
        Self {
            layout: Layout::default(),
            key_prefix: String::new(),
            unlock_channel: None,
            fenced_tokens: false,
            lock_watchdog_timeout: LOCK_WATCHDOG_TIMEOUT,
        }
    }
}

impl LayoutOptions {
    pub(crate) fn is_plain(&self) -> bool {
        self.layout == Layout::Plain
    }

    /// Checks that what is given belongs to this layout.
    pub(crate) fn check(&self, prefix: &str, scripts: bool) -> Result<(), Fault> {
        let wrong = |what: &str, help: &str| Err(Fault::new(FaultKind::Misconfigured, what, help));
        if self.unlock_channel.is_some() && !self.is_plain() {
            return wrong(
                "unlock_channel is for the plain layout",
                "add layout=plain, or leave unlock_channel out",
            );
        }
        if self.fenced_tokens && self.layout != Layout::Redisson {
            return wrong(
                "tokens=fenced is for Redisson's layout",
                "add layout=redisson, or leave tokens out",
            );
        }
        if self.lock_watchdog_timeout != LOCK_WATCHDOG_TIMEOUT && self.layout != Layout::Redisson {
            return wrong(
                "lock_watchdog_timeout is for Redisson's layout",
                "add layout=redisson, or leave lock_watchdog_timeout out",
            );
        }
        if !self.layout.is_shared() {
            if self.key_prefix.is_empty() {
                return Ok(());
            }
            return wrong(
                "key_prefix is for the layouts of other libraries",
                "add layout=plain or layout=redisson, or write prefix= for tenure's own keys",
            );
        }
        let (of, layout) = match self.layout {
            Layout::Redisson => ("Redisson's layout", "layout=redisson"),
            Layout::Tenure | Layout::Plain => ("the plain layout", "layout=plain"),
        };
        if prefix.is_empty() || self.key_prefix.starts_with(prefix) {
            return wrong(
                &format!("in {of} the keys of locks would be among tenure's own"),
                "choose a prefix= that no key of a lock begins with",
            );
        }
        if !scripts {
            let help = "leave scripts=no out, as a user that may run scripts";
            return wrong(&format!("{layout} needs scripts"), help);
        }
        Ok(())
    }
}

/// Checks what other libraries may put before a name, or call a channel.
pub(super) fn key_text(what: &str, text: &str) -> Result<String, Fault> {
    const MOST: usize = 256;
    if text.len() <= MOST && !text.contains(char::is_control) {
        return Ok(text.to_owned());
    }
    let what = format!("{what} {text:?} is too long, or has control characters");
    Err(Fault::new(
        FaultKind::Misconfigured,
        what,
        "choose at most 256 bytes without control characters",
    ))
}
