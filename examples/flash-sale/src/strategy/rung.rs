//! The locks of the ladder, around the shop: each as it is often written, and each broken.
//! `docs/wrong-locks.md` tells how.

use std::{
    future::ready,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use redis::{RedisResult, aio::MultiplexedConnection, cmd};
use tenure_ladder::{bare_del, expiry_in_value, no_renewal, setnx_expire, two_steps, watch_multi};
use tokio::{task::JoinHandle, time::sleep};

use super::{Connections, Means, Strategy, none::sell};
use crate::{
    records::{Click, Moment},
    shop::{Refusal, Till},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rung {
    BareDel,
    TwoSteps,
    SetnxExpire,
    WatchMulti,
    ExpiryInValue,
    NoRenewal,
    NoFencing,
}

pub(super) struct Wrong {
    rung: Rung,
    till: Till,
    redis: Connections,
    ttl: Duration,
    wait: Duration,
}

/// One acquisition.
struct Attempt<'a> {
    redis: &'a mut MultiplexedConnection,
    key: String,
    token: String,
    millis: u64,
}

impl Wrong {
    pub(super) fn new(rung: Rung, till: Till, redis: Connections, means: &Means) -> Self {
        Self { rung, till, redis, ttl: means.ttl, wait: means.wait }
    }

    /// Sells under the lock; `None` if somebody else has it.
    async fn attempt(&self, click: Click) -> Result<Option<Result<(), Refusal>>, Refusal> {
        let mut taken = self.redis.take().await?;
        let mut attempt = Attempt {
            redis: taken.connection(),
            key: format!("flash-sale:lock:voucher:{}", click.voucher),
            token: getrandom::u64().map(|token| token.to_string()).unwrap_or_default(),
            millis: u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX),
        };
        let sold = if self.rung == Rung::NoRenewal {
            attempt.as_one(sell(&self.till, click)).await?
        } else if attempt.take(self.rung).await? {
            let renewing = self.renewing(&attempt).await?;
            let sold = if self.rung != Rung::NoFencing || attempt.is_mine().await? {
                sell(&self.till, click).await
            } else {
                Err(Refusal::Busy("the lock was lost".to_owned()))
            };
            drop(renewing);
            attempt.release(self.rung).await?;
            Some(sold)
        } else {
            None
        };
        taken.give_back();
        Ok(sold)
    }

    /// Renews for as long as what it returns lives, where the rung does.
    async fn renewing(&self, attempt: &Attempt<'_>) -> Result<Option<Renewing>, Refusal> {
        if !matches!(self.rung, Rung::WatchMulti | Rung::NoFencing) {
            return Ok(None);
        }
        let mut taken = self.redis.take().await?;
        let (key, token, millis) = (attempt.key.clone(), attempt.token.clone(), attempt.millis);
        let gap = self.ttl / 3;
        Ok(Some(Renewing(tokio::spawn(async move {
            loop {
                sleep(gap).await;
                let renewed =
                    watch_multi::renew(taken.connection(), &key, &token, millis, ready(())).await;
                if !matches!(renewed, Ok(true)) {
                    return;
                }
            }
        }))))
    }
}

/// A renewal that ends with who wanted it.
struct Renewing(JoinHandle<()>);

impl Drop for Renewing {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Attempt<'_> {
    async fn take(&mut self, rung: Rung) -> RedisResult<bool> {
        let Self { redis, key, token, millis } = self;
        match rung {
            Rung::BareDel => bare_del::take(redis, key, *millis).await,
            Rung::SetnxExpire => {
                setnx_expire::take(redis, key, millis.div_ceil(1000), ready(())).await
            }
            Rung::ExpiryInValue => {
                let now = u64::try_from(Moment::now().0).unwrap_or(0);
                expiry_in_value::take(redis, key, token, (now, *millis)).await
            }
            Rung::TwoSteps | Rung::WatchMulti | Rung::NoRenewal | Rung::NoFencing => {
                two_steps::take(redis, key, token, *millis).await
            }
        }
    }

    async fn release(&mut self, rung: Rung) -> RedisResult<()> {
        let Self { redis, key, token, .. } = self;
        match rung {
            Rung::BareDel | Rung::SetnxExpire => bare_del::release(redis, key).await,
            Rung::ExpiryInValue => expiry_in_value::release(redis, key, token).await.map(|_| ()),
            Rung::WatchMulti => watch_multi::release(redis, key).await.map(|_| ()),
            Rung::TwoSteps | Rung::NoRenewal | Rung::NoFencing => {
                two_steps::release(redis, key, token, ready(())).await.map(|_| ())
            }
        }
    }

    /// Taken, worked under and released by one call.
    async fn as_one<R: Send>(
        &mut self,
        work: impl Future<Output = R> + Send,
    ) -> RedisResult<Option<R>> {
        let Self { redis, key, token, millis } = self;
        let mut done = None;
        let run = async { done = Some(work.await) };
        no_renewal::locked(redis, key, token, *millis, run).await?;
        Ok(done)
    }

    /// Whether the lock is ours: at the moment of the answer.
    async fn is_mine(&mut self) -> RedisResult<bool> {
        let holder: Option<String> = cmd("GET").arg(&self.key).query_async(self.redis).await?;
        Ok(holder.as_deref() == Some(&*self.token))
    }
}

#[async_trait]
impl Strategy for Wrong {
    async fn order(&self, click: Click) -> Result<(), Refusal> {
        let since = Instant::now();
        loop {
            if let Some(sold) = self.attempt(click).await? {
                return sold;
            }
            if since.elapsed() >= self.wait {
                return Err(Refusal::Busy("somebody else has the lock".to_owned()));
            }
            // Everybody asks again and again, as programs with such a lock do.
            sleep(Duration::from_millis(5 + getrandom::u64().map_or(0, |more| more % 15))).await;
        }
    }
}
