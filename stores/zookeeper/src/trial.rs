//! A lock that is tried, as this very user.

use std::time::Duration;

use tenure_core::{
    Entropy, Fault, FaultKind, LockName, OsEntropy, Owner,
    proto::{
        Renewed,
        queue::{Answer, Ask, Intent, Kind, Mode, Order},
    },
    store::Renewal,
};

use crate::{layout::Place, session::Session, store::Shared};

/// What its name begins with. No other part of tenure uses it.
const PROBE: &str = "tenure-doctor-probe";

impl Shared {
    /// Everything that a lock does: nodes are made, read, watched, seen to be there, and removed.
    pub(crate) async fn try_everything(&self, session: &Session) -> Result<(), Fault> {
        let random = OsEntropy::default();
        let (holder, waiter) = (random.owner()?, random.owner()?);
        // Several may look at the same time.
        let mark = holder.to_hex();
        let name = format!("{PROBE}-{}", mark.get(..8).unwrap_or_default());
        let name = LockName::new(name).map_err(|_| unusual("has no name"))?;
        let outcome = self.cycle(&name, holder, waiter).await;
        for owner in [holder, waiter] {
            self.release(&name, &owner).await?;
        }
        // As empty as it is the server takes it away, only later.
        let dir = Place::new(&self.options.base, &name).dir;
        let _ = session.write(session.client().delete(&dir, None)).await;
        outcome
    }

    async fn cycle(&self, name: &LockName, holder: Owner, waiter: Owner) -> Result<(), Fault> {
        let ttl = Duration::from_secs(5);
        let ask = |owner, intent| Ask {
            owner,
            kind: Kind::Mutex,
            mode: Mode::Exclusive,
            order: Order::Fifo,
            intent,
            ttl,
            label: "tenure doctor".to_owned(),
        };
        if !matches!(self.ask(name, &ask(holder, Intent::Try)).await?, Answer::Granted { .. }) {
            return Err(unusual("is held by another doctor"));
        }
        self.ask(name, &ask(waiter, Intent::Wait { place: None })).await?;
        match self.renew(&[Renewal { name: name.clone(), owner: holder, ttl }]).await.pop() {
            Some(Ok(Renewed::Renewed { .. })) => {}
            Some(Err(fault)) => return Err(fault),
            _ => return Err(unusual("could not be renewed")),
        }
        self.inspect(name).await?;
        self.release(name, &holder).await?;
        Ok(())
    }
}

fn unusual(what: &str) -> Fault {
    let what = format!("the trial lock {what}");
    Fault::new(FaultKind::InDoubt, what, "look again in a minute")
}
