//! A path short enough for the address of a socket, which has about 100 bytes.

use std::path::PathBuf;

use crate::disk::dir::Dir;

/// A directory by a short path, which leads nowhere else even where somebody moves it.
#[derive(Debug)]
pub(crate) struct ShortPath(PathBuf);

impl ShortPath {
    /// Valid as long as `dir` is open.
    #[cfg(target_os = "linux")]
    pub(crate) fn of(dir: &Dir) -> Self {
        Self(of_open(dir.file()))
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn of(dir: &Dir) -> Self {
        Self(dir.path().to_owned())
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

/// What is open, whatever its name leads to by now. Valid as long as it is open.
#[cfg(target_os = "linux")]
pub(crate) fn of_open(open: &impl std::os::fd::AsRawFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()))
}
