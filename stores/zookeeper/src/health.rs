//! What a look at the real ensemble brings up.

use tenure_core::{Clock, Fault, SystemClock, store::Finding};
use zookeeper_client::{CreateMode, Error};

use crate::{members, probe, session::Session, store::Shared};

impl Shared {
    pub(crate) async fn health(&self) -> Result<Vec<Finding>, Fault> {
        let session = match self.first_session().await {
            Ok(session) => session,
            Err(fault) => return Ok(self.none(&fault).await),
        };
        let mut findings = vec![Finding::good("connection", self.place.clone())];
        findings.extend(members::findings(&self.options).await);
        findings.push(self.session_length(&session));
        findings.push(self.response_timeout(&session));
        findings.push(self.full_cycle(&session).await);
        findings.push(self.containers(&session).await);
        Ok(findings)
    }

    /// Why there is no session.
    async fn none(&self, fault: &Fault) -> Vec<Finding> {
        if !fault.is_passing() {
            return vec![Finding::failed("connection", fault).touches("S6")];
        }
        let all = probe::all(&self.options).await;
        let mut findings = probe::findings(&all);
        findings.push(if probe::none_begins(&all) {
            let found = format!("no session begins with ZooKeeper at {}", self.place);
            Finding::bad("connection", found, "S6", "mend what is said of its servers")
        } else {
            Finding::failed("connection", fault).touches("S6")
        });
        findings
    }

    fn session_length(&self, session: &Session) -> Finding {
        let (asked, granted) = (self.options.session, session.length());
        let found = format!(
            "{granted:?} granted, {asked:?} asked for, with a tick of {:?} by the URL: a holder that is cut off stops \
             after {:?}",
            self.options.tick,
            session.validity()
        );
        if granted == asked {
            return Finding::good("session", found);
        }
        let cure = "set minSessionTimeout and maxSessionTimeout of all servers alike, or session= in the URL";
        Finding::warning("session", found, "S5", cure)
    }

    /// How long an answer is waited for.
    fn response_timeout(&self, session: &Session) -> Finding {
        let (asked, limit) = (self.options.response_timeout, session.limit());
        let found = if limit == asked {
            format!("{limit:?}")
        } else {
            format!("{limit:?}, a third of what can be counted on: {asked:?} is more than that")
        };
        Finding::good("response timeout", found)
    }

    /// A node is made and gone again, as a lock's is.
    async fn full_cycle(&self, session: &Session) -> Finding {
        let began = SystemClock.now();
        match session.prove(&[]).await {
            Ok(_) => {
                let took = SystemClock.now().since(began);
                Finding::good("full cycle", format!("a committed write took {took:?}"))
            }
            Err(fault) => Finding::failed("full cycle", &fault).touches("S1"),
        }
    }

    /// Whether empty directories go away by themselves.
    async fn containers(&self, session: &Session) -> Finding {
        let path = format!("{}/%container", self.options.base);
        let options = session.creates(CreateMode::Container);
        let made = session.write(session.client().create(&path, b"", &options)).await;
        let gone = session.write(session.client().delete(&path, None)).await;
        match (made, gone) {
            (Ok(Ok(_) | Err(Error::NodeExists)), Ok(_)) => {
                Finding::good("containers", "empty directories of locks go away by themselves")
            }
            (Err(fault), _) | (_, Err(fault)) => Finding::failed("containers", &fault),
            (Ok(Err(error)), _) => Finding::failed("containers", &session.fault(error, false)),
        }
    }
}
