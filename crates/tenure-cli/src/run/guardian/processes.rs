//! The system's list of processes, where it has one to read.

use std::io;

use nix::unistd::Pid;

/// Whether a process of this group runs, or is dead and to be collected here. One whose parent left
/// the group and does not collect it stays listed for ever, but is dead all the same.
#[cfg(target_os = "linux")]
pub(super) fn any_in(group: Pid) -> io::Result<bool> {
    let group = group.as_raw();
    Ok(list()?.any(|it| it.group == group && (it.runs() || it.parent == me())))
}

/// The children of this process that belong to its session.
#[cfg(target_os = "linux")]
pub(super) fn children_in_session() -> io::Result<Vec<Pid>> {
    let session = nix::unistd::getsid(None)?.as_raw();
    let children = list()?.filter(|it| it.parent == me() && it.session == session);
    Ok(children.map(|it| Pid::from_raw(it.pid)).collect())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn any_in(_group: Pid) -> io::Result<bool> {
    Ok(true)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn children_in_session() -> io::Result<Vec<Pid>> {
    Ok(Vec::new())
}

#[cfg(target_os = "linux")]
fn me() -> i32 {
    Pid::this().as_raw()
}

#[cfg(target_os = "linux")]
fn list() -> io::Result<impl Iterator<Item = Process>> {
    let entries = std::fs::read_dir("/proc")?;
    Ok(entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let pid = entry.file_name().to_str()?.parse().ok()?;
        // A process that ended meanwhile cannot be read, and is none any more.
        Process::parse(pid, &std::fs::read_to_string(entry.path().join("stat")).ok()?)
    }))
}

/// What `/proc/PID/stat` says of a process.
#[cfg(target_os = "linux")]
#[derive(Debug, PartialEq, Eq)]
struct Process {
    pid: i32,
    parent: i32,
    group: i32,
    session: i32,
    dead: bool,
    threads: u32,
}

#[cfg(target_os = "linux")]
impl Process {
    fn parse(pid: i32, stat: &str) -> Option<Self> {
        // The name, in brackets, may hold anything. The state follows it.
        let fields: Vec<_> = stat.rsplit_once(") ")?.1.split(' ').collect();
        Some(Self {
            pid,
            dead: matches!(*fields.first()?, "Z" | "X"),
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            threads: fields.get(17)?.parse().ok()?,
        })
    }

    /// A process whose first thread has ended looks dead while the others run.
    fn runs(&self) -> bool {
        !self.dead || self.threads > 1
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_can_have_any_name() {
        let stat = "7 (a) Z b) S 5 6 4 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 3 0 99 0 0";
        let read = Process::parse(7, stat).unwrap();
        let expected = Process { pid: 7, parent: 5, group: 6, session: 4, dead: false, threads: 3 };
        assert_eq!(read, expected);
    }

    #[test]
    fn this_process_is_in_the_list() {
        assert!(any_in(nix::unistd::getpgrp()).unwrap());
    }
}
