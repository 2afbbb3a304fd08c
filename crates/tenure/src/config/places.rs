//! Where the configuration file is.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    ConfigError,
    error::{Origin, Wrong},
    variables::Variables,
};

/// The first configuration file there is, with its text: the one that TENURE_CONFIG names, the
/// user's, the system's.
pub(super) fn find(variables: Variables<'_>) -> Result<Option<(PathBuf, String)>, ConfigError> {
    if let Some(path) = variables("TENURE_CONFIG").map(PathBuf::from) {
        let cure = "correct the variable TENURE_CONFIG, or unset it";
        return read(&path).map(|text| Some((path.clone(), text))).map_err(|error| {
            Origin::File(path).error(Wrong::new(format!("it cannot be read: {error}"), cure))
        });
    }
    for path in usual(variables) {
        match read(&path) {
            Ok(text) => return Ok(Some((path, text))),
            Err(error) if is_absent(&error) => {}
            Err(error) => {
                let cure = "make it readable, or name another with TENURE_CONFIG";
                let wrong = Wrong::new(format!("it cannot be read: {error}"), cure);
                return Err(Origin::File(path).error(wrong));
            }
        }
    }
    Ok(None)
}

fn read(path: &Path) -> io::Result<String> {
    fs::read_to_string(path)
}

fn usual(variables: Variables<'_>) -> Vec<PathBuf> {
    let home = || variables("HOME").map(|home| Path::new(&home).join(".config"));
    let user = variables("XDG_CONFIG_HOME").map(PathBuf::from).or_else(home);
    let mut places: Vec<_> = user.into_iter().map(|dir| dir.join("tenure/config.toml")).collect();
    places.push("/etc/tenure/config.toml".into());
    places
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
