//! A look at a member: its mark, and which memory of the member shows it.

use futures_util::future::join;
use tenure_core::{
    Fault, FaultKind, Incarnation,
    proto::{
        queue::Snapshot,
        quorum::mark::{self, Charter, Standing},
    },
};

use crate::members::{Member, mark_name};

/// How a fault begins that says of a mark that it cannot be read.
const UNREAD: &str = "its mark cannot be read: ";
/// What to do about it. Nobody but an operator takes such a mark away: it may keep a member out.
pub(crate) const UPGRADE: &str = "https://github.com/tenure-rs/tenure/blob/main/docs/upgrading.md#a-quorum says how to change from one version of tenure to another: it removes the marks from the members";

/// What a look at one member showed.
#[derive(Clone, Debug)]
pub(crate) struct MarkInspection {
    pub(crate) mark: Snapshot,
    /// The member's present incarnation; `None` where restarts change nothing.
    pub(crate) now: Option<Incarnation>,
    pub(crate) standing: Standing,
}

/// Looks at a member, in one round trip. It vouches for what the member answered before.
///
/// If the member restarts between the two answers, either it shows, or the mark is of the memory that
/// the other answer came from, and so was the answer before.
///
/// # Errors
/// A fault of the member, or one that [`is_unread`] knows.
pub(crate) async fn look(member: &Member, charter: &Charter) -> Result<MarkInspection, Fault> {
    let name = mark_name()?;
    let inspect = async {
        // As where the member keeps it in the layout of another version.
        let corrupt = |fault: &Fault| fault.kind() == FaultKind::Corrupt;
        let seen = member.inspect(&name).await;
        seen.map_err(
            |fault| if corrupt(&fault) { unread(&fault.message_and_cause()) } else { fault },
        )
    };
    let (mark, now) = if charter.durable {
        (inspect.await?, None)
    } else {
        let (mark, now) = join(inspect, member.incarnation()).await;
        (mark?, Some(now?))
    };
    let standing = match charter.standing(&mark, now) {
        Standing::OtherFormat(number) => {
            let ours = mark::FORMAT;
            return Err(unread(&format!(
                "it is in format {number}, which another version of tenure writes: this one \
                 supports only format {ours}"
            )));
        }
        Standing::NoMark(label) => {
            let name = mark::NAME;
            return Err(unread(&format!(
                "another lock has the name {name} there, labelled {label:?}"
            )));
        }
        standing => standing,
    };
    Ok(MarkInspection { mark, now, standing })
}

fn unread(why: &str) -> Fault {
    Fault::new(FaultKind::Misconfigured, format!("{UNREAD}{why}"), UPGRADE)
}

/// Whether the member has a mark, and this version cannot read it.
pub(crate) fn is_unread(fault: &Fault) -> bool {
    fault.message().starts_with(UNREAD)
}
