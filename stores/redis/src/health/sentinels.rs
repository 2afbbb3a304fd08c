//! A look at the sentinels of a service.

use tenure_core::{Fault, store::Finding};

use super::setting;
use crate::{
    info::field,
    options::Replicas,
    route::Seat,
    sentinel::{Group, Panel, Survey},
    transport::Transport,
};

/// So many are needed for one to be away without harm.
const ENOUGH: usize = 3;

/// Asks all of them, and looks at what the primary does when it is cut off.
pub(super) async fn look(transport: &Transport, group: &Group) -> Vec<Finding> {
    let survey = group.survey(&Panel::default()).await;
    vec![sentinels(&survey), isolation(transport).await]
}

fn sentinels(survey: &Survey) -> Finding {
    let what = "sentinels";
    let &Survey { answered, of, alike, know, .. } = survey;
    let mut found = format!("{answered} of {of} answer, and {alike} of them name the same primary");
    for why in survey.why() {
        found.push_str("; ");
        found.push_str(&why);
    }
    let refused = survey.faults.iter().find(|fault| !fault.is_passing());
    let cure = match refused.map(Fault::cure) {
        Some(cure) => cure,
        None if answered < of => {
            "see that all of them run; take those that are gone for good out of the URL, and have the others \
             forget them by SENTINEL RESET"
        }
        None if alike < of => {
            "wait for the fail-over to end; if it lasts, compare their SENTINEL MASTER"
        }
        None if know < of => {
            found = format!(
                "{found}; but one of them knows of {know}: they cannot make a fail-over together"
            );
            "see that they reach each other and the primary, and what SENTINEL CKQUORUM says"
        }
        None if of < ENOUGH => {
            found.push_str("; when one is away nobody knows which server it is");
            "run at least three, each on a machine of its own"
        }
        None => return Finding::good(what, found),
    };
    Finding::warning(what, found, "S9", cure)
}

/// Whether there is a replica that can take over.
pub(super) fn replicas(info: Option<&str>) -> Option<Finding> {
    let none = field(info?, "connected_slaves") == Some("0");
    let cure = "see why the replicas are away";
    none.then(|| Finding::warning("replicas", "none: no fail-over is possible", "S9", cure))
}

/// Whether a primary without its replicas goes on taking locks.
async fn isolation(transport: &Transport) -> Finding {
    let what = "isolation";
    let rule = "set min-replicas-to-write 1, and min-replicas-max-lag below the down-after-milliseconds of \
                the sentinels";
    match setting(transport, &Seat::Only, "min-replicas-to-write").await.as_deref() {
        Some("0") if transport.options.replicas != Replicas::Count(0) => {
            let found = "a primary that is cut off from its replicas grants nothing, as they have to confirm";
            Finding::good(what, found)
        }
        Some("0") => {
            let found = "a primary that is cut off from its replicas still grants locks";
            Finding::warning(what, found, "S1", rule)
        }
        Some(count) => {
            let lag =
                setting(transport, &Seat::Only, "min-replicas-max-lag").await.unwrap_or_default();
            let found = format!("a primary without {count} replicas stops writing after {lag} s");
            Finding::good(what, found)
        }
        None => super::not_told(what, "+config|get"),
    }
}
