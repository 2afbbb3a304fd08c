//! Whether an open file still has a name.

use std::{fs::File, io};

use nix::sys::stat::fstat;

/// Whether a directory still has a name for `file`: nobody who opens it now would find another.
///
/// On Linux nothing but that is asked for. Since 6.13 who asks for times as well makes the next write set
/// new ones, which a journaling file system notes down: a third of what a decision took.
pub(crate) fn has_name(file: &File) -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    if let Some(named) = linux::has_name(file) {
        return Ok(named);
    }
    Ok(fstat(file)?.st_nlink > 0)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;

    use rustix::fs::{AtFlags, StatxFlags, statx};

    /// The same; `None` where the kernel, a sandbox or the file system does not say.
    pub(super) fn has_name(file: &File) -> Option<bool> {
        let found = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::NLINK).ok()?;
        StatxFlags::from_bits_retain(found.stx_mask)
            .contains(StatxFlags::NLINK)
            .then_some(found.stx_nlink > 0)
    }
}
