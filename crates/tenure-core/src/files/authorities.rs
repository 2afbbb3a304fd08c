//! The certificate authorities that the environment names in place of the system's, as OpenSSL and curl read it.

use std::{
    collections::BTreeSet,
    env, fs, io,
    path::{Path, PathBuf},
};

use super::read;

/// More than the size of all of a system's authorities.
const LONGEST: u64 = 8 * 1024 * 1024;
/// The maximum number of bytes in all.
const MOST: usize = 64 * 1024 * 1024;
/// The maximum number of directory entries that are checked.
const ENTRIES: usize = 65_536;
/// The maximum number of reasons why files were not read.
const REASONS: usize = 4;

/// The contents of the files that the environment names.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct NamedAuthorities {
    /// The text of each file, which should be PEM.
    pub pem: BTreeSet<Vec<u8>>,
    /// Why some files could not be read.
    pub unread: Vec<String>,
}

/// Reads the file that `SSL_CERT_FILE` names and the files in the directories that `SSL_CERT_DIR` names, by the rules
/// of
/// [`read`]: it never waits for a pipe and reads no device. Returns `None` if neither variable is set; then use the
/// system's authorities.
///
/// It reads files, so it can take a while.
#[must_use]
pub fn named_authorities() -> Option<NamedAuthorities> {
    let file = env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    let folders = env::var_os("SSL_CERT_DIR").unwrap_or_default();
    let folders: Vec<_> =
        env::split_paths(&folders).filter(|folder| !folder.as_os_str().is_empty()).collect();
    (file.is_some() || !folders.is_empty()).then(|| in_these(file.as_deref(), &folders))
}

fn in_these(file: Option<&Path>, folders: &[PathBuf]) -> NamedAuthorities {
    let (mut all, mut left) = (NamedAuthorities::default(), MOST);
    if let Some(file) = file {
        all.add("SSL_CERT_FILE names", file, &mut left);
    }
    let mut entries = 0;
    for folder in folders {
        let listed = match fs::read_dir(folder) {
            Ok(listed) => listed,
            Err(error) => {
                all.misses("SSL_CERT_DIR names", folder, &error);
                continue;
            }
        };
        for entry in listed {
            entries += 1;
            if entries > ENTRIES {
                all.misses(
                    "SSL_CERT_DIR names",
                    folder,
                    &io::Error::other("it has too many files"),
                );
                return all;
            }
            let Ok(path) = entry.map(|entry| entry.path()) else { continue };
            // Other entries of a directory, and entries that are gone, were not named.
            if fs::metadata(&path).is_ok_and(|about| about.is_file()) {
                all.add("SSL_CERT_DIR has", &path, &mut left);
            }
        }
    }
    all
}

impl NamedAuthorities {
    fn add(&mut self, by: &str, file: &Path, left: &mut usize) {
        match read(file, LONGEST.min(*left as u64)) {
            // Directories often have a file under several names.
            Ok(read) => {
                let length = read.bytes.len();
                if self.pem.insert(read.bytes) {
                    *left = left.saturating_sub(length);
                }
            }
            Err(error) => self.misses(by, file, &error),
        }
    }

    fn misses(&mut self, by: &str, path: &Path, error: &io::Error) {
        if self.unread.len() < REASONS {
            self.unread.push(format!("{by} {}: {error:#}", path.display()));
        }
    }
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use nix::{sys::stat::Mode, unistd::mkfifo};

    use super::*;

    #[test]
    fn files_and_folders_are_read_and_no_pipe_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let [pipe, bundle] = ["pipe", "bundle.pem"].map(|name| folder.path().join(name));
        mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        fs::write(&bundle, "one").unwrap();
        std::os::unix::fs::symlink(&bundle, folder.path().join("0a1b2c3d.0")).unwrap();
        let all = in_these(Some(&pipe), &[folder.path().to_owned()]);
        assert_eq!(all.pem, BTreeSet::from([b"one".to_vec()]));
        let expected = format!("SSL_CERT_FILE names {}: it is not a regular file", pipe.display());
        assert_eq!(all.unread, [expected]);
    }

    #[test]
    fn no_device_is_read_and_nothing_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let long = folder.path().join("long");
        fs::File::create(&long).unwrap().set_len(LONGEST + 1).unwrap();
        for path in [Path::new("/dev/zero"), &long, &folder.path().join("none")] {
            let all = in_these(Some(path), &[]);
            let [why] = all.unread.as_slice() else { panic!("{all:?}") };
            assert!(all.pem.is_empty() && why.contains(path.to_str().unwrap()), "{why}");
        }
        let none = in_these(None, &[folder.path().join("none")]);
        assert_eq!((none.pem.len(), none.unread.len()), (0, 1));
    }
}
