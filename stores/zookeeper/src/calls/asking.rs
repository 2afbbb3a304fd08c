//! An ask: a node is made, and whoever has the lowest number has the name.

use std::sync::Arc;

use futures_util::future::join;
use tenure_core::{
    Clock, Fault, LockName, Owner, SystemClock, Timestamp,
    proto::queue::{Answer, Ask, Contender, Intent, Position},
};

use crate::{
    client::{CreateMode, Error, Stat},
    contenders::{
        entries::{Acquisition, CreatedNode, OwnerState},
        layout::LockPath,
        node::{self, Layout, Node, NodePrefix},
        queue::{ContenderQueue, Standing},
    },
    error,
    session::Session,
    store::Shared,
};

/// How often it is looked again when what was seen has changed meanwhile.
const TRIES: u32 = 16;

/// One ask that is being answered.
pub(crate) struct PendingAsk<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) session: &'a Arc<Session>,
    pub(crate) name: &'a LockName,
    pub(crate) ask: &'a Ask,
    pub(crate) base: NodePrefix,
    pub(crate) place: LockPath,
    /// When the call began.
    pub(crate) begun: Timestamp,
}

impl Shared {
    /// Asks for a name.
    pub(crate) async fn ask(&self, name: &LockName, ask: &Ask) -> Result<Answer, Fault> {
        let _alone = self.asks.lock_owner(&ask.owner).await;
        self.ask_alone(name, ask).await
    }

    /// The same for who sees to it that nobody else asks for this owner.
    pub(crate) async fn ask_alone(&self, name: &LockName, ask: &Ask) -> Result<Answer, Fault> {
        let answer = self.ask_once(name, ask).await;
        let Err(fault) = answer else { return answer };
        // What a node of this ask met for good must not leave it in the line.
        let waits = self.entries.with(&ask.owner, |entry| entry.token.is_none());
        if waits == Some(true)
            && !fault.is_transient()
            // What is asked for in another mode changes nothing.
            && fault.kind() != tenure_core::FaultKind::Unsupported
            && let Some(session) = self.sessions.current_session()
            && let Err(more) = self.delete_owner_nodes(&session, &ask.owner).await
        {
            let what = format!("{}; and {}", fault.message_and_cause(), more.message_and_cause());
            return Err(Fault::new(tenure_core::FaultKind::InDoubt, what, fault.help()));
        }
        // An effect of before is none of certainty.
        Err(self.in_doubt_if_there(&ask.owner, fault))
    }

    async fn ask_once(&self, name: &LockName, ask: &Ask) -> Result<Answer, Fault> {
        let base = self.base_of(ask)?;
        let session = self.sessions.get().await?;
        // Not before that wait, in which a place that is counted from here could end before it is made.
        let begun = SystemClock.now();
        let place = LockPath::new(&self.options.base, name);
        let asking = PendingAsk { shared: self, session: &session, name, ask, base, place, begun };
        asking.answer().await
    }
}

