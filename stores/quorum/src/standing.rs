//! A look at a member: its mark, and which memory of the member shows it.

use futures_util::future::join;
use tenure_core::{
    Fault, Incarnation,
    proto::{
        queue::Snapshot,
        quorum::mark::{Charter, Standing},
    },
};

use crate::members::{Member, mark_name};

/// What a look at one member showed.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    pub(crate) mark: Snapshot,
    /// The member's present incarnation; `None` where restarts change nothing.
    pub(crate) now: Option<Incarnation>,
    pub(crate) standing: Standing,
}

/// Looks at a member, in one round trip. It vouches for what the member answered before.
///
/// If the member restarts between the two answers, either it shows, or the mark is of the memory that
/// the other answer came from, and so was the answer before.
pub(crate) async fn look(member: &Member, charter: &Charter) -> Result<Look, Fault> {
    let name = mark_name()?;
    let (mark, now) = if charter.durable {
        (member.inspect(&name).await?, None)
    } else {
        let (mark, now) = join(member.inspect(&name), member.incarnation()).await;
        (mark?, Some(now?))
    };
    let standing = charter.standing(&mark, now);
    Ok(Look { mark, now, standing })
}
