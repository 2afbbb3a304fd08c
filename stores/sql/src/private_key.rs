//! Files with private keys.

use tenure_core::{Fault, FaultKind, files};

/// Refuses a file that others than its owner may read or write, as libpq does. A key of root's its group may read.
///
/// What cannot be looked at is left to whoever reads it.
///
/// # Errors
/// A fault that names the file.
pub fn refuse_open_key(path: &str) -> Result<(), Fault> {
    if !is_open(path) {
        return Ok(());
    }
    let what = format!("others may read or change the key in {path}");
    Err(Fault::new(FaultKind::Misconfigured, what, "let its owner alone read it: chmod 600"))
}

#[cfg(unix)]
fn is_open(path: &str) -> bool {
    use std::os::unix::fs::MetadataExt;

    let Ok(about) = std::fs::metadata(path) else { return false };
    about.is_file() && files::is_open(about.mode(), about.uid() == 0)
}

#[cfg(not(unix))]
const fn is_open(_: &str) -> bool {
    false
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use std::{
        fs,
        os::unix::fs::{MetadataExt, PermissionsExt},
    };

    use super::*;

    #[test]
    fn a_key_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("client.key");
        let path = file.to_str().unwrap();
        fs::write(path, "key").unwrap();
        let open_to = |mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            refuse_open_key(path)
        };
        open_to(0o600).unwrap();
        open_to(0o400).unwrap();
        for mode in [0o604, 0o620, 0o666] {
            let fault = open_to(mode).unwrap_err();
            assert!(
                fault.message().contains(path) && fault.help().contains("chmod 600"),
                "{fault:#}"
            );
        }
        let is_of_root = fs::metadata(path).unwrap().uid() == 0;
        assert_eq!(open_to(0o640).is_ok(), is_of_root, "its group may read a key of root's");
        refuse_open_key("/no/such/file").unwrap();
    }
}
