//! Where the configuration file is.

use std::{
    io,
    path::{Path, PathBuf},
};

use tenure_core::files::{self, NamedFile};

use super::{
    ConfigError,
    error::{Origin, SettingError},
    variables::{CONFIG, VariableLookup},
};

/// More than any configuration needs.
const LONGEST: u64 = 1024 * 1024;
/// The permission bits that let every user write, and read.
const WRITABLE: u32 = 0o002;
const READABLE: u32 = 0o004;

/// A configuration file that exists.
pub(super) struct ConfigFile {
    pub(super) path: PathBuf,
    pub(super) text: String,
    pub(super) access: FileAccess,
}

/// Which users may change and read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FileAccess {
    /// The owner, if that is neither this process's user nor root.
    pub(super) stranger: Option<u32>,
    pub(super) is_read_by_all: bool,
}

/// The first configuration file that exists: the one that TENURE_CONFIG names, the user's, or the system's.
pub(super) fn find(variables: VariableLookup<'_>) -> Result<Option<ConfigFile>, ConfigError> {
    if let Some(path) = variables(CONFIG).map(PathBuf::from) {
        // Without it, locks may be kept on this machine alone.
        if path.as_os_str().is_empty() {
            let help = "name a file, write /dev/null for none, or unset it";
            return Err(Origin::Variable(CONFIG).error(SettingError::new("it is empty", help)));
        }
        let help = "correct the variable TENURE_CONFIG, or unset it";
        return read(&path)
            .map_err(|error| {
                let wrong = SettingError::new(format!("it cannot be read: {error:#}"), help);
                Origin::File(path.clone()).error(wrong)
            })?
            .map(Some);
    }
    for path in usual(variables) {
        match read(&path) {
            Ok(place) => return place.map(Some),
            Err(error) if is_absent(&error) => {}
            Err(error) => {
                let help = "make it readable, or name another with TENURE_CONFIG";
                let wrong = SettingError::new(format!("it cannot be read: {error:#}"), help);
                return Err(Origin::File(path).error(wrong));
            }
        }
    }
    Ok(None)
}

/// Reads the file, unless every user may change it: the store it names decides which programs exclude each other.
fn read(path: &Path) -> io::Result<Result<ConfigFile, ConfigError>> {
    let NamedFile { bytes, stranger, mode, .. } = files::read(path, LONGEST)?;
    let no_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text");
    let text = String::from_utf8(bytes).map_err(no_text)?;
    if let Some(mode) = mode.filter(|mode| mode & WRITABLE != 0) {
        let what = format!(
            "every user can change this file (mode {mode:o}), and so choose where locks are kept"
        );
        let help = "remove that right: chmod o-w";
        return Ok(Err(Origin::File(path.to_owned()).error(SettingError::new(what, help))));
    }
    if let Some(folder) = files::replaceable(path) {
        let what =
            format!("every user can replace it, as every user can write to {}", folder.display());
        let help = "remove that right from the directory: chmod o-w";
        return Ok(Err(Origin::File(path.to_owned()).error(SettingError::new(what, help))));
    }
    let is_read_by_all = mode.is_some_and(|mode| mode & READABLE != 0);
    Ok(Ok(ConfigFile {
        path: path.to_owned(),
        text,
        access: FileAccess { stranger, is_read_by_all },
    }))
}

fn usual(variables: VariableLookup<'_>) -> Vec<PathBuf> {
    let home = || variables("HOME").map(|home| Path::new(&home).join(".config"));
    let user = variables("XDG_CONFIG_HOME").map(PathBuf::from).or_else(home);
    let mut places: Vec<_> = user.into_iter().map(|dir| dir.join("tenure/config.toml")).collect();
    places.push("/etc/tenure/config.toml".into());
    places
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
