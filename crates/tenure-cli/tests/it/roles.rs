//! The processes between tenure and its command.

use std::fs;

use nix::unistd::{Pid, getpgid};

use crate::{
    process::{Running, children},
    scene::Scene,
};

/// tenure, the standby, the guardian and the command, each the child of the one before.
fn line(scene: &Scene, holder: &Running) -> [i32; 4] {
    let line = [holder.pid(), holder.standby(), holder.guardian(), scene.pids("pid")[0]];
    for pair in line.windows(2) {
        assert_eq!(children(pair[0]), [pair[1]]);
    }
    line
}

const SCRIPT: &str = "echo $$ > pid; exec sleep 1000";

#[test]
fn standby_and_guardian_are_not_hit_by_what_is_meant_for_tenure_or_for_each_other() {
    let scene = Scene::new();
    let holder = scene.start("name", SCRIPT);
    let line = line(&scene, &holder);
    for pid in &line[1..3] {
        // What `pkill -f` looks at.
        let words = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
        assert_eq!(words, "lock-guardian\0name\0");
    }
    let mut groups = line.map(|pid| getpgid(Some(Pid::from_raw(pid))).unwrap());
    groups.sort();
    assert!(groups.windows(2).all(|pair| pair[0] != pair[1]), "{groups:?}");
}

#[test]
fn who_forks_has_no_threads() {
    let scene = Scene::new();
    let holder = scene.start("name", SCRIPT);
    for pid in &line(&scene, &holder)[1..3] {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap().count();
        assert_eq!(threads, 1, "a fork takes one along, and what the others hold stays held");
    }
}
