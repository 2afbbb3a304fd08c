//! What an error says, and what it gives as its cause.

use std::{io, time::Duration};

use tenure_core::{
    AcquireError, AllReleaseError, DetachError, Error, Fault, FaultKind, HandleError, InspectError,
    LatchError, LockName, Lost, LostReason, ReleaseError, ShutdownError, Token,
    error::{LockAddress, NotOpened, StoreFailure, TimedOut},
    proto::queue::{Contender, Mode},
    store::{Diagnostic, Severity},
};

fn address() -> LockAddress {
    LockAddress::new(LockName::new("a").unwrap(), "memory")
}

fn fault() -> Fault {
    let cause = io::Error::other("the network is unplugged");
    Fault::new(FaultKind::Unreachable, "it cannot be reached", "plug it in").because(cause)
}

fn lost(reason: LostReason) -> Lost {
    Lost::new(address(), Token::from_raw(7).unwrap(), reason)
}

/// The texts of an error and of all that caused it.
fn chain(error: &(dyn std::error::Error + 'static)) -> Vec<String> {
    std::iter::successors(Some(error), |&error| error.source()).map(ToString::to_string).collect()
}

#[test]
fn a_fault_says_what_happened_what_caused_it_and_what_helps() {
    let fault = fault();
    assert_eq!((fault.message(), fault.help()), ("it cannot be reached", "plug it in"));
    assert_eq!(chain(&fault), ["it cannot be reached", "the network is unplugged"]);
    assert_eq!(format!("{fault:#}"), "it cannot be reached: the network is unplugged; plug it in");
    let known = Fault::new(FaultKind::Full, "many wait", "wait").because("many");
    assert_eq!(
        format!("{known:#}"),
        "many wait; wait",
        "a cause that says nothing more is left out"
    );
}

#[derive(Debug, thiserror::Error)]
#[error("the outer one")]
struct Outer(#[source] io::Error);

#[test]
fn every_cause_is_said_once() {
    let cause = Outer(io::Error::other("the inner one"));
    let fault = Fault::new(FaultKind::Unreachable, "it failed", "try again").because(cause);
    assert_eq!(chain(&fault), ["it failed", "the outer one", "the inner one"]);
    assert_eq!(format!("{fault:#}"), "it failed: the outer one: the inner one; try again");
}

#[test]
fn an_error_has_the_parts_of_its_fault() {
    let parts = ["lock \"a\" in memory: it cannot be reached", "the network is unplugged"];
    let line = format!("{}: {}; plug it in", parts[0], parts[1]);
    let lines = format!("{}\ncaused by: {}\nhelp: plug it in", parts[0], parts[1]);
    let failure = || Box::new(StoreFailure::new(address(), fault()));
    assert_eq!(chain(&failure()), parts);
    for error in [
        Error::from(AcquireError::Unreachable(failure())),
        AcquireError::InDoubt(failure()).into(),
        ReleaseError::InDoubt(failure()).into(),
        InspectError::Store(failure()).into(),
        HandleError::Store(failure()).into(),
        DetachError::InDoubt(failure()).into(),
        LatchError::Inspect(InspectError::Store(failure())).into(),
        Error::Downgrade(failure()),
    ] {
        assert_eq!(chain(&error), parts);
        assert_eq!(format!("{error:#}"), line);
        // What `main` prints that gives it back.
        assert_eq!(format!("{error:?}"), lines);
        assert!(format!("{error:#?}").contains("kind: Unreachable"), "{error:#?}");
        assert_eq!(error.help().as_deref(), Some("plug it in"));
        assert_eq!(error.lock().map(LockName::as_str), Some("a"));
        assert_eq!(error.store(), Some("memory"));
    }
}

#[test]
fn a_store_that_was_not_opened_keeps_its_error() {
    let why = NotOpened::new(fault(), true).with_help(Some("plug it in".to_owned()));
    let error = Error::from(why.with_store(Some("redis://host".to_owned())));
    assert!(error.is_transient() && error.lock().is_none());
    assert_eq!(error.store(), Some("redis://host"));
    assert_eq!(chain(&error), ["it cannot be reached", "the network is unplugged"]);
    let Error::Open(why) = error else { panic!("{error}") };
    assert!(why.error().downcast_ref::<Fault>().is_some());
}

#[test]
fn a_loss_says_why_it_came() {
    let says = [
        (LostReason::Taken, "the store says that the lease ended or was taken"),
        (LostReason::MaxHold, "it reached its max_hold"),
        (LostReason::Deadline, "no renewal was answered before its deadline"),
    ];
    for (reason, why) in says {
        let says = format!("lock \"a\" in memory: the hold with token 7 was lost: {why}");
        assert_eq!(lost(reason).to_string(), says);
        assert_eq!(format!("{:#}", lost(reason)), says + "; stop the work it protected");
    }
}

#[test]
fn a_wait_that_ended_says_who_is_in_the_way() {
    let (nobody, somebody) = (None, Some(Contender::new("pay/42", Mode::Exclusive)));
    let later = "wait longer, or try again later";
    let itself = "see whether the waiter holds it itself, or wait longer";
    let says = [
        (&nobody, 0, false, "", later),
        (&nobody, 1, false, ", 1 ahead", later),
        (&nobody, 2, true, ", 2 ahead", later),
        (&somebody, 0, false, ", held by \"pay/42\"", later),
        (&somebody, 3, false, ", held by \"pay/42\", 3 ahead", later),
        (&somebody, 0, true, ", held by this process (label \"pay/42\")", itself),
        (&somebody, 1, true, ", held by this process (label \"pay/42\"), 1 ahead", itself),
    ];
    for (holder, ahead, here, way, help) in says {
        let waited = Duration::from_micros(1_500_900);
        let mut timed_out = TimedOut::new(address(), waited);
        timed_out.holder.clone_from(holder);
        (timed_out.ahead, timed_out.here) = (ahead, here);
        let says = format!("lock \"a\" in memory: not free within 1.5s{way}; {help}");
        assert_eq!(format!("{timed_out:#}"), says);
    }
}

#[test]
fn what_was_left_is_counted() {
    let failures = vec![lost(LostReason::Taken).into(), lost(LostReason::MaxHold).into()];
    let [first, second] = [&failures[0], &failures[1]].map(|failure| format!("{failure:#}"));
    let says = format!("2 of 3 locks were not released as they should be; {first}; {second}");
    assert_eq!(chain(&AllReleaseError::new(3, failures)), [says]);
    let left = ShutdownError::new(1, 2);
    let says = "1 holds or waits and 2 releases were left at shutdown; each ends with its lease";
    assert_eq!(left.to_string(), says);
}

#[test]
fn an_error_can_be_asked_what_to_do_next() {
    let failure = |kind| Box::new(StoreFailure::new(address(), Fault::new(kind, "a", "b")));
    let busy = TimedOut::new(address(), Duration::ZERO);
    // Busy, lost, transient.
    let cases: Vec<(Error, [bool; 3])> = vec![
        (AcquireError::TimedOut(Box::new(busy)).into(), [true, false, true]),
        (AcquireError::Full(failure(FaultKind::Full)).into(), [true, false, true]),
        (AcquireError::InDoubt(failure(FaultKind::InDoubt)).into(), [false, false, true]),
        (AcquireError::Unreachable(failure(FaultKind::Unreachable)).into(), [false, false, true]),
        (AcquireError::Corrupt(failure(FaultKind::Corrupt)).into(), [false, false, false]),
        (AcquireError::TooManyHolds { lock: address(), limit: 1 }.into(), [false, false, true]),
        (AcquireError::ShutDown { lock: address() }.into(), [false, false, false]),
        (lost(LostReason::Taken).into(), [false, true, true]),
        (ReleaseError::Lost(lost(LostReason::Taken)).into(), [false, true, true]),
        (HandleError::Lost(address()).into(), [false, true, true]),
        (HandleError::Store(failure(FaultKind::Misconfigured)).into(), [false, false, false]),
        (DetachError::InDoubt(failure(FaultKind::InDoubt)).into(), [false, false, true]),
        (InspectError::Store(failure(FaultKind::Unreachable)).into(), [false, false, true]),
    ];
    for (error, says) in cases {
        let found = [error.is_busy(), error.is_lost(), error.is_transient()];
        assert_eq!(found, says, "{error:?}");
    }
    let away = AcquireError::Unreachable(failure(FaultKind::Unreachable));
    assert_eq!(away.fault().map(Fault::kind), Some(FaultKind::Unreachable));
}

#[test]
fn a_finding_has_a_promise_and_a_cure_where_it_is_not_good() {
    let good = Diagnostic::good("clock", "as ours");
    assert_eq!((good.severity, good.promise, good.help.as_deref()), (Severity::Good, None, None));
    let failed = Diagnostic::failed("reach", &fault()).touches("S9").of("memory");
    assert_eq!(
        (&*failed.what, failed.severity, failed.promise),
        ("memory: reach", Severity::Bad, Some("S9"))
    );
    assert_eq!(failed.found, "it cannot be reached: the network is unplugged");
    assert_eq!(failed.help.as_deref(), Some("plug it in"));
    let warning = Diagnostic::warning("clock", "40 s away", "S2", "set it");
    assert_eq!((warning.severity, warning.help.as_deref()), (Severity::Warning, Some("set it")));
    let bad = Diagnostic::bad("clock", "40 s away", "S2", "set it");
    assert_eq!((bad.severity, bad.promise), (Severity::Bad, Some("S2")));
}
