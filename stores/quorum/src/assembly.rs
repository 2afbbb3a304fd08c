//! Seeing to it that each member has a mark, so that it can be told since when it remembers.

use std::{sync::atomic::Ordering, time::Duration};

use futures_util::StreamExt;
use tenure_core::{
    Fault, FaultKind, LockName,
    proto::{
        Backoff,
        queue::{Answer, Ask, Intent, Mode, Order, Released, Snapshot},
        quorum::{
            majority,
            mark::{self, Standing},
        },
    },
};

use crate::{
    QuorumStore,
    members::{Call, Calls, Member, Told, ask_all, mark_name, within},
};

/// How often it is tried while others do the same.
const TRIES: u32 = 12;
/// How long a member may take here: a new connection may have to be made.
const PATIENCE: Duration = Duration::from_secs(1);

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
    /// A fault when a mark says that the member belongs to another quorum, or when others kept being
    /// in the way.
    pub(crate) async fn assemble(&self, all: bool) -> Result<(), Fault> {
        let quorum = self.clone();
        let (done, result) = tokio::sync::oneshot::channel();
        let work = async move {
            let _ = done.send(quorum.assemble_here(all).await);
        };
        if !self.shared.background.run(work) {
            return self.assemble_here(all).await;
        }
        result.await.unwrap_or_else(|_| {
            let what = "the runtime ended while the quorum was set up";
            Err(Fault::new(FaultKind::Unreachable, what, "try again"))
        })
    }

    /// The same for all of them, without waiting for it.
    pub(crate) fn assemble_later(&self) {
        let quorum = self.clone();
        self.shared.background.run(async move {
            if let Err(fault) = quorum.assemble_here(true).await {
                tracing::warn!(store = "quorum", %fault, "a member has no mark");
            }
        });
    }

    async fn assemble_here(&self, all: bool) -> Result<(), Fault> {
        let _alone = self.shared.assembling.lock().await;
        let name = mark_name()?;
        let mut backoff = Backoff::new(Duration::from_millis(5), Duration::from_millis(400));
        for _ in 0..TRIES {
            let standings = self.standings(&name, all).await?;
            let which = |wanted: &Standing| -> Vec<usize> {
                let seen = standings.iter().enumerate();
                seen.filter(|(_, one)| one.as_ref() == Some(wanted)).map(|(at, _)| at).collect()
            };
            let (unmarked, claimed) = (which(&Standing::Unmarked), which(&Standing::Claimed));
            if !which(&Standing::Counted).is_empty() {
                self.shared.has_counted.store(true, Ordering::Relaxed);
            }
            let is_empty = unmarked.len() == self.members.len();
            let is_new = is_empty && !self.shared.has_counted.load(Ordering::Relaxed);
            let done = if !claimed.is_empty() {
                false
            } else if is_new {
                self.found(&name).await?
            } else {
                self.mark_as_new(&name, &unmarked).await?;
                true
            };
            if done {
                let answered = standings.iter().flatten().count();
                let enough = answered >= majority(self.members.len());
                self.shared.assembled.store(enough, Ordering::Release);
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

    /// What the mark of each member says; `None` where no answer came.
    async fn standings(&self, name: &LockName, all: bool) -> Result<Vec<Option<Standing>>, Fault> {
        let mut marks: Vec<Option<Snapshot>> = vec![None; self.members.len()];
        let (mut answered, mut is_new) = (0, true);
        let needed = majority(self.members.len());
        let mut calls = self.ask_members(|member| {
            let name = name.clone();
            async move { member.inspect(&name).await }
        });
        while let Some(Told { member, answer }) = calls.next().await {
            if let (Ok(seen), Some(mark)) = (answer, marks.get_mut(member)) {
                let standing = self.shared.charter.standing(&seen);
                is_new &= standing == Standing::Unmarked;
                answered += 1;
                *mark = Some(seen);
            }
            // Only who founds a quorum needs all of them.
            if answered >= needed && !is_new && !all {
                break;
            }
        }
        self.no_member_twice(&marks)?;
        let mut standings = Vec::new();
        for (mark, place) in marks.iter().zip(&self.shared.places) {
            let standing = mark.as_ref().map(|seen| self.shared.charter.standing(seen));
            if let Some(Standing::Foreign(words)) = &standing {
                return Err(self.foreign(place, words));
            }
            standings.push(standing);
        }
        Ok(standings)
    }

    pub(crate) fn foreign(&self, place: &str, words: &str) -> Fault {
        let ours = self.shared.charter.label(0);
        let ours = ours.split(", mark").next().unwrap_or_default();
        Fault::new(
            FaultKind::Misconfigured,
            format!("{place} belongs to a {words:?}, and this client would make it a {ours:?}"),
            "give all clients the same members and the same longest_lease",
        )
    }

    fn no_member_twice(&self, marks: &[Option<Snapshot>]) -> Result<(), Fault> {
        let known: Vec<_> = marks.iter().map(|seen| mark::identity(seen.as_ref()?)).collect();
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

    fn one_store(&self, first: usize, second: usize) -> Fault {
        let place = |at: usize| self.shared.places.get(at).map_or("", String::as_str);
        let what = format!("{} and {} are one store", place(first), place(second));
        Fault::new(FaultKind::Misconfigured, what, "name each store once, by one address")
    }

    fn ask_members<T, F>(&self, call: impl Fn(Member) -> F) -> Calls<Told<T>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        ask_all(&self.members, &self.shared.options.clock, PATIENCE, call)
    }

    /// A claim for each member, not sent yet.
    fn marks(&self) -> Result<Vec<Ask>, Fault> {
        let entropy = &self.shared.options.entropy;
        let mark = |_| {
            let owner = entropy.owner()?;
            let (high, _) = owner.as_bytes().split_at(8);
            let serial = high.iter().fold(0, |serial: u64, byte| serial << 8 | u64::from(*byte));
            Ok(Ask {
                owner,
                mode: Mode::Exclusive,
                order: Order::Barging,
                intent: Intent::Try,
                ttl: mark::CLAIM,
                label: self.shared.charter.label(serial),
            })
        };
        self.members.iter().map(mark).collect()
    }

    /// Gives marks that count at once to all members of a new quorum; `false` if others did the
    /// same at the same time.
    async fn found(&self, name: &LockName) -> Result<bool, Fault> {
        let claims = self.marks()?;
        let everybody: Vec<_> = (0..claims.len()).collect();
        let mut granted = vec![false; claims.len()];
        let clock = self.shared.options.clock.clone();
        let calls: Calls<_> = self.with_marks(&claims, &everybody, |member, claim| {
            let (name, clock) = (name.clone(), clock.clone());
            async move { within(clock, PATIENCE, member.acquire(&name, &claim)).await }
        });
        let (mut doubt, mut twice) = (false, None);
        for Told { member, answer } in calls.collect::<Vec<_>>().await {
            doubt |= answer.is_err();
            if let Ok(Answer::Busy { holder: Some(holder), .. }) = &answer
                && let Some(other) = claims.iter().position(|claim| claim.label == holder.label)
            {
                twice = Some((other.min(member), other.max(member)));
            }
            if let (Ok(Answer::Granted { .. }), Some(granted)) = (answer, granted.get_mut(member)) {
                *granted = true;
            }
        }
        let all = !doubt && granted.iter().all(|granted| *granted);
        let keep = if all { mark::LIFE } else { Duration::ZERO };
        let calls: Calls<_> = self.with_marks(&claims, &everybody, |member, claim| {
            let (name, clock) = (name.clone(), clock.clone());
            async move {
                let release = member.release(&name, &claim.owner, keep);
                within(clock, PATIENCE, release).await
            }
        });
        let answers = calls.collect::<Vec<_>>().await;
        if let Some((first, second)) = twice {
            return Err(self.one_store(first, second));
        }
        let kept = |told: &&Told<_>| matches!(told.answer, Ok(Released::Released));
        Ok(all && answers.iter().filter(kept).count() == self.members.len())
    }

    /// Gives marks that count later to members that have none.
    async fn mark_as_new(&self, name: &LockName, unmarked: &[usize]) -> Result<(), Fault> {
        let marks = self.marks()?;
        let keep = self.shared.charter.new_mark();
        let clock = self.shared.options.clock.clone();
        let calls: Calls<_> = self.with_marks(&marks, unmarked, |member, mark| {
            let (name, clock) = (name.clone(), clock.clone());
            async move {
                let claim = within(clock.clone(), PATIENCE, member.acquire(&name, &mark));
                if let Answer::Granted { .. } = claim.await? {
                    let release = member.release(&name, &mark.owner, keep);
                    within(clock, PATIENCE, release).await?;
                }
                Ok(())
            }
        });
        // Whoever is not marked by this will be found without a mark again.
        let _ = calls.collect::<Vec<_>>().await;
        Ok(())
    }

    fn with_marks<T, F>(
        &self,
        marks: &[Ask],
        who: &[usize],
        call: impl Fn(Member, Ask) -> F,
    ) -> Calls<Told<T>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        let each = self.members.iter().zip(marks).enumerate();
        each.filter(|(member, _)| who.contains(member))
            .map(|(member, (store, mark))| {
                let call = call(store.clone(), mark.clone());
                Box::pin(async move { Told { member, answer: call.await } }) as Call<_>
            })
            .collect()
    }
}