impl PendingAsk<'_> {
    async fn answer(&self) -> Result<Answer, Fault> {
        for _ in 0..TRIES {
            let answer = match self.owner_state().await? {
                OwnerState::Holds(..) if self.downgrades() => self.downgrade().await?,
                OwnerState::Holds(placed, token) => self.grant_again(&placed, token).await?,
                OwnerState::Queued(placed) => self.check_position(&placed, None).await?,
                OwnerState::Nothing => self.begin().await?,
            };
            if let Some(answer) = answer {
                return Ok(answer);
            }
        }
        let what = format!("{:?} changes faster than tenure can read it", self.name.as_str());
        Err(Fault::new(tenure_core::FaultKind::InDoubt, what, "try again"))
    }

    /// Nobody knows the owner yet.
    async fn begin(&self) -> Result<Option<Answer>, Fault> {
        self.refuse_again().await?;
        if self.base == NodePrefix::Lease {
            return self.begin_permits().await;
        }
        if self.ask.intent == Intent::Try {
            let mut queue = self.list(&self.place.dir).await?;
            // Unless this server is behind.
            if !queue.is_open_to(self.ask.mode) || !queue.unknown().is_empty() {
                self.session.sync().await?;
                queue = self.list(&self.place.dir).await?;
            }
            self.refuse_other_programs(&[(&self.place.dir, &queue)]).await?;
            self.refuse_other_kinds(&queue).await?;
            self.refuse_other_tokens(queue.tokens())?;
            if !queue.is_open_to(self.ask.mode) || queue.nodes().len() >= self.limits().1 {
                let holder = queue.holding().first();
                return self.busy_trying(holder, queue.waiting().len()).await.map(Some);
            }
        } else {
            self.refuse_if_full().await?;
        }
        // Both are under way at once: a session is answered in its order, so the line has the node in it.
        let (placed, queue) = join(self.create_queue_node(), self.list(&self.place.dir)).await;
        self.check_position(&placed?, Some(queue?)).await
    }

    /// Makes a node at the end of the line.
    pub(crate) async fn create_queue_node(&self) -> Result<CreatedNode, Fault> {
        let mut entry = Acquisition::new(
            self.name.clone(),
            self.base,
            self.ask.mode,
            self.session.number(),
            self.waits_until(),
        );
        entry.tries = self.ask.intent == Intent::Try;
        self.entries().insert(self.ask.owner, entry);
        let base = if self.base == NodePrefix::Lease { NodePrefix::Lock } else { self.base };
        let placed = self.create(&self.place.queue(self.base), base).await?;
        self.record(&placed, |entry| entry.place = Some(placed.clone())).await?;
        Ok(placed)
    }

    /// Makes a node of this owner.
    pub(crate) async fn create(&self, dir: &str, base: NodePrefix) -> Result<CreatedNode, Fault> {
        let prefix = format!("{dir}/{}", node::prefix(&self.ask.owner, base));
        let data = self.shared.data_of(self.ask, None);
        let options = self.session.creates(CreateMode::EphemeralSequential);
        for _ in 0..TRIES {
            let stays = self
                .entries()
                .change(&self.ask.owner, |entry| (!entry.leaving).then(|| entry.record_send()));
            if stays.flatten().is_none() {
                return Err(self.too_long());
            }
            let sent = SystemClock.now();
            let created = self.session.client().create(&prefix, &data, &options);
            let created = self.session.write(created).await;
            // What was refused for good was not made.
            if created.as_ref().is_err_and(|fault| !fault.is_transient()) {
                self.entries().change(&self.ask.owner, |entry| entry.in_doubt = false);
            }
            match created? {
                Ok((stat, number)) => {
                    self.confirm_session(&stat, sent)?;
                    self.entries().change(&self.ask.owner, |entry| entry.in_doubt = false);
                    let placed =
                        CreatedNode { path: format!("{prefix}{number}"), czxid: stat.czxid };
                    if placed.is_used_up() {
                        // Beside what it has already, all of which goes.
                        self.record(&placed, |entry| entry.leases.push(placed.clone())).await?;
                        return Err(self.used_up());
                    }
                    return Ok(placed);
                }
                // An empty directory may be taken away at any time.
                Err(Error::NoNode) => {
                    self.entries().change(&self.ask.owner, |entry| entry.in_doubt = false);
                    self.session.make(dir, &self.new_record()).await?;
                }
                Err(error) => return Err(self.session.fault(error, true)),
            }
        }
        Err(self.session.fault(Error::NoNode, false))
    }

    pub(crate) fn used_up(&self) -> Fault {
        let stays = self.shared.options.layout == Layout::Kazoo;
        error::used_up(self.name.as_str(), stays.then_some(&*self.place.dir))
    }

    /// Notes a node that was made. If this took so long that the ask was given up meanwhile, the node goes again: nobody
    /// else knows of it.
    pub(crate) async fn record(
        &self,
        placed: &CreatedNode,
        note: impl FnOnce(&mut Acquisition) + Send,
    ) -> Result<(), Fault> {
        let noted =
            self.entries().change(&self.ask.owner, |entry| (!entry.leaving).then(|| note(entry)));
        if noted.flatten().is_some() {
            return Ok(());
        }
        // Whatever becomes of this call.
        let again = SystemClock.now().saturating_add(std::time::Duration::from_secs(1));
        if self.entries().change(&self.ask.owner, Acquisition::record_send).is_none() {
            let number = self.session.number();
            let (name, mode) = (self.name.clone(), self.ask.mode);
            let mut entry = Acquisition::new(name, self.base, mode, number, again);
            entry.record_send();
            entry.leaving = true;
            self.entries().insert(self.ask.owner, entry);
        }
        let deleted = self.session.client().delete(&placed.path, None);
        let _ = self.session.write(deleted).await?;
        Err(self.too_long())
    }

    /// The ask was given up meanwhile.
    fn too_long(&self) -> Fault {
        let what = format!("a call for {:?} took too long", self.name.as_str());
        Fault::new(tenure_core::FaultKind::InDoubt, what, "try again")
    }

    fn confirm_session(&self, stat: &Stat, sent: Timestamp) -> Result<(), Fault> {
        self.session.record_commit(sent, stat.ephemeral_owner)
    }

    /// Looks where a node stands. Nothing, if it is to be looked again. A new one comes with a look at the line.
    async fn check_position(
        &self,
        placed: &CreatedNode,
        new: Option<ContenderQueue>,
    ) -> Result<Option<Answer>, Fault> {
        self.extend_position();
        if self.base == NodePrefix::Lease {
            return self.stand_for_permits(placed, None).await;
        }
        let is_new = new.is_some();
        let queue = match new.filter(|queue| queue.has(placed.name())) {
            Some(queue) => queue,
            // That look was too early: the directory had to be made first.
            None => self.list(&self.place.dir).await?,
        };
        // Other programs may come at any time, also while this one waits.
        self.refuse_other_programs(&[(&self.place.dir, &queue)]).await?;
        if !self.is_checked() {
            self.refuse_other_kinds(&queue).await?;
        }
        if queue.has(placed.name()) && !self.check_tokens(placed, queue.tokens()).await? {
            return Ok(None);
        }
        let (max_waiters, max_holders) = self.limits();
        let is_crowded = |queue: &ContenderQueue| {
            let at = queue.holding().iter().position(|node| node.name() == placed.name());
            at >= Some(max_holders)
        };
        match queue.standing(placed.name()) {
            Standing::Missing => {
                self.confirm_missing(placed).await?;
                Ok(None)
            }
            Standing::Has { .. } if is_crowded(&queue) => {
                if !is_new {
                    // Unless this server is behind.
                    self.session.sync().await?;
                    let queue = self.list(&self.place.dir).await?;
                    if !is_crowded(&queue) {
                        return Ok(None);
                    }
                }
                self.answer_max_holders(&queue).await.map(Some)
            }
            Standing::Has { others_wait } => self.grant(placed, others_wait).await,
            Standing::Behind { waits_for, holder, ahead } => {
                if self.only_tries() {
                    self.shared.delete_owner_nodes(self.session, &self.ask.owner).await?;
                    return self
                        .busy_trying(Some(holder), queue.waiting().len() - 1)
                        .await
                        .map(Some);
                }
                if is_new && ahead >= max_waiters {
                    return Err(self.refuse_full().await);
                }
                let dir = &self.place.dir;
                if !is_new && !self.is_still_there(dir, waits_for).await? {
                    return Ok(None);
                }
                let held_by = self.look_at(dir, holder).await?;
                self.wait_behind(dir, waits_for, held_by, ahead, placed).await
            }
        }
    }

    /// More readers are there than the store allows.
    async fn answer_max_holders(&self, queue: &ContenderQueue) -> Result<Answer, Fault> {
        let holder = queue.holding().first();
        if self.only_tries() {
            self.shared.delete_owner_nodes(self.session, &self.ask.owner).await?;
            return self.busy_trying(holder, queue.waiting().len()).await;
        }
        let holder = match holder {
            Some(node) => self.look_at(&self.place.dir, node).await?,
            None => None,
        };
        let position = self.position();
        let retry_after = self.shared.options.session / 20;
        Ok(Answer::Busy { retry_after, ahead: 0, holder, position })
    }

    /// Waits for the node in front.
    pub(crate) async fn wait_behind(
        &self,
        dir: &str,
        waits_for: &Node,
        holder: Option<Contender>,
        ahead: usize,
        placed: &CreatedNode,
    ) -> Result<Option<Answer>, Fault> {
        // On the way, so that the grant need not wait for it.
        if self.session.needs_proof_waiting(SystemClock.now())
            && !self.shared.verify_exists(self.session, placed).await?
        {
            self.confirm_missing(placed).await?;
            return Ok(None);
        }
        let path = format!("{dir}/{}", waits_for.name());
        if !self.shared.watch_for(self.session, &self.ask.owner, &path).await? {
            return Ok(None);
        }
        Ok(Some(self.waiting(holder, ahead)))
    }

    /// Whether a node in front is still there, also by what this server may not know yet. One that has just made a node
    /// for this ask is not behind.
    pub(crate) async fn is_still_there(&self, dir: &str, node: &Node) -> Result<bool, Fault> {
        let stat = self.session.stat(&format!("{dir}/{}", node.name())).await?;
        Ok(stat.is_some())
    }

    pub(crate) fn waiting(&self, holder: Option<Contender>, ahead: usize) -> Answer {
        let ahead = u32::try_from(ahead).unwrap_or(u32::MAX);
        let retry_after = self.shared.options.session / 3;
        let position = if self.ask.intent == Intent::Try { None } else { self.position() };
        Answer::Busy { retry_after, ahead, holder, position }
    }

    /// The position as it is told: the transaction that made the node.
    pub(crate) fn position(&self) -> Option<Position> {
        let czxid = self
            .entries()
            .with(&self.ask.owner, |entry| entry.place.as_ref().map(|placed| placed.czxid))??;
        u64::try_from(czxid).ok().map(Position)
    }

    /// Who only tries is told who is there.
    pub(crate) async fn busy_trying(
        &self,
        holder: Option<&Node>,
        ahead: usize,
    ) -> Result<Answer, Fault> {
        let holder = match holder {
            Some(node) => self.look_at(&self.place.dir, node).await?,
            None => None,
        };
        let ahead = u32::try_from(ahead).unwrap_or(u32::MAX);
        let retry_after = self.shared.options.session / 20;
        Ok(Answer::Busy { retry_after, ahead, holder, position: None })
    }

    /// A contender as people see it; nothing if it is gone.
    pub(crate) async fn look_at(&self, dir: &str, node: &Node) -> Result<Option<Contender>, Fault> {
        self.shared.look_at(self.session, dir, node).await
    }

    /// A writer lets readers in: in one step its node becomes a reader's, with its number.
    async fn downgrade(&self) -> Result<Option<Answer>, Fault> {
        self.shared.downgrade(self.session, self.name, self.ask).await?;
        Ok(None)
    }

    fn downgrades(&self) -> bool {
        let held = self.entries().with(&self.ask.owner, |entry| entry.base.downgraded());
        held == Some(Some(self.base))
    }

    /// Whether what was made for this owner goes again unless it is granted at once, also after an ask without an
    /// answer. The place of one that waits is kept.
    pub(crate) fn only_tries(&self) -> bool {
        self.entries().with(&self.ask.owner, |entry| entry.tries) == Some(true)
    }

    /// The place is kept for as long as somebody asks.
    fn extend_position(&self) {
        let until = self.waits_until();
        self.entries().change(&self.ask.owner, |entry| {
            entry.tries &= self.ask.intent == Intent::Try;
            if !entry.leaving {
                entry.until = until;
            }
        });
    }

    /// Whether it was seen, once its node was there, that nobody uses the name as another kind.
    pub(crate) fn is_checked(&self) -> bool {
        self.entries().with(&self.ask.owner, |entry| entry.checked) == Some(true)
    }

    fn waits_until(&self) -> Timestamp {
        self.begun.saturating_add(self.shared.options.session)
    }

    fn limits(&self) -> (usize, usize) {
        (self.shared.options.max_waiters, self.shared.options.max_holders)
    }

    pub(crate) const fn entries(&self) -> &crate::contenders::entries::Acquisitions {
        &self.shared.entries
    }
}

impl Shared {
    /// What failed after a node may have been made is in doubt.
    pub(crate) fn in_doubt_if_there(&self, owner: &Owner, fault: Fault) -> Fault {
        use tenure_core::FaultKind::{InDoubt, Unreachable};
        let there = self.entries.with(owner, |_| ()).is_some();
        if !there || fault.kind() != Unreachable {
            return fault;
        }
        Fault::new(InDoubt, fault.message_and_cause(), fault.help())
    }
}
