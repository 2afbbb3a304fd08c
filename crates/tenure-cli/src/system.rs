//! What tenure needs of the system, and may not get: that is a failure which says so, and never a panic.

use std::{
    io,
    os::unix::net::UnixStream,
    panic::{AssertUnwindSafe, catch_unwind},
};

use nix::fcntl::OFlag;
use tokio::runtime::{Builder, Runtime};

use crate::exit::Failure;

/// How many pairs of files a runtime opens, at most.
const PAIRS: usize = 4;

/// A runtime of this thread alone.
pub(crate) fn runtime() -> io::Result<Runtime> {
    built(&mut Builder::new_current_thread())
}

/// A runtime with a thread for each core.
pub(crate) fn runtime_of_many() -> io::Result<Runtime> {
    built(&mut Builder::new_multi_thread())
}

fn built(builder: &mut Builder) -> io::Result<Runtime> {
    // Where no file is left for the signals of the process, it panics.
    let room: Vec<_> = (0..PAIRS).map(|_| UnixStream::pair()).collect::<Result<_, _>>()?;
    drop(room);
    builder.enable_all().build()
}

/// What `work` gives, or that tenure panicked: what that says stands in the error output already.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(Failure::failed((
            "tenure itself panicked, from a bug or a lack of threads or memory",
            "report it with the lines above",
        )))
    })
}

/// How to open a file where others may have put something else: a link does not lead elsewhere, and a pipe does not let
/// this wait.
pub(crate) const SAFELY: OFlag = OFlag::O_NOFOLLOW.union(OFlag::O_NONBLOCK).union(OFlag::O_NOCTTY);
