//! An authority of our own for one test, and what it has signed. Made by `openssl`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Files in PEM: an authority's certificate, a server's for `localhost` alone, and a client's.
/// They are removed when it is dropped.
#[derive(Debug)]
pub struct Certificates {
    folder: tempfile::TempDir,
}

impl Certificates {
    /// A new authority, whom nobody trusts yet.
    ///
    /// # Panics
    /// When there is no `openssl`.
    #[must_use]
    #[allow(clippy::panic, reason = "a test without its certificates fails")]
    pub fn new() -> Self {
        let made = tempfile::tempdir().ok().and_then(|folder| {
            let path = folder.path();
            fs::write(path.join("request"), "[req]\ndistinguished_name = name\n[name]\n").ok()?;
            let authority = "basicConstraints = critical, CA:TRUE\n";
            signed(path, "ca", authority, &["-signkey", "ca.key"])?;
            let by = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"];
            signed(path, "server", "subjectAltName = DNS:localhost\n", &by)?;
            signed(path, "client", "extendedKeyUsage = clientAuth\n", &by)?;
            Some(folder)
        });
        match made {
            Some(folder) => Self { folder },
            None => {
                panic!("openssl makes no certificates; install it with: apt-get install openssl")
            }
        }
    }

    /// One of the files: `ca.pem`, `server.pem`, `server.key`, `client.pem` or `client.key`.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Default for Certificates {
    fn default() -> Self {
        Self::new()
    }
}

/// Makes `NAME.key` and `NAME.pem`.
fn signed(folder: &Path, name: &str, extensions: &str, by: &[&str]) -> Option<()> {
    fs::write(folder.join("extensions"), extensions).ok()?;
    let (key, pem) = (format!("{name}.key"), format!("{name}.pem"));
    let subject = format!("/CN={name} of a test");
    let request = ["req", "-new", "-config", "request", "-subj", &subject, "-out", "csr"];
    let new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    openssl(folder, request.iter().chain(&new_key).chain(&["-keyout", &key]))?;
    let sign = ["x509", "-req", "-in", "csr", "-days", "2", "-extfile", "extensions"];
    openssl(folder, sign.iter().chain(&["-out", &pem]).chain(by))
}

fn openssl<'a>(folder: &Path, arguments: impl Iterator<Item = &'a &'a str>) -> Option<()> {
    let mut openssl = Command::new("openssl");
    openssl.args(arguments).current_dir(folder);
    openssl.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    openssl.status().ok()?.success().then_some(())
}
