//! Whether members are servers of their own: two that are one fail together, and a majority of them is none.

use std::time::Duration;

use futures_util::StreamExt;
use tenure_core::{Fault, FaultKind, proto::quorum::majority, store::Diagnostic};

use crate::{QuorumStore, members::MemberAnswer};

/// How long a member may answer after a majority did where a store is opened.
const SLOW: Duration = Duration::from_millis(200);

const WHAT: &str = "independence";
const CURE: &str =
    "name servers that do not fail together, each once, by one address and one database";

/// Which server each member is, by its own word; what is told is the same for members that are one.
pub(crate) struct ServerIdentities(Vec<Result<Option<String>, Fault>>);

impl QuorumStore {
    /// Refuses members that are one server, before any of them gets a mark. Where that is not told nothing is refused;
    /// one that is slow is not waited for.
    pub(crate) async fn no_server_twice(&self) -> Result<(), Fault> {
        match self.one_server(&self.servers(Some(SLOW)).await) {
            Some(found) => Err(Fault::new(FaultKind::Misconfigured, found, CURE)),
            None => Ok(()),
        }
    }

    /// Asks each member which server it is; those that answer so long after a majority of them are not heard.
    pub(crate) async fn servers(&self, slow: Option<Duration>) -> ServerIdentities {
        let unasked = || Fault::new(FaultKind::Unreachable, "it was not asked", "look again");
        let mut told: Vec<_> = self.members.iter().map(|_| Err(unasked())).collect();
        let mut calls = self.ask_members(|member| async move { member.server().await });
        let (clock, mut until) = (&self.shared.options.clock, None);
        let mut heard = 0;
        loop {
            let rest = async {
                match until {
                    Some(until) => clock.sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            let next = tokio::select! {
                biased;
                next = calls.next() => next,
                () = rest => None,
            };
            let Some(MemberAnswer { member, answer }) = next else { return ServerIdentities(told) };
            heard += usize::from(answer.is_ok());
            if let Some(told) = told.get_mut(member) {
                *told = answer;
            }
            if let (Some(slow), true) = (slow, heard == majority(self.members.len())) {
                until = until.or(Some(clock.now().saturating_add(slow)));
            }
        }
    }

    /// The same for people, with what could not be told.
    pub(crate) fn independence(&self, servers: &ServerIdentities) -> Vec<Diagnostic> {
        let one = self.one_server(servers).map(|found| Diagnostic::bad(WHAT, found, "S1", CURE));
        let untold: Vec<_> = self.places_with(servers, |told| !matches!(told, Ok(Some(_))));
        let untold = (!untold.is_empty()).then(|| {
            let found = format!("the server's identity is not reported by {}", untold.join(", nor by "));
            let help = "check that no two members are one server; give this user +info on Redis, or find out why it is unreachable";
            Diagnostic::warning(WHAT, found, "S1", help)
        });
        let found: Vec<_> = one.into_iter().chain(untold).collect();
        if found.is_empty() {
            // Whether they share a machine, a disk or a cable is not looked at.
            let found = "no two members report the same server";
            return vec![Diagnostic::good(WHAT, found)];
        }
        found
    }

    fn one_server(&self, ServerIdentities(told): &ServerIdentities) -> Option<String> {
        let known: Vec<_> = told.iter().map(|told| told.as_ref().ok()?.as_deref()).collect();
        let known_at = |at: usize| known.get(at).copied().flatten();
        let place = |at: usize| self.shared.places.get(at).map_or("", String::as_str);
        (0..known.len()).find_map(|second| {
            let server = known_at(second)?;
            let first = (0..second).find(|first| known_at(*first) == Some(server))?;
            let (first, second) = (place(first), place(second));
            Some(format!("{first} and {second} are one server ({server}), and fail together"))
        })
    }

    fn places_with(
        &self,
        ServerIdentities(told): &ServerIdentities,
        which: impl Fn(&Result<Option<String>, Fault>) -> bool,
    ) -> Vec<String> {
        let all = self.shared.places.iter().zip(told).filter(|(_, told)| which(told));
        let why = |told: &Result<Option<String>, Fault>| match told {
            Ok(_) => String::new(),
            Err(fault) => format!(" ({})", fault.message_and_cause()),
        };
        all.map(|(place, told)| format!("{place}{}", why(told))).collect()
    }
}
