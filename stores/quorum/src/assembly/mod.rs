//! Seeing to it that each member has a mark, so that it can be told since when it remembers.

mod marking;

use std::{future::Future, sync::atomic::Ordering, time::Duration};

use futures_util::StreamExt;
use tenure_core::{
    Fault, FaultKind,
    proto::{
        Backoff, Timestamp,
        quorum::{
            majority,
            mark::{self, Standing},
        },
    },
};

use crate::{
    QuorumStore,
    members::{
        Member, MemberAnswer, MemberCalls, ask_all,
        standing::{MarkInspection, UPGRADE, is_unread, look},
    },
};

/// How often it is tried while others do the same.
const TRIES: u32 = 12;
/// How long a member may take here: a new connection may have to be made.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

/// How often members are looked at of which no answer needs it.
const NOW_AND_THEN: Duration = Duration::from_secs(1);

fn next_look(now: Timestamp) -> u64 {
    now.saturating_add(NOW_AND_THEN).as_nanos()
}

/// What to do about a member that keeps other rules than this client.
pub(crate) const SAME_RULES: &str =
    "give all clients the same members, the same longest_lease and the same durable_members";

impl QuorumStore {
    /// Sees to it once that the members have marks.
    pub(crate) async fn assemble_once(&self) -> Result<(), Fault> {
        if self.shared.assembled.load(Ordering::Acquire) {
            return Ok(());
        }
        self.assemble(false).await
    }

    /// Sees to it that each member that answers has a mark; with `all`, also those that are slow to
    /// answer. It goes on in the background when the caller gives up.
    ///
    /// # Errors
    /// A fault when a mark says that the member belongs to another quorum, when so many marks cannot be read that no
    /// majority is left, or when others kept being in the way.
    pub(crate) async fn assemble(&self, all: bool) -> Result<(), Fault> {
        let quorum = self.clone();
        let (done, result) = tokio::sync::oneshot::channel();
        let work = async move {
            let _ = done.send(quorum.assemble_here(all).await);
        };
        if let Err(work) = self.shared.background.run(work) {
            work.await;
        }
        result.await.unwrap_or_else(|_| {
            let what = "the runtime ended while the quorum was set up";
            Err(Fault::new(FaultKind::Unreachable, what, "try again"))
        })
    }

    /// The same for all of them, without waiting for it.
    pub(crate) fn assemble_later(&self) {
        let quorum = self.clone();
        // The next look sees what is still to be done.
        drop(self.shared.background.run(async move {
            if let Err(fault) = quorum.assemble_here(true).await {
                tracing::warn!(store = "quorum", fault = %format_args!("{fault:#}"), "a member has no mark");
            }
        }));
    }

