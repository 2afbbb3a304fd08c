//! A file of metrics that others write to as well.

use std::{
    fs::{File, Metadata, OpenOptions, Permissions, metadata},
    io::{self, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    fcntl::{Flock, FlockArg},
    unistd::geteuid,
};

use crate::system::SAFELY;

/// Its collector may be another user.
const MODE: u32 = 0o644;
/// More than any collector reads.
const MOST: u64 = 16 * 1024 * 1024;
/// How long to wait for another process that writes to the same file.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(10);

/// A file of metrics.
#[derive(Clone, Debug)]
pub(crate) struct MetricsFile {
    path: PathBuf,
}

impl MetricsFile {
    /// Sees that there can be one at `path`.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        let file = Self { path: path.to_owned() };
        if path.file_name().is_none() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is not the path of a file",
            ));
        }
        if !metadata(file.folder())?.is_dir() {
            return Err(io::Error::from(io::ErrorKind::NotADirectory));
        }
        if metadata(path).is_ok_and(|about| about.is_dir()) {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        Ok(file)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the content by what `change` makes of it, in one step, and after all others that do so.
    pub(crate) fn change(&self, change: impl FnOnce(&str) -> String) -> io::Result<()> {
        self.change_while(patience(), change)
    }

    /// The same, but waits for others as long as `waits` says.
    pub(crate) fn change_while(
        &self,
        waits: impl FnMut() -> bool,
        change: impl FnOnce(&str) -> String,
    ) -> io::Result<()> {
        let _alone = self.lock(waits)?;
        let (text, mode) = self.read()?;
        let text = change(&text);
        let mut next = tempfile::Builder::new().prefix(".tenure-").tempfile_in(self.folder())?;
        // Whatever the umask says.
        next.as_file().set_permissions(Permissions::from_mode(mode))?;
        next.write_all(text.as_bytes())?;
        // After a power cut there is the old file or the new one.
        next.as_file().sync_data()?;
        next.persist(&self.path).map(drop).map_err(|error| error.error)
    }

    /// The content, and the permissions of the file that is to replace it; nothing if there is no file.
    fn read(&self) -> io::Result<(String, u32)> {
        let file = OpenOptions::new().read(true).custom_flags(SAFELY.bits()).open(&self.path);
        let file = match file {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok((String::new(), MODE));
            }
            Err(error) if error.raw_os_error() == Some(Errno::ELOOP as i32) => {
                return Err(io::Error::other("it is a symbolic link, which is not followed"));
            }
            Err(error) => return Err(error),
        };
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        check_owner(&about)?;
        // Another name of a file that few may read: its lines would be shown to all.
        if about.nlink() > 1 {
            return Err(io::Error::other("it has several names: remove this one"));
        }
        let mut text = String::new();
        let read = file.take(MOST.saturating_add(1)).read_to_string(&mut text)?;
        if u64::try_from(read).is_ok_and(|read| read > MOST) {
            return Err(io::Error::other("it has more than 16 MiB, so it is no file of metrics"));
        }
        Ok((text, about.mode() & 0o777))
    }

    /// Keeps other processes from changing it. The file for that stays: were it removed, two processes could each
    /// have one.
    fn lock(&self, mut waits: impl FnMut() -> bool) -> io::Result<Flock<File>> {
        let mut name = std::ffi::OsString::from(".");
        name.push(self.path.file_name().unwrap_or_default());
        name.push(".lock");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).mode(0o600).custom_flags(SAFELY.bits());
        let mut file = options.open(self.folder().join(name))?;
        check_owner(&file.metadata()?)?;
        loop {
            match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(alone) => return Ok(alone),
                Err((again, Errno::EWOULDBLOCK | Errno::EINTR)) if waits() => {
                    file = again;
                    std::thread::sleep(PAUSE);
                }
                Err((_, Errno::EWOULDBLOCK)) => {
                    return Err(io::Error::other("another process is writing to it for too long"));
                }
                Err((_, error)) => return Err(error.into()),
            }
        }
    }

    fn folder(&self) -> &Path {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.unwrap_or(Path::new("."))
    }
}

