//! A terminal that `script` makes, which is part of every Debian.

use std::{fs, io::Write, path::PathBuf, process::Stdio};

use crate::{
    process::{lives, program},
    scene::{Scene, eventually},
};

/// A shell with job control on a terminal of its own, driven by what is typed.
pub(crate) struct Screen {
    shell: std::process::Child,
    /// All that it shows.
    seen: PathBuf,
}

impl Screen {
    pub(crate) fn new(scene: &Scene) -> Self {
        let mut command = program("script");
        let seen = scene.path("seen-on-screen");
        command.args(["-qfec", "bash --norc --noprofile -i"]).arg(&seen);
        command.env("TENURE_STORE", scene.store()).env("PS1", "").env("TERM", "xterm");
        command.env("T", env!("CARGO_BIN_EXE_tenure")).current_dir(scene.path(""));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        Self { shell: command.spawn().unwrap(), seen }
    }

    /// Waits until this is to be seen.
    pub(crate) fn shows(&self, text: &str) {
        self.shows_times(text, 1);
    }

    /// The same for a text that is there already.
    pub(crate) fn shows_times(&self, text: &str, times: usize) {
        eventually(text, || {
            fs::read(&self.seen)
                .is_ok_and(|seen| String::from_utf8_lossy(&seen).matches(text).count() >= times)
        });
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.shell.stdin.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    /// Starts a script that says `next` if it goes on behind `line`.
    pub(crate) fn starts_script(&mut self, scene: &Scene, shell: &str, line: &str) {
        fs::write(scene.path("script"), format!("echo $$ > shell\n{line}\necho > next\n")).unwrap();
        self.types(&format!("{shell} ./script\n"));
    }

    /// The exit code of that script, when it is gone.
    pub(crate) fn code_of_script(&mut self, scene: &Scene) -> String {
        let shell = scene.pids("shell")[0];
        eventually("the script ends", || !lives(shell));
        // Of its own line: the shell forgets the rest of one that was interrupted.
        self.types("echo $? > code\n");
        scene.line("code")
    }

    pub(crate) fn ends(mut self) -> String {
        self.types("exit\n");
        let output = self.shell.wait_with_output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}
