//! Lists the names in use without opening the store.

use std::{io, path::Path};

use tenure_core::{Fault, LockName};

use crate::{
    decisions::listing::for_each_state,
    disk::dir::Dir,
    error,
    files::layout::{BOOTS, LOCKS},
    machine::{Machine, ThisMachine, lock_directory},
    members::boots,
};

/// Returns the names in the store in `dir`, or in [`default_dir`](crate::default_dir) if `dir` is `None`, that begin
/// with `prefix` and have a holder or a waiter, as far as their files show. A name whose holder was killed is still
/// among them. The names are in no order.
///
/// This does not open the store. It creates and changes nothing. A missing store has no names.
///
/// # Errors
/// A [`Fault`] if the directory cannot be read.
///
/// ```
/// let dir = tempfile::tempdir()?;
/// let locks = dir.path().join("locks");
/// assert!(tenure_embedded::names_in_use(Some(&locks), "")?.is_empty());
/// assert!(!locks.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn names_in_use(dir: Option<&Path>, prefix: &str) -> Result<Vec<LockName>, Fault> {
    let dir = dir.map_or_else(lock_directory::default_dir, |dir| Ok(dir.to_owned()))?;
    let Some(locks) = locks_of(&dir)? else { return Ok(Vec::new()) };
    let now = ThisMachine.clock().now();
    let mut names = Vec::new();
    for_each_state(&ThisMachine, &locks, |read| {
        let Ok((name, state)) = read else { return };
        let is_held = state.holders.iter().any(|holder| holder.expires > now);
        if name.as_str().starts_with(prefix) && (is_held || !state.waiters.is_empty()) {
            names.push(name);
        }
    })?;
    Ok(names)
}

/// The directory with the names of this boot, if there are any.
fn locks_of(dir: &Path) -> Result<Option<Dir>, Fault> {
    let root = match Dir::open(dir) {
        Ok(root) => root,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(error::io("look at the directory", dir, why)),
    };
    let boot = boots::name_of(ThisMachine.boot_id()?);
    let mut found = root;
    for name in [BOOTS, boot.as_str(), LOCKS] {
        let below = found.sub(name);
        match below.map_err(|why| error::io("look into", &found.path_of(name), why))? {
            Some(below) => found = below,
            None => return Ok(None),
        }
    }
    Ok(Some(found))
}
