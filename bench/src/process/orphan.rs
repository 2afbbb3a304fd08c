//! Nothing that was started here outlives this process, however it ends.

use std::process::{Child, Command, Stdio};

use crate::failure::Failure;

/// Ends a process when this value, or this process, is gone.
#[derive(Debug)]
pub(crate) struct Watch {
    shell: Child,
}

impl Watch {
    /// Of a child that is not waited for before this value is dropped.
    pub(crate) fn over(process: u32) -> Result<Self, Failure> {
        // Its input ends with this process.
        let shell = Command::new("/bin/sh")
            .args(["-c", "read -r _; kill -9 \"$0\"", &process.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { shell })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Before the number of what it watches can belong to another one.
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}
