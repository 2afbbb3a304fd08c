//! What lies where a handle is kept.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
};

use nix::{errno::Errno, unistd::geteuid};
use tenure::{BadHandle, Handle};

use crate::{explanation::Explanation, system::SAFELY};

/// More than any handle has.
const LONGEST: u64 = 8 * 1024;
/// What others than the owner may do with a file.
const OTHERS: u32 = 0o077;

/// What is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HandleFileContent {
    Nothing,
    Empty,
    Handle(Handle),
}

/// Looks at what is at `path`.
///
/// # Errors
/// It is not what a handle may be in, or is none: in words that name the file and show nothing of it.
pub(crate) fn read_content(path: &Path) -> Result<HandleFileContent, Explanation> {
    let shown = path.display();
    let opened = OpenOptions::new().read(true).custom_flags(SAFELY.bits()).open(path);
    let (file, about) = match opened.and_then(|file| file.metadata().map(|about| (file, about))) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(HandleFileContent::Nothing);
        }
        Err(error) if error.raw_os_error() == Some(Errno::ELOOP as i32) => {
            return Err((format!("{shown} is a symbolic link"), "name the file itself").into());
        }
        Err(error) => return Err(unreadable(path, &error)),
    };
    if let Some(why) =
        find_problem(about.is_file(), about.uid() == geteuid().as_raw(), about.mode())
    {
        return Err(of_file(&shown.to_string(), why));
    }
    match read(file) {
        Ok(Ok(handle)) => Ok(HandleFileContent::Handle(handle)),
        Ok(Err(BadHandle::Empty)) => Ok(HandleFileContent::Empty),
        Ok(Err(bad)) => Err(Explanation::of_line(&format!("{shown}: {bad}"))),
        Err(error) => Err(unreadable(path, &error)),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Explanation {
    let why = Explanation::new(format!("the handle in {} cannot be read", path.display()));
    why.because(error).advise("name a file that this user can read")
}

/// Why nothing secret can be in such a file, if that is so.
fn find_problem(is_file: bool, is_ours: bool, mode: u32) -> Option<FileProblem> {
    if !is_file {
        Some(("FILE is not a regular file", "name another file for the handle"))
    } else if !is_ours {
        Some(("FILE belongs to another user, who can read the handle", "name a file of your own"))
    } else if mode & OTHERS != 0 {
        Some((
            "FILE is open to other users, and a handle is a secret",
            "run chmod 600 FILE, and get a new handle",
        ))
    } else {
        None
    }
}

/// What is wrong with a file, and what the user can do; the file is called FILE in it.
pub(super) type FileProblem = (&'static str, &'static str);

/// The same of this file.
pub(super) fn of_file(file: &str, (what, help): FileProblem) -> Explanation {
    (what.replace("FILE", file), help.replace("FILE", file)).into()
}

/// Reads a handle from something that may be of any length.
pub(crate) fn read(from: impl Read) -> io::Result<Result<Handle, BadHandle>> {
    let mut bytes = Vec::new();
    from.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        return Ok(Err(BadHandle::NoHandle));
    }
    Ok(std::str::from_utf8(&bytes).map_or(Err(BadHandle::NoHandle), str::parse))
}

/// Removes the file if it holds this very handle. What else is there is somebody else's.
pub(crate) fn remove(path: &Path, handle: &Handle) -> Result<(), Explanation> {
    match read_content(path) {
        Ok(HandleFileContent::Handle(found)) if found == *handle => {
            fs::remove_file(path).map_err(|error| {
                Explanation::new(format!("{} cannot be removed", path.display())).because(&error)
            })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_in_a_file_of_ones_own_alone() {
        assert_eq!(find_problem(true, true, 0o100_600), None);
        assert_eq!(find_problem(true, true, 0o100_400), None);
        for mode in [0o640, 0o620, 0o604, 0o602, 0o644] {
            assert!(find_problem(true, true, mode).unwrap().1.contains("chmod 600"), "{mode:o}");
        }
        assert!(find_problem(false, true, 0o600).is_some());
        assert!(find_problem(true, false, 0o600).is_some());
    }

    #[test]
    fn nothing_is_read_without_end() {
        let handle = read(io::repeat(b'x')).unwrap();
        assert_eq!(handle, Err(BadHandle::NoHandle));
        // The end of what is so long was not looked at.
        assert_eq!(read(io::repeat(b' ')).unwrap(), Err(BadHandle::NoHandle));
        assert_eq!(read(&b" \n"[..]).unwrap(), Err(BadHandle::Empty));
        assert_eq!(read(&b"\xff"[..]).unwrap(), Err(BadHandle::NoHandle));
    }
}
