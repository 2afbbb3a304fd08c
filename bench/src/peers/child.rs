//! A contestant's process: told by lines, heard with a deadline, killed by its own handle.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::{Duration, Instant},
};

use nix::unistd::{SysconfVar, sysconf};
use serde::de::DeserializeOwned;

use crate::{failure::Failure, process::orphan::Watch};

/// How long a contestant may take until it is ready, a JVM on a busy machine.
const READY: Duration = Duration::from_secs(60);

/// A contestant at work. It ends with this value.
#[derive(Debug)]
pub(crate) struct Contender {
    watch: Option<Watch>,
    process: Child,
    orders: ChildStdin,
    lines: Receiver<(Instant, String)>,
    complaints: PathBuf,
}

impl Contender {
    /// Starts one, and waits until it is ready.
    pub(crate) fn start(
        program: &[OsString],
        words: &[(&str, String)],
        dir: &Path,
    ) -> Result<Self, Failure> {
        let (first, rest) = program.split_first().ok_or("no program")?;
        let complaints = tempfile::Builder::new().prefix("said").tempfile_in(dir)?.keep()?.1;
        let mut process = Command::new(first)
            .args(rest)
            .args(words.iter().map(|(key, value)| format!("{key}={value}")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&complaints)?)
            .spawn()?;
        let (Some(orders), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err("a child without pipes".into());
        };
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if tell.send((Instant::now(), line)).is_err() {
                    return;
                }
            }
        });
        let watch = Some(Watch::over(process.id())?);
        let contender = Self { watch, process, orders, lines, complaints };
        if contender.hear(READY)?.1 != "ready" {
            return Err("it does not keep to the protocol".into());
        }
        Ok(contender)
    }

    /// Tells it to begin.
    pub(crate) fn begin(&mut self) -> Result<(), Failure> {
        Ok(writeln!(self.orders, "go")?)
    }

    /// Its next line, and when it came. Who says nothing for so long is hung.
    pub(crate) fn hear(&self, within: Duration) -> Result<(Instant, String), Failure> {
        match self.lines.recv_timeout(within) {
            Ok(line) => Ok(line),
            Err(RecvTimeoutError::Timeout) => {
                Err(format!("hung: said nothing for {} s", within.as_secs()).into())
            }
            Err(RecvTimeoutError::Disconnected) => {
                let said = fs::read_to_string(&self.complaints).unwrap_or_default();
                let line = said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
                let line: String = line.chars().take(200).collect();
                Err(format!("ended early: {line}").into())
            }
        }
    }

    /// Its result.
    pub(crate) fn result<T: DeserializeOwned>(&self, within: Duration) -> Result<T, Failure> {
        Ok(serde_json::from_str(&self.hear(within)?.1)?)
    }

    /// Microseconds of CPU that it has used.
    pub(crate) fn cpu(&self) -> f64 {
        // Neither says too much: the one leaves out threads that ended, the other rounds down.
        f64::max(self.cpu_of_threads().unwrap_or(f64::NAN), self.cpu_in_ticks().unwrap_or(f64::NAN))
    }

    /// That of the threads that live, to the nanosecond.
    fn cpu_of_threads(&self) -> Option<f64> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.process.id())).ok()?;
        let used = |task: PathBuf| {
            let told = fs::read_to_string(task.join("schedstat")).ok()?;
            told.split(' ').next()?.parse::<f64>().ok()
        };
        Some(tasks.flatten().filter_map(|task| used(task.path())).sum::<f64>() / 1e3)
    }

    /// That of all threads and of the children that ended, in ticks of the kernel.
    fn cpu_in_ticks(&self) -> Option<f64> {
        let told = fs::read_to_string(format!("/proc/{}/stat", self.process.id())).ok()?;
        // Behind the name, which may have blanks: utime, stime, cutime and cstime.
        let (_, rest) = told.rsplit_once(") ")?;
        let ticks: f64 =
            rest.split(' ').skip(11).take(4).filter_map(|word| word.parse::<f64>().ok()).sum();
        let second = sysconf(SysconfVar::CLK_TCK).ok()??;
        Some(ticks * 1e6 / second as f64)
    }

    /// Bytes of memory that it has.
    pub(crate) fn memory(&self) -> f64 {
        let told = fs::read_to_string(format!("/proc/{}/status", self.process.id()));
        let told = told.unwrap_or_default();
        let line = told.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.trim().split(' ').next()?.parse::<f64>().ok());
        kilobytes.map_or(f64::NAN, |kilobytes| kilobytes * 1024.0)
    }

    /// Kills it as `kill -9` does.
    pub(crate) fn kill(&mut self) -> Result<(), Failure> {
        self.watch = None;
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }
}

impl Drop for Contender {
    fn drop(&mut self) {
        self.watch = None;
        // An error means that it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_file(&self.complaints);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(said: &str) -> Result<Contender, Failure> {
        let program = ["sh", "-c", said].map(OsString::from);
        Contender::start(&program, &[], &std::env::temp_dir())
    }

    #[test]
    fn who_says_nothing_is_hung_and_does_not_outlive_its_value() {
        let mut hung = script("echo ready; exec sleep 1000").unwrap();
        hung.begin().unwrap();
        let failure = hung.hear(Duration::from_millis(20)).unwrap_err();
        assert!(format!("{failure:#}").starts_with("hung"), "{failure:#}");
        let process = hung.process.id();
        drop(hung);
        // It was waited for, too, so that not even its number is left.
        let left = nix::sys::signal::kill(nix::unistd::Pid::from_raw(process as i32), None);
        assert!(left.is_err(), "{process}");
    }

    #[test]
    fn what_those_used_who_ended_counts() {
        let busy = "sh -c 'n=0; while [ $n -lt 200000 ]; do n=$((n+1)); done'; echo ready; exec sleep 1000";
        let contender = script(busy).unwrap();
        assert!(contender.cpu() > 20_000.0, "{}", contender.cpu());
        assert!(contender.cpu_of_threads().unwrap() < 20_000.0);
    }

    #[test]
    fn who_ends_early_is_told_with_what_it_complained_of() {
        let failure = script("echo no such thing >&2; exit 1").unwrap_err();
        assert_eq!(format!("{failure:#}"), "ended early: no such thing");
    }
}
