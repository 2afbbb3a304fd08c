//! A look at the sentinels of a service.

use std::time::Duration;

use tenure_core::{Fault, store::Diagnostic};

use super::setting;
use crate::{
    client::field,
    options::Replicas,
    servers::{
        NodeRef, Transport,
        sentinel::{SentinelClients, SentinelGroup, SentinelSurvey},
    },
};

/// So many are needed for one to be away without harm.
const ENOUGH: usize = 3;

/// Asks all of them, and looks at what the primary does when it is cut off.
pub(super) async fn look(transport: &Transport, group: &SentinelGroup) -> Vec<Diagnostic> {
    let survey = group.survey(&SentinelClients::default()).await;
    vec![sentinels(&survey), isolation(transport, survey.down_after).await]
}

fn sentinels(survey: &SentinelSurvey) -> Diagnostic {
    let what = "sentinels";
    let &SentinelSurvey { answered, of, alike, know, quorum, .. } = survey;
    let mut found = format!("{answered} of {of} answer, and {alike} of them name the same primary");
    for why in survey.why() {
        found.push_str("; ");
        found.push_str(&why);
    }
    let refused = survey.faults.iter().find(|fault| !fault.is_transient());
    let help = match refused.map(Fault::help) {
        Some(help) => help,
        None if answered < of => {
            "check that all of them run; remove those that are gone for good from the URL, and make \
             the others forget them with SENTINEL RESET"
        }
        None if alike < of => {
            "wait for the failover to end; if it lasts, compare their SENTINEL MASTER"
        }
        None if know < of => {
            found = format!(
                "{found}; but one of them knows {know}: they cannot carry out a failover together"
            );
            "check that they reach each other and the primary, and run SENTINEL CKQUORUM"
        }
        None if quorum.is_some_and(|quorum| quorum > of) => {
            let quorum = quorum.unwrap_or_default();
            found.push_str(&format!(
                "; {quorum} must agree that the primary is down, which is more than there are: no \
                 failover is possible"
            ));
            "lower the quorum with SENTINEL SET"
        }
        None if of < ENOUGH => {
            found.push_str("; if one is unreachable, the primary is unknown");
            "run at least three, each on a separate machine"
        }
        None => return Diagnostic::good(what, found),
    };
    Diagnostic::warning(what, found, "S9", help)
}

/// Whether there is a replica that can take over.
pub(super) fn replicas(info: Option<&str>) -> Option<Diagnostic> {
    let none = field(info?, "connected_slaves") == Some("0");
    let help = "see why the replicas are unreachable";
    none.then(|| {
        Diagnostic::warning("replicas", "there are none: no failover is possible", "S9", help)
    })
}

/// Whether a primary without its replicas goes on taking locks.
async fn isolation(transport: &Transport, down_after: Option<Duration>) -> Diagnostic {
    let of = async |name| setting(transport, &NodeRef::Only, name).await;
    let (count, lag) = (of("min-replicas-to-write").await, of("min-replicas-max-lag").await);
    let confirmed = transport.options.replicas != Replicas::Count(0);
    isolated(count.as_deref(), lag.as_deref(), down_after, confirmed)
}

fn isolated(
    count: Option<&str>,
    lag: Option<&str>,
    down_after: Option<Duration>,
    confirmed: bool,
) -> Diagnostic {
    let what = "isolation";
    let rule = "set min-replicas-to-write 1, and min-replicas-max-lag below the down-after-milliseconds of \
                the sentinels";
    if confirmed {
        let found =
            "a primary that is cut off from its replicas grants no lock, as they have to confirm";
        return Diagnostic::good(what, found);
    }
    let (Some(count), Some(lag)) = (count, lag) else {
        return super::not_told(what, "+config|get");
    };
    // Either turns the other one off.
    if count == "0" || lag == "0" {
        let found = "a primary that is cut off from its replicas still grants locks";
        return Diagnostic::warning(what, found, "S1", rule);
    }
    let found = format!("a primary without {count} replicas stops writing after {lag} s");
    let lag = lag.parse().map(Duration::from_secs);
    match (lag, down_after) {
        (Ok(lag), Some(down_after)) if lag < down_after => Diagnostic::good(what, found),
        (_, Some(down_after)) => {
            let found = format!(
                "{found}, when another may have become the primary: {down_after:?} after it was \
                 last heard"
            );
            Diagnostic::warning(what, found, "S1", rule)
        }
        _ => {
            let found = format!("{found}; no sentinel says when another one becomes the primary");
            Diagnostic::warning(what, found, "S1", rule)
        }
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::store::Severity;

    use super::*;

    #[test]
    fn a_primary_that_is_cut_off_has_to_stop_before_the_next_one_begins() {
        let five = Some(Duration::from_secs(5));
        let of =
            |count, lag, down_after| isolated(Some(count), Some(lag), down_after, false).severity;
        assert_eq!(of("1", "4", five), Severity::Good);
        for (count, lag, down_after) in [
            ("0", "4", five),
            ("1", "0", five),
            ("1", "5", five),
            ("1", "10", five),
            ("1", "4", None),
        ] {
            assert_eq!(of(count, lag, down_after), Severity::Warning, "{count} {lag}");
        }
        assert_eq!(isolated(Some("0"), Some("10"), five, true).severity, Severity::Good);
        assert_eq!(isolated(None, None, None, true).severity, Severity::Good);
        assert_eq!(isolated(None, Some("10"), five, false).severity, Severity::Warning);
    }
}
