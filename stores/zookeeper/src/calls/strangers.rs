//! Nodes of other programs below a lock. Neither side waits for the other, so such a name is refused.

use futures_util::future::{join_all, try_join_all};
use tenure_core::{
    Fault,
    proto::queue::{Contender, Mode},
};

use crate::{
    client::Stat,
    contenders::{
        data,
        layout::LockPath,
        node::{self, Layout, Node},
        queue::ContenderQueue,
    },
    error,
    session::Session,
    store::Shared,
};

const KAZOO: &str = "kazoo";
const CURATOR: &str = "Curator, go-zookeeper, or tenure without layout=kazoo";

/// How many nodes are looked at at the same time.
const AT_ONCE: usize = 64;

/// A node that is no contender of tenure's, nor of a recipe of Curator's that tenure knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForeignNode {
    pub(crate) path: String,
    /// In microseconds since 1970.
    since: Option<u64>,
}

impl ForeignNode {
    /// What a node is; nothing if it may be a directory, in which other locks are. The server tells a container from
    /// no other node that stays.
    fn of(path: String, stat: &Stat) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or_default();
        let never_had_children = stat.num_children == 0 && stat.cversion == 0;
        let stands_in_line = node::has_number(name) && never_had_children;
        if !is_ephemeral(stat) && !stands_in_line {
            return None;
        }
        let since = u64::try_from(stat.ctime).ok().map(|millis| millis.saturating_mul(1000));
        Some(Self { path, since })
    }

    /// Why the name is refused.
    pub(crate) fn refusal(&self) -> Fault {
        error::other_program(&self.path, self.program(), self.help())
    }

    /// Whose it is, as far as its name tells.
    pub(crate) fn program(&self) -> &'static str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        // 2.11: `uuid.uuid4().hex` before the name of the recipe, or alone for a permit.
        let (id, rest) = name.split_at_checked(32).unwrap_or(("", name));
        let is_hex =
            id.len() == 32 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let recipe = rest.trim_end_matches(|letter: char| letter.is_ascii_digit());
        match recipe {
            "" | "__lock__" | "__rlock__" if is_hex => KAZOO,
            _ if self.is_in_layout(Layout::Curator) => CURATOR,
            _ => "a program that tenure does not know",
        }
    }

    fn is_in_layout(&self, layout: Layout) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        Node::parse(name.to_owned(), layout).is_ok()
    }

    fn help(&self) -> &'static str {
        if self.is_in_layout(Layout::Kazoo) {
            error::KAZOO_HELP
        } else if self.is_in_layout(Layout::Curator) {
            error::CURATOR_HELP
        } else {
            error::KEEP_APART
        }
    }
}

const fn is_ephemeral(stat: &Stat) -> bool {
    stat.ephemeral_owner != 0
}

impl Shared {
    /// The nodes of other programs in a directory, this many at most.
    pub(crate) async fn foreign_nodes(
        &self,
        session: &Session,
        dir: &str,
        queue: &ContenderQueue,
        most: usize,
    ) -> Result<Vec<ForeignNode>, Fault> {
        let mut found = Vec::new();
        for some in queue.unknown().chunks(AT_ONCE) {
            let looks = some.iter().map(|node| async move {
                let path = format!("{dir}/{node}");
                let stat = session.read(session.client().check_stat(&path)).await?;
                Ok::<_, Fault>(stat.ok().flatten().and_then(|stat| ForeignNode::of(path, &stat)))
            });
            found.extend(try_join_all(looks).await?.into_iter().flatten());
            if found.len() >= most {
                found.truncate(most);
                break;
            }
        }
        Ok(found)
    }

    /// One of them in any of the directories of a name, as far as these were listed.
    pub(crate) async fn first_foreign_node(
        &self,
        session: &Session,
        listed: &[(&str, &ContenderQueue)],
    ) -> Result<Option<ForeignNode>, Fault> {
        for (dir, queue) in listed {
            if let Some(found) = self.foreign_nodes(session, dir, queue, 1).await?.pop() {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Whoever else has or wants a name, in all of its directories.
    pub(crate) async fn list_foreign_nodes(
        &self,
        session: &Session,
        place: &LockPath,
        queue: &ContenderQueue,
    ) -> Result<Vec<ForeignNode>, Fault> {
        let most = self.options.max_waiters;
        let mut found = self.foreign_nodes(session, &place.dir, queue, most).await?;
        if queue.has_permits() {
            for dir in place.of_permits() {
                let queue = self.list_line(session, &dir).await?;
                found.extend(self.foreign_nodes(session, &dir, &queue, most).await?);
            }
        }
        // Or its very node is somebody's, below which there can be none.
        if queue.is_empty() {
            let stat = session.read(session.client().check_stat(&place.dir)).await?;
            let ephemeral = stat.ok().flatten().filter(is_ephemeral);
            found.extend(ephemeral.and_then(|stat| ForeignNode::of(place.dir.clone(), &stat)));
        }
        Ok(found)
    }

    /// They as people see them: who of them has the lock and who waits for it is not to be told.
    pub(crate) async fn as_holders(
        &self,
        session: &Session,
        those: &[ForeignNode],
    ) -> Vec<Contender> {
        let looks = those.iter().map(|stranger| async move {
            let looked = session.read(session.client().get_data(&stranger.path)).await;
            let said = match looked {
                Ok(Ok((said, _))) => data::read(&said).label,
                // It is there all the same.
                _ => String::new(),
            };
            let whose = format!("{} at {}", stranger.program(), stranger.path);
            let label = if said.is_empty() { whose } else { format!("{said}, by {whose}") };
            let mut holder = Contender::new(label, Mode::Exclusive);
            holder.since = stranger.since;
            holder
        });
        join_all(looks).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(ephemeral_owner: i64, num_children: i32, cversion: i32) -> Stat {
        Stat { czxid: 1, ctime: 1, version: 0, cversion, ephemeral_owner, num_children }
    }

    #[test]
    fn what_may_be_a_hold_is_told_from_directories() {
        let is_one =
            |name: &str, stat: Stat| ForeignNode::of(format!("/tenure/a/{name}"), &stat).is_some();
        assert!(is_one("owner", stat(7, 0, 0)) && is_one("x-0000000001", stat(7, 0, 0)));
        assert!(is_one("x-0000000001", stat(0, 0, 0)));
        // A lock of this name below another base path: held, and free.
        assert!(!is_one("x-0000000001", stat(0, 2, 2)) && !is_one("x-0000000001", stat(0, 0, 2)));
        assert!(!is_one("b", stat(0, 1, 1)) && !is_one("b", stat(0, 0, 0)));
    }

    #[test]
    fn nodes_of_kazoo_are_known_by_their_names() {
        let id = "0123456789abcdef0123456789abcdef";
        for (name, known) in [
            (format!("{id}__lock__0000000000"), true),
            (format!("{id}__rlock__0000000012"), true),
            (id.to_owned(), true),
            (format!("{id}__other__0000000000"), false),
            (id.to_uppercase(), false),
            ("x-94091823-0000000001".to_owned(), false),
            ("größe".to_owned(), false),
        ] {
            let stranger = ForeignNode::of(format!("/tenure/a/{name}"), &stat(7, 0, 0)).unwrap();
            assert_eq!(stranger.program() == "kazoo", known, "{name}");
        }
    }
}
