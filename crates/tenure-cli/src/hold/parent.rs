//! The program that started this command: when it is gone, so are its holds.
//!
//! The end of standard input says that it is gone only if nobody else has the other end of that pipe. Programs that it
//! started may have inherited it, and live on.

use std::{os::unix::process::parent_id, sync::Arc, thread, time::Duration};

use tokio::sync::Notify;

use crate::{exit::Failure, explanation::Explanation};

/// How often to look where the system does not tell.
const LOOK: Duration = Duration::from_millis(20);

/// The process that started this one.
#[derive(Debug)]
pub(crate) struct Parent {
    pid: u32,
    ended: Arc<Notify>,
}

impl Parent {
    /// Looks which process that is, and watches it. It has to be `wanted`, if that is given.
    pub(crate) fn watch(wanted: Option<i32>) -> Result<Self, Failure> {
        let pid = parent_id();
        if let Some(wanted) = wanted
            && u32::try_from(wanted) != Ok(pid)
        {
            return Err(Failure::Usage(
                (
                    format!("process {wanted} did not start tenure, or has ended: its parent is process {pid}"),
                    "start tenure directly, without a shell between, and name the process that does",
                )
                    .into(),
            ));
        }
        let ended = Arc::new(Notify::new());
        let tells = ended.clone();
        let started = thread::Builder::new().name("parent".to_owned()).spawn(move || {
            wait_for_exit(pid);
            // Where the system cannot tell, and where its word came early.
            while parent_id() == pid {
                thread::sleep(LOOK);
            }
            tells.notify_one();
        });
        match started {
            Ok(_) => Ok(Self { pid, ended }),
            Err(error) => {
                let why = Explanation::from_io_error("tenure cannot start a thread", &error);
                Err(Failure::Failed(why))
            }
        }
    }

    /// Returns when it has ended. Cancel-safe.
    pub(crate) async fn ended(&self) {
        while parent_id() == self.pid {
            self.ended.notified().await;
        }
    }
}

/// Returns when the process has ended, or at once if that cannot be told: on old systems, and of a process of another
/// container.
#[cfg(target_os = "linux")]
fn wait_for_exit(pid: u32) {
    use rustix::{
        event::{PollFd, PollFlags, poll},
        io::Errno,
        process::{Pid, PidfdFlags, pidfd_open},
    };

    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return };
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    let mut wanted = [PollFd::new(&process, PollFlags::IN)];
    while poll(&mut wanted, None) == Err(Errno::INTR) {}
}

#[cfg(not(target_os = "linux"))]
fn wait_for_exit(_: u32) {}
