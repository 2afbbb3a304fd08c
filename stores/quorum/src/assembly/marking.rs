//! Giving marks to members that have none, or one of a memory that is over.

use std::{future::Future, sync::Arc, time::Duration};

use futures_util::StreamExt;
use tenure_core::{
    Clock, Fault, LockName,
    proto::{
        queue::{Answer, Ask, Intent, Kind, Mode, Order, Released},
        quorum::mark::{self, Charter, Standing},
    },
};

use crate::{
    QuorumStore,
    assembly::PATIENCE,
    members::{
        Member, MemberAnswer, MemberCall, MemberCalls, mark_name, note_name,
        standing::{MarkInspection, look},
        within,
    },
};

impl QuorumStore {
    /// A claim for each member, not sent yet. What is said of its memory was seen before.
    pub(crate) fn marks(&self, looks: &[Option<MarkInspection>]) -> Result<Vec<Ask>, Fault> {
        let entropy = &self.shared.options.entropy;
        let mark = |look: &Option<MarkInspection>| {
            let owner = entropy.owner()?;
            let (high, _) = owner.as_bytes().split_at(8);
            let serial = high.iter().fold(0, |serial: u64, byte| serial << 8 | u64::from(*byte));
            let restarted = look.as_ref().is_some_and(|look| look.standing == Standing::Restarted);
            let now = look.as_ref().and_then(|look| look.now);
            Ok(Ask {
                owner,
                kind: Kind::Mutex,
                mode: Mode::Exclusive,
                order: Order::Barging,
                intent: Intent::Try,
                ttl: mark::CLAIM,
                label: self.shared.charter.label(serial, restarted, now).into(),
            })
        };
        looks.iter().map(mark).collect()
    }

    /// Gives marks that count at once to all members of a new quorum; `false` if others did the
    /// same at the same time.
    pub(crate) async fn mark_new_quorum(&self, claims: &[Ask]) -> Result<bool, Fault> {
        let name = mark_name()?;
        let mut granted = vec![false; claims.len()];
        let calls: MemberCalls<_> = self.each_with(claims, |member, claim| {
            let name = name.clone();
            async move { member.acquire(&name, &claim).await }
        });
        let mut twice = None;
        for MemberAnswer { member, answer } in calls.collect::<Vec<_>>().await {
            if let Ok(Answer::Busy { holder: Some(holder), .. }) = &answer
                && let Some(other) = claims.iter().position(|claim| holder.label == claim.label)
            {
                twice = Some((other.min(member), other.max(member)));
            }
            if let (Ok(Answer::Granted { .. }), Some(granted)) = (answer, granted.get_mut(member)) {
                *granted = true;
            }
        }
        let all = granted.iter().all(|granted| *granted);
        let keep = if all { mark::LIFE } else { Duration::ZERO };
        let calls: MemberCalls<_> = self.each_with(claims, |member, claim| {
            let name = name.clone();
            async move { member.release(&name, &claim.owner, keep).await }
        });
        let answers = calls.collect::<Vec<_>>().await;
        if let Some((first, second)) = twice {
            return Err(self.one_store(first, second));
        }
        let kept = |told: &&MemberAnswer<_>| matches!(told.answer, Ok(Released::Released));
        Ok(all && answers.iter().filter(kept).count() == self.members.len())
    }

    /// Whether a member was marked before and restarted since, so that nothing is to be founded;
    /// `None` if not all of them said.
    pub(crate) async fn was_marked_before(&self) -> Result<Option<bool>, Fault> {
        let name = note_name()?;
        let answers = self.ask_members(|member| {
            let name = name.clone();
            async move { member.inspect(&name).await }
        });
        let mut noted = false;
        for MemberAnswer { answer, .. } in answers.collect::<Vec<_>>().await {
            let Ok(seen) = answer else { return Ok(None) };
            noted |= !seen.holders.is_empty();
        }
        Ok(Some(noted))
    }

