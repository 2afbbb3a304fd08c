//! Removing things of tenure's own: what was never completed, and what is not used any more. Nothing of
//! another name or kind, nothing behind a link, nothing on another file system.

use nix::sys::stat::fstat;

use crate::{
    disk::{
        age::is_old,
        dir::{Dir, EntryKind, stem_of_unfinished},
    },
    files::layout::stem_of_socket,
};

/// Removes from a directory of the store what was never completed and is old, of things with a name that
/// `is_ours` knows.
pub(crate) fn remove_old_unfinished(dir: &Dir, is_ours: impl Fn(&str) -> bool) {
    remove_if(dir, |name, stem| is_ours(stem) && is_old(dir, name));
}

/// The same, however old it is.
pub(crate) fn remove_all_unfinished(dir: &Dir, is_ours: impl Fn(&str) -> bool) {
    remove_if(dir, |_, stem| is_ours(stem));
}

fn remove_if(dir: &Dir, wanted: impl Fn(&str, &str) -> bool) {
    for name in dir.names().unwrap_or_default() {
        if stem_of_unfinished(&name).is_some_and(|stem| wanted(&name, stem)) {
            remove_unfinished_entry(dir, &name);
        }
    }
}

/// Removes what was never completed: a file, or a directory with at most the one thing in it that was
/// being made there.
pub(crate) fn remove_unfinished_entry(dir: &Dir, name: &str) {
    let Ok(Some(EntryKind::Dir)) = dir.entry(name) else {
        return remove_owned_entries(dir, |there| there == name);
    };
    if let (Some(workshop), Some(stem)) = (open_subdirectory(dir, name), stem_of_unfinished(name)) {
        remove_owned_entries(&workshop, |there| {
            there == stem || stem_of_socket(there) == Some(stem)
        });
    }
    let _ = dir.remove_dir(name);
}

/// The directory of this name, if it is one and on the same file system.
pub(crate) fn open_subdirectory(dir: &Dir, name: &str) -> Option<Dir> {
    let found = dir.sub(name).ok()??;
    let device = |dir: &Dir| fstat(dir).map(|found| found.st_dev).ok();
    (device(&found)? == device(dir)?).then_some(found)
}

/// Removes what has a name of ours: files, sockets and empty directories.
pub(crate) fn remove_owned_entries(dir: &Dir, is_ours: impl Fn(&str) -> bool) {
    for name in dir.names().unwrap_or_default().iter().filter(|name| is_ours(name)) {
        let _ = match dir.entry(name) {
            Ok(Some(EntryKind::File | EntryKind::Socket)) => dir.remove(name),
            Ok(Some(EntryKind::Dir)) => dir.remove_dir(name),
            Ok(Some(EntryKind::Other) | None) | Err(_) => Ok(()),
        };
    }
}
