//! The ways to sell: each reads, decides and writes in the same steps, and excludes the others in its own way.

mod atomic_script;
mod connections;
mod local;
mod none;
mod per_customer;
mod rung;
mod tenure;
mod tenure_fenced;
mod unique_index;

use std::{sync::Arc, time::Duration};

use ::tenure::{Defaults, Tenure};
use async_trait::async_trait;
use clap::ValueEnum;

pub(crate) use self::connections::Connections;
use self::rung::Rung;
use crate::{
    records::Click,
    shop::{Refusal, Till},
};

/// How the shop keeps its customers from getting in each other's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
pub(crate) enum Name {
    /// Nothing.
    None,
    /// A mutex in each process.
    Local,
    /// `SET NX`, and a `DEL` that does not ask whose lock it deletes.
    BareDel,
    /// The token is compared in one command and deleted in the next.
    TwoSteps,
    /// `SETNX`, and the ttl by a second command.
    SetnxExpire,
    /// Transactions whose answer nobody looks at.
    WatchMulti,
    /// The end of the lease stands in the value, by the clock of who wrote it.
    ExpiryInValue,
    /// Taken and released as it should be, and never renewed.
    NoRenewal,
    /// Renewed and checked, and what it protects believes whoever writes.
    NoFencing,
    /// tenure.
    Tenure,
    /// tenure, and the database refuses by its token who was not the last to read.
    TenureFenced,
    /// tenure for each customer, and the database counts the stock down by itself.
    TenurePerCustomer,
    /// No lock: a unique index, and a conditional update.
    UniqueIndex,
    /// No lock: one atomic script on Redis decides.
    Script,
}

impl Name {
    /// As it is written on the command line.
    pub(crate) fn text(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Which locks it holds while it sells.
    pub(crate) const fn holds(self) -> &'static [&'static str] {
        match self {
            Self::None | Self::UniqueIndex | Self::Script => &[],
            Self::Local
            | Self::BareDel
            | Self::TwoSteps
            | Self::SetnxExpire
            | Self::WatchMulti
            | Self::ExpiryInValue
            | Self::NoRenewal
            | Self::NoFencing => &["voucher:ID"],
            Self::Tenure | Self::TenureFenced => &["voucher:ID:USER", "voucher:ID"],
            Self::TenurePerCustomer => &["voucher:ID:USER"],
        }
    }

    /// Whether it works on a Redis of its own, beside the store of tenure.
    pub(crate) const fn needs_redis(self) -> bool {
        self.rung().is_some() || matches!(self, Self::Script)
    }

    /// Whether it is to come through all trouble without a voucher or an order too many.
    pub(crate) const fn is_safe(self) -> bool {
        matches!(self, Self::TenureFenced | Self::TenurePerCustomer | Self::UniqueIndex)
    }

    /// Whether it locks with tenure.
    pub(crate) const fn is_tenure(self) -> bool {
        matches!(self, Self::Tenure | Self::TenureFenced | Self::TenurePerCustomer)
    }

    const fn rung(self) -> Option<Rung> {
        Some(match self {
            Self::BareDel => Rung::BareDel,
            Self::TwoSteps => Rung::TwoSteps,
            Self::SetnxExpire => Rung::SetnxExpire,
            Self::WatchMulti => Rung::WatchMulti,
            Self::ExpiryInValue => Rung::ExpiryInValue,
            Self::NoRenewal => Rung::NoRenewal,
            Self::NoFencing => Rung::NoFencing,
            _ => return None,
        })
    }
}

/// How a click becomes an order.
#[async_trait]
pub(crate) trait Strategy: Send + Sync {
    async fn order(&self, click: Click) -> Result<(), Refusal>;
}

/// What strategies are made of.
#[derive(Debug)]
pub(crate) struct Means {
    pub(crate) store: String,
    pub(crate) redis: Option<String>,
    pub(crate) ttl: Duration,
    pub(crate) wait: Duration,
}

/// A strategy, and the locks that a look at them shows.
pub(crate) struct Opened {
    pub(crate) strategy: Arc<dyn Strategy>,
    pub(crate) tenure: Option<Tenure>,
}

/// Makes one.
pub(crate) async fn open(
    name: Name,
    till: &Till,
    means: &Means,
) -> Result<Opened, Box<dyn std::error::Error>> {
    let till = till.clone();
    if name.is_tenure() {
        let tenure = open_tenure(means).await?;
        let strategy: Arc<dyn Strategy> = match name {
            Name::Tenure => Arc::new(tenure::Locked::new(till, tenure.clone())),
            Name::TenureFenced => Arc::new(tenure_fenced::Fenced::new(till, tenure.clone())),
            _ => Arc::new(per_customer::PerCustomer::new(till, tenure.clone())),
        };
        return Ok(Opened { strategy, tenure: Some(tenure) });
    }
    let redis = match &means.redis {
        Some(url) => Some(Connections::open(url).await?),
        None => None,
    };
    let strategy: Arc<dyn Strategy> = match (name, name.rung(), redis) {
        (Name::None, ..) => Arc::new(none::Nothing::new(till)),
        (Name::Local, ..) => Arc::new(local::Local::new(till)),
        (Name::UniqueIndex, ..) => Arc::new(unique_index::UniqueIndex::new(till)),
        (_, Some(rung), Some(redis)) => Arc::new(rung::Wrong::new(rung, till, redis, means)),
        (Name::Script, _, Some(redis)) => Arc::new(atomic_script::AtomicScript::new(till, redis)),
        _ => return Err(format!("{} needs a Redis: --redis redis://HOST", name.text()).into()),
    };
    Ok(Opened { strategy, tenure: None })
}

async fn open_tenure(means: &Means) -> Result<Tenure, Box<dyn std::error::Error>> {
    let opened = Tenure::open(&means.store).await?;
    let mut defaults = Defaults::default();
    defaults.ttl = Some(means.ttl);
    defaults.wait = Some(means.wait);
    // Everybody who looks at the page sees it: neither the host nor the process.
    defaults.label = Some(format!("till {:03}", getrandom::u32()? % 1000));
    let builder = Tenure::builder(opened.store().clone());
    Ok(builder.defaults(move |_| defaults.clone()).build())
}
