//! A look at the sentinels of a service.

use tenure_core::{Fault, store::Finding};

use super::setting;
use crate::{
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
    let (answered, of, alike) = (survey.answered, survey.of, survey.alike);
    let found = format!("{answered} of {of} answer, and {alike} of them name the same primary");
    if of < ENOUGH {
        let found = format!("{found}; when one is away nobody knows which server it is");
        return Finding::warning(
            what,
            found,
            "S9",
            "run at least three, each on a machine of its own",
        );
    }
    if answered < of {
        let why: Vec<_> = survey.faults.iter().map(Fault::what_and_why).collect();
        let found = if why.is_empty() { found } else { format!("{found}; {}", why.join("; ")) };
        let cure = "see that all of them run; SENTINEL RESET makes them forget those that are gone for good";
        return Finding::warning(what, found, "S9", cure);
    }
    if alike < of {
        let cure = "wait for the fail-over to end; if it lasts, compare their SENTINEL MASTER";
        return Finding::warning(what, found, "S9", cure);
    }
    Finding::good(what, found)
}

/// Whether a primary without its replicas goes on taking locks.
async fn isolation(transport: &Transport) -> Finding {
    let what = "isolation";
    let rule = "set min-replicas-to-write 1, and min-replicas-max-lag below the down-after-milliseconds of \
                the sentinels";
    match setting(transport, "min-replicas-to-write").await.as_deref() {
        Some("0") => {
            let found = "a primary that is cut off from its replicas still grants locks";
            Finding::warning(what, found, "S1", rule)
        }
        Some(count) => {
            let lag = setting(transport, "min-replicas-max-lag").await.unwrap_or_default();
            let found = format!("a primary without {count} replicas stops writing after {lag} s");
            Finding::good(what, found)
        }
        None => super::not_told(what, "+config|get"),
    }
}
