//! What `docs/tutorials/cron.md` tells its reader to put into a crontab, run as two hosts run it.

use std::fs;

use crate::{
    process::code,
    scene::{Scene, text},
};

const PAGE: &str = include_str!("../../../../docs/tutorials/cron.md");

/// The words behind `tenure` and in front of the job, of each line of a crontab.
fn lines() -> Vec<&'static str> {
    let every_night = "0 3 * * *  tenure ";
    PAGE.lines()
        .filter_map(|line| line.strip_prefix(every_night)?.strip_suffix(" -- /opt/app/report.sh"))
        .collect()
}

fn start(scene: &Scene, options: &str, job: &str) -> crate::process::Running {
    let (subcommand, options) = options.split_once(' ').unwrap();
    scene.start_as(subcommand, options, job)
}

#[test]
fn a_job_of_two_hosts_runs_on_one_of_them() {
    // The one in between has tests of its own.
    let [gives_up, _once_per_slot, takes_over] = lines()[..] else { panic!("{:?}", lines()) };
    let job = "echo started >> ran; echo > begun; until [ -e go ]; do sleep 0.01; done";
    let scene = Scene::new();
    let first = start(&scene, gives_up, job);
    scene.line("begun");
    let second = start(&scene, gives_up, job).wait();
    assert_eq!((code(&second), text(&second.stderr)), (124, ""));
    fs::write(scene.path("go"), "").unwrap();
    assert_eq!(code(&first.wait()), 0);
    // A host whose clock is behind.
    assert_eq!(code(&start(&scene, gives_up, job).wait()), 124);
    assert_eq!(fs::read_to_string(scene.path("ran")).unwrap(), "started\n");

    // The second host waits, and runs the job if it fails on the first.
    let scene = Scene::new();
    let fails_once = "echo started >> ran; [ ! -e failed ] || exit 0; touch failed; echo > begun; \
                      until [ -e go ]; do sleep 0.01; done; exit 7";
    let first = start(&scene, takes_over, fails_once);
    scene.line("begun");
    let second = start(&scene, takes_over, fails_once);
    scene.until_waiting("nightly-report", 1);
    fs::write(scene.path("go"), "").unwrap();
    assert_eq!((code(&first.wait()), code(&second.wait())), (7, 0));
    assert_eq!(fs::read_to_string(scene.path("ran")).unwrap(), "started\nstarted\n");
}