    /// Gives marks that count later to members that have none, or one of a memory that is over.
    /// Whoever is not marked by this will be found without a mark again.
    pub(crate) async fn mark_as_new(
        &self,
        marks: &[Ask],
        looks: &[Option<MarkInspection>],
    ) -> Result<(), Fault> {
        let (name, note) = (mark_name()?, note_name()?);
        let each = self.members.iter().zip(marks).zip(looks);
        let markings: MemberCalls<_> = each
            .filter_map(|((member, mark), look)| {
                let standing = &look.as_ref()?.standing;
                let marking = MarkWriter {
                    member: member.clone(),
                    clock: self.shared.options.clock.clone(),
                    name: name.clone(),
                    note: note.clone(),
                    mark: mark.clone(),
                    charter: self.shared.charter,
                };
                let has_old = *standing == Standing::Restarted;
                standing
                    .needs_mark()
                    .then(|| Box::pin(marking.write_new_mark(has_old)) as MemberCall<_>)
            })
            .collect();
        for failed in markings.collect::<Vec<_>>().await.into_iter().filter_map(Result::err) {
            tracing::debug!(store = "quorum", fault = %format_args!("{failed:#}"), "a member was not marked");
        }
        Ok(())
    }

    /// One call for each member, all at the same time.
    fn each_with<T, F>(
        &self,
        marks: &[Ask],
        call: impl Fn(Member, Ask) -> F,
    ) -> MemberCalls<MemberAnswer<T>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        let clock = &self.shared.options.clock;
        let each = self.members.iter().zip(marks).enumerate();
        each.map(|(member, (store, mark))| {
            let call = within(clock.clone(), PATIENCE, call(store.clone(), mark.clone()));
            Box::pin(async move { MemberAnswer { member, answer: call.await } }) as MemberCall<_>
        })
        .collect()
    }
}

/// One member that gets a mark which counts later.
struct MarkWriter {
    member: Member,
    clock: Arc<dyn Clock>,
    name: LockName,
    note: LockName,
    mark: Ask,
    charter: Charter,
}

impl MarkWriter {
    async fn write_new_mark(self, has_old: bool) -> Result<(), Fault> {
        if has_old {
            if !self.ensure_noted().await? || !self.has_old().await? {
                return Ok(());
            }
            self.patiently(self.member.evict(&self.name)).await?;
        }
        self.keep_name_taken(&self.name, self.charter.new_mark()).await.map(drop)
    }

    /// Whether the mark is still the old one, seen a moment ago: with one that others set meanwhile
    /// the time would go that the member has been kept out for.
    async fn has_old(&self) -> Result<bool, Fault> {
        let asked = self.clock.now();
        let seen = self.patiently(look(&self.member, &self.charter)).await?;
        // A process that stood still may hear of it long after.
        let late = self.clock.now().since(asked) > PATIENCE;
        Ok(!late && seen.standing == Standing::Restarted)
    }

    /// Sees to it that the member is known to have been marked before, so that nobody takes the
    /// quorum for a new one while the mark is away. The note outlives whatever comes late.
    async fn ensure_noted(&self) -> Result<bool, Fault> {
        self.keep_name_taken(&self.note, mark::LIFE).await
    }

    /// Whether the name stays taken now, by this or by somebody else's doing.
    async fn keep_name_taken(&self, name: &LockName, keep: Duration) -> Result<bool, Fault> {
        match self.patiently(self.member.acquire(name, &self.mark)).await? {
            Answer::Granted { .. } => {
                let release = self.member.release(name, &self.mark.owner, keep);
                Ok(self.patiently(release).await? == Released::Released)
            }
            Answer::Busy { holder, .. } => Ok(holder.is_some_and(|holder| holder.lingering)),
        }
    }

    async fn patiently<T>(
        &self,
        call: impl Future<Output = Result<T, Fault>> + Send,
    ) -> Result<T, Fault> {
        within(self.clock.clone(), PATIENCE, call).await
    }
}
