//! The system's list of processes, where it has one to read.

use std::io;

use nix::unistd::Pid;
#[cfg(target_os = "linux")]
use nix::{
    errno::Errno,
    sys::wait::{Id, WaitPidFlag, waitid},
    unistd::{getpgid, getsid},
};

/// Whether a process of this group runs, or is dead and to be collected here. One whose parent left
/// the group and does not collect it stays listed for ever, but is dead all the same.
#[cfg(target_os = "linux")]
pub(super) fn group_has_processes(group: Pid) -> io::Result<bool> {
    let group = group.as_raw();
    Ok(list()?.iter().any(|it| it.group == group && (it.runs() || it.parent == me())))
}

/// The children of this process that belong to its session.
#[cfg(target_os = "linux")]
pub(super) fn children_in_session() -> io::Result<Vec<Pid>> {
    let session = getsid(None)?.as_raw();
    let children = list()?.into_iter().filter(|it| it.parent == me() && it.session == session);
    Ok(children.map(|it| Pid::from_raw(it.pid)).collect())
}

/// Whether a process stands still, for all that can be told.
#[cfg(target_os = "linux")]
pub(super) fn is_stopped(pid: Pid) -> bool {
    Process::read(pid.as_raw()).is_ok_and(|read| read.is_some_and(|it| it.stopped))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn is_stopped(_pid: Pid) -> bool {
    false
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

/// All of them, or an error where one cannot be told.
#[cfg(target_os = "linux")]
fn list() -> io::Result<Vec<Process>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        all.extend(Process::read(pid)?);
    }
    Ok(all)
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
    stopped: bool,
    threads: u32,
}

#[cfg(target_os = "linux")]
impl Process {
    /// What is known of a process; nothing once it ended.
    fn read(pid: i32) -> io::Result<Option<Self>> {
        // Bytes: the kernel cuts a long name, also within a character.
        match std::fs::read(format!("/proc/{pid}/stat")) {
            Ok(stat) => match Self::parse(pid, &stat) {
                Some(process) => Ok(Some(process)),
                None => Err(io::ErrorKind::InvalidData.into()),
            },
            Err(error) => match error.raw_os_error().map(Errno::from_raw) {
                Some(Errno::ENOENT | Errno::ESRCH) => Ok(None),
                // `/proc` can be mounted so that it tells nothing of other users' processes.
                Some(Errno::EPERM | Errno::EACCES) => Self::ask(pid),
                _ => Err(error),
            },
        }
    }

    /// What the kernel says of a process without `/proc`. Not whether it is dead, so it counts as
    /// one that runs.
    fn ask(pid: i32) -> io::Result<Option<Self>> {
        let one = Pid::from_raw(pid);
        let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        let is_child = match waitid(Id::Pid(one), look | WaitPidFlag::__WALL) {
            Ok(_) => true,
            Err(Errno::ECHILD) => false,
            Err(error) => return Err(error.into()),
        };
        match (getpgid(Some(one)), getsid(Some(one))) {
            (Ok(group), Ok(session)) => Ok(Some(Self {
                pid,
                parent: if is_child { me() } else { 0 },
                group: group.as_raw(),
                session: session.as_raw(),
                dead: false,
                stopped: false,
                threads: 1,
            })),
            (Err(Errno::ESRCH), _) | (_, Err(Errno::ESRCH)) => Ok(None),
            (Err(error), _) | (_, Err(error)) => Err(error.into()),
        }
    }

    fn parse(pid: i32, stat: &[u8]) -> Option<Self> {
        // The name, in brackets, may hold anything. The state follows it.
        let name_end = stat.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(stat.get(name_end + 1..)?).ok()?;
        let fields: Vec<_> = rest.split_ascii_whitespace().collect();
        let state = *fields.first()?;
        Some(Self {
            pid,
            dead: matches!(state, "Z" | "X"),
            stopped: matches!(state, "T" | "t"),
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
        let (dead, stopped) = (false, false);
        let expected =
            Process { pid: 7, parent: 5, group: 6, session: 4, dead, stopped, threads: 3 };
        let cut_within_a_character = b"\xc3\xbc\xc3";
        for name in [&b"a) Z b"[..], b"", b"\n", cut_within_a_character] {
            let rest = b") S 5 6 4 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 3 0 99 0 0\n";
            let stat = [b"7 (", name, rest].concat();
            assert_eq!(Process::parse(7, &stat).as_ref(), Some(&expected), "{name:?}");
        }
    }

    #[test]
    fn without_the_list_the_kernel_says_who_is_a_child_and_of_what_group() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = child.id().try_into().unwrap();
        assert_eq!(Process::ask(pid).unwrap(), Process::read(pid).unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(Process::ask(pid).unwrap(), None);
        assert_eq!(Process::read(pid).unwrap(), None);
        assert_ne!(Process::ask(me()).unwrap().unwrap().parent, me());
    }

    #[test]
    fn this_process_is_in_the_list() {
        assert!(group_has_processes(nix::unistd::getpgrp()).unwrap());
    }
}
