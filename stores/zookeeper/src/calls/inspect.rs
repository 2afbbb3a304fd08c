//! Who holds a name and who waits for it, whoever they are.

use futures_util::future::join_all;
use tenure_core::{
    Fault, HoldId, LockName,
    proto::queue::{Contender, Kind, Mode, Snapshot, Waiting},
    store::Listing,
};

use crate::{
    client::{Error, MultiReadResult, Stat},
    contenders::{
        data, encoding,
        layout::LockPath,
        node::{Node, NodePrefix},
        queue::ContenderQueue,
        tokens::TokenForm,
    },
    session::{BATCH, Session},
    store::Shared,
};

/// A node with what stands in it.
struct ContenderNode {
    node: Node,
    label: String,
    kind: Option<Kind>,
    token: Option<tenure_core::Token>,
    /// In microseconds since 1970.
    since: Option<u64>,
}

impl Shared {
    /// The contenders in a directory; none, if there is no such directory.
    pub(crate) async fn list_line(
        &self,
        session: &Session,
        dir: &str,
    ) -> Result<ContenderQueue, Fault> {
        match session.read(session.client().list_children(dir)).await? {
            Ok(children) => Ok(self.queue_of(children)),
            Err(_) => Ok(ContenderQueue::default()),
        }
    }

    /// A contender as people see it; nothing if it is gone.
    pub(crate) async fn look_at(
        &self,
        session: &Session,
        dir: &str,
        node: &Node,
    ) -> Result<Option<Contender>, Fault> {
        let path = format!("{dir}/{}", node.name());
        let looked = session.read(session.client().get_data(&path)).await?;
        // Asks are refused where it is another.
        let form = Some(self.options.tokens);
        let seen = looked.ok().map(|(data, stat)| self.seen(node.clone(), &data, &stat, form));
        Ok(seen.map(|seen| contender(seen, None)))
    }

    /// A node whose token is of this form, where that is known.
    fn seen(&self, node: Node, data: &[u8], stat: &Stat, form: Option<TokenForm>) -> ContenderNode {
        let data = data::read(data);
        // What a writer became keeps the writer's, which stands in it.
        let token = data.token.filter(|_| node.base().is_reader());
        let token = token.or_else(|| form?.token_of(stat.czxid, self.options.epoch));
        let since = u64::try_from(stat.ctime).ok().map(|millis| millis.saturating_mul(1000));
        // A reader of kazoo's own has no data of ours.
        let reads = node.base().is_reader().then_some(Kind::ReadWrite);
        let kind = node.base().shown_kind().or(data.kind).or(reads);
        ContenderNode { node, label: data.label, kind, token, since }
    }

    pub(crate) async fn inspect(&self, name: &LockName) -> Result<Snapshot, Fault> {
        let session = self.sessions.get().await?;
        session.sync().await?;
        self.inspect_in(&session, name).await
    }

    pub(crate) async fn inspect_in(
        &self,
        session: &Session,
        name: &LockName,
    ) -> Result<Snapshot, Fault> {
        let place = LockPath::new(&self.options.base, name);
        let queue = self.list_with_record(session, &place.dir).await?;
        let form = self.form_of_others(queue.tokens());
        self.snapshot(session, &place, &queue, form).await
    }

    /// Those who have the name of this queue, and those who wait for it.
    async fn snapshot(
        &self,
        session: &Session,
        place: &LockPath,
        queue: &ContenderQueue,
        form: Option<TokenForm>,
    ) -> Result<Snapshot, Fault> {
        let mut holders: Vec<_> = self
            .read_all(session, &place.dir, queue.holding(), form)
            .await?
            .into_iter()
            .map(|seen| contender(seen, None))
            .collect();
        let waiting = self.read_all(session, &place.dir, queue.waiting(), form).await?;
        let mut waiters: Vec<_> = waiting.into_iter().map(waiter).collect();
        if queue.has_permits() {
            let (takers, queued) = self.permits_in(session, place, form).await?;
            holders.extend(takers);
            waiters.extend(queued);
        }
        let strangers = self.list_foreign_nodes(session, place, queue).await?;
        holders.extend(self.as_holders(session, &strangers).await);
        Ok(Snapshot::new(holders, waiters))
    }

