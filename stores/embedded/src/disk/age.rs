//! How long ago a file was used, by the time of its last change.

use std::{
    fs::File,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use nix::sys::{stat::futimens, time::TimeSpec};

use crate::disk::dir::Dir;

/// What was used in the last minute may be used again.
const OLD: Duration = Duration::from_secs(60);

/// Whether what has this name was not touched for a while.
pub(crate) fn is_old(dir: &Dir, name: &str) -> bool {
    let Ok(Some(found)) = dir.stat(name) else { return false };
    let Ok(touched) = u64::try_from(found.st_mtime) else { return false };
    let touched = UNIX_EPOCH + Duration::from_secs(touched);
    SystemTime::now().duration_since(touched).is_ok_and(|age| age >= OLD)
}

/// Makes a file look as if it had just been changed: who removes what is old leaves it.
pub(crate) fn touch(file: &File) {
    let now = TimeSpec::UTIME_NOW;
    let _ = futimens(file, &now, &now);
}
