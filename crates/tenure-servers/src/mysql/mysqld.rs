//! Where MySQL and MariaDB are started in different ways.

use std::{
    env, fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Command,
};

use crate::kept::run;

/// The server that is started.
#[derive(Clone, Debug)]
pub(super) enum Mysqld {
    /// The MariaDB that `$TENURE_MARIADB_SERVER` names, or the one of this machine.
    Mariadb(Option<PathBuf>),
    /// The MySQL that `$TENURE_MYSQL_SERVER` names.
    Mysql(PathBuf),
}

impl Mysqld {
    /// The one that was asked for, or MariaDB.
    pub(super) fn chosen() -> Self {
        path_from_env("TENURE_MYSQL_SERVER").map_or_else(Self::mariadb, Self::Mysql)
    }

    /// MariaDB.
    pub(super) fn mariadb() -> Self {
        Self::Mariadb(path_from_env("TENURE_MARIADB_SERVER"))
    }

    /// Makes what a server needs below `folder`: its data, and what it is to do first.
    pub(super) fn install(&self, folder: &Path) -> Result<(), String> {
        let data = format!("--datadir={}", folder.join("data").display());
        let mut first = "CREATE DATABASE IF NOT EXISTS tenure;\n".to_owned();
        match self {
            Self::Mariadb(_) => {
                let installed = || program("mariadb-install-db");
                let beside = |base: &Path| Some(base.join("bin/mariadb-install-db"));
                let install = self.base().map_or_else(installed, beside);
                run(Command::new(install.ok_or("there is no mariadb-install-db")?)
                    .env("TMPDIR", folder)
                    .arg("--no-defaults")
                    .args(self.base_option())
                    .args(["--auth-root-authentication-method=normal", "--skip-test-db"])
                    .arg(data)
                    .args(user()))?;
            }
            Self::Mysql(program) => {
                run(Command::new(program)
                    .env("TMPDIR", folder)
                    .args(["--no-defaults", "--initialize-insecure"])
                    .arg(data)
                    .args(user()))?;
                // Its root is known on the socket alone.
                first += "CREATE USER IF NOT EXISTS root@'127.0.0.1';\n\
                          GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;\n";
            }
        }
        fs::write(folder.join("first.sql"), first).map_err(|error| error.to_string())
    }

    /// Runs it on what lies below `folder`.
    pub(super) fn command(&self, folder: &Path) -> Result<Command, String> {
        let path = match self {
            Self::Mariadb(Some(program)) => program.clone(),
            Self::Mariadb(None) => program("mariadbd").ok_or("there is no mariadbd")?,
            Self::Mysql(program) => program.clone(),
        };
        let mut command = Command::new(path);
        // MariaDB removes the temporary tables that it finds as it starts, also those of another.
        command.env("TMPDIR", folder).arg("--no-defaults").args(self.base_option()).args(user());
        if matches!(self, Self::Mysql(_)) {
            // No second port, no folder of the machine's, and no log for replicas unless a test asks for one: as
            // MariaDB is.
            command.args(["--mysqlx=0", "--secure-file-priv=NULL", "--skip-log-bin"]);
        }
        Ok(command)
    }

    /// Where the rest of a MariaDB is that is not of this machine.
    fn base(&self) -> Option<&Path> {
        match self {
            Self::Mariadb(Some(program)) => program.parent()?.parent(),
            Self::Mariadb(None) | Self::Mysql(_) => None,
        }
    }

    fn base_option(&self) -> Option<String> {
        self.base().map(|base| format!("--basedir={}", base.display()))
    }

    /// What it is called, and where it comes from.
    pub(super) fn help(&self) -> &'static str {
        match self {
            Self::Mariadb(_) => {
                "MariaDB does not start; install it with: apt-get install mariadb-server"
            }
            Self::Mysql(_) => {
                "MySQL does not start; see what TENURE_MYSQL_SERVER names: scripts/mysql finds one"
            }
        }
    }
}

fn path_from_env(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|program| !program.is_empty()).map(PathBuf::from)
}

/// Else it would become another user where root starts it, to whom the folder is closed.
fn user() -> &'static [&'static str] {
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    if is_root { &["--user=root"] } else { &[] }
}

fn program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let places = env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/libexec".into()]);
    places.map(|place| place.join(name)).find(|program| program.is_file())
}
