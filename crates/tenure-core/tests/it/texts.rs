//! What an error says, and what it gives as its cause.

use std::{error::Error, io, time::Duration};

use tenure_core::{
    AcquireError, AllReleaseError, AnyError, DetachError, Fault, FaultKind, HandleError, LockName,
    LookError, Lost, LostReason, ReleaseError, ShutdownError, Token,
    error::{Place, TimedOut, Trouble},
    proto::queue::{Contender, Mode},
    store::{Finding, Weight},
};

fn place() -> Place {
    Place::new(LockName::new("a").unwrap(), "memory")
}

fn fault() -> Fault {
    let cause = io::Error::other("the network is unplugged");
    Fault::new(FaultKind::Unreachable, "it cannot be reached", "plug it in").because(cause)
}

fn lost(reason: LostReason) -> Lost {
    Lost::new(place(), Token::from_raw(7).unwrap(), reason)
}

/// The texts of an error and of all that caused it.
fn chain(error: &(dyn Error + 'static)) -> Vec<String> {
    std::iter::successors(Some(error), |&error| error.source()).map(ToString::to_string).collect()
}

#[test]
fn a_fault_says_what_happened_and_what_helps() {
    let fault = fault();
    assert_eq!((fault.what(), fault.cure()), ("it cannot be reached", "plug it in"));
    assert_eq!(fault.cause().unwrap().to_string(), "the network is unplugged");
    assert_eq!(chain(&fault), ["it cannot be reached: the network is unplugged; plug it in"]);
    let known = Fault::new(FaultKind::Full, "many wait", "wait").because("many");
    assert_eq!(chain(&known), ["many wait; wait"]);
}

#[derive(Debug, thiserror::Error)]
#[error("the outer one")]
struct Outer(#[source] io::Error);

#[test]
fn every_cause_is_said_once() {
    let cause = Outer(io::Error::other("the inner one"));
    let fault = Fault::new(FaultKind::Unreachable, "it failed", "try again").because(cause);
    assert_eq!(chain(&fault), ["it failed: the outer one: the inner one; try again"]);
}

#[test]
fn an_error_that_carries_a_fault_says_it_once() {
    let says = "lock \"a\" in memory: it cannot be reached: the network is unplugged; plug it in";
    let trouble = || Box::new(Trouble::new(place(), fault()));
    assert_eq!(chain(&trouble()), [says]);
    for error in [
        AnyError::from(AcquireError::Unreachable(trouble())),
        AcquireError::InDoubt(trouble()).into(),
        ReleaseError::InDoubt(trouble()).into(),
        LookError::Store(trouble()).into(),
        HandleError::Store(trouble()).into(),
        DetachError::InDoubt(trouble()).into(),
        AnyError::Downgrade(trouble()),
    ] {
        assert_eq!(chain(&error), [says]);
    }
}

#[test]
fn a_loss_says_why_it_came() {
    let says = [
        (LostReason::Taken, "the store says that the lease ended or was taken"),
        (LostReason::MaxHold, "it reached the longest hold that was asked for"),
        (LostReason::Deadline, "no renewal was answered before its deadline"),
    ];
    for (reason, why) in says {
        let says = format!(
            "lock \"a\" in memory: the hold with token 7 was lost: {why}; \
             stop the work it protected"
        );
        assert_eq!(lost(reason).to_string(), says);
    }
}

#[test]
fn a_wait_that_ended_says_who_is_in_the_way() {
    let (nobody, somebody) = (None, Some(Contender::new("pay/42", Mode::Exclusive)));
    let later = "wait longer or try again later";
    let itself = "see whether who waits holds it itself, or wait longer";
    let says = [
        (&nobody, 0, false, "", later),
        (&nobody, 1, false, ", 1 ahead", later),
        (&nobody, 2, true, ", 2 ahead", later),
        (&somebody, 0, false, ", held by \"pay/42\"", later),
        (&somebody, 3, false, ", held by \"pay/42\", 3 ahead", later),
        (&somebody, 0, true, ", held by this process (label \"pay/42\")", itself),
        (&somebody, 1, true, ", held by this process (label \"pay/42\"), 1 ahead", itself),
    ];
    for (holder, ahead, here, way, cure) in says {
        let waited = Duration::from_micros(1_500_900);
        let mut timed_out = TimedOut::new(place(), waited);
        timed_out.holder.clone_from(holder);
        (timed_out.ahead, timed_out.here) = (ahead, here);
        let says = format!("lock \"a\" in memory: not free within 1.5s{way}; {cure}");
        assert_eq!(timed_out.to_string(), says);
    }
}

#[test]
fn what_was_left_is_counted() {
    let failures = vec![lost(LostReason::Taken).into(), lost(LostReason::MaxHold).into()];
    let [first, second] = [&failures[0], &failures[1]].map(ReleaseError::to_string);
    let says = format!("2 of 3 locks were not released as they should be; {first}; {second}");
    assert_eq!(chain(&AllReleaseError::new(3, failures)), [says]);
    let left = ShutdownError::new(1, 2);
    let says = "1 holds or waits and 2 releases were left at shutdown; each ends with its lease";
    assert_eq!(left.to_string(), says);
}

#[test]
fn an_error_can_be_asked_what_to_do_next() {
    let trouble = |kind| Box::new(Trouble::new(place(), Fault::new(kind, "a", "b")));
    let busy = TimedOut::new(place(), Duration::ZERO);
    // Busy, lost, transient.
    let cases: Vec<(AnyError, [bool; 3])> = vec![
        (AcquireError::TimedOut(Box::new(busy)).into(), [true, false, true]),
        (AcquireError::Full(trouble(FaultKind::Full)).into(), [true, false, true]),
        (AcquireError::InDoubt(trouble(FaultKind::InDoubt)).into(), [false, false, true]),
        (AcquireError::Unreachable(trouble(FaultKind::Unreachable)).into(), [false, false, true]),
        (AcquireError::Corrupt(trouble(FaultKind::Corrupt)).into(), [false, false, false]),
        (AcquireError::TooManyHolds { place: place(), limit: 1 }.into(), [false, false, true]),
        (AcquireError::ShutDown { place: place() }.into(), [false, false, false]),
        (lost(LostReason::Taken).into(), [false, true, true]),
        (ReleaseError::Lost(lost(LostReason::Taken)).into(), [false, true, true]),
        (HandleError::Lost(place()).into(), [false, true, true]),
        (HandleError::Store(trouble(FaultKind::Misconfigured)).into(), [false, false, false]),
        (DetachError::InDoubt(trouble(FaultKind::InDoubt)).into(), [false, false, true]),
        (LookError::Store(trouble(FaultKind::Unreachable)).into(), [false, false, true]),
    ];
    for (error, says) in cases {
        let found = [error.is_busy(), error.is_lost(), error.is_transient()];
        assert_eq!(found, says, "{error:?}");
    }
    let away = AcquireError::Unreachable(trouble(FaultKind::Unreachable));
    assert_eq!(away.fault().map(Fault::kind), Some(FaultKind::Unreachable));
}

#[test]
fn a_finding_has_a_promise_and_a_cure_where_it_is_not_good() {
    let good = Finding::good("clock", "as ours");
    assert_eq!((good.weight, good.promise, good.cure.as_deref()), (Weight::Good, None, None));
    let failed = Finding::failed("reach", &fault()).touches("S9").of("memory");
    assert_eq!(
        (&*failed.what, failed.weight, failed.promise),
        ("memory: reach", Weight::Bad, Some("S9"))
    );
    assert_eq!(failed.found, "it cannot be reached: the network is unplugged");
    assert_eq!(failed.cure.as_deref(), Some("plug it in"));
    let warning = Finding::warning("clock", "40 s away", "S2", "set it");
    assert_eq!((warning.weight, warning.cure.as_deref()), (Weight::Warning, Some("set it")));
    let bad = Finding::bad("clock", "40 s away", "S2", "set it");
    assert_eq!((bad.weight, bad.promise), (Weight::Bad, Some("S2")));
}
