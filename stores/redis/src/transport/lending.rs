//! Connections that one caller has at a time, where one server has all locks.

use tenure_core::Fault;

use super::{ATTEMPTS, Transport};
use crate::{
    error,
    failure::Failure,
    lent::Loan,
    lines::{Here, Open},
    route::Seat,
};

/// What a connection is lent for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    Renewal,
    Other,
}

impl Transport {
    /// A connection that nobody else uses, where one server has all locks.
    ///
    /// # Cancel safety
    /// Cancel-safe: nothing is lent then.
    pub(crate) async fn lend(&self, purpose: Purpose) -> Result<Loan<Open>, Fault> {
        let here = self.runtimes.here()?;
        let lent = match purpose {
            Purpose::Renewal => &here.lent_to_renew,
            Purpose::Other => &here.lent,
        };
        let turn = lent.turn().await.ok_or_else(|| error::mixed_up(&self.place))?;
        for _ in 0..ATTEMPTS {
            let idle = turn.idle().filter(|open| !open.connection.is_closed());
            let trusted = |open: &Open| self.trusts(open);
            let open = match idle {
                Some(open) if trusted(&open) => open,
                idle => self.opened_now(&here, idle).await?,
            };
            // To connect can take longer than it is known which server it is.
            if trusted(&open) {
                return Ok(turn.lend(open));
            }
        }
        Err(error::not_known_for_long_enough(&self.place))
    }

    /// A connection to the server that is the one now, this one if it is to that.
    async fn opened_now(&self, here: &Here, open: Option<Open>) -> Result<Open, Fault> {
        let server = self.route.server(&here.panel, &Seat::Only).await?;
        if let Some(open) = open.filter(|open| *open.server == server) {
            return Ok(open);
        }
        self.opened_to(server, 0).await
    }

    /// What a failure over a connection that was lent means; the connection goes back, or ends.
    pub(crate) fn failed_over(&self, loan: &mut Loan<Open>, error: Failure) -> Fault {
        if self.ends(loan, &error) {
            loan.give_up();
        }
        error::of_command(&self.place, error)
    }
}
