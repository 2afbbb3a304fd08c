//! Building the programs of the peers, into `target/peers`; the package managers fill their own caches, too.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::roster::Language;
use crate::failure::Failure;

/// How the program of a language is started, or why it cannot be.
pub(crate) type Installed = BTreeMap<Language, Result<Vec<OsString>, String>>;

/// Installs what these languages need. `say` hears what is going on.
pub(crate) fn install(
    root: &Path,
    target: &Path,
    languages: impl IntoIterator<Item = Language>,
    say: impl Fn(&str),
) -> Installed {
    let mut installed = Installed::new();
    for language in languages {
        if installed.contains_key(&language) {
            continue;
        }
        if language != Language::Own {
            say(&format!("installing the peers in {}", language.name()));
        }
        let place = Place {
            source: root.join("bench/peers").join(language.name()),
            built: target.join("peers").join(language.name()),
        };
        let program = place.install(language).map_err(|failure| format!("{failure:#}"));
        if let Err(why) = &program {
            say(&format!("no peers in {}: {why}", language.name()));
        }
        installed.insert(language, program);
    }
    installed
}

struct Place {
    source: PathBuf,
    built: PathBuf,
}

impl Place {
    fn install(&self, language: Language) -> Result<Vec<OsString>, Failure> {
        let built = |path: &str| self.built.join(path).into_os_string();
        if language == Language::Own {
            return Ok(vec![std::env::current_exe()?.into(), "contestant".into()]);
        }
        fs::create_dir_all(&self.built)?;
        Ok(match language {
            Language::Own => Vec::new(),
            Language::Rust => {
                let mut cargo = self.command("cargo");
                cargo.args(["build", "--release", "--locked", "--target-dir"]).arg(&self.built);
                // Not those of whoever builds the workspace.
                for (name, _) in std::env::vars_os()
                    .filter(|(name, _)| name.to_string_lossy().starts_with("CARGO_PROFILE"))
                {
                    cargo.env_remove(name);
                }
                self.run(&mut cargo)?;
                vec![built("release/peers")]
            }
            Language::Go => {
                self.run(self.command("go").args(["build", "-o"]).arg(built("peers")).arg("."))?;
                vec![built("peers")]
            }
            Language::Node => {
                // It looks for its packages beside itself.
                for file in ["package.json", "package-lock.json", "peers.mjs"] {
                    fs::copy(self.source.join(file), self.built.join(file))?;
                }
                self.run(
                    self.command("npm").args(["ci", "--ignore-scripts"]).current_dir(&self.built),
                )?;
                vec!["node".into(), built("peers.mjs")]
            }
            Language::Python => {
                self.run(self.command("python3").args(["-m", "venv"]).arg(&self.built))?;
                let mut pip = self.command(self.built.join("bin/python"));
                pip.args(["-m", "pip", "install", "--quiet", "-r", "requirements.txt"]);
                self.run(&mut pip)?;
                vec![built("bin/python"), self.source.join("peers.py").into()]
            }
            Language::Java => {
                let mut maven = self.command("mvn");
                maven.args(["--quiet", "--batch-mode", "prepare-package"]);
                let mut target = OsString::from("-Dpeers.target=");
                target.push(&self.built);
                self.run(maven.arg(target))?;
                let mut classes = built("classes");
                classes.push(":");
                classes.push(built("lib/*"));
                vec!["java".into(), "-cp".into(), classes, "Peers".into()]
            }
        })
    }

    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.source).stdin(Stdio::null());
        // A store's URL may have a password, which is nobody's business here.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("TENURE_") {
                command.env_remove(name);
            }
        }
        command
    }

    /// Runs it; an error has the end of what it said, all of which is kept.
    fn run(&self, command: &mut Command) -> Result<(), Failure> {
        let log = self.built.join("install.log");
        let said = File::create(&log)?;
        let name = command.get_program().to_string_lossy().into_owned();
        let done = command.stdout(said.try_clone()?).stderr(said).status();
        let done = done.map_err(|error| format!("{name} cannot be run: {error:#}"))?;
        if done.success() {
            return Ok(());
        }
        let said = fs::read_to_string(log).unwrap_or_default();
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        let last: String = last.trim().chars().take(200).collect();
        Err(format!("{name} failed: {last}").into())
    }
}
