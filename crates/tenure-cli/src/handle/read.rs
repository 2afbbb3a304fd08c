//! Where a handle is read from.

use std::{
    ffi::OsString,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
};

use tenure::{BadHandle, Handle};

use super::{
    VARIABLE,
    file::{self, HandleFileContent, read_content},
};
use crate::{exit::Failure, explanation::Explanation};

/// A handle, and the file that it was read from if it was one.
#[derive(Debug)]
pub(crate) struct LoadedHandle {
    pub(crate) handle: Handle,
    pub(crate) file: Option<PathBuf>,
}

/// What can be had from standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StdinState {
    /// Nothing: it is for the command that is run.
    Taken,
    /// What somebody types, and sees.
    Typed,
    /// Whatever comes.
    Open,
}

#[derive(Debug, PartialEq, Eq)]
enum HandleSource<'a> {
    File(&'a Path),
    Variable(OsString),
    Input,
}

/// The handle of a command that reads nothing else.
pub(crate) fn given(file: Option<&Path>) -> Result<LoadedHandle, Failure> {
    let input = if io::stdin().is_terminal() { StdinState::Typed } else { StdinState::Open };
    from(file, input).map_err(Failure::usage)
}

/// The handle for a command that is run, whose standard input is its own.
pub(crate) fn given_to_run(file: Option<&Path>) -> Result<LoadedHandle, Failure> {
    from(file, StdinState::Taken).map_err(Failure::usage)
}

fn from(file: Option<&Path>, input: StdinState) -> Result<LoadedHandle, Explanation> {
    let handle = match source(file, std::env::var_os(VARIABLE), input)? {
        HandleSource::File(path) => {
            let handle = match read_content(path)? {
                HandleFileContent::Handle(handle) => handle,
                HandleFileContent::Empty => {
                    return Err(Explanation::of_line(&format!(
                        "{}: {}",
                        path.display(),
                        BadHandle::Empty
                    )));
                }
                HandleFileContent::Nothing => return Err(missing(path)),
            };
            return Ok(LoadedHandle { handle, file: Some(path.to_owned()) });
        }
        HandleSource::Variable(text) => {
            let text = text.to_str().ok_or(BadHandle::NoHandle);
            let refused = |bad| Explanation::of_line(&format!("the variable {VARIABLE}: {bad}"));
            text.and_then(str::parse).map_err(refused)?
        }
        HandleSource::Input => file::read(io::stdin().lock())
            .map_err(|error| Explanation::new("standard input cannot be read").because(&error))?
            .map_err(|bad| Explanation::of_line(&format!("standard input: {bad}")))?,
    };
    Ok(LoadedHandle { handle, file: None })
}

/// A handle's file goes when the lock is unlocked.
fn missing(path: &Path) -> Explanation {
    Explanation::new(format!("there is no handle: {} does not exist", path.display()))
        .kind(Some("no_handle"))
        .advise("if the lock was unlocked before, do nothing; else correct the file's name")
}

/// Decides where to read.
fn source(
    file: Option<&Path>,
    variable: Option<OsString>,
    input: StdinState,
) -> Result<HandleSource<'_>, (&'static str, &'static str)> {
    match (file.filter(|path| *path != Path::new("-")), variable, input) {
        (None, _, StdinState::Taken) if file.is_some() => Err((
            "standard input belongs to the command",
            "give --handle FILE, or TENURE_HANDLE without --handle",
        )),
        (Some(path), ..) => Ok(HandleSource::File(path)),
        (None, Some(text), _) => Ok(HandleSource::Variable(text)),
        (None, None, StdinState::Open) => Ok(HandleSource::Input),
        (None, None, StdinState::Taken) => {
            Err(("no handle is given", "write --handle FILE, or set TENURE_HANDLE"))
        }
        (None, None, StdinState::Typed) => Err((
            "no handle is given",
            "write --handle FILE, set TENURE_HANDLE, or pipe it into standard input",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_goes_before_the_variable_and_that_before_standard_input() {
        let (path, text) = (Path::new("x"), || Some("y".into()));
        for input in [StdinState::Taken, StdinState::Typed, StdinState::Open] {
            assert_eq!(source(Some(path), text(), input), Ok(HandleSource::File(path)));
            assert_eq!(source(None, text(), input), Ok(HandleSource::Variable("y".into())));
        }
        let dash = Some(Path::new("-"));
        assert_eq!(source(dash, text(), StdinState::Open), Ok(HandleSource::Variable("y".into())));
        assert_eq!(source(dash, None, StdinState::Open), Ok(HandleSource::Input));
        assert_eq!(source(None, None, StdinState::Open), Ok(HandleSource::Input));
    }

    #[test]
    fn nothing_is_read_from_a_terminal_or_from_a_commands_standard_input() {
        let dash = Some(Path::new("-"));
        assert!(source(None, None, StdinState::Typed).unwrap_err().1.contains("TENURE_HANDLE"));
        assert!(source(dash, None, StdinState::Typed).is_err());
        assert!(source(None, None, StdinState::Taken).is_err());
        assert!(
            source(dash, Some("y".into()), StdinState::Taken)
                .unwrap_err()
                .0
                .contains("belongs to the command")
        );
    }
}
