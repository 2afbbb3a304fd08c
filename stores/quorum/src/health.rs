//! A look at each member, and at what they come to.

use std::time::Duration;

use futures_util::StreamExt;
use tenure_core::{
    Fault,
    proto::quorum::{majority, mark::Standing},
    store::{Diagnostic, Severity},
};

use crate::{
    QuorumStore,
    assembly::SAME_RULES,
    members::{
        MemberAnswer, ask_all,
        standing::{UPGRADE, is_unread, look},
    },
};

/// How long a look at one member may take.
const PATIENCE: Duration = Duration::from_secs(8);

/// What to do about a member that restarted, and about one that came back empty.
const RESTARTED: &str = "wait; if every member writes what it confirms before it says so (Redis: \
                         appendfsync always), say durable_members=yes at all clients";
const NEW: &str = "wait; make its data outlive a restart";

impl QuorumStore {
    /// The members one after the other, and first what they come to.
    pub(crate) async fn look_at_members(&self) -> Vec<Diagnostic> {
        let servers = self.servers(None).await;
        let independence = self.independence(&servers);
        // As when it is opened: members that are refused get no mark.
        let is_refused = independence.iter().any(|diagnostic| diagnostic.severity == Severity::Bad);
        let assembled = if is_refused { Ok(()) } else { self.assemble_once().await };
        let charter = self.shared.charter;
        let mut looks =
            ask_all(&self.members, &self.shared.options.clock, PATIENCE, |member| async move {
                let diagnostics = member.health().await?;
                // Who cannot be reached has said so by then, and why.
                Ok((look(&member, &charter).await.map(|look| look.standing), diagnostics))
            });
        let mut each: Vec<Vec<Diagnostic>> = vec![Vec::new(); self.members.len()];
        let (mut counted, mut unread, mut unmarked) = (0, 0, false);
        while let Some(MemberAnswer { member, answer }) = looks.next().await {
            let place = self.shared.places.get(member).map_or("", String::as_str);
            let diagnostics = match answer {
                Ok((standing, diagnostics)) => {
                    let forgets =
                        charter.durable.then(|| durability_warning(place, &diagnostics)).flatten();
                    let failed =
                        diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Bad);
                    let memory = match standing {
                        Ok(standing) => {
                            counted += usize::from(standing == Standing::Counted);
                            unmarked |= standing.needs_mark();
                            Some(memory(place, &standing, charter.keep_out()))
                        }
                        Err(fault) if is_unread(&fault) => {
                            unread += 1;
                            let what = fault.message_and_cause();
                            Some(Diagnostic::bad("memory", what, "S1", fault.help()).of(place))
                        }
                        Err(_) if failed => None,
                        Err(fault) => Some(unreached(place, &fault)),
                    };
                    let lost = memory.is_none();
                    let own = diagnostics.into_iter().map(|mut diagnostic| {
                        // A minority may be missing; whether it is more, the sum says.
                        if lost {
                            diagnostic.severity = diagnostic.severity.min(Severity::Warning);
                        }
                        diagnostic.of(place)
                    });
                    memory.into_iter().chain(forgets).chain(own).collect()
                }
                Err(fault) => vec![unreached(place, &fault)],
            };
            if let Some(of_member) = each.get_mut(member) {
                *of_member = diagnostics;
            }
        }
        if unmarked && !is_refused {
            self.assemble_later();
        }
        let mut all = vec![self.sum(counted, unread)];
        // Otherwise each member says it.
        if let Err(fault) = assembled
            && unread == 0
        {
            all.push(Diagnostic::failed("rules", &fault).touches("S1"));
        }
        if self.members.len().is_multiple_of(2) {
            let found =
                format!("{} members survive no more losses than with one member less", each.len());
            all.push(Diagnostic::warning("number of members", found, "S1", "use an odd number"));
        }
        all.extend(independence);
        all.extend(each.into_iter().flatten());
        all
    }

    fn sum(&self, counted: usize, unread: usize) -> Diagnostic {
        let (members, needed) = (self.members.len(), majority(self.members.len()));
        let found = format!("{counted} of {members} members are counted, {needed} are needed");
        if counted == members {
            return Diagnostic::good("majority", found);
        }
        let help = if unread > members - needed {
            UPGRADE
        } else {
            "bring back the members that are missing; those that are kept out return on their own"
        };
        if counted < needed {
            return Diagnostic::bad("majority", found, "S1", help);
        }
        Diagnostic::warning("majority", found, "S1", help)
    }
}

fn unreached(place: &str, fault: &Fault) -> Diagnostic {
    Diagnostic::warning("reach", fault.message_and_cause(), "S1", fault.help()).of(place)
}

/// What a member says against `durable_members=yes`, by which a restart of it counts for nothing.
fn durability_warning(place: &str, diagnostics: &[Diagnostic]) -> Option<Diagnostic> {
    let persistence = diagnostics.iter().find(|diagnostic| diagnostic.what == "persistence")?;
    (persistence.severity != Severity::Good).then(|| {
        let found = format!(
            "durable_members=yes promises that its restarts lose nothing that it confirmed, but: \
             {}",
            persistence.found
        );
        let help = "make it keep what it confirms (Redis: appendonly yes, appendfsync always), or remove durable_members from all clients";
        Diagnostic::warning("durability", found, "S1", help).of(place)
    })
}

fn memory(place: &str, standing: &Standing, keep_out: Duration) -> Diagnostic {
    let warning = |found: String, help| Diagnostic::warning("memory", found, "S1", help);
    let diagnostic = match standing {
        Standing::Counted => {
            Diagnostic::good("memory", "reaches back further than the longest lease")
        }
        Standing::KeptOut { rest, restarted } => {
            let since = keep_out.saturating_sub(*rest);
            let why = if *restarted { "it restarted" } else { "its memory is new" };
            let found = format!("{why}, seen {since:.0?} ago; counts in {rest:.0?}");
            warning(found, if *restarted { RESTARTED } else { NEW })
        }
        Standing::Restarted => {
            let found = "it restarted, and may have forgotten its newest holds; it is marked anew \
                         by the next use and counts one longest_lease later";
            warning(found.to_owned(), RESTARTED)
        }
        Standing::Unmarked | Standing::Claimed => {
            warning("it has no mark yet".to_owned(), "check again in a moment")
        }
        Standing::Foreign(words) => {
            Diagnostic::bad("memory", format!("it belongs to a {words:?}"), "S1", SAME_RULES)
        }
        // A look at it is a fault.
        Standing::OtherFormat(label) | Standing::NoMark(label) => {
            Diagnostic::bad("memory", format!("its mark cannot be read: {label:?}"), "S1", UPGRADE)
        }
    };
    diagnostic.of(place)
}
