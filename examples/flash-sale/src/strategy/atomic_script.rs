//! No lock: one script on Redis looks at stock and customer and decides, and the order is written behind it.
//! It is the fastest way and has a gap of its own: who dies between the two has sold and not written.

use std::time::Duration;

use async_trait::async_trait;
use redis::Script;

use super::{Connections, Strategy};
use crate::{
    database::{Customers, Stock},
    records::{Click, Terms},
    shop::{Refusal, Till},
};

const DECIDE: &str = "
    if redis.call('SISMEMBER', KEYS[2], ARGV[2]) == 1 then return 'ordered' end
    redis.call('SET', KEYS[1], ARGV[1], 'NX')
    if tonumber(redis.call('GET', KEYS[1])) <= 0 then return 'sold out' end
    redis.call('DECR', KEYS[1])
    redis.call('SADD', KEYS[2], ARGV[2])
    redis.call('PEXPIREAT', KEYS[1], ARGV[3])
    redis.call('PEXPIREAT', KEYS[2], ARGV[3])
    return 'sold'";

/// How long after the end of a sale its keys are kept.
const KEPT: Duration = Duration::from_secs(3600);

pub(super) struct AtomicScript {
    till: Till,
    redis: Connections,
    script: Script,
}

impl AtomicScript {
    pub(super) fn new(till: Till, redis: Connections) -> Self {
        Self { till, redis, script: Script::new(DECIDE) }
    }
}

#[async_trait]
impl Strategy for AtomicScript {
    async fn order(&self, click: Click) -> Result<(), Refusal> {
        let Terms { stock, begin, end } = self.till.voucher(click).await?.terms;
        // Another database may have a voucher of the same number on the same Redis.
        let place = format!("flash-sale:{{{}:{}}}", click.voucher, begin.0);
        let mut redis = self.redis.take().await?;
        let decided: String = self
            .script
            .key(format!("{place}:left"))
            .key(format!("{place}:customers"))
            .arg(stock)
            .arg(click.customer)
            .arg(end.after(KEPT).0)
            .invoke_async(redis.connection())
            .await?;
        redis.give_back();
        match decided.as_str() {
            "sold" => {}
            "sold out" => return Err(Refusal::SoldOut),
            _ => return Err(Refusal::AlreadyOrdered),
        }
        self.till.work().await;
        self.till.write(click, Stock::CountDown, Customers::Trusted).await
    }
}
