//! Which file is where.
//!
//! All that ends with a boot lies in a directory of that boot: a torn or half-written file of an
//! earlier one is never looked at.

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};
use tenure_core::{Fault, FaultKind, LockName};

use crate::{access::Access, create, error, machine::Machine};

/// The ending of the file of one name.
pub(crate) const STATE: &str = "lk";

/// The paths of one store in one boot.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) root: PathBuf,
    pub(crate) clock: PathBuf,
    pub(crate) boots: PathBuf,
    pub(crate) boot: PathBuf,
    pub(crate) floor: PathBuf,
    pub(crate) members: PathBuf,
    pub(crate) locks: PathBuf,
    pub(crate) access: Access,
}

impl Layout {
    /// Makes sure that the directories are there, and that locks hold where they lie.
    pub(crate) fn prepare(
        machine: &dyn Machine,
        root: &Path,
        boot: [u8; 16],
    ) -> Result<Self, Fault> {
        let root =
            std::path::absolute(root).map_err(|why| error::io("find the directory", root, why))?;
        let there = root.ancestors().find(|path| path.exists()).unwrap_or(&root);
        machine
            .file_system(there)
            .map_err(|why| error::io("look at the file system of", there, why))?
            .check(&root)?;
        make_root(&root).map_err(|why| error::io("create the directory", &root, why))?;
        // One directory has one location, however it is spelled: multi-locks are taken in the order of
        // locations, and know by it that two locks are one.
        let root =
            root.canonicalize().map_err(|why| error::io("find the directory", &root, why))?;
        let metadata =
            fs::metadata(&root).map_err(|why| error::io("look at the directory", &root, why))?;
        if !metadata.is_dir() {
            return Err(Fault::new(
                FaultKind::Misconfigured,
                format!("{} is a file, not a directory", root.display()),
                "name a directory, as in file:/path",
            ));
        }
        let access = Access::of(&metadata);
        let boots = root.join("boots");
        let boot = boots.join(format!("{:032x}", u128::from_be_bytes(boot)));
        let layout = Self {
            clock: root.join("clock"),
            floor: boot.join("floor"),
            members: boot.join("members"),
            locks: boot.join("locks"),
            boots,
            boot,
            root,
            access,
        };
        for dir in [&layout.boots, &layout.boot, &layout.members, &layout.locks] {
            create::dir(dir, access).map_err(|why| error::io("create the directory", dir, why))?;
        }
        Ok(layout)
    }

    /// The file of `name`. Names are hashed, so none can lead out of the directory.
    pub(crate) fn state(&self, name: &LockName) -> PathBuf {
        let hash = Sha256::digest(name.as_str().as_bytes());
        let mut half = [0; 16];
        half.copy_from_slice(hash.get(..16).unwrap_or(&[0; 16]));
        let text = format!("{:032x}", u128::from_be_bytes(half));
        self.shelf(half[0]).join(text).with_extension(STATE)
    }

    /// One of the 256 directories that state files are spread over.
    pub(crate) fn shelf(&self, number: u8) -> PathBuf {
        self.locks.join(format!("{number:02x}"))
    }
}

/// Creates the directory of the store so that it outlives a loss of power: its clock must.
fn make_root(root: &Path) -> io::Result<()> {
    if root.exists() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(Access::PRIVATE_DIR).create(root)?;
    for made in root.ancestors().skip(1).take(3) {
        sync_dir(made)?;
    }
    Ok(())
}

/// Makes the names in a directory outlive a loss of power.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    match fs::File::open(dir).and_then(|dir| dir.sync_all()) {
        // Directories above our own may be closed to us; then they were not made by us either.
        Err(why) if why.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        synced => synced,
    }
}
