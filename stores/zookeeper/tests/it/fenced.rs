//! What a lock protects: a counter in a file that refuses whoever is late.

use std::{
    fs::{File, OpenOptions},
    io::{Read, Seek, Write},
    path::{Path, PathBuf},
};

/// Remembers the greatest token that opened it. Between opening and writing nothing but the lock
/// keeps others from counting the same number twice.
pub(crate) struct Fenced(PathBuf);

impl Fenced {
    pub(crate) fn create(path: &Path) -> Self {
        std::fs::write(path, "0 0").unwrap();
        Self::at(path)
    }

    pub(crate) fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Reads the count and fences off all smaller tokens; `None` if this one is fenced off.
    pub(crate) fn open(&self, token: u64) -> Option<u64> {
        self.change(|count, fence| (token > fence).then_some(((count, token), count)))
    }

    /// Writes the count, unless a greater token has opened the file since.
    pub(crate) fn write(&self, token: u64, count: u64) -> bool {
        self.change(|_, fence| (token == fence).then_some(((count, token), ()))).is_some()
    }

    /// One look and one change that nobody comes between.
    fn change<T>(&self, change: impl FnOnce(u64, u64) -> Option<((u64, u64), T)>) -> Option<T> {
        let mut file: File = OpenOptions::new().read(true).write(true).open(&self.0).unwrap();
        file.lock().unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        let (count, fence) = text.split_once(' ').unwrap();
        let ((count, fence), answer) =
            change(count.parse().unwrap(), fence.trim_end().parse().unwrap())?;
        file.rewind().unwrap();
        // Neither number ever gets shorter.
        write!(file, "{count} {fence}").unwrap();
        Some(answer)
    }
}
