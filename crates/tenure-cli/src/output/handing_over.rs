//! Standard output for what is lost if nobody reads it: a handle.

use std::io::{self, Write};

use nix::{
    fcntl::{FcntlArg, OFlag, fcntl},
    sys::stat::{FileStat, SFlag, fstat, stat},
};

use crate::{exit::Failure, explanation::Explanation};

/// Writes on stdout what is lost if nobody reads it.
pub(crate) fn hand_over(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(|error| {
        let why = Explanation::new("the handle cannot be printed, so the lock was released");
        Failure::Failed(why.because(&error).advise("name a file for it: --handle FILE"))
    })
}

/// Sees that what is handed over on stdout could be read by somebody. A program that is started
/// without a standard output finds `/dev/null` there, so both are one.
pub(crate) fn check_stdout_readable() -> Result<(), Failure> {
    let out = io::stdout();
    let writable = fcntl(&out, FcntlArg::F_GETFL)
        .is_ok_and(|flags| OFlag::from_bits_truncate(flags) & OFlag::O_ACCMODE != OFlag::O_RDONLY);
    let device = |found: &FileStat| {
        let is_one = found.st_mode & SFlag::S_IFMT.bits() == SFlag::S_IFCHR.bits();
        is_one.then_some(found.st_rdev)
    };
    let there = fstat(&out).ok();
    let is_null = there.as_ref().and_then(device).is_some_and(|ours| {
        stat("/dev/null").ok().as_ref().and_then(device).is_some_and(|null| null == ours)
    });
    if writable && there.is_some() && !is_null {
        return Ok(());
    }
    let why = Explanation::new(
        "no program would read the handle: standard output is closed or /dev/null",
    );
    Err(Failure::Failed(why.advise("read it there, or name a file for it: --handle FILE")))
}