    /// Those who have permits and those who wait for some.
    async fn permits_in(
        &self,
        session: &Session,
        place: &LockPath,
        form: Option<TokenForm>,
    ) -> Result<(Vec<Contender>, Vec<Waiting>), Fault> {
        let dir = place.queue(NodePrefix::Lease);
        let queue = self.list_line(session, &dir).await?;
        let leases = self.list_line(session, &place.leases()).await?;
        let queued = self.read_all(session, &dir, queue.nodes(), form).await?;
        let taken = self.read_all(session, &place.leases(), leases.nodes(), form).await?;
        let marks: Vec<_> = queue.nodes().iter().filter_map(Node::mark).collect();
        let mut takers: Vec<(ContenderNode, u32)> = Vec::new();
        for seen in taken {
            // Who has the inner mutex still waits, whatever it has made.
            if seen.node.mark().is_some_and(|mark| marks.contains(&mark)) {
                continue;
            }
            let same = takers.iter_mut().find(|(first, _)| {
                first.node.mark().is_some() && first.node.mark() == seen.node.mark()
            });
            match same {
                Some((first, take)) => {
                    first.token = first.token.max(seen.token);
                    *take += 1;
                }
                None => takers.push((seen, 1)),
            }
        }
        let holders = takers
            .into_iter()
            .map(|(seen, take)| contender(seen, Some(Mode::Permits { take, of: 0 })));
        let waiters = queued.into_iter().map(|seen| {
            let mut waiting = waiter(seen);
            waiting.kind = Some(NodePrefix::Lease.kind());
            waiting.mode = NodePrefix::Lease.mode();
            waiting
        });
        Ok((holders.collect(), waiters.collect()))
    }

    async fn read_all(
        &self,
        session: &Session,
        dir: &str,
        nodes: &[Node],
        form: Option<TokenForm>,
    ) -> Result<Vec<ContenderNode>, Fault> {
        let mut all = Vec::with_capacity(nodes.len());
        for batch in nodes.chunks(BATCH) {
            let mut reader = session.client().new_multi_reader();
            for node in batch {
                let path = format!("{dir}/{}", node.name());
                reader.add_get_data(&path).map_err(|error| session.fault(error, false))?;
            }
            let read = session.read(reader.commit()).await?;
            let read = read.map_err(|error| session.fault(error, false))?;
            for (node, result) in batch.iter().zip(read) {
                if let MultiReadResult::Data { data, stat } = result {
                    all.push(self.seen(node.clone(), &data, &stat, form));
                }
            }
        }
        Ok(all)
    }

    /// Whether others wait for each of these names, by one call.
    pub(crate) async fn who_waits(
        &self,
        session: &Session,
        places: &[(LockPath, NodePrefix)],
    ) -> Result<Vec<bool>, Fault> {
        let mut reader = session.client().new_multi_reader();
        for (place, base) in places {
            reader
                .add_get_children(&place.queue(*base))
                .map_err(|error| session.fault(error, false))?;
        }
        let read = session.read(reader.commit()).await?;
        let read = read.map_err(|error| session.fault(error, false))?;
        Ok(read
            .into_iter()
            .zip(places)
            .map(|(result, (_, base))| match result {
                MultiReadResult::Children { children } => {
                    let queue = self.queue_of(children);
                    let waits =
                        if *base == NodePrefix::Lease { queue.nodes() } else { queue.waiting() };
                    !waits.is_empty()
                }
                _ => false,
            })
            .collect())
    }

    pub(crate) async fn others_wait(
        &self,
        session: &Session,
        name: &LockName,
        base: NodePrefix,
    ) -> Result<bool, Fault> {
        let places = [(LockPath::new(&self.options.base, name), base)];
        Ok(self.who_waits(session, &places).await?.contains(&true))
    }

    /// All names that have a node, in their order.
    pub(crate) async fn names(
        &self,
        session: &Session,
        prefix: &str,
    ) -> Result<Vec<LockName>, Fault> {
        session.sync().await?;
        let mut names: Vec<_> =
            match session.read(session.client().list_children(session.base())).await? {
                Ok(nodes) => nodes
                    .iter()
                    .filter_map(|node| encoding::name_of(node))
                    .filter(|name| name.as_str().starts_with(prefix))
                    .collect(),
                Err(Error::NoNode) => Vec::new(),
                Err(error) => return Err(session.fault(error, false)),
            };
        names.sort_unstable();
        Ok(names)
    }

