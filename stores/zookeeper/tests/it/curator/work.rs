//! Work that tells who else is at it, also when workers are killed.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// A folder with a number that is counted up, and with a mark while somebody is at it.
#[derive(Clone, Debug)]
pub(super) struct Work {
    folder: PathBuf,
}

impl Work {
    pub(super) fn create(folder: &Path) -> Self {
        fs::create_dir(folder).unwrap();
        let work = Self::at(folder);
        work.write(0);
        work
    }

    pub(super) fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    pub(super) fn folder(&self) -> &str {
        self.folder.to_str().unwrap()
    }

    fn mark(&self) -> PathBuf {
        self.folder.join("inside")
    }

    /// A process comes in and counts; what it has counted. Nothing if another one is there that lives, which is
    /// noted. A mark that a dead one left is taken away.
    pub(super) fn enter(&self, process: u32) -> Option<u64> {
        let own = self.folder.join(format!("process-{process}"));
        fs::write(&own, process.to_string()).unwrap();
        while let Err(error) = fs::hard_link(&own, self.mark()) {
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists, "{error:#}");
            // Who leaves takes the mark away before it lets go of the lock.
            let other = fs::read_to_string(self.mark()).unwrap_or_default();
            if other.parse().map_or(true, is_alive) {
                self.note(&format!("{process} came in while {other:?} was there"));
                return None;
            }
            fs::remove_file(self.mark()).unwrap();
        }
        let number = self.number() + 1;
        self.write(number);
        Some(number)
    }

    /// It has gone out, and is about to let go of the lock.
    pub(super) fn leave(&self, process: u32, number: u64) {
        if self.number() != number {
            self.note(&format!(
                "{process} counted to {number}, and {} stands there",
                self.number()
            ));
        }
        fs::remove_file(self.mark()).unwrap();
        let counted = self.folder.join(format!("counted-{process}"));
        let mut counted = File::options().create(true).append(true).open(counted).unwrap();
        counted.write_all(format!("{number}\n").as_bytes()).unwrap();
    }

    /// Notes what must not be.
    pub(super) fn note(&self, what: &str) {
        let note = self.folder.join(format!("wrong-{}", std::process::id()));
        fs::write(note, what).unwrap();
    }

    /// What has been noted.
    pub(super) fn notes(&self) -> Vec<String> {
        self.read("wrong-")
    }

    /// All numbers that somebody has counted.
    pub(super) fn counted(&self) -> Vec<u64> {
        let all = self.read("counted-");
        let mut all: Vec<_> =
            all.iter().flat_map(|text| text.lines()).map(|line| line.parse().unwrap()).collect();
        all.sort_unstable();
        all
    }

    fn read(&self, prefix: &str) -> Vec<String> {
        let files = fs::read_dir(&self.folder).unwrap().map(|file| file.unwrap());
        let files = files.filter(|file| file.file_name().to_str().unwrap().starts_with(prefix));
        files.map(|file| fs::read_to_string(file.path()).unwrap()).collect()
    }

    pub(super) fn number(&self) -> u64 {
        fs::read_to_string(self.folder.join("number")).unwrap().parse().unwrap()
    }

    /// In one step, whenever it is killed.
    fn write(&self, number: u64) {
        let new = self.folder.join("number.new");
        fs::write(&new, number.to_string()).unwrap();
        fs::rename(new, self.folder.join("number")).unwrap();
    }
}

/// Whether a process runs; one that was killed and not yet heard of does not.
fn is_alive(process: u32) -> bool {
    let told = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = told.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}
