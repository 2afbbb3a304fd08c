//! Wake-ups between processes: a datagram with the owner whose turn has come.
//!
//! They are hints (promise S6). One that is lost, or that finds a full queue, costs a waiter until
//! it looks by itself.

use std::{
    fs::{self, File, Permissions},
    io,
    net::Shutdown,
    os::unix::{fs::PermissionsExt, net::UnixDatagram},
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use tenure_core::{
    HintBoard, LockName, Wakeups,
    proto::{
        Owner,
        queue::{Client, Wake},
    },
};

use crate::{
    layout::Layout,
    members::{SOCKET, file_of},
};

/// Sends and receives hints for one store.
#[derive(Debug)]
pub(crate) struct Watch {
    board: HintBoard,
    own: Client,
    dir: ShortPath,
    sender: io::Result<UnixDatagram>,
    receiver: io::Result<Arc<Receiver>>,
    started: OnceLock<bool>,
}

#[derive(Debug)]
struct Receiver {
    socket: UnixDatagram,
    path: PathBuf,
    stopping: AtomicBool,
}

impl Watch {
    /// Opens the store's socket. Without one its waiters look by themselves.
    pub(crate) fn open(layout: &Layout, own: Client) -> Self {
        let dir = ShortPath::of(&layout.members);
        let sender = UnixDatagram::unbound()
            .and_then(|socket| socket.set_nonblocking(true).map(|()| socket));
        let receiver = bind(layout, &dir, own).map(Arc::new);
        if let Err(error) = &receiver {
            tracing::debug!(%error, "no socket for hints: waiters look by themselves");
        }
        Self { board: HintBoard::new(), own, dir, sender, receiver, started: OnceLock::new() }
    }

    /// Registers a waiter. The first one starts the thread that listens.
    pub(crate) fn listen(&self, name: &LockName, owner: &Owner) -> Wakeups {
        self.started.get_or_init(|| self.start());
        self.board.listen(name, owner)
    }

    /// Tells a waiter, here or in another process, that it should ask again.
    pub(crate) fn tell(&self, wake: &Wake) {
        if wake.client == self.own {
            self.board.wake(&wake.owner);
            return;
        }
        if let Ok(sender) = &self.sender {
            let path = self.dir.socket_of(wake.client);
            // Nobody there, or too many hints underway: the waiter looks by itself.
            let _ = sender.send_to(wake.owner.as_bytes(), path);
        }
    }

    /// Why there are no hints, if there are none.
    pub(crate) fn trouble(&self) -> Option<String> {
        match (&self.receiver, self.started.get()) {
            (Err(error), _) => Some(error.to_string()),
            (Ok(_), Some(false)) => Some("no thread could be started".to_owned()),
            (Ok(_), _) => self.sender.as_ref().err().map(ToString::to_string),
        }
    }

    fn start(&self) -> bool {
        let Ok(receiver) = &self.receiver else { return false };
        let (receiver, board) = (receiver.clone(), self.board.clone());
        thread::Builder::new()
            .name("tenure-hints".to_owned())
            .spawn(move || receiver.run(&board))
            .is_ok()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let Ok(receiver) = &self.receiver else { return };
        receiver.stopping.store(true, Ordering::Release);
        // Either of the two ends the thread's wait.
        if let Ok(sender) = &self.sender {
            let _ = sender.send_to(&[], &receiver.path);
        }
        let _ = receiver.socket.shutdown(Shutdown::Both);
    }
}

impl Receiver {
    fn run(&self, board: &HintBoard) {
        let mut message = [0; 17];
        loop {
            let received = self.socket.recv(&mut message);
            if self.stopping.load(Ordering::Acquire) {
                return;
            }
            match received {
                Ok(16) => {
                    let mut owner = [0; 16];
                    owner.copy_from_slice(message.get(..16).unwrap_or(&[0; 16]));
                    board.wake(&Owner::from_bytes(owner));
                }
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    tracing::warn!(%error, "hints have stopped: waiters look by themselves");
                    return;
                }
                Ok(_) | Err(_) => {}
            }
        }
    }
}

fn bind(layout: &Layout, dir: &ShortPath, own: Client) -> io::Result<Receiver> {
    let path = dir.socket_of(own);
    let socket = UnixDatagram::bind(&path)?;
    if layout.access.is_shared() {
        let long = file_of(&layout.members, own).with_extension(SOCKET);
        fs::set_permissions(long, Permissions::from_mode(layout.access.file_mode()))?;
    }
    Ok(Receiver { socket, path, stopping: AtomicBool::new(false) })
}

/// A directory by a path short enough for the address of a socket, which has about 100 bytes.
#[derive(Debug)]
struct ShortPath {
    path: PathBuf,
    /// Keeps the path valid where it names a file descriptor.
    _open: Option<File>,
}

impl ShortPath {
    #[cfg(target_os = "linux")]
    fn of(dir: &Path) -> Self {
        use std::os::fd::AsRawFd;
        match File::open(dir) {
            Ok(open) => {
                let path = PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()));
                Self { path, _open: Some(open) }
            }
            Err(_) => Self { path: dir.to_owned(), _open: None },
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn of(dir: &Path) -> Self {
        Self { path: dir.to_owned(), _open: None }
    }

    fn socket_of(&self, client: Client) -> PathBuf {
        file_of(&self.path, client).with_extension(SOCKET)
    }
}
