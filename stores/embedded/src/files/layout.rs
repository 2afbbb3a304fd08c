//! Which file is where, and whether a directory is a store at all.
//!
//! All that ends with a boot lies in a directory of that boot: a torn or half-written file of an
//! earlier one is never looked at.

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};
use tenure_core::{Fault, FaultKind, LockName};

use crate::{
    disk::{
        access::FilePermissions,
        dir::{Dir, is_hex, stem_of_unfinished},
    },
    error,
    machine::Machine,
};

/// The clock, and what marks a directory as a store: it is made first, and is always there.
pub(crate) const CLOCK: &str = "clock";
/// The directory with one directory for each boot.
pub(crate) const BOOTS: &str = "boots";
/// The directory with the records of slots, which outlive boots.
pub(crate) const SLOTS: &str = "slots";
/// The directory with the histories of locks, which outlive boots.
pub(crate) const HISTORY: &str = "history";
/// What a directory of one boot has.
pub(crate) const FLOOR: &str = "floor";
pub(crate) const MEMBERS: &str = "members";
pub(crate) const LOCKS: &str = "locks";
/// The ending of the socket where a member hears of evictions, and of turns while nobody waits at the other one.
pub(crate) const SOCKET: &str = ".sock";
/// The ending of the socket where its waiters hear of their turns. It is made once somebody waits.
pub(crate) const WAKE_SOCKET: &str = ".wake";
/// The ending of the file of one name.
const STATE: &str = "lk";
/// The ending of the record of slots of one name.
const RECORD: &str = "sl";
/// The ending of the history of one name.
const EVENTS: &str = "hi";
/// What a file system puts into its topmost directory by itself.
const OF_THE_FILE_SYSTEM: &str = "lost+found";

/// The directory of a store, before anybody uses it in this boot.
#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) dir: Dir,
    pub(crate) access: FilePermissions,
}

/// The directories of one store in one boot.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) root: Root,
    pub(crate) boot: Dir,
    pub(crate) locks: Dir,
}

/// Where a file of one name is: its state, its record of slots, or its history.
#[derive(Clone, Debug)]
pub(crate) struct StatePath {
    pub(crate) shelf: String,
    pub(crate) file: String,
}

/// Whose socket this is the name of, if it may be one's.
pub(crate) fn stem_of_socket(name: &str) -> Option<&str> {
    name.strip_suffix(SOCKET).or_else(|| name.strip_suffix(WAKE_SOCKET))
}

impl Root {
    /// Makes sure that the directory is there, that locks hold where it lies, and that it is a
    /// store or empty: what else lies in a directory is not tenure's to live beside.
    pub(crate) fn prepare(machine: &dyn Machine, root: &Path) -> Result<Self, Fault> {
        let root =
            std::path::absolute(root).map_err(|why| error::io("find the directory", root, why))?;
        let there = root.ancestors().find(|path| path.exists()).unwrap_or(&root);
        machine
            .file_system(there)
            .map_err(|why| error::io("look at the file system of", there, why))?
            .check(&root)?;
        // What would be made so nobody but root could use, with whatever umask.
        if umask_restricts_owner() {
            let root = root.display();
            return Err(Fault::new(
                FaultKind::Misconfigured,
                format!("the umask denies this user its own files in {root}"),
                "set another one, such as umask 077",
            ));
        }
        make_root(&root).map_err(|why| error::io("create the directory", &root, why))?;
        // One directory has one location, however it is spelled: multi-locks are taken in the order of
        // locations, and know by it that two locks are one.
        let root =
            root.canonicalize().map_err(|why| error::io("find the directory", &root, why))?;
        let look = |why| error::io("look at the directory", &root, why);
        if !fs::metadata(&root).map_err(look)?.is_dir() {
            return Err(Fault::new(
                FaultKind::Misconfigured,
                format!("{} is a file, not a directory", root.display()),
                "name a directory, as in file:/path",
            ));
        }
        let dir = Dir::open(&root).map_err(look)?;
        let access = FilePermissions::of(&dir.file().metadata().map_err(look)?);
        let prepared = Self { dir, access };
        if let Some(other) = prepared.find_foreign_entry().map_err(look)? {
            return Err(if prepared.has_boots() {
                no_clock(&root)
            } else {
                no_store(&root, &other)
            });
        }
        Ok(prepared)
    }

    /// Something that lies in the directory although it is no store.
    fn find_foreign_entry(&self) -> io::Result<Option<String>> {
        if self.dir.entry(CLOCK)?.is_some() {
            return Ok(None);
        }
        let others = self.dir.names()?.into_iter().filter(|name| {
            let ours = name == CLOCK || stem_of_unfinished(name) == Some(CLOCK);
            // Records and histories outlive the locks, so they may be all that is left, or was restored.
            let ours = ours || ([SLOTS, HISTORY].contains(&&**name) && self.has_only_shelves(name));
            !ours && name != OF_THE_FILE_SYSTEM
        });
        let Some(other) = others.min() else { return Ok(None) };
        // Another process may have made it a store meanwhile.
        Ok(self.dir.entry(CLOCK)?.is_none().then_some(other))
    }

    /// Whether it looks like a store that lost its clock.
    fn has_boots(&self) -> bool {
        let boots = self.dir.sub(BOOTS).ok().flatten();
        boots
            .and_then(|boots| boots.names().ok())
            .is_some_and(|names| names.iter().any(|n| is_hash(n)))
    }

