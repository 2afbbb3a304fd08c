//! The commands for locks that stay held between two commands.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use tenure::LockName;

use crate::{exit::Failure, handle::words};

use super::{
    AcquireArgs, ExitCodeArgs, ModeArgs,
    values::{lease, name},
};

#[derive(Args, Debug)]
pub(crate) struct Lock {
    /// The lock's name: 1 to 512 bytes of text without control characters
    #[arg(value_parser = name)]
    pub(crate) name: LockName,
    /// How long the lock stays held unless it is renewed or attached: 10ms to 24h
    #[arg(long = "for", value_name = "TIME", value_parser = lease)]
    pub(crate) lease: Duration,
    /// Write the handle to FILE, which only you can read, instead of standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) handle: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) sharing: ModeArgs,
    /// Serve all waiters in order, including those of one process
    #[arg(long)]
    pub(crate) fair: bool,
    #[command(flatten)]
    pub(crate) asking: AcquireArgs,
}

#[derive(Args, Debug)]
pub(crate) struct Renew {
    #[command(flatten)]
    pub(crate) from: HandleArgs,
    /// How long the lock lasts from now, at least [default: as long as the handle says]
    #[arg(long = "for", value_name = "TIME", value_parser = lease)]
    pub(crate) lease: Option<Duration>,
    #[command(flatten)]
    pub(crate) ends: ExitCodeArgs,
}

#[derive(Args, Debug)]
pub(crate) struct Unlock {
    #[command(flatten)]
    pub(crate) from: HandleArgs,
    #[command(flatten)]
    pub(crate) ends: ExitCodeArgs,
}

/// Where the handle comes from.
#[derive(Args, Debug)]
pub(crate) struct HandleArgs {
    /// The file with the handle [default: TENURE_HANDLE if set, otherwise standard input]
    #[arg(long, value_name = "FILE")]
    handle: Option<PathBuf>,
    /// Not taken: for a hint to whoever gives one
    #[arg(hide = true, value_name = "NAME")]
    name: Option<OsString>,
}

impl HandleArgs {
    /// The file, if it was named and nothing else was.
    pub(crate) fn file(&self) -> Result<Option<&Path>, Failure> {
        const HINT: (&str, &str) = (
            "expected a handle, by --handle FILE or in TENURE_HANDLE, and not a name",
            "to free a lock whose handle is gone, run `tenure break NAME`",
        );
        match &self.name {
            None => Ok(self.handle.as_deref()),
            Some(word) if words::is_one(word) => Err(Failure::Usage(words::REFUSAL.into())),
            Some(_) => Err(Failure::Usage(HINT.into())),
        }
    }
}
