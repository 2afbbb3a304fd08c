//! The sockets of members, in a directory where others may put something else in their place.

use std::{io, os::unix::net::UnixDatagram, path::PathBuf};

use self::as_found::{send_to_the_very, share};
use crate::{access::Access, dir::Dir, members::SOCKET, short_path::ShortPath};

/// The path of a member's socket.
pub(crate) fn path(dir: &ShortPath, member: &str) -> PathBuf {
    dir.join(&format!("{member}{SOCKET}"))
}

/// Binds the socket of `member`, and lets those use it who use the store.
pub(crate) fn bind(dir: &Dir, member: &str, access: Access) -> io::Result<UnixDatagram> {
    // What is there already is not followed.
    let socket = UnixDatagram::bind(path(&ShortPath::of(dir), member))?;
    if access.is_shared() {
        share(dir, &format!("{member}{SOCKET}"), access)?;
    }
    Ok(socket)
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

#[cfg(target_os = "linux")]
mod as_found {
    use nix::{
        fcntl::{OFlag, openat},
        sys::stat::{Mode, SFlag, fstat},
    };
    use std::{
        fs::{self, File, Permissions},
        os::unix::fs::PermissionsExt,
    };

    use super::{Access, Dir, SOCKET, UnixDatagram, io};
    use crate::short_path::of_open;

    /// The socket of this name, held fast: a link is not followed, and what is put in its place
    /// later is not meant.
    fn found(dir: &Dir, name: &str) -> io::Result<File> {
        let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let found = openat(dir, name, flags, Mode::empty())?;
        let kind = SFlag::from_bits_truncate(fstat(&found)?.st_mode) & SFlag::S_IFMT;
        if kind == SFlag::S_IFSOCK { Ok(found.into()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    pub(super) fn share(dir: &Dir, name: &str, access: Access) -> io::Result<()> {
        let socket = found(dir, name)?;
        fs::set_permissions(of_open(&socket), Permissions::from_mode(access.file_mode()))
    }

    pub(super) fn send_to_the_very(
        from: &UnixDatagram,
        dir: &Dir,
        member: &str,
        hint: &[u8],
    ) -> io::Result<()> {
        let socket = found(dir, &format!("{member}{SOCKET}"))?;
        from.send_to(hint, of_open(&socket)).map(drop)
    }
}

#[cfg(not(target_os = "linux"))]
mod as_found {
    use nix::sys::stat::{FchmodatFlags, Mode, fchmodat};

    use super::{Access, Dir, SOCKET, ShortPath, UnixDatagram, io};

    pub(super) fn share(dir: &Dir, name: &str, access: Access) -> io::Result<()> {
        let mode = Mode::from_bits_truncate(access.file_mode() as nix::libc::mode_t);
        Ok(fchmodat(dir, name, mode, FchmodatFlags::NoFollowSymlink)?)
    }

    pub(super) fn send_to_the_very(
        from: &UnixDatagram,
        dir: &Dir,
        member: &str,
        hint: &[u8],
    ) -> io::Result<()> {
        let name = format!("{member}{SOCKET}");
        if dir.entry(&name)? != Some(crate::dir::Entry::Socket) {
            return Err(io::ErrorKind::NotFound.into());
        }
        from.send_to(hint, ShortPath::of(dir).join(&name)).map(drop)
    }
}