/// Says for two seconds that others are waited for.
pub(crate) fn patience() -> impl Fn() -> bool {
    let until = Instant::now() + PATIENCE;
    move || Instant::now() < until
}

/// Refuses what another user made, also as root: its owner could not change the file that would replace it.
fn check_owner(about: &Metadata) -> io::Result<()> {
    if about.uid() == geteuid().as_raw() {
        return Ok(());
    }
    Err(io::Error::other("it belongs to another user: name a file of this user"))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink, thread};

    use nix::unistd::{Uid, chown};

    use super::*;

    #[test]
    fn changes_of_many_at_once_are_all_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("jobs.prom");
        fs::write(&path, "up 1\n").unwrap();
        thread::scope(|scope| {
            for number in 0..8 {
                let file = MetricsFile::new(&path).unwrap();
                scope.spawn(move || {
                    for turn in 0..10 {
                        file.change(|text| format!("{text}x_{number}_{turn} 1\n")).unwrap();
                    }
                });
            }
        });
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!((text.lines().count(), text.starts_with("up 1\n")), (81, true));
        assert_eq!(metadata(&path).unwrap().permissions().mode() & 0o777, MODE);
        let left = fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(left, 2, "the file, and the one that is locked");
    }

    #[test]
    fn nobody_may_read_more_than_before() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("jobs.prom");
        fs::write(&path, "up 1\n").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let file = MetricsFile::new(&path).unwrap();
        file.change(str::to_owned).unwrap();
        assert_eq!(metadata(&path).unwrap().mode() & 0o777, 0o640);
        fs::hard_link(&path, dir.path().join("other")).unwrap();
        assert!(file.change(str::to_owned).unwrap_err().to_string().contains("several names"));
    }

    #[test]
    fn what_is_not_a_file_of_metrics_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link.prom");
        symlink(dir.path().join("elsewhere"), &link).unwrap();
        let missing = dir.path().join("missing/jobs.prom");
        for path in [&*missing, Path::new("/"), dir.path()] {
            MetricsFile::new(path).unwrap_err();
        }
        MetricsFile::new(&link).unwrap().change(|_| String::new()).unwrap_err();
        let file = MetricsFile::new(&dir.path().join("later.prom")).unwrap();
        symlink("/etc/passwd", dir.path().join("later.prom")).unwrap();
        file.change(|_| "up 1\n".to_owned()).unwrap_err();
        assert!(fs::symlink_metadata(dir.path().join("later.prom")).unwrap().is_symlink());
    }

    #[test]
    fn a_file_of_another_user_is_not_replaced_even_by_root() {
        if !geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("jobs.prom");
        let file = MetricsFile::new(&path).unwrap();
        file.change(|_| "up 1\n".to_owned()).unwrap();
        for theirs in ["jobs.prom", ".jobs.prom.lock"] {
            let theirs = dir.path().join(theirs);
            chown(&theirs, Some(Uid::from_raw(65_534)), None).unwrap();
            let refused = file.change(|_| "up 0\n".to_owned()).unwrap_err();
            assert!(refused.to_string().contains("another user"), "{refused}");
            assert_eq!(fs::read_to_string(&path).unwrap(), "up 1\n");
            assert_eq!(metadata(&theirs).unwrap().uid(), 65_534);
            chown(&theirs, Some(geteuid()), None).unwrap();
        }
        file.change(|_| "up 2\n".to_owned()).unwrap();
    }

    #[test]
    fn a_file_that_another_process_writes_is_waited_for_no_longer_than_is_wanted() {
        let dir = tempfile::tempdir().unwrap();
        let file = MetricsFile::new(&dir.path().join("jobs.prom")).unwrap();
        let other = file.lock(|| true).unwrap();
        let mut asked = 0;
        let waits = || {
            asked += 1;
            asked < 3
        };
        let busy = file.change_while(waits, str::to_owned).unwrap_err();
        assert!(busy.to_string().contains("another process is writing"), "{busy}");
        assert_eq!(asked, 3);
        drop(other);
        file.change_while(|| false, str::to_owned).unwrap();
    }
}
