//! The sockets of members, in a directory where others may put something else in their place.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::{
        fs::{PermissionsExt, chown},
        net::UnixDatagram,
    },
};

use crate::{
    access::Access,
    dir::{Dir, Workshop},
    short_path::ShortPath,
};

/// Binds the socket of this name, and lets those use it who use the store.
pub(crate) fn bind(dir: &Dir, name: &str, access: Access) -> io::Result<UnixDatagram> {
    if !access.is_shared() {
        return UnixDatagram::bind(ShortPath::of(dir).join(name));
    }
    // Where nobody can exchange it before it has its mode.
    let workshop = Workshop::within(dir, name)?;
    let made = ShortPath::of(&workshop.dir).join(name);
    let socket = UnixDatagram::bind(&made)?;
    let _ = chown(&made, None, Some(access.gid()));
    let shared = fs::set_permissions(&made, Permissions::from_mode(access.file_mode()))
        .and_then(|()| workshop.hand_out(name, name));
    if shared.is_err() {
        let _ = workshop.dir.remove(name);
    }
    shared.map(|()| socket)
}

/// A socket that never blocks, connected to the one of this name, if it is one.
pub(crate) fn connect(
    (dir, short): (&Dir, &ShortPath),
    name: &str,
    access: Access,
) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    if access.is_shared() {
        connect_to_the_very(&socket, dir, name)?;
    } else {
        socket.connect(short.join(name))?;
    }
    Ok(socket)
}

/// Connects to the socket that has this name now: a link is not followed.
#[cfg(target_os = "linux")]
fn connect_to_the_very(socket: &UnixDatagram, dir: &Dir, name: &str) -> io::Result<()> {
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
    socket.connect(crate::short_path::of_open(&found))
}

#[cfg(not(target_os = "linux"))]
fn connect_to_the_very(socket: &UnixDatagram, dir: &Dir, name: &str) -> io::Result<()> {
    if dir.entry(name)? != Some(crate::dir::Entry::Socket) {
        return Err(io::ErrorKind::NotFound.into());
    }
    socket.connect(ShortPath::of(dir).join(name))
}
