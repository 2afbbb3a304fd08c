//! The sockets of members, in a directory where others may put something else in their place.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::{
        fs::{PermissionsExt, chown},
        net::UnixDatagram,
    },
    path::PathBuf,
};

use crate::{
    access::Access,
    dir::{Dir, Workshop},
    layout::SOCKET,
    short_path::ShortPath,
};

/// The path of a member's socket.
pub(crate) fn path(dir: &ShortPath, member: &str) -> PathBuf {
    dir.join(&format!("{member}{SOCKET}"))
}

/// Binds the socket of `member`, and lets those use it who use the store.
pub(crate) fn bind(dir: &Dir, member: &str, access: Access) -> io::Result<UnixDatagram> {
    let name = format!("{member}{SOCKET}");
    if !access.is_shared() {
        return UnixDatagram::bind(ShortPath::of(dir).join(&name));
    }
    // Where nobody can exchange it before it has its mode.
    let workshop = Workshop::within(dir, &name)?;
    let made = ShortPath::of(&workshop.dir).join(&name);
    let socket = UnixDatagram::bind(&made)?;
    let _ = chown(&made, None, Some(access.gid()));
    let shared = fs::set_permissions(&made, Permissions::from_mode(access.file_mode()))
        .and_then(|()| workshop.hand_out(&name, &name));
    if shared.is_err() {
        let _ = workshop.dir.remove(&name);
    }
    shared.map(|()| socket)
}

/// Sends a hint to the socket of `member`, if it is one.
pub(crate) fn send(
    from: &UnixDatagram,
    (dir, short): (&Dir, &ShortPath),
    member: &str,
    access: Access,
    hint: &[u8],
) -> io::Result<()> {
    if access.is_shared() {
        return send_to_the_very(from, dir, member, hint);
    }
    from.send_to(hint, path(short, member)).map(drop)
}

/// Sends to the socket that has this name now: a link is not followed.
#[cfg(target_os = "linux")]
fn send_to_the_very(from: &UnixDatagram, dir: &Dir, member: &str, hint: &[u8]) -> io::Result<()> {
    use nix::{
        fcntl::{OFlag, openat},
        sys::stat::{Mode, SFlag, fstat},
    };
    let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let found = openat(dir, format!("{member}{SOCKET}").as_str(), flags, Mode::empty())?;
    let kind = SFlag::from_bits_truncate(fstat(&found)?.st_mode) & SFlag::S_IFMT;
    if kind != SFlag::S_IFSOCK {
        return Err(io::ErrorKind::NotFound.into());
    }
    from.send_to(hint, crate::short_path::of_open(&found)).map(drop)
}

#[cfg(not(target_os = "linux"))]
fn send_to_the_very(from: &UnixDatagram, dir: &Dir, member: &str, hint: &[u8]) -> io::Result<()> {
    if dir.entry(&format!("{member}{SOCKET}"))? != Some(crate::dir::Entry::Socket) {
        return Err(io::ErrorKind::NotFound.into());
    }
    from.send_to(hint, path(&ShortPath::of(dir), member)).map(drop)
}