    pub(crate) async fn list(&self, prefix: &str, limit: usize) -> Result<Listing, Fault> {
        let session = self.sessions.get().await?;
        let names = self.names(&session, prefix).await?;
        let mut listing = Listing::default();
        // Empty directories stay for a while, so more are looked at than are listed.
        for some in names.chunks(64) {
            let form = self.form_of_others(self.token_record(&session).await?.as_ref());
            let looks = some.iter().map(|name| async {
                let place = LockPath::new(&self.options.base, name);
                let queue = self.list_line(&session, &place.dir).await?;
                self.snapshot(&session, &place, &queue, form).await
            });
            for (name, seen) in some.iter().zip(join_all(looks).await) {
                let seen = seen?;
                if seen == Snapshot::default() {
                    continue;
                }
                if listing.names.len() == limit {
                    listing.more = true;
                    return Ok(listing);
                }
                listing.names.push((name.clone(), seen));
            }
        }
        Ok(listing)
    }

    /// Takes a name from whoever holds it, or from the one hold of this id.
    pub(crate) async fn evict(
        &self,
        name: &LockName,
        hold: Option<HoldId>,
    ) -> Result<Vec<Contender>, Fault> {
        let session = self.sessions.get().await?;
        // Else one that is gone already might be taken for the holder.
        session.sync().await?;
        let place = LockPath::new(&self.options.base, name);
        let queue = self.list_with_record(&session, &place.dir).await?;
        let form = self.form_of_others(queue.tokens());
        let is_meant = |id: HoldId| hold.is_none_or(|hold| hold == id);
        let holding: Vec<_> =
            queue.holding().iter().filter(|node| is_meant(id_of(node))).cloned().collect();
        let mut evicted: Vec<_> = self
            .read_all(&session, &place.dir, &holding, form)
            .await?
            .into_iter()
            .map(|seen| contender(seen, None))
            .collect();
        let mut paths: Vec<_> =
            holding.iter().map(|node| format!("{}/{}", place.dir, node.name())).collect();
        if queue.has_permits() {
            let queued = self.list_line(&session, &place.queue(NodePrefix::Lease)).await?;
            let marks: Vec<_> = queued.nodes().iter().filter_map(Node::mark).collect();
            let leases = self.list_line(&session, &place.leases()).await?;
            let taken = leases
                .nodes()
                .iter()
                .filter(|node| node.mark().is_none_or(|mark| !marks.contains(&mark)))
                .filter(|node| is_meant(id_of(node)));
            paths.extend(taken.map(|node| format!("{}/{}", place.leases(), node.name())));
            let takers = self.permits_in(&session, &place, form).await?.0;
            evicted.extend(takers.into_iter().filter(|taker| taker.id.is_some_and(is_meant)));
        }
        // They are not tenure's to take away.
        if paths.is_empty()
            && let Some(other) = self.list_foreign_nodes(&session, &place, &queue).await?.first()
        {
            return Err(other.refusal());
        }
        let (mut ours, mut gone) = (false, paths.is_empty());
        for path in paths {
            // Each node is of one hold, for ever.
            match session.write(session.client().delete(&path, None)).await? {
                Ok(()) => {
                    gone = true;
                    ours |= self.entries.is_hold_node(&path);
                }
                Err(Error::NoNode) => {}
                Err(error) => return Err(session.fault(error, true)),
            }
        }
        if ours {
            self.sessions.board.evicted(name);
        }
        // It went by itself between the look and the deletion.
        if hold.is_some() && !gone {
            evicted.clear();
        }
        Ok(evicted)
    }
}

/// Permits of one take share their mark; every other hold is one node.
fn id_of(node: &Node) -> HoldId {
    match (node.base(), node.mark()) {
        (NodePrefix::Lease, Some(mark)) => HoldId::of(mark.as_bytes()),
        _ => HoldId::of(node.name().as_bytes()),
    }
}

fn contender(seen: ContenderNode, mode: Option<Mode>) -> Contender {
    let mut contender = Contender::new(seen.label, mode.unwrap_or(seen.node.base().mode()));
    contender.token = seen.token;
    contender.since = seen.since;
    contender.kind = seen.kind;
    contender.id = Some(id_of(&seen.node));
    contender
}

fn waiter(seen: ContenderNode) -> Waiting {
    let mut waiting = Waiting::new(seen.label, seen.node.base().mode());
    waiting.since = seen.since;
    waiting.kind = seen.kind;
    waiting
}
