//! Connections that one caller has at a time, where one server has all locks.

use std::{sync::Arc, time::Duration};

use tenure_core::Fault;
use tokio::time::Instant;

use super::{Transport, opening::ATTEMPTS};
use crate::{
    client::{
        Failure, error,
        pool::{Pool, PoolGuard, PoolPermit},
    },
    servers::{
        NodeRef,
        error::not_known_for_long_enough,
        links::{LiveConnection, RuntimeConnections},
        route::Server,
    },
};

/// How often it is looked whether somebody gave one back.
const LOOKS: Duration = Duration::from_millis(1);

/// What a connection is lent for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PoolKind {
    Renewal,
    Other,
}

/// That no connection could be opened, and why.
struct OpenFailure(Fault);

impl Transport {
    /// A connection that nobody else uses, where one server has all locks. While none can be opened, as descriptors are
    /// lacking or the server takes no more, those that there are go round.
    ///
    /// # Cancel safety
    /// Cancel-safe: nothing is lent then.
    pub(crate) async fn lend(&self, purpose: PoolKind) -> Result<PoolGuard<LiveConnection>, Fault> {
        let here = self.runtimes.of_current_runtime()?;
        let renews = purpose == PoolKind::Renewal;
        let pool = if renews { &here.renewal_pool } else { &here.pool };
        let turn =
            pool.acquire_permit().await.ok_or_else(|| error::mismatched_reply(&self.place))?;
        let refused = if renews || !self.shortage.has_line() {
            match self.lend_at_once(&here, &turn).await? {
                Ok(pooled) => return Ok(pooled),
                Err(refused) => Some(refused),
            }
        } else {
            None
        };
        Box::pin(self.lend_in_line(&here, &turn, renews, refused)).await
    }

    async fn lend_at_once(
        &self,
        here: &RuntimeConnections,
        turn: &PoolPermit<LiveConnection>,
    ) -> Result<Result<PoolGuard<LiveConnection>, OpenFailure>, Fault> {
        for _ in 0..ATTEMPTS {
            let idle = turn.idle(|open| !open.connection.is_closed());
            let idle = match idle {
                Some(pooled) if self.trusts(&pooled) => return Ok(Ok(pooled)),
                idle => idle,
            };
            let server = self.route.server(&here.clients, &NodeRef::Only).await?;
            let pooled = match idle {
                Some(pooled) if *pooled.server == server => pooled,
                other => {
                    other.into_iter().for_each(|mut pooled| pooled.give_up());
                    match self.opened_to(server).await {
                        Ok(open) => turn.lend(open),
                        Err(fault) => return Ok(Err(OpenFailure(fault))),
                    }
                }
            };
            // To connect can take longer than it is known which server it is.
            if self.trusts(&pooled) {
                return Ok(Ok(pooled));
            }
        }
        Err(not_known_for_long_enough(&self.place))
    }

    /// One that anybody opened, as soon as nobody uses it.
    async fn lend_in_line(
        &self,
        here: &RuntimeConnections,
        turn: &PoolPermit<LiveConnection>,
        renews: bool,
        refused: Option<OpenFailure>,
    ) -> Result<PoolGuard<LiveConnection>, Fault> {
        if refused.is_some() {
            self.shortage.record_refusal();
        }
        let (mut refused, lenders) = (refused, self.lenders());
        let _first = self.shortage.wait_turn(renews).await;
        let until = Instant::now() + self.options.response_timeout;
        loop {
            if renews || !self.shortage.is_renewing() {
                // To fail to open one may have cast doubt on the server.
                let server = self.route.server(&here.clients, &NodeRef::Only).await?;
                let fits = |open: &LiveConnection| self.serves(open, &server);
                if let Some(pooled) = lenders.iter().find_map(|lender| turn.borrow(lender, fits)) {
                    return Ok(pooled);
                }
                let is_over = !lenders.iter().any(|lender| lender.is_out());
                match &refused {
                    Some(OpenFailure(fault)) if is_over => return Err(fault.clone()),
                    _ if is_over || self.shortage.may_be_over() => {
                        match self.opened_to(server).await {
                            Ok(open) if self.trusts(&open) => return Ok(turn.lend(open)),
                            Ok(open) => drop(turn.lend(open)),
                            Err(fault) => {
                                self.shortage.record_refusal();
                                refused = Some(OpenFailure(fault));
                            }
                        }
                    }
                    _ => {}
                }
            }
            if Instant::now() >= until {
                let none = || not_known_for_long_enough(&self.place);
                return Err(refused.map_or_else(none, |OpenFailure(fault)| fault));
            }
            tokio::time::sleep(LOOKS).await;
        }
    }

    fn serves(&self, open: &LiveConnection, server: &Server) -> bool {
        *open.server == *server && !open.connection.is_closed() && self.trusts(open)
    }

    /// All who have some to lend.
    fn lenders(&self) -> Vec<Arc<Pool<LiveConnection>>> {
        let all = self.others.iter().chain([&self.runtimes]);
        all.flat_map(|runtimes| runtimes.exclusive_pools()).collect()
    }

    /// What a failure over a connection that was lent means; the connection goes back, or ends.
    pub(crate) fn failed_over(
        &self,
        pooled: &mut PoolGuard<LiveConnection>,
        error: Failure,
    ) -> Fault {
        if self.is_unusable_after(pooled, &error) {
            pooled.give_up();
        }
        error::of_command(&self.place, error)
    }
}
