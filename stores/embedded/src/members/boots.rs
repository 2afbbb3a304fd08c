//! The directories of other boots: is one of them alive, and what of a dead one is removed.
//!
//! A container can have a boot id of its own. Its processes and those of the host would keep to
//! different directories, and each side would take the other's for what an earlier boot left.

use std::io;

use tenure_core::{Fault, FaultKind};

use crate::{
    disk::dir::{Dir, EntryKind, is_hex, stem_of_unfinished},
    error,
    files::{
        layout::{FLOOR, LOCKS, MEMBERS, is_hash, is_of_a_boot, is_state, shelf},
        removal::{self, open_subdirectory, remove_owned_entries},
    },
    members::{self, Liveness},
};

/// How a boot's directory is called.
pub(crate) fn name_of(boot: [u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(boot))
}

/// Refuses the store if processes use it that were told another boot id. Nothing of theirs is changed.
/// Who calls this has joined its own boot before, so that of two who join different ones at the same
/// time at least one sees the other.
pub(crate) fn refuse_living(boots: &Dir, own: &str) -> Result<(), Fault> {
    for name in others(boots, own).map_err(|why| error::io("list", boots.path(), why))? {
        let path = boots.path_of(&name);
        let living = is_alive(boots, &name).map_err(|why| error::io("look into", &path, why))?;
        if living {
            return Err(other_boot(boots, own, &name));
        }
    }
    Ok(())
}

/// Removes what dead boots left, as far as it is surely tenure's: nothing of another name or
/// kind, nothing behind a link, nothing on another file system. Whatever fails is left for the
/// next time.
pub(crate) fn remove_dead(boots: &Dir, own: &str) {
    for name in others(boots, own).unwrap_or_default() {
        if !is_alive(boots, &name).unwrap_or(true) {
            remove(boots, &name);
        }
    }
}

fn others(boots: &Dir, own: &str) -> io::Result<Vec<String>> {
    let mut names = boots.names()?;
    names.retain(|name| name != own && is_hash(name));
    Ok(names)
}

/// Whether a process of that boot still keeps its file locked: then this is the boot.
fn is_alive(boots: &Dir, name: &str) -> io::Result<bool> {
    // What is no directory is no boot's.
    if boots.entry(name)? != Some(EntryKind::Dir) {
        return Ok(false);
    }
    let Some(boot) = boots.sub(name)? else { return Ok(false) };
    if boot.entry(MEMBERS)? != Some(EntryKind::Dir) {
        return Ok(false);
    }
    let Some(members) = boot.sub(MEMBERS)? else { return Ok(false) };
    for member in members.names()?.iter().filter(|name| is_hash(name)) {
        if members.entry(member)? == Some(EntryKind::File)
            && members::life(&members, member)? == Liveness::Living
        {
            return Ok(true);
        }
    }
    Ok(false)
}

fn remove(boots: &Dir, name: &str) {
    let Some(boot) = open_subdirectory(boots, name) else { return };
    // Only what has members is a boot's; they go last.
    let Some(members) = open_subdirectory(&boot, MEMBERS) else { return };
    if let Some(locks) = open_subdirectory(&boot, LOCKS) {
        for shelf in (0..=u8::MAX).map(shelf) {
            let Some(dir) = open_subdirectory(&locks, &shelf) else { continue };
            remove_owned_entries(&dir, |name| {
                is_state(name) || stem_of_unfinished(name).is_some_and(is_hash)
            });
            let _ = locks.remove_dir(&shelf);
        }
        let is_shelf = |stem: &str| is_hex(stem, 2);
        removal::remove_all_unfinished(&locks, is_shelf);
        let _ = boot.remove_dir(LOCKS);
    }
    remove_owned_entries(&boot, |name| name == FLOOR);
    removal::remove_all_unfinished(&boot, is_of_a_boot);
    removal::remove_all_unfinished(&members, is_hash);
    remove_owned_entries(&members, members::is_member_file);
    let removed = boot.remove_dir(MEMBERS).and_then(|()| boots.remove_dir(name));
    if let Err(error) = removed {
        tracing::debug!(boot = name, %error, "something in the directory of an earlier boot stays");
    }
}

fn other_boot(boots: &Dir, own: &str, other: &str) -> Fault {
    let short = |boot: &str| boot.get(..8).unwrap_or_default().to_owned();
    let root = boots.path().parent().unwrap_or(boots.path()).display();
    Fault::new(
        FaultKind::Misconfigured,
        format!(
            "processes with another boot id ({}…) use the store in {root}; this one has {}…",
            short(other),
            short(own),
        ),
        "a container with its own boot id must see the host's, in \
         /proc/sys/kernel/random/boot_id, or all must use a store with a server",
    )
}