    /// Whether the directory of records or of histories looks like a store's.
    fn has_only_shelves(&self, kind: &str) -> bool {
        let kept = self.dir.sub(kind).ok().flatten();
        kept.and_then(|kept| kept.names().ok()).is_some_and(|names| {
            names.iter().all(|n| is_shelf(n) || stem_of_unfinished(n).is_some_and(is_shelf))
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Which directory it is, by whatever path it is reached.
    pub(crate) fn directory(&self) -> io::Result<String> {
        let seen = self.dir.file().metadata()?;
        Ok(format!("directory {} of device {}", seen.ino(), seen.dev()))
    }

    /// The directory of records or of histories with this part of the hash, if there is one.
    pub(crate) fn shelf(&self, kind: &str, shelf: &str) -> Result<Option<Dir>, Fault> {
        let open = |within: &Dir, name: &str| {
            within.sub(name).map_err(|why| error::io("open", &within.path_of(name), why))
        };
        match open(&self.dir, kind)? {
            Some(kept) => open(&kept, shelf),
            None => Ok(None),
        }
    }

    /// A directory of the store, which is created if it is not there.
    pub(crate) fn make(&self, within: &Dir, name: &str) -> Result<Dir, Fault> {
        within
            .open_or_create(name, self.access)
            .map_err(|why| error::io("open the directory", &within.path_of(name), why))
    }
}

impl Layout {
    /// Where the file of `name` is.
    pub(crate) fn state(name: &LockName) -> StatePath {
        Self::place(name, STATE)
    }

    /// Where the record of slots of `name` is.
    pub(crate) fn record(name: &LockName) -> StatePath {
        Self::place(name, RECORD)
    }

    /// Where the history of `name` is.
    pub(crate) fn history(name: &LockName) -> StatePath {
        Self::place(name, EVENTS)
    }

    /// Names are hashed, so none can lead out of the directory.
    fn place(name: &LockName, ending: &str) -> StatePath {
        let hash = Sha256::digest(name.as_str().as_bytes());
        let mut half = [0; 16];
        half.copy_from_slice(hash.get(..16).unwrap_or(&[0; 16]));
        let hash = format!("{:032x}", u128::from_be_bytes(half));
        StatePath { shelf: shelf(half[0]), file: format!("{hash}.{ending}") }
    }

    /// Where this is, for people.
    pub(crate) fn path_of(&self, place: &StatePath) -> PathBuf {
        self.locks.path_of(&place.shelf).join(&place.file)
    }

    pub(crate) fn access(&self) -> FilePermissions {
        self.root.access
    }
}

/// One of the 256 directories that state files are spread over.
pub(crate) fn shelf(number: u8) -> String {
    format!("{number:02x}")
}

/// Whether this may be the name of a state file.
pub(crate) fn is_state(name: &str) -> bool {
    is_hash_with(name, STATE)
}

/// Whether this may be the name of a record of slots.
pub(crate) fn is_record(name: &str) -> bool {
    is_hash_with(name, RECORD)
}

/// Whether this may be the name of a history.
pub(crate) fn is_history(name: &str) -> bool {
    is_hash_with(name, EVENTS)
}

fn is_hash_with(name: &str, ending: &str) -> bool {
    name.strip_suffix(ending).and_then(|name| name.strip_suffix('.')).is_some_and(is_hash)
}

/// Whether this may be the name of one of the 256 directories.
pub(crate) fn is_shelf(name: &str) -> bool {
    is_hex(name, 2)
}

/// Whether this is how the store calls what one name, one member or one boot has.
pub(crate) fn is_hash(name: &str) -> bool {
    is_hex(name, 32)
}

/// Creates the directory of the store so that it outlives a loss of power: its clock must.
fn make_root(root: &Path) -> io::Result<()> {
    if root.exists() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(FilePermissions::PRIVATE_DIR).create(root)?;
    for made in root.ancestors().skip(1).take(3) {
        sync_dir(made)?;
    }
    Ok(())
}

/// Whether the umask of this process takes rights from its own user, where the system tells that.
fn umask_restricts_owner() -> bool {
    let status = fs::read("/proc/self/status").unwrap_or_default();
    let status = String::from_utf8_lossy(&status);
    let umask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    umask
        .and_then(|umask| u32::from_str_radix(umask.trim(), 8).ok())
        .is_some_and(|umask| umask & 0o700 != 0)
}

/// Makes the names in a directory outlive a loss of power.
fn sync_dir(dir: &Path) -> io::Result<()> {
    match fs::File::open(dir).and_then(|dir| dir.sync_all()) {
        // Directories above our own may be closed to us; then they were not made by us either.
        Err(why) if why.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        synced => synced,
    }
}

fn no_clock(root: &Path) -> Fault {
    let root = root.display();
    Fault::new(
        FaultKind::Misconfigured,
        format!("{root} looks like a store of tenure whose file `clock` is missing"),
        "end all processes that use it; then restore `clock` from a backup, or remove `boots`: \
         tokens then continue from the time of day",
    )
}

fn no_store(root: &Path, other: &str) -> Fault {
    let root = root.display();
    Fault::new(
        FaultKind::Misconfigured,
        format!("{root} is not a store of tenure, and contains other files, such as {other:?}"),
        format!("name an empty or a new directory, as in file:{root}/locks"),
    )
}

/// Whether a boot's directory has something of this name.
pub(crate) fn is_of_a_boot(name: &str) -> bool {
    [FLOOR, LOCKS, MEMBERS].contains(&name)
}
