//! The sockets of members, in a directory where others may put something else in their place.

use std::{
    fs::{self, Permissions},
    io,
    os::{
        fd::OwnedFd,
        unix::{
            fs::{PermissionsExt, chown},
            net::UnixDatagram,
        },
    },
    path::PathBuf,
};

use crate::disk::{
    access::FilePermissions,
    dir::{Dir, PrivateDir},
    short_path::ShortPath,
};

/// Binds the socket of this name, and lets those use it who use the store.
pub(crate) fn bind(dir: &Dir, name: &str, access: FilePermissions) -> io::Result<UnixDatagram> {
    if !access.is_shared() {
        return UnixDatagram::bind(ShortPath::of(dir).join(name));
    }
    // Where nobody can exchange it before it has its mode.
    let workshop = PrivateDir::create_in(dir, name)?;
    let made = ShortPath::of(&workshop.dir).join(name);
    let socket = UnixDatagram::bind(&made)?;
    let _ = chown(&made, None, Some(access.gid()));
    let shared = fs::set_permissions(&made, Permissions::from_mode(access.file_mode()))
        .and_then(|()| workshop.move_into_place(name, name));
    if shared.is_err() {
        let _ = workshop.dir.remove(name);
    }
    shared.map(|()| socket)
}

/// A socket that never blocks, for sending.
pub(crate) fn unconnected() -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Where a socket is.
#[derive(Debug)]
pub(crate) struct Address {
    path: PathBuf,
    /// What the path leads to.
    _open: Option<OwnedFd>,
}

impl Address {
    /// Where the socket of this name is now. In a shared directory it has to be one: a link is not followed.
    pub(crate) fn resolve(
        (dir, short): (&Dir, &ShortPath),
        name: &str,
        access: FilePermissions,
    ) -> io::Result<Self> {
        if access.is_shared() {
            return resolve_no_follow(dir, name);
        }
        Ok(Self { path: short.join(name), _open: None })
    }

    /// Sends a hint there.
    pub(crate) fn send(&self, from: &UnixDatagram, hint: &[u8]) -> io::Result<()> {
        from.send_to(hint, &self.path).map(drop)
    }

    /// A socket that is connected with it, and never blocks.
    pub(crate) fn connect(&self) -> io::Result<UnixDatagram> {
        let socket = unconnected()?;
        socket.connect(&self.path)?;
        Ok(socket)
    }
}

#[cfg(target_os = "linux")]
fn resolve_no_follow(dir: &Dir, name: &str) -> io::Result<Address> {
    use nix::{
        fcntl::{OFlag, openat},
        sys::stat::{Mode, SFlag, fstat},
    };
    let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let found = openat(dir, name, flags, Mode::empty())?;
    let kind = SFlag::from_bits_truncate(fstat(&found)?.st_mode) & SFlag::S_IFMT;
    if kind != SFlag::S_IFSOCK {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(Address { path: crate::disk::short_path::of_open(&found), _open: Some(found) })
}

#[cfg(not(target_os = "linux"))]
fn of_the_very(dir: &Dir, name: &str) -> io::Result<Address> {
    if dir.entry(name)? != Some(crate::disk::dir::EntryKind::Socket) {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(Address { path: ShortPath::of(dir).join(name), _open: None })
}
