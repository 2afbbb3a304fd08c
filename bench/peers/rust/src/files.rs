//! Locks on files: fs4 and flock(1), opened each time; fd-lock, kept open. flock(2) is fs4 without fs4.

use std::{
    fs::{File, OpenOptions},
    future::Future,
    io::{Read, Write},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use crate::play::{Contestant, Failure, Lock};

#[derive(Clone, Copy)]
pub(crate) enum Way {
    Fs4,
    FdLock,
    Flock2,
    Flock1,
}

pub(crate) struct Files {
    pub(crate) dir: PathBuf,
    pub(crate) way: Way,
}

pub(crate) struct OfFile {
    path: PathBuf,
    way: Way,
    open: Option<fd_lock::RwLock<File>>,
}

impl Contestant for Files {
    type Lock = OfFile;
    const BLOCKS: bool = true;

    fn lock(&self, name: String) -> Result<OfFile, Failure> {
        let path = self.dir.join(name);
        let open = match self.way {
            Way::FdLock => Some(fd_lock::RwLock::new(opened(&path)?)),
            Way::Fs4 | Way::Flock2 | Way::Flock1 => None,
        };
        Ok(OfFile { path, way: self.way, open })
    }
}

fn opened(path: &PathBuf) -> Result<File, Failure> {
    Ok(OpenOptions::new().create(true).append(true).open(path)?)
}

/// What holds a lock: a file or a process.
pub(crate) enum Kept {
    File(#[expect(dead_code, reason = "it is there to be dropped")] File),
    Process(Child),
}

impl OfFile {
    /// flock(1), which runs a command under the lock: here one that ends when its input does.
    fn command(&self) -> Result<Child, Failure> {
        let mut held = Command::new("flock")
            .arg(&self.path)
            .args(["sh", "-c", "echo; read -r _"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        held.stdout.as_mut().ok_or("no pipe")?.read_exact(&mut [0])?;
        Ok(held)
    }

    fn file(&self) -> Result<File, Failure> {
        let file = opened(&self.path)?;
        match self.way {
            Way::Fs4 => fs4::FileExt::lock(&file)?,
            Way::FdLock | Way::Flock2 | Way::Flock1 => {
                rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)?
            }
        }
        Ok(file)
    }
}

impl Lock for OfFile {
    type Kept = Kept;

    async fn hold<T: Send>(
        &mut self,
        inside: impl Future<Output = T> + Send,
    ) -> Result<T, Failure> {
        match (self.way, &mut self.open) {
            (Way::FdLock, Some(open)) => {
                let guard = open.write()?;
                let value = inside.await;
                drop(guard);
                Ok(value)
            }
            (Way::Flock1, _) => {
                let mut held = self.command()?;
                let value = inside.await;
                held.stdin.take().ok_or("no pipe")?.write_all(b"\n")?;
                held.wait()?;
                Ok(value)
            }
            _ => {
                let file = self.file()?;
                let value = inside.await;
                match self.way {
                    Way::Fs4 => fs4::FileExt::unlock(&file)?,
                    _ => rustix::fs::flock(&file, rustix::fs::FlockOperation::Unlock)?,
                }
                Ok(value)
            }
        }
    }

    async fn keep(&mut self) -> Result<Kept, Failure> {
        Ok(match self.way {
            Way::Flock1 => Kept::Process(self.command()?),
            Way::Fs4 | Way::FdLock | Way::Flock2 => Kept::File(self.file()?),
        })
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Self::Process(held) = self {
            let _ = held.kill();
            let _ = held.wait();
        }
    }
}
