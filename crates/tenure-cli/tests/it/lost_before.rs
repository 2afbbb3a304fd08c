//! Commands whose lock is lost before they are started.

use std::{
    fs,
    io::{IoSlice, PipeReader, Read, Write, pipe},
    mem::MaybeUninit,
    net::Shutdown,
    os::{fd::AsFd, unix::net::UnixStream, unix::process::CommandExt},
    process::{Child, Command, Stdio},
};

use nix::{
    fcntl::{FcntlArg, fcntl},
    sys::signal::Signal,
};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use serde_json::{Value, json};

use crate::{
    process::{Running, code},
    scene::{Scene, events, eventually},
};

/// The room of the smallest pipe.
const PAGE: usize = 4096;

/// `tenure SUBCOMMAND OPTIONS` that stops on its way from the grant to the start: it wants to tell
/// of the grant, and nobody reads.
fn stuck(scene: &Scene, subcommand: &str, options: &str) -> (Running, PipeReader) {
    let told = scene.run("other --label x --json", "true").stderr;
    let store = told.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let (reader, mut writer) = pipe().unwrap();
    fcntl(&writer, FcntlArg::F_SETPIPE_SZ(i32::try_from(PAGE).unwrap())).unwrap();
    // There is room for the line before that one.
    writer.write_all(&vec![b'\n'; PAGE - store]).unwrap();
    let options = format!("{options} --ttl 600ms --label x --json");
    let mut command = scene.command(subcommand, &options, "echo > ran");
    command.stderr(Stdio::from(writer));
    (Running::start(&mut command), reader)
}

/// Stops it when it has the locks that it asked for, the last of them `last`, until another holds the
/// lock, and lets it go on.
fn overtake(scene: &Scene, stuck: &Running, last: &str) -> Running {
    for held in ["name", last] {
        eventually("it holds the lock", || {
            scene.show(held)["holders"].as_array().unwrap().len() == 1
        });
    }
    stuck.signal(Signal::SIGSTOP);
    let other = scene.start("name", "echo > in; until [ -e go ]; do sleep 0.01; done");
    scene.line("in");
    stuck.signal(Signal::SIGCONT);
    other
}

#[test]
fn a_command_is_not_started_when_its_lock_is_lost_by_then() {
    let each = ["name", "name --shared", "name --permits 1"].map(|options| (options, "name"));
    for (options, last) in each.into_iter().chain([("--all name,other", "other")]) {
        let scene = Scene::new();
        let (stuck, mut reader) = stuck(&scene, "run", options);
        let other = overtake(&scene, &stuck, last);
        let mut said = String::new();
        reader.read_to_string(&mut said).unwrap();
        assert_eq!(code(&stuck.wait()), 123, "{options}: {said}");
        assert!(!scene.path("ran").exists(), "{options}: it ran beside another holder");
        let said = events(said.trim().as_bytes());
        let lost = said.iter().find(|event| event["event"] == "lost").unwrap();
        assert_eq!(lost["command"], "not_started", "{options}");
        assert!(said.iter().all(|event| event["event"] != "ended"), "{said:?}");
        fs::write(scene.path("go"), "").unwrap();
        assert_eq!(code(&other.wait()), 0);
    }
}

#[test]
fn a_leader_whose_lead_is_lost_by_then_is_a_candidate_again() {
    let scene = Scene::new();
    let (stuck, mut reader) = stuck(&scene, "elect", "name");
    let other = overtake(&scene, &stuck, "name");
    let said = std::thread::spawn(move || {
        let mut said = String::new();
        reader.read_to_string(&mut said).map(|_| said)
    });
    scene.until_waiting("name", 1);
    assert!(!scene.path("ran").exists(), "it ran beside another leader");
    fs::write(scene.path("go"), "").unwrap();
    assert_eq!((code(&other.wait()), code(&stuck.wait())), (0, 0));
    scene.line("ran");
    said.join().unwrap().unwrap();
}

/// A guardian that is told all this before it can listen, and what it then says.
fn guardian(scene: &Scene, orders: &[Value]) -> (Child, UnixStream) {
    guardian_after(scene, orders, |_| {})
}

/// The same, with what else becomes of the socket before the guardian is there.
fn guardian_after(
    scene: &Scene,
    orders: &[Value],
    then: impl FnOnce(&UnixStream),
) -> (Child, UnixStream) {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let stdin = fs::File::open("/dev/null").unwrap();
    let files = [stdin.as_fd()];
    assert!(control.push(SendAncillaryMessage::ScmRights(&files)));
    sendmsg(&ours, &[IoSlice::new(b"\n")], &mut control, SendFlags::empty()).unwrap();
    for order in orders {
        writeln!(ours, "{order}").unwrap();
    }
    then(&ours);
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.arg0("lock-guardian").arg("name").stdin(std::os::fd::OwnedFd::from(theirs));
    (command.current_dir(scene.path("")).spawn().unwrap(), ours)
}

/// The order to start a command that leaves a file, under a lock that is held until `deadline`.
fn start(deadline: u64, kill_when_lost: bool) -> Value {
    let words = ["sh", "-c", "echo > ran; exec sleep 1000"].map(str::as_bytes);
    let second = json!({ "secs": 1, "nanos": 0 });
    let terms = json!({ "grace": second, "margin": second, "kill_when_lost": kill_when_lost });
    let start = json!({
        "command": words, "foreground": false, "failed": 125, "json": false, "terms": terms, "deadline": deadline,
    });
    json!({ "Start": start })
}

#[test]
fn a_guardian_that_comes_too_late_starts_nothing() {
    const FAR: u64 = u64::MAX / 2;
    for kill_when_lost in [true, false] {
        let late = vec![start(1, kill_when_lost)];
        let taken = vec![start(FAR, kill_when_lost), json!("Taken")];
        for orders in [late, taken] {
            let scene = Scene::new();
            let (mut guardian, mut said) = guardian(&scene, &orders);
            let mut report = String::new();
            said.read_to_string(&mut report).unwrap();
            assert!(guardian.wait().unwrap().success());
            assert!(!scene.path("ran").exists(), "{orders:?}: {report}");
            assert!(report.contains("NotStarted"), "{orders:?}: {report}");
        }
    }
}

#[test]
fn a_guardian_whose_tenure_is_gone_by_then_starts_nothing() {
    let scene = Scene::new();
    let (mut guardian, _ours) = guardian_after(&scene, &[start(u64::MAX / 2, true)], |ours| {
        ours.shutdown(Shutdown::Write).unwrap();
    });
    guardian.wait().unwrap();
    assert!(!scene.path("ran").exists());
}

#[test]
fn a_guardian_in_time_starts_the_command_and_passes_on_what_came_meanwhile() {
    let scene = Scene::new();
    let usr1 = json!({ "Signal": Signal::SIGUSR1 as i32 });
    let (mut guardian, mut said) = guardian(&scene, &[start(u64::MAX / 2, true), usr1]);
    let mut report = String::new();
    said.read_to_string(&mut report).unwrap();
    assert!(guardian.wait().unwrap().success());
    let killed = format!(r#"{{"Signal":{}}}"#, Signal::SIGUSR1 as i32);
    assert!(report.contains("Started") && report.contains(&killed), "{report}");
}
