use std::{
    fs,
    os::unix::fs::PermissionsExt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
        mpsc,
    },
    time::Duration,
};

use tenure_core::{Fault, FaultKind};
use tokio::runtime::{Builder, Runtime};

use super::Password;

const LONG: Duration = Duration::from_secs(30);

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn read(password: &Password) -> Result<String, Fault> {
    read_within(password, LONG)
}

fn read_within(password: &Password, within: Duration) -> Result<String, Fault> {
    let read = runtime().block_on(password.read("me@host", "some://host", within));
    read.map(|secret| secret.expose().to_owned())
}

#[test]
fn a_file_is_read_again_at_each_login() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    let write = |text: &str| {
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    };
    write("first\n");
    let password = Password::file(file.to_str().unwrap()).unwrap();
    assert_eq!(read(&password).unwrap(), "first");
    write("second\r\n");
    assert_eq!(read(&password).unwrap(), "second");
    write("two\n\n");
    assert_eq!(read(&password).unwrap(), "two\n", "one line end is cut off");
    fs::remove_file(&file).unwrap();
    let fault = read(&password).unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Unreachable);
    assert!(format!("{fault:#}").contains(file.to_str().unwrap()), "{fault:#}");
    write("third");
    assert_eq!(read(&password).unwrap(), "third");
    assert!(!format!("{password:?}").contains("third"));
}

#[test]
fn a_file_that_gives_no_password_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    let path = file.to_str().unwrap();
    let refused = || {
        let fault = Password::file(path).unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Misconfigured);
        assert!(fault.message().contains(path), "{fault:#}");
        assert!(!format!("{fault:#} {fault:?}").contains("s3ntinel"), "{fault:?}");
        format!("{fault:#}")
    };
    assert!(refused().contains("cannot be read"));
    for (text, why) in [("", "is empty"), ("\n", "is empty")] {
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(refused().contains(why), "{text:?}");
    }
    fs::write(&file, b"s3ntinel\xff").unwrap();
    assert!(refused().contains("UTF-8"));
    fs::write(&file, "s3ntinel").unwrap();
    for mode in [0o604, 0o622, 0o602] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let said = refused();
        assert!(said.contains("by others") && said.contains("chmod 600"), "{mode:o}: {said}");
    }
}

#[test]
fn a_function_is_called_at_each_login() {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    let next = move || Ok::<_, Fault>(counted.fetch_add(1, Ordering::Relaxed).to_string());
    let blocks = Password::from_blocking(next.clone());
    let awaits = Password::from_async(move || {
        let next = next.clone();
        async move {
            // Timers are there.
            tokio::time::sleep(Duration::from_millis(1)).await;
            next()
        }
    });
    let read: Vec<_> =
        [&blocks, &awaits, &blocks, &awaits].into_iter().map(|one| read(one).unwrap()).collect();
    assert_eq!(read, ["0", "1", "2", "3"]);
}

#[test]
fn a_function_that_fails_panics_or_hangs_is_a_fault_with_its_cause() {
    let fails = || Err::<String, _>("the vault is sealed");
    let panics = || -> Result<String, Fault> { panic!("out of paper") };
    let hangs = Password::from_async(std::future::pending::<Result<String, Fault>>);
    for (password, says) in [
        (Password::from_blocking(fails), "the vault is sealed"),
        (Password::from_async(move || async move { fails() }), "the vault is sealed"),
        (Password::from_blocking(panics), "it panicked"),
        (Password::from_async(move || async move { panics() }), "it panicked"),
        (Password::from_blocking(|| Ok::<_, Fault>("")), "an empty one"),
        (hangs, "none within 30ms"),
    ] {
        let within = if says.contains("30ms") { Duration::from_millis(40) } else { LONG };
        let fault = read_within(&password, within).unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Unreachable);
        let said = format!("{fault:#}");
        assert!(said.contains(says) && said.contains("some://host"), "{said}");
    }
}

#[test]
fn one_that_blocks_for_ever_leaves_threads_to_the_others() {
    let (_open, hears) = mpsc::channel::<()>();
    let hears = Mutex::new(hears);
    let blocks = Password::from_blocking(move || {
        drop(hears.lock().map(|hears| hears.recv()));
        Ok::<_, Fault>("late")
    });
    for _ in 0..100 {
        read_within(&blocks, Duration::from_millis(1)).unwrap_err();
    }
    let other = Password::from_blocking(|| Ok::<_, Fault>("here"));
    assert_eq!(read(&other).unwrap(), "here");
}

#[test]
fn a_password_that_was_right_is_refused_for_a_while_and_not_tried_again_at_once() {
    let now = Arc::new(Mutex::new("first"));
    let told = now.clone();
    let password = Password::from_blocking(move || Ok::<_, Fault>(*told.lock().unwrap()));
    let refuses = |login: &str, password: &Password| {
        let secret = (*now.lock().unwrap()).into();
        let fault = Fault::new(FaultKind::Misconfigured, "it is refused", "correct it");
        password.refused(login, &secret, fault).kind()
    };
    assert_eq!(refuses("me@host", &password), FaultKind::Misconfigured, "never taken");
    assert_eq!(read(&password).unwrap(), "first");
    password.accepted("me@host");
    assert_eq!(refuses("you@host", &password), FaultKind::Misconfigured, "another user");
    assert_eq!(refuses("me@host", &password), FaultKind::Unreachable);
    let again = read(&password).unwrap_err();
    assert_eq!((again.kind(), again.message()), (FaultKind::Unreachable, "it is refused"));
    *now.lock().unwrap() = "second";
    assert_eq!(read(&password).unwrap(), "second");
    *now.lock().unwrap() = "first";
    password.accepted("me@host");
    assert_eq!(read(&password).unwrap(), "first");
    let known = Password::from("first");
    known.accepted("me@host");
    assert_eq!(refuses("me@host", &known), FaultKind::Misconfigured);
}

#[test]
fn a_future_that_nobody_waits_for_is_dropped() {
    let alive = Arc::new(());
    let kept = alive.clone();
    let hangs = Password::from_async(move || {
        let kept = kept.clone();
        async move {
            std::future::pending::<()>().await;
            drop(kept);
            Ok::<_, Fault>("")
        }
    });
    read_within(&hangs, Duration::from_millis(20)).unwrap_err();
    let began = std::time::Instant::now();
    while Arc::strong_count(&alive) > 2 {
        assert!(began.elapsed() < LONG, "it is still there");
        std::thread::yield_now();
    }
}
