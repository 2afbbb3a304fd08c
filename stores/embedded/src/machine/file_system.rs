//! The file systems on which locks may be: those whose kernel locks and page cache are shared by all processes of one
//! machine, and only by them.

use std::{fmt, io, path::Path};

use nix::sys::statfs::statfs;
use tenure_core::{Fault, FaultKind};

/// A kind of file system, as the operating system identifies it: by a number on Linux, by a word on macOS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystem(FileSystemId);

#[derive(Clone, Debug, PartialEq, Eq)]
enum FileSystemId {
    #[cfg(target_os = "linux")]
    Magic(u32),
    #[cfg(target_vendor = "apple")]
    Name(String),
}

/// Whether a kind of file system is suitable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Suitability {
    /// Suitable, and tokens survive a reboot.
    Lasting,
    /// Suitable for locks, but a reboot empties it.
    Fleeting,
    /// Shared with other machines, or implemented by a program: kernel locks do not reach all users.
    Refused(&'static str),
    Unknown,
}

impl FileSystem {
    /// Returns the file system of `path`.
    ///
    /// # Errors
    /// The error of the operating system.
    #[cfg(target_os = "linux")]
    pub fn of(path: &Path) -> io::Result<Self> {
        // The type of the number differs between C libraries; all known ones fit 32 bits.
        Ok(Self::from_magic(statfs(path)?.filesystem_type().0 as u32))
    }

    /// Returns the file system of `path`.
    ///
    /// # Errors
    /// The error of the operating system.
    #[cfg(target_vendor = "apple")]
    pub fn of(path: &Path) -> io::Result<Self> {
        Ok(Self(FileSystemId::Name(statfs(path)?.filesystem_type_name().to_owned())))
    }

    /// Returns the file system with this number in `statfs(2)`.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub const fn from_magic(magic: u32) -> Self {
        Self(FileSystemId::Magic(magic))
    }

    /// Refuses a file system on which locks would not hold.
    pub(crate) fn check(&self, path: &Path) -> Result<(), Fault> {
        let why = match self.classify().1 {
            Suitability::Lasting | Suitability::Fleeting => return Ok(()),
            Suitability::Refused(why) => why,
            Suitability::Unknown => "is not known to keep locks between processes",
        };
        Err(Fault::new(
            FaultKind::Misconfigured,
            format!("{} is on a file system ({self}) that {why}", path.display()),
            "name a directory on a local disk, as in file:/path, or use a store with a server",
        ))
    }

    /// Whether its content survives a reboot.
    pub(crate) fn is_persistent(&self) -> bool {
        self.classify().1 == Suitability::Lasting
    }

    /// Whether each container has its own, as far as its kind shows.
    pub(crate) fn is_a_layer(&self) -> bool {
        self.classify().0 == "overlayfs"
    }

    #[cfg(target_os = "linux")]
    fn classify(&self) -> (&str, Suitability) {
        const NETWORK: Suitability = Suitability::Refused("is shared over a network");
        const PROGRAM: Suitability =
            Suitability::Refused("is kept by a program, or shared with a host");
        const CLUSTER: Suitability = Suitability::Refused("is shared between machines");
        let FileSystemId::Magic(magic) = self.0;
        match magic {
            0x0000_ef53 => ("ext4", Suitability::Lasting),
            0x5846_5342 => ("xfs", Suitability::Lasting),
            0x9123_683e => ("btrfs", Suitability::Lasting),
            0xf2f5_2010 => ("f2fs", Suitability::Lasting),
            0x2fc1_2fc1 => ("zfs", Suitability::Lasting),
            0xca45_1a4e => ("bcachefs", Suitability::Lasting),
            0x794c_7630 => ("overlayfs", Suitability::Lasting),
            0x3153_464a => ("jfs", Suitability::Lasting),
            0x0102_1994 => ("tmpfs", Suitability::Fleeting),
            0x8584_58f6 => ("ramfs", Suitability::Fleeting),
            0x0000_6969 => ("nfs", NETWORK),
            0x0000_517b | 0xff53_4d42 | 0xfe53_4d42 => ("smb", NETWORK),
            0x00c3_6400 => ("ceph", NETWORK),
            0x5346_414f | 0x6b41_4653 => ("afs", NETWORK),
            0x6573_5546 => ("fuse or virtiofs", PROGRAM),
            0x0102_1997 => ("9p", PROGRAM),
            0x786f_4256 => ("vboxsf", PROGRAM),
            0xbacb_acbc => ("vmhgfs", PROGRAM),
            0x0bd0_0bd0 => ("lustre", CLUSTER),
            0x4750_4653 => ("gpfs", CLUSTER),
            0x7461_636f => ("ocfs2", CLUSTER),
            0x0116_1970 => ("gfs2", CLUSTER),
            _ => ("unknown", Suitability::Unknown),
        }
    }

    #[cfg(target_vendor = "apple")]
    fn known(&self) -> (&str, Suitability) {
        let FileSystemId::Name(name) = &self.0;
        let verdict = match name.as_str() {
            "apfs" | "hfs" => Suitability::Lasting,
            "tmpfs" => Suitability::Fleeting,
            "nfs" | "smbfs" | "afpfs" | "webdav" => {
                Suitability::Refused("is shared over a network")
            }
            _ => Suitability::Unknown,
        };
        (name, verdict)
    }
}

impl fmt::Display for FileSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.classify() {
            #[cfg(target_os = "linux")]
            (_, Suitability::Unknown) => {
                let FileSystemId::Magic(magic) = self.0;
                write!(f, "type {magic:#x}")
            }
            (name, _) => f.write_str(name),
        }
    }
}
