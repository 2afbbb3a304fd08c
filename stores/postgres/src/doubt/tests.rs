use super::*;

fn refused(kind: FaultKind, message: &str) -> Failure {
    Failure::Fault(Fault::new(kind, message, "help").because("what the server said"))
}

/// What it comes to if its runs come to this, by the kind of the error, and how often it is run.
fn outcome(writes: bool, runs: Vec<Result<u8, Failure>>) -> (Result<u8, FaultKind>, usize) {
    let mut statement = StatementRuns::new(writes);
    for (number, done) in runs.into_iter().enumerate() {
        let done = done.map_err(|failure| failure.doubted(writes));
        if let Some(outcome) = statement.outcome(done) {
            return (outcome.map_err(|failure| failure.fault().kind()), number + 1);
        }
    }
    panic!("it is run once more");
}

use FaultKind::{InDoubt, Misconfigured, Unreachable};

#[test]
fn a_write_is_in_doubt_whatever_error_of_another_client_comes() {
    for failure in [
        Failure::Crossed,
        Failure::Unprepared,
        Failure::ReadOnly(Fault::new(Unreachable, "read-only", "help")),
        refused(Unreachable, "full"),
        refused(InDoubt, "ended"),
    ] {
        let shown = format!("{failure:?}");
        assert_eq!(outcome(true, vec![Err(failure)]), (Err(InDoubt), 1), "{shown}");
    }
}

/// It may have found what the first run did, as a release that finds nothing to release.
#[test]
fn a_write_that_may_have_had_its_effect_is_not_answered_by_its_second_run() {
    let rights = || refused(Misconfigured, "no rights");
    let tables = || Failure::NoTables(Fault::new(Misconfigured, "no tables", "help"));
    for second in [
        Ok(0),
        Err(tables()),
        Err(Failure::Crossed),
        Err(Failure::Unprepared),
        Err(refused(Unreachable, "busy")),
        Err(refused(InDoubt, "broke")),
    ] {
        let shown = format!("{second:?}");
        assert_eq!(outcome(true, vec![Err(rights()), second]), (Err(InDoubt), 2), "{shown}");
    }
    assert_eq!(outcome(true, vec![Err(rights()), Err(rights())]), (Err(Misconfigured), 2));
    assert_eq!(outcome(true, vec![Err(tables()), Err(tables())]), (Err(Misconfigured), 2));
}

/// As does a new connection on which the tables are looked for.
#[test]
fn an_error_that_is_surely_about_us_settles_what_was_doubted() {
    let mut runs = StatementRuns::new(true);
    assert!(runs.outcome::<u8>(Err(refused(Misconfigured, "no tables").doubted(true))).is_none());
    let again = runs.outcome::<u8>(Err(refused(Misconfigured, "no tables")));
    assert!(matches!(again, Some(Err(Failure::Fault(fault))) if fault.kind() == Misconfigured));
}

#[test]
fn a_read_is_run_again_and_believed() {
    for failure in [
        refused(Misconfigured, "no rights"),
        refused(Unreachable, "full"),
        Failure::NoTables(Fault::new(Misconfigured, "no tables", "help")),
        Failure::ReadOnly(Fault::new(Unreachable, "read-only", "help")),
    ] {
        let shown = format!("{failure:?}");
        assert_eq!(outcome(false, vec![Err(failure), Ok(7)]), (Ok(7), 2), "{shown}");
    }
    let rights = || Err(refused(Misconfigured, "no rights"));
    assert_eq!(outcome(false, vec![rights(), rights()]), (Err(Misconfigured), 2));
    let others = ["one", "another", "a third", "a fourth"];
    let errors: Vec<_> = others.map(|what| Err(refused(Misconfigured, what))).into();
    assert_eq!(outcome(false, errors), (Err(Unreachable), 4));
    // Whoever runs it tries that again.
    let mut runs = StatementRuns::new(false);
    for failure in [Failure::Crossed, Failure::Unprepared] {
        let again = runs.outcome::<u8>(Err(failure.doubted(false)));
        assert!(matches!(again, Some(Err(Failure::Crossed | Failure::Unprepared))));
    }
}

#[test]
fn what_nobody_doubts_counts_at_once() {
    let mut runs = StatementRuns::new(true);
    assert!(matches!(runs.outcome(Ok(7)), Some(Ok(7))));
    let refused = runs.outcome::<u8>(Err(refused(Misconfigured, "no rights")));
    assert!(matches!(refused, Some(Err(Failure::Fault(fault))) if fault.kind() == Misconfigured));
    assert!(matches!(runs.outcome::<u8>(Err(Failure::Crossed)), Some(Err(Failure::Crossed))));
}
