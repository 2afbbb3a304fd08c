//! A walk over the keys of one server, and the first names that are seen on it, within bounds: whoever may write keys
//! may write many, and a server may say that it has more of them without end.

use std::collections::BTreeSet;

use tenure_core::{Fault, LockName};

use crate::{
    client::{Value, error, field, text},
    locks::{error::endless, layout::keys::KeySpace},
    options::Layout,
    servers::{NodeRef, Transport},
};

/// How many keys the server looks at in one step.
const STEP: u64 = 1_000;
/// The most bytes of names that are kept.
const MOST_BYTES: usize = 32 * 1024 * 1024;
/// What a name takes beside its bytes.
const OVERHEAD: usize = 48;

/// The first names of many, in order.
#[derive(Debug)]
pub(crate) struct FirstLockNames {
    names: BTreeSet<LockName>,
    most: usize,
    bytes: usize,
    are_cut: bool,
}

impl FirstLockNames {
    /// At most so many, and none beyond what the memory may take.
    pub(crate) const fn new(most: usize) -> Self {
        Self { names: BTreeSet::new(), most, bytes: 0, are_cut: false }
    }

    fn add(&mut self, name: LockName) {
        // What was left out once stays out, whatever was left out later.
        if self.are_cut && self.names.last().is_none_or(|last| name > *last) {
            return;
        }
        let its = size(&name);
        if !self.names.insert(name) {
            return;
        }
        self.bytes += its;
        while self.names.len() > self.most || self.bytes > MOST_BYTES {
            self.are_cut = true;
            let Some(last) = self.names.pop_last() else { return };
            self.bytes -= size(&last);
        }
    }

    /// Whether there were others, behind these.
    pub(crate) const fn are_cut(&self) -> bool {
        self.are_cut
    }

    pub(crate) fn into_names(self) -> BTreeSet<LockName> {
        self.names
    }
}

fn size(name: &LockName) -> usize {
    name.as_str().len() + OVERHEAD
}

/// How far a walk has come.
#[derive(Debug, Default)]
struct WalkProgress {
    steps: u64,
    keys: u64,
}

impl WalkProgress {
    /// A server without keys may walk over as many empty places as it ever had keys, ten thousand in a step.
    const STEPS: u64 = 20_000;
    /// As many as are fetched before it is asked how many there are.
    const KEYS: u64 = 100_000;
    /// More than any server has.
    const MOST_THERE: u64 = 1 << 32;

    /// Whether it is longer than any over so many keys. Some come twice, others while it goes on.
    fn is_endless(&self, there: u64) -> bool {
        let there = there.min(Self::MOST_THERE) * 4;
        self.steps > Self::STEPS + there / STEP || self.keys > Self::KEYS + there
    }
}

/// Adds those of one server, as far as so many steps lead.
pub(crate) async fn add_names(
    transport: &Transport,
    node_ref: &NodeRef,
    prefix: &str,
    steps: u64,
    names: &mut FirstLockNames,
) -> Result<(), Fault> {
    let was_open = transport.is_open_to(node_ref);
    let walked = walk(transport, node_ref, prefix, steps, names).await;
    if !was_open {
        transport.close_if_many(node_ref);
    }
    walked
}

async fn walk(
    transport: &Transport,
    node_ref: &NodeRef,
    prefix: &str,
    steps: u64,
    names: &mut FirstLockNames,
) -> Result<(), Fault> {
    let space = KeySpace::of(&transport.options);
    let (pattern, step) = (space.pattern(prefix), STEP.to_string());
    let (mut cursor, mut walk, mut there) = ("0".to_owned(), WalkProgress::default(), 0);
    loop {
        let mut scan = vec!["SCAN", &cursor, "MATCH", &pattern, "COUNT", &step];
        match transport.options.layout.layout {
            Layout::Tenure => {}
            Layout::Plain => scan.extend(["TYPE", "string"]),
            Layout::Redisson => scan.extend(["TYPE", "hash"]),
        }
        let (next, found) = page(transport.scan(node_ref, &scan).await?)
            .ok_or_else(|| error::mismatched_reply(&transport.place))?;
        walk.steps += 1;
        walk.keys += found.len() as u64;
        for key in found {
            let name = space.name_of(&key);
            if let Some(name) = name.filter(|name| name.as_str().starts_with(prefix)) {
                names.add(name);
            }
        }
        if next == "0" || walk.steps >= steps {
            return Ok(());
        }
        if walk.is_endless(there) {
            there = how_many(transport, node_ref).await?;
            if walk.is_endless(there) {
                return Err(endless(&transport.place));
            }
        }
        cursor = next;
    }
}