    /// The same, but no more often than that it costs nothing: for asks that other members answered,
    /// so that nobody has seen whether one of these restarted.
    pub(crate) fn assemble_now_and_then(&self) {
        let now = self.shared.options.now();
        let due = |at: u64| (now.as_nanos() >= at).then(|| next_look(now));
        let next = &self.shared.next_look;
        if next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, due).is_ok() {
            self.assemble_later();
        }
    }

    async fn assemble_here(&self, all: bool) -> Result<(), Fault> {
        let _alone = self.shared.assembling.lock().await;
        let mut backoff = Backoff::new(Duration::from_millis(5), Duration::from_millis(400));
        for _ in 0..TRIES {
            let looks = self.inspect_members(all).await?;
            let count = |wanted: &Standing| -> usize {
                looks.iter().flatten().filter(|look| look.standing == *wanted).count()
            };
            let counted = count(&Standing::Counted);
            if counted > 0 {
                self.shared.has_counted.store(true, Ordering::Relaxed);
            }
            let (claimed, unmarked) = (count(&Standing::Claimed), count(&Standing::Unmarked));
            let is_empty = unmarked == self.members.len();
            let is_new = is_empty && !self.shared.has_counted.load(Ordering::Relaxed);
            let noted = if is_new { self.was_marked_before().await? } else { Some(true) };
            let marks = self.marks(&looks)?;
            let answered = looks.iter().flatten().count();
            let needed = majority(self.members.len());
            let done = match noted {
                None => false,
                Some(false) => self.mark_new_quorum(&marks).await?,
                // Others are founding it.
                Some(true) if claimed > 0 && claimed + unmarked == answered => false,
                Some(true) => {
                    self.mark_as_new(&marks, &looks).await?;
                    // Who claimed a member may be gone. Those that count do not wait for it.
                    claimed == 0 || counted >= needed
                }
            };
            if done {
                self.shared.assembled.store(answered >= needed, Ordering::Release);
                return Ok(());
            }
            let pause = backoff.next(self.shared.options.entropy.jitter());
            let clock = &self.shared.options.clock;
            clock.sleep_until(clock.now().saturating_add(pause)).await;
        }
        Err(Fault::new(
            FaultKind::Unreachable,
            "other clients were setting up this quorum at the same time",
            "try again",
        ))
    }

    /// What a look at each member shows; `None` where no answer came.
    async fn inspect_members(&self, all: bool) -> Result<Vec<Option<MarkInspection>>, Fault> {
        let mut looks: Vec<Option<MarkInspection>> = vec![None; self.members.len()];
        let (mut answered, mut counted, mut is_new, mut claimed) = (0, 0, true, false);
        let needed = majority(self.members.len());
        let charter = self.shared.charter;
        let mut unread = Vec::new();
        let mut calls = self.ask_members(|member| async move { look(&member, &charter).await });
        while let Some(MemberAnswer { member, answer }) = calls.next().await {
            match answer {
                // Whether it restarts would never show.
                Err(fault) if fault.kind() == FaultKind::Unsupported => return Err(fault),
                Err(fault) if is_unread(&fault) => unread.push((member, fault)),
                Err(_) => {}
                Ok(seen) => {
                    is_new &= seen.standing == Standing::Unmarked;
                    claimed |= seen.standing == Standing::Claimed;
                    counted += usize::from(seen.standing == Standing::Counted);
                    answered += 1;
                    if let Some(look) = looks.get_mut(member) {
                        *look = Some(seen);
                    }
                }
            }
            // Only who founds a quorum needs all of them, and who finds one that is just claimed.
            let enough = counted >= needed || answered >= needed && !is_new && !claimed;
            if enough && !all {
                break;
            }
        }
        if unread.len() > self.members.len() - needed {
            return Err(self.no_majority_is_read(unread));
        }
        self.no_member_twice(&looks)?;
        for (look, place) in looks.iter().zip(&self.shared.places) {
            if let Some(MarkInspection { standing: Standing::Foreign(words), .. }) = look {
                return Err(self.foreign(place, words));
            }
        }
        Ok(looks)
    }

    fn no_majority_is_read(&self, mut unread: Vec<(usize, Fault)>) -> Fault {
        unread.sort_by_key(|(member, _)| *member);
        let place = |at: usize| self.shared.places.get(at).map_or("", String::as_str);
        let each: Vec<_> = unread
            .iter()
            .map(|(at, fault)| format!("{}: {}", place(*at), fault.message()))
            .collect();
        let (count, members) = (unread.len(), self.members.len());
        let what = format!(
            "the marks of {count} of {members} members cannot be read ({})",
            each.join("; ")
        );
        Fault::new(FaultKind::Misconfigured, what, UPGRADE)
    }

    pub(crate) fn foreign(&self, place: &str, words: &str) -> Fault {
        let ours = self.shared.charter.words();
        Fault::new(
            FaultKind::Misconfigured,
            format!("{place} belongs to a {words:?}, but this client is set up for a {ours:?}"),
            SAME_RULES,
        )
    }

    fn no_member_twice(&self, looks: &[Option<MarkInspection>]) -> Result<(), Fault> {
        let known: Vec<_> = looks.iter().map(|look| mark::identity(&look.as_ref()?.mark)).collect();
        for (index, one) in known.iter().enumerate() {
            let Some(first) = known.iter().take(index).position(|other| other == one) else {
                continue;
            };
            if one.is_none() {
                continue;
            }
            return Err(self.one_store(first, index));
        }
        Ok(())
    }

    pub(crate) fn one_store(&self, first: usize, second: usize) -> Fault {
        let place = |at: usize| self.shared.places.get(at).map_or("", String::as_str);
        let what = format!("{} and {} are one store", place(first), place(second));
        Fault::new(FaultKind::Misconfigured, what, "name each store once, by one address")
    }

    pub(crate) fn ask_members<T, F>(
        &self,
        call: impl Fn(Member) -> F,
    ) -> MemberCalls<MemberAnswer<T>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        ask_all(&self.members, &self.shared.options.clock, PATIENCE, call)
    }
}