/// How many keys the server says that it has; more than any has where it does not say, or not to this user.
async fn how_many(transport: &Transport, node_ref: &NodeRef) -> Result<u64, Fault> {
    let told = match transport.send(node_ref, &["INFO", "keyspace"]).await {
        Ok(told) => text(&told).and_then(|told| keys_in(&told, transport.options.database)),
        Err(fault) if fault.is_transient() => return Err(fault),
        Err(_) => None,
    };
    Ok(told.unwrap_or(WalkProgress::MOST_THERE))
}

/// A database without keys is not told of.
fn keys_in(told: &str, database: u32) -> Option<u64> {
    match field(told, &format!("db{database}")) {
        Some(about) => about.strip_prefix("keys=")?.split(',').next()?.parse().ok(),
        None => told.contains("# Keyspace").then_some(0),
    }
}

/// The next cursor, and the keys of this step.
pub(crate) fn page(value: Value) -> Option<(String, Vec<String>)> {
    let Value::Array(parts) = value else { return None };
    let [Value::Bytes(cursor), Value::Array(keys)] = parts.as_slice() else { return None };
    let text = |value: &Value| match value {
        Value::Bytes(bytes) => String::from_utf8(bytes.clone()).ok(),
        _ => None,
    };
    let cursor = String::from_utf8(cursor.clone()).ok()?;
    Some((cursor, keys.iter().filter_map(text).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(number: usize) -> LockName {
        LockName::new(format!("{number:0500}")).unwrap()
    }

    #[test]
    fn the_first_names_are_kept_in_whatever_order_they_come() {
        let mut names = FirstLockNames::new(3);
        for number in [5, 9, 1, 7, 5, 3, 8, 2] {
            names.add(name(number));
        }
        assert!(names.are_cut());
        assert_eq!(names.into_names().into_iter().collect::<Vec<_>>(), [1, 2, 3].map(name));
        let mut names = FirstLockNames::new(2);
        [4, 2, 4].into_iter().for_each(|number| names.add(name(number)));
        assert!(!names.are_cut(), "the third is one of them");
    }

    #[test]
    fn no_names_take_more_memory_than_they_may() {
        let mut names = FirstLockNames::new(usize::MAX);
        for number in 0..MOST_BYTES / 500 {
            names.add(name(number));
        }
        let size: usize = names.names.iter().map(size).sum();
        assert!(names.are_cut() && size <= MOST_BYTES && names.bytes == size, "{size}");
    }

    #[test]
    fn a_walk_over_a_few_keys_ends() {
        let of = |steps, keys| WalkProgress { steps, keys };
        assert!(
            !of(WalkProgress::STEPS, WalkProgress::KEYS).is_endless(0),
            "there were many keys before"
        );
        assert!(
            of(WalkProgress::STEPS + 1, 0).is_endless(0)
                && of(1, WalkProgress::KEYS + 1).is_endless(0)
        );
        let many = 100_000_000;
        assert!(!of(many / STEP * 2, many * 2).is_endless(many), "each comes twice");
        assert!(of(u64::MAX, u64::MAX).is_endless(u64::MAX), "whatever is said to be there");
    }

    #[test]
    fn how_many_keys_there_are_is_read() {
        let told = "# Keyspace\r\ndb0:keys=7,expires=1,avg_ttl=0\r\ndb12:keys=9,expires=0\r\n";
        assert_eq!((keys_in(told, 0), keys_in(told, 12)), (Some(7), Some(9)));
        assert_eq!((keys_in(told, 1), keys_in("", 1), keys_in("db1:x", 1)), (Some(0), None, None));
    }
}
